"""Tensors of iterators, buffers, text and calls: what NumPy reads, on the devices."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.oracle import DTYPES, same, values


@pytest.mark.parametrize("dtype", DTYPES)
def test_buffers_and_iterators(dtype: str, device: flow.Device, tmp_path: Path) -> None:
    x = values((12,), dtype, 1)
    path = tmp_path / "a.bin"
    x.tofile(path)
    for count, offset in ((-1, 0), (3, 0), (5, 2 * x.itemsize), (0, 0)):
        seen = flow.frombuffer(x.tobytes(), dtype, count, offset, device=device)
        assert seen.device == device
        same(np.frombuffer(x.tobytes(), dtype, count, offset), seen)
        same(
            np.fromfile(path, dtype, count, offset=offset),
            flow.fromfile(path, dtype, count, offset=offset, device=device),
        )
    swapped = x.dtype.newbyteorder()
    same(x, flow.frombuffer(x.astype(swapped).tobytes(), swapped, device=device))
    numbers = x.tolist()
    seen = flow.fromiter(iter(numbers), dtype, device=device)
    assert seen.device == device
    same(np.fromiter(iter(numbers), dtype), seen)
    same(np.fromiter(numbers, dtype, 4), flow.fromiter(numbers, dtype, 4))
    same(np.fromiter(numbers, dtype), flow.fromiter(list(flow.tensor(x, device=device)), dtype))


def test_a_buffer_is_copied() -> None:
    data = bytearray(8)
    x = flow.frombuffer(data, flow.uint8)
    x[0] = 7
    assert data[0] == 0
    x[1] = 5
    assert x.tolist()[:2] == [7, 5]


def test_defaults_and_the_default_device(tmp_path: Path) -> None:
    data = np.arange(3.0)
    data.tofile(tmp_path / "a.bin")
    with flow.device("mock:1"):
        made = [
            flow.frombuffer(data.tobytes()),
            flow.fromfile(tmp_path / "a.bin"),
            flow.fromstring("0 1 2", sep=" "),
            flow.frombuffer(data.tobytes(), None),
            flow.fromfile(tmp_path / "a.bin", None),
            flow.fromstring("0 1 2", None, sep=" "),
            flow.fromiter(range(3), None),
            flow.loadtxt(["0", "1", "2"], None),
            flow.loadtxt(["0", "1", "2"]),
            flow.genfromtxt(["0", "1", "2"]),
            flow.require([0.0, 1, 2]),
            flow.fromfunction(lambda i: i, (3,)),
            flow.r_[0.0, 1, 2],
            flow.mgrid[0.0:3],
            flow.ogrid[0.0:3],
        ]
    for x in made:
        assert isinstance(x, flow.Tensor)
        assert x.device == "mock:1"
        same(data, x)


def test_text(device: flow.Device, tmp_path: Path) -> None:
    for text, sep in (("1, 2,3", ","), ("1 2  3", " "), ("1.5", ",")):
        same(np.fromstring(text, sep=sep), flow.fromstring(text, sep=sep, device=device))
    same(
        np.fromstring("1 2 3", np.int8, 2, sep=" "),
        flow.fromstring("1 2 3", flow.int8, 2, sep=" ", device=device),
    )
    x = values((3, 4), "float64", 1)
    t = flow.tensor(x, device=device)
    flow.savetxt(tmp_path / "ours.txt", t, delimiter=",", header="four columns")
    np.savetxt(tmp_path / "theirs.txt", x, delimiter=",", header="four columns")
    path = tmp_path / "ours.txt"
    assert path.read_bytes() == (tmp_path / "theirs.txt").read_bytes()
    np.savetxt(path, t, "%.3e", ",")
    ways: list[dict[str, Any]] = [{}, {"skiprows": 1}, {"usecols": (0, 2)}, {"unpack": True}]
    for how in (*ways, {"dtype": np.float32}, {"max_rows": 1}, {"ndmin": 2, "usecols": 1}):
        expected = np.loadtxt(path, delimiter=",", **how)
        seen = flow.loadtxt(path, delimiter=",", device=device, **how)
        assert isinstance(seen, flow.Tensor)
        assert seen.device == device
        same(expected, seen)
    lines = ["1,2,", ",4,5"]
    for how in ({}, {"dtype": None}, {"filling_values": 7}, {"dtype": np.int64}, {"usecols": 1}):
        expected = np.genfromtxt(lines, delimiter=",", **how)
        same(expected, flow.genfromtxt(lines, delimiter=",", device=device, **how))


def test_refused_reading() -> None:
    with pytest.raises(ValueError, match=r"\[fromstring\] expected a separator"):
        flow.fromstring("12345678", sep="")
    with pytest.raises(TypeError):
        flow.fromstring("12345678")  # type: ignore[call-arg]
    for make in (
        lambda: flow.frombuffer(b"12345678", object),
        lambda: flow.fromiter(["a"], "U1"),
        lambda: flow.loadtxt(["a b"], str),
        lambda: flow.loadtxt(["1 2"], [("a", "i4"), ("b", "f8")]),
        lambda: flow.genfromtxt(["1 a"], dtype=None),
    ):
        with pytest.raises(TypeError, match=r"\[(from|load|genfrom|tensor)\w*\] unsupported dtype"):
            make()
    with pytest.raises(ValueError, match="buffer size"):
        flow.frombuffer(b"123")
    with pytest.raises(ValueError, match="too short"):
        flow.fromiter([1], int, 2)
    with pytest.raises(ValueError, match="could not convert"):
        flow.loadtxt(["a"])


def test_fromfunction(device: flow.Device) -> None:
    for shape in ((3,), (2, 3), (0, 2), (2, 1, 3)):
        for dtype in (float, int, "float32"):
            total = lambda *args, scale=2: sum(args) * scale  # noqa: E731
            expected = np.fromfunction(total, shape, dtype=dtype, scale=3)
            seen = flow.fromfunction(total, shape, dtype=dtype, device=device, scale=3)
            assert seen.device == device
            same(expected, seen)
    assert flow.fromfunction(lambda i: None, (3,)) is None
    like = flow.ones(1, device=device)
    seen = np.fromfunction(lambda i: i + 1, (3,), like=like)
    assert seen.device == device
    same(np.arange(1.0, 4), seen)


def test_vectorize(device: flow.Device) -> None:
    def least(x: Any, limit: Any = 2) -> Any:
        """The smaller."""
        return x if x < limit else limit

    for dtype in ("int64", "float32"):
        x = values((3, 4), dtype, 1)
        t = flow.tensor(x, device=device)
        ours, theirs = flow.vectorize(least), np.vectorize(least)
        assert ours(t).device == device
        assert (ours.__name__, ours.__doc__) == ("least", "The smaller.")
        same(theirs(x), ours(t))
        same(theirs(x, 1), ours(t, 1))
        same(theirs(x, limit=x[0]), ours(t, limit=t[0]))
        same(np.vectorize(least, [float])(x.T), flow.vectorize(least, [float])(t.T))
        both = lambda a: (a, a * 2)  # noqa: E731
        seen = flow.vectorize(both)(t)
        assert isinstance(seen, tuple)
        same(np.vectorize(both)(x), seen)
        row = np.vectorize(np.sum, signature="(n)->()")
        same(row(x), flow.vectorize(np.sum, signature="(n)->()")(t))

    @flow.vectorize
    def plain(a: Any) -> Any:
        return a + 1

    @flow.vectorize(otypes=[np.int8])
    def typed(a: Any) -> Any:
        return a + 1

    assert plain([1, 2]).tolist() == [2, 3]
    assert typed(flow.zeros(0)).dtype == flow.int8
    with pytest.raises(ValueError, match="size 0"):
        plain(flow.zeros(0))
    with pytest.raises(flow.graph.TraceError, match=r"\[vectorize\] needs the values"):
        flow.graph.trace(plain, flow.ones(2))


def test_require(device: flow.Device) -> None:
    t = flow.ones((2, 3), device=device)
    assert flow.require(t) is t
    assert flow.require(t, requirements=["C", "A", "E"]) is t
    turned = flow.require(t.T, requirements="C")
    assert turned.is_contiguous()
    assert not turned.shares_storage(t)
    assert not flow.require(t.T, requirements=["A"]).is_contiguous()
    for name in ("O", "OWNDATA", "w"):
        copied = flow.require(t, requirements=[name])
        assert not copied.shares_storage(t)
        same(t.numpy(), copied)
    assert flow.require(t[0, 0], requirements="C").shape == ()
    assert flow.require([1, 2], flow.float32, device=device).device == device
    with pytest.raises(ValueError, match=r"\[require\] expected requirements .*, got F"):
        flow.require(t, requirements="F")


def test_recorded(device: flow.Device) -> None:
    t = flow.arange(3.0, device=device)

    @flow.jit
    def made(x: flow.Tensor) -> Any:
        with flow.device(x.device):
            buffer = flow.frombuffer(bytes(range(3)), flow.uint8)
            grid = flow.fromfunction(lambda i: i * 2, (3,))
            return x + buffer + grid, flow.require(x[::-1], requirements="C"), flow.r_[x, 1:3]

    for k in range(3):
        x = np.arange(3.0) + k
        expected = x + np.arange(3) + np.arange(3) * 2, x[::-1], np.r_[x, 1:3]
        same(expected, made(t + k))


def test_text_of_a_file_in_memory() -> None:
    file = io.StringIO()
    flow.savetxt(file, flow.eye(2), "%d", newline=";")
    assert file.getvalue() == "1 0;0 1;"


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        (["1", " 2 "], int),
        (["1.5", "-inf", "nan"], float),
        ([["1"], ["2"]], "float32"),
        (["1", "2", "3"], "uint8"),
        ([b"1", b"-2"], "int16"),
        (np.array(["1.5", "2"]), "float64"),
        (np.array(["7"], dtype=np.dtypes.StringDType()), "int64"),
        (["1+2j"], complex),
        (["1", 2], "float16"),
        ("12", "int32"),
    ],
)
def test_numbers_in_text(data: Any, dtype: Any) -> None:
    theirs, ours = np.array(data, dtype=dtype), flow.array(data, dtype=dtype)
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    assert ours.numpy().tobytes() == theirs.tobytes()


def test_text_without_numbers() -> None:
    for call in (flow.array, flow.asarray, flow.tensor):
        with pytest.raises(TypeError, match="tensors hold no text; with a dtype"):
            call(["1", "2"])
    with pytest.raises(ValueError, match=r"^\[tensor\] could not convert string to float: 'one'"):
        flow.array(["one"], dtype=float)
    with pytest.raises(OverflowError, match="300"):
        flow.array(["300"], dtype="uint8")


LIST_THAT_FINALIZERS_CHANGE = """
import gc

import oneflow_lite as flow

rows = {rows}


class Changes:
    def __del__(self):
        rows.clear()
        gc.collect()


def made():
    return flow.tensor(rows)


made()
gc.disable()
cycle = Changes()
cycle.me = cycle
del cycle
junk = [[] for _ in range(50)]
gc.set_threshold(1)
gc.enable()
t = made()
assert t.shape[0] in (0, 1000), t.shape
"""


@pytest.mark.parametrize("rows", ["[1.0] * 1000", "[[1.0, 2.0] for _ in range(1000)]"])
def test_a_finalizer_may_change_the_list(rows: str, run_program: Any) -> None:
    """The garbage collector runs it in the middle of the call."""
    done = run_program(LIST_THAT_FINALIZERS_CHANGE.format(rows=rows))
    assert done.returncode == 0, done.stderr
