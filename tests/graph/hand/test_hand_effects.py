"""Random numbers and host functions in programs that are built by hand."""

from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.graph.test_executables import DEVICES, bits


def test_parameters_with_random_values() -> None:
    main, startup = flow.graph.Program("main"), flow.graph.Program("startup")
    rng, stream = flow.random.default_rng(1), flow.random.Philox(1)
    with flow.graph.building(main, startup):
        w = flow.graph.parameter("w", (2, 3), init=lambda s: rng.normal(size=s))
        v = flow.graph.parameter("v", (4,), init=lambda s: stream.random(s))
    exe = flow.graph.Executor()
    eager_rng, eager_stream = flow.random.default_rng(1), flow.random.Philox(1)
    for _ in range(2):
        exe.run(startup)
        expected = [eager_rng.normal(size=(2, 3)), eager_stream.random(4)]
        assert bits(exe.run(main, fetch_list=[w, v])) == bits(expected)
    assert stream.state == eager_stream.state


@pytest.mark.parametrize("device", DEVICES)
def test_draws_on_the_executors_device(device: str) -> None:
    """NumPy's numbers are made where the program was built, and go to the device."""
    main = flow.graph.Program("main")
    rng, stream = flow.random.default_rng(1), flow.random.Philox(1)
    with flow.graph.building(main):
        x = flow.graph.data("x", (5,), "float64")
        y = x + rng.normal(size=5)
        z = flow.where(stream.bernoulli(0.5, 5), y, -1.0)
    exe = flow.graph.Executor(device)
    eager_rng, eager_stream = flow.random.default_rng(1), flow.random.Philox(1)
    values = {"x": x, "y": y, "z": z}
    for names in ("yz", "y", "z", "x"):  # what is not fetched is drawn, too
        given = np.arange(5.0)
        noise, keep = eager_rng.normal(size=5), eager_stream.bernoulli(0.5, 5)
        expected = {"x": flow.tensor(given), "y": flow.tensor(given) + noise}
        expected["z"] = flow.where(keep, expected["y"], -1.0)
        results = exe.run(main, feed={"x": given}, fetch_list=[values[name] for name in names])
        assert [str(r.device) for r in results] == [device] * len(results)
        assert bits([r.cpu() for r in results]) == bits([expected[name] for name in names])


def test_host_functions() -> None:
    log: list[Any] = []
    main = flow.graph.Program("main")
    with flow.graph.building(main):
        x = flow.graph.data("x", (3,), "float64")
        y = x * 2
        flow.vm.host_func(lambda y: log.append(y.tolist()), [y])
        z = x + 1
    exe = flow.graph.Executor()
    assert exe.run(main, feed={"x": [1.0, 2.0, 3.0]}, fetch_list=[z])[0].tolist() == [2, 3, 4]
    flow.synchronize()
    assert log == [[2, 4, 6]]
    with pytest.raises(flow.graph.TraceError, match="host function reads and writes cpu tensors"):
        flow.graph.Executor("mock:0").run(main, feed={"x": [1.0, 2.0, 3.0]}, fetch_list=[z])
