"""r_, c_, mgrid, ogrid and s_: NumPy's results."""

from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.oracle import same

s_ = np.s_
JOINED = [
    *(s_[1:4, 0, [5, 6]], s_[0:1:5j, 2.0], s_[0:3], s_[:3], s_[5:1:-2, 0.5], s_[1, 2, 3]),
    *(s_[[1, 2], [3, 4]], s_[[[1, 2]], [[3, 4]]], 7, [1, 2], np.arange(3), s_[True, False]),
    *(("0,2", [1, 2], [3, 4]), ("0,2,0", [1, 2], [3, 4]), ("0,2,-1", [1], [2])),
    *(("1", [[1]], [[2]]), ("-1", [[1], [2]], [[2], [3]]), ("0,3,1", [1, 2], [3, 4])),
    *(("1,3,0", [1, 2], [3, 4]), ("1,3,-2", [[1, 2]], [[3, 4]])),
    *(s_[np.float32(2), 1:3], s_[np.zeros(2, "float32"), 1], s_[np.zeros(2, "int8"), 1.5]),
    *(s_[1j, 2], s_[np.zeros(0), 1], s_[0:0]),
]
GRIDS: list[Any] = [
    *(s_[0:3, 0:2], s_[0:3], s_[0:1:5j, 0:2], s_[0:5:2, 1:3:0.5], s_[0:1:3j], s_[0:3.0]),
    *(s_[:2, :0], s_[-1:1:3j, -1:1:3j, :2], s_[5:0:-2, :1], s_[0:1:0.25, 2:3], ()),
]


@pytest.mark.parametrize("key", JOINED, ids=repr)
@pytest.mark.parametrize("name", ["r_", "c_"])
def test_joined(name: str, key: Any, device: flow.Device) -> None:
    try:
        expected = getattr(np, name)[key]
    except ValueError:
        with pytest.raises(ValueError, match=r"\[concat\]"):
            getattr(flow, name)[key]
        return
    with flow.device(device):
        seen = getattr(flow, name)[key]
    assert seen.device == device
    same(expected, seen)


def test_tensors_are_joined(device: flow.Device) -> None:
    """The rest goes where the first tensor is."""
    x, y = np.arange(3, dtype="float32"), np.arange(6).reshape(3, 2)
    a, b = flow.tensor(x, device=device), flow.tensor(y, device=device)
    for seen, expected in (
        (flow.r_[a, 1:3, 5, np.ones(2)], np.r_[x, 1:3, 5, np.ones(2)]),
        (flow.r_[2, a], np.r_[2, x]),
        (flow.r_[a[1], a], np.r_[x[1], x]),
        (flow.c_[a, b, [1, 2, 3]], np.c_[x, y, [1, 2, 3]]),
        (flow.r_["1", b, b], np.r_["1", y, y]),
        (flow.r_["0,2,0", a, a], np.r_["0,2,0", x, x]),
    ):
        assert seen.device == device
        same(expected, seen)
    if device.type != "cpu":
        with pytest.raises(ValueError, match="different devices"):
            flow.r_[a, flow.ones(2, device="cpu")]
    assert len(flow.r_) == len(np.r_) == 0


@pytest.mark.parametrize("key", GRIDS, ids=repr)
@pytest.mark.parametrize("name", ["mgrid", "ogrid"])
def test_grids(name: str, key: Any, device: flow.Device) -> None:
    with flow.device(device):
        seen = getattr(flow, name)[key]
    same(getattr(np, name)[key], seen)
    for one in seen if isinstance(seen, tuple) else (seen,):
        assert one.device == device


def test_ends_that_are_tensors(device: flow.Device) -> None:
    end = flow.tensor(3, device=device)
    same(np.mgrid[0:3, 1:2], flow.mgrid[0:end, 1:2].cpu())
    same(np.r_[0:3], flow.r_[0:end])
    with pytest.raises(flow.graph.TraceError, match=r"\[mgrid\] needs the values"):
        flow.graph.trace(lambda n: flow.mgrid[0:n], end)


def test_wrong_keys() -> None:
    for key in ("r", "c", "x", "1,2,3,4", ("r", [1, 2])):
        with pytest.raises(ValueError, match=r"\[r_\] expected a text of one to three integers"):
            flow.r_[key]
    with pytest.raises(ValueError, match="in the first place only"):
        flow.r_[1, "0"]
    with pytest.raises(ValueError, match="at least one part"):
        flow.r_[()]
    for key in (3, (slice(2), 3)):
        with pytest.raises(TypeError, match=r"\[mgrid\] expected slices, got int"):
            flow.mgrid[key]


def test_what_is_between_brackets() -> None:
    assert flow.s_[1:, 2] == (slice(1, None), 2)
    assert flow.index_exp[1:] == (slice(1, None),)
    x = flow.arange(6).reshape(2, 3)
    assert x[flow.s_[:, 1]].tolist() == [1, 4]
    assert list(flow.ndindex(*x.shape)) == list(np.ndindex(2, 3))
    assert [(at, int(n)) for at, n in flow.ndenumerate(x)][-1] == ((1, 2), 5)
