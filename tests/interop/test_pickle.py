"""Pickled tensors: value, dtype, shape and device; elsewhere where one says so."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.oracle import DTYPES, same, values


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_round_trips(protocol: int, device: flow.Device) -> None:
    for dtype in DTYPES:
        for shape in [(), (0, 3), (4,), (5, 6)]:
            x = values(shape, dtype, 1)
            t = flow.tensor(x, device=device)
            for given, expected in ((t, x), (t.T, x.T)):
                back = pickle.loads(pickle.dumps(given, protocol))
                assert back.device == device
                assert not back.shares_storage(t)
                same(expected, back)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_the_order_in_memory_is_kept(protocol: int, device: flow.Device) -> None:
    for shape in ((3, 4), (2, 3, 4), (3, 1), (0, 3)):
        x = values(shape, "float32", 1)
        t = flow.tensor(x, device=device)
        for theirs, ours in ((x, t), (x.T, flow.transpose(t)), (x.T[:1], flow.transpose(t)[:1])):
            expected = pickle.loads(pickle.dumps(theirs, protocol))
            back = pickle.loads(pickle.dumps(ours, protocol))
            same(expected, back)
            assert back.strides == expected.strides


def test_only_the_view_is_pickled() -> None:
    t = flow.zeros(1_000_000)
    assert len(pickle.dumps(t[:10])) < 1000
    assert len(pickle.dumps(flow.broadcast_to(flow.zeros(1), (10,)))) < 1000


def test_the_value_may_travel_out_of_band(device: flow.Device) -> None:
    x = np.arange(100_000.0)
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(flow.tensor(x, device=device), protocol=5, buffer_callback=buffers.append)
    assert len(data) < 1000
    assert sum(buffer.raw().nbytes for buffer in buffers) == x.nbytes
    back = pickle.loads(data, buffers=buffers)
    assert back.device == device
    same(x, back)
    back += 1
    same(x, pickle.loads(data, buffers=buffers))


def test_the_device_may_be_mapped() -> None:
    there = [flow.full((2,), i, device=f"mock:{i}") for i in range(2)]
    data = pickle.dumps([*there, flow.full((2,), 2)])

    def devices() -> list[str]:
        loaded = pickle.loads(data)
        assert [t.tolist() for t in loaded] == [[0, 0], [1, 1], [2, 2]]
        return [str(t.device) for t in loaded]

    assert devices() == ["mock:0", "mock:1", "cpu"]
    with flow.interchange.map_device("cpu"):
        assert devices() == ["cpu"] * 3
        with flow.interchange.map_device({"mock:1": "mock:0", "cpu": flow.Device("mock:1")}):
            assert devices() == ["mock:0", "mock:0", "mock:1"]
        assert devices() == ["cpu"] * 3
    with pytest.raises(RuntimeError, match="out"), flow.interchange.map_device("mock:0"):
        raise RuntimeError("out")
    assert devices() == ["mock:0", "mock:1", "cpu"]


def test_a_device_that_is_not_there(run_program: Callable[..., Any], tmp_path: Any) -> None:
    code = """
import pickle, sys, oneflow_lite as flow
path, mode = sys.argv[1:]
if mode == "dump":
    with open(path, "wb") as file:
        pickle.dump(flow.ones(2, device="mock:5"), file)
else:
    with open(path, "rb") as file, flow.interchange.map_device("cpu" if mode == "map" else None):
        print(pickle.load(file))
"""
    path = str(tmp_path / "t.pickle")
    assert run_program(code, path, "dump", mock="devices=6").returncode == 0
    missing = run_program(code, path, "load", mock="devices=1")
    assert "a tensor of mock:5 cannot go to mock:5" in missing.stderr
    assert 'flow.interchange.map_device("cpu")' in missing.stderr
    assert "tensor([1., 1.]" in run_program(code, path, "map", mock="devices=1").stdout


def test_poison_is_not_pickled() -> None:
    def fail(target: np.ndarray) -> None:
        raise ArithmeticError("no value")

    t = flow.zeros(3)
    flow.vm.host_func(fail, writes=[t])
    with pytest.raises(ArithmeticError):
        pickle.dumps(t)
    with pytest.raises(ArithmeticError):
        flow.synchronize()


def test_copies(device: flow.Device) -> None:
    t = flow.arange(4, device=device)
    holder = {"a": t, "b": [t]}
    deep = copy.deepcopy(holder)
    assert deep["a"] is deep["b"][0]
    for one in (copy.copy(t), deep["a"]):
        assert not one.shares_storage(t)
        assert one.device == device
        one += 1
        assert t.tolist() == [0, 1, 2, 3]
    read_only = flow.from_dlpack(np.broadcast_to(np.arange(3), (2, 3)))
    for one in (copy.copy(read_only), copy.deepcopy(read_only)):
        one += 1
        assert one.tolist() == [[1, 2, 3]] * 2


def test_public_functions_are_pickled_by_name() -> None:
    """As functions of Python are: in a model that is copied they stay what they are."""
    modules = [flow, flow.linalg, flow.fft, flow.random, flow.graph, flow.distributed, flow.vm]
    for module in modules:
        for name, function in vars(module).items():
            if name.startswith("_") or not callable(function) or function is flow.flags:
                continue
            assert pickle.loads(pickle.dumps(function)) == function, name
            assert copy.deepcopy({"act": function})["act"] == function, name
    assert pickle.loads(pickle.dumps(flow.exp)) is copy.copy(flow.exp) is flow.exp
