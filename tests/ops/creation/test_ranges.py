"""Ranges, grids, identities and triangles: NumPy's values."""

from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.oracle import DTYPES, compare, values

OFFSETS = (0, 1, -1, 2, -3, 50, -50)


def same(expected: Any, seen: flow.Tensor, device: flow.Device | None = None) -> None:
    difference = compare(np.asarray(expected), seen.numpy())
    assert difference is None, difference
    assert device is None or seen.device == device


@pytest.mark.parametrize("k", OFFSETS)
@pytest.mark.parametrize("shape", [(0, 0), (1, 1), (3, 3), (2, 5), (5, 2), (0, 3), (3, 0)], ids=str)
def test_eye(shape: tuple[int, int], k: int, device: flow.Device) -> None:
    same(np.eye(*shape, k=k), flow.eye(*shape, k=k, device=device), device)
    same(np.eye(shape[0], k=k), flow.eye(shape[0], k=k, device=device))
    same(np.tri(*shape, k=k), flow.tri(*shape, k=k, device=device), device)


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_of_identities(dtype: str, device: flow.Device) -> None:
    same(np.eye(3, dtype=dtype), flow.eye(3, dtype=dtype, device=device))
    same(np.identity(3, dtype), flow.identity(3, dtype, device=device))
    x = values((3, 4), dtype, 1)
    t = flow.tensor(x, device=device)
    for k in (-1, 0, 2):
        same(np.tril(x, k), flow.tril(t, k=k), device)
        same(np.triu(x, k), flow.triu(t, k=k), device)
        same(np.diag(x, k), flow.diag(t, k), device)
        same(np.diag(x[0], k), flow.diag(t[0], k), device)


@pytest.mark.parametrize("k", [*OFFSETS, 10**30, -(10**30)])
def test_triangles(k: int, device: flow.Device) -> None:
    for shape in [(3, 3), (2, 4), (4, 2), (2, 3, 4), (0, 3), (3, 0), (2, 0, 0), (4,), (1, 1)]:
        x = values(shape, "float64", 2)
        for a, t in [
            (x, flow.tensor(x, device=device)),
            (x[::-1], flow.tensor(x, device=device)[::-1]),
            (x.T, flow.tensor(x, device=device).T),
        ]:
            bounded = min(max(k, -99), 99)
            same(np.tril(a, bounded), flow.tril(t, k=k))
            same(np.triu(a, bounded), flow.triu(t, k=k))


def test_a_triangle_needs_a_dimension() -> None:
    for function in (flow.tril, flow.triu):
        with pytest.raises(ValueError, match=r"\[tri[lu]\].*0-d"):
            function(flow.tensor(1.0))


@pytest.mark.parametrize("k", OFFSETS)
def test_diag(k: int, device: flow.Device) -> None:
    for shape in [(3, 3), (2, 5), (5, 2), (0, 3), (1, 1), (4,), (0,)]:
        x = values(shape, "int32", 3)
        t = flow.tensor(x, device=device)
        same(np.diag(x, k), flow.diag(t, k))
        same(np.diag(x.T, k), flow.diag(t.T, k))
        assert not flow.diag(t, k).shares_storage(t)
    for bad in (flow.tensor(1), flow.zeros((2, 2, 2))):
        with pytest.raises(ValueError, match=r"\[diag\].*dimensions"):
            flow.diag(bad)


@pytest.mark.parametrize("indexing", ["xy", "ij"])
@pytest.mark.parametrize("sparse", [False, True])
def test_meshgrid(indexing: Any, sparse: bool, device: flow.Device) -> None:
    axes = [values((n,), d, n) for n, d in ((2, "int8"), (3, "float32"), (1, "bool"), (0, "int64"))]
    for count in range(5):
        expected = np.meshgrid(*axes[:count], indexing=indexing, sparse=sparse)
        tensors = [flow.tensor(x, device=device) for x in axes[:count]]
        seen = flow.meshgrid(*tensors, indexing=indexing, sparse=sparse)
        for a, t, source in zip(expected, seen, tensors, strict=True):
            same(a, t, device)
            assert not t.shares_storage(source)
        views = flow.meshgrid(*tensors, indexing=indexing, sparse=sparse, copy=False)
        for a, t, source in zip(expected, views, tensors, strict=True):
            same(a, t)
            assert t.shares_storage(source)
    same(np.meshgrid(1.0, [1, 2])[0], flow.meshgrid(1.0, [1, 2])[0])
    with pytest.raises(ValueError, match=r"\[meshgrid\].*'yx'"):
        flow.meshgrid(flow.zeros(1), indexing="yx")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "arguments",
    [
        *((5,), (0,), (-3,), (2.5,), (1, 7), (1, 7, 2), (7, 1, -2), (0.0, 1.0, 0.1), (5, 5)),
        *((1, 7, 2.0), (True, 5), (2**62, 2**62 + 3), (np.float32(3),)),
    ],
    ids=str,
)
def test_arange(arguments: tuple[Any, ...], device: flow.Device) -> None:
    same(np.arange(*arguments), flow.arange(*arguments, device=device), device)
    for dtype in ("int8", "float32", "complex64"):
        if abs(arguments[0]) < 100:
            expected = np.arange(*arguments, dtype=dtype)
            same(expected, flow.arange(*arguments, dtype=dtype, device=device))


@pytest.mark.parametrize("name", ["linspace", "logspace", "geomspace"])
def test_spaces(name: str, device: flow.Device) -> None:
    function, reference = getattr(flow, name), getattr(np, name)
    for start, stop in ((1, 5), (2.0, 0.5), (3, 3), (1 + 2j, 4j)):
        for number in (0, 1, 2, 7):
            for endpoint in (True, False):
                expected = reference(start, stop, number, endpoint=endpoint)
                same(expected, function(start, stop, number, endpoint=endpoint, device=device))
    same(reference(1, 5, 4, dtype="float32"), function(1, 5, 4, dtype="float32", device=device))
    same(reference(1, 2), function(1, 2), flow.Device("cpu"))


@pytest.mark.parametrize("name", ["linspace", "logspace", "geomspace"])
def test_spaces_between_tensors(name: str, device: flow.Device) -> None:
    function, reference = getattr(flow, name), getattr(np, name)
    for start, stop in ((np.float32(1), np.float32(4)), (np.ones(2), np.array([2.0, 5.0]))):
        ends = (flow.tensor(x, device=device) for x in (start, stop))
        same(reference(start, stop, 5), function(*ends, 5))


def test_limits_may_be_tensors(device: flow.Device) -> None:
    low, high = flow.tensor(1.0, device=device), flow.tensor(9.0, device=device)
    for name in ("linspace", "geomspace", "logspace"):
        function = getattr(np, name)
        expected = function(1.0, 9.0, 5)
        same(expected, getattr(flow, name)(low, high, 5, device=device), device)
        same(expected, function(low, high, 5), device)
    numbers = flow.tensor([0.0, 2.0, 4.0], device=device)
    for seen, array in zip(
        flow.histogram(numbers, range=(low, high)),
        np.histogram([0.0, 2.0, 4.0], range=(1.0, 9.0)),
        strict=True,
    ):
        same(array, seen, device)


@pytest.mark.parametrize("num", [0, 1, 2, 3, 7, 50, 1024, 1025, 70_000])
def test_spaced_numbers_have_numpys_bits(num: int, device: flow.Device, naive: bool) -> None:
    rng = np.random.default_rng(num)
    ends = [(0.0, 1.0), (0, 1), (1, 0), (2, 2), (-3, 2**53), (5e-324, 1e-323), (0.1, 1e300)]
    ends += [tuple(pair) for pair in rng.normal(0, 1e3, (5, 2)).tolist()]
    with np.errstate(all="ignore"):
        for start, stop in ends:
            for endpoint in (True, False):
                expected = np.linspace(start, stop, num, endpoint)
                same(expected, flow.linspace(start, stop, num, endpoint, device=device), device)
            wide = np.linspace(start, stop, num, dtype="float32")
            same(wide, flow.linspace(start, stop, num, dtype="float32", device=device))
        same(np.linspace(-1e308, 1e308, num), flow.linspace(-1e308, 1e308, num, device=device))
    for step in (0.1, 3.7, -0.25, 1e-3):
        expected = np.arange(0.5, 0.5 + step * num, step)
        same(expected, flow.arange(0.5, 0.5 + step * num, step, device=device), device)
    for step in (1, 3, -2):
        same(np.arange(5, 5 + step * num, step), flow.arange(5, 5 + step * num, step))


def test_ranges_that_are_recorded(device: flow.Device) -> None:
    def made(x: flow.Tensor) -> flow.Tensor:
        return flow.linspace(0, 1, 2000, device=device) * x + flow.arange(2000, device=device)

    expected = np.linspace(0, 1, 2000) * 2.5 + np.arange(2000)
    for run in (made, flow.jit(made)):
        same(expected, run(flow.tensor(2.5, device=device)), device)


ENDS: list[tuple[Any, Any]] = [
    *((0, 1), (0.5, 2), (2, 2), (-2, -8), (1 + 1j, 2), (np.int8(1), 3), ([1, 2], [3, 4])),
    *(([1.0, 2], 5), (np.float32([1, 2]), np.float32([[3], [4]])), ([], []), ("a", 1), (None, 2)),
    (np.arange(6, dtype="float32")[::2] + 1, 9),
]
WAYS: list[dict[str, Any]] = [
    *({}, {"axis": 1}, {"axis": -1}, {"axis": 5}, {"axis": "x"}, {"retstep": True}),
    *({"retstep": True, "axis": -1, "endpoint": False}, {"dtype": "int64"}),
    {"dtype": "float32", "retstep": True},
]


def both(theirs: Any, ours: Any, *arguments: Any, **keywords: Any) -> None:
    """NumPy's results, of its dtypes, or its kind of error."""
    try:
        expected = theirs(*arguments, **keywords)
    except Exception as error:  # the point is which one
        with pytest.raises(type(error)):
            ours(*arguments, **keywords)
        return
    seen = ours(*arguments, **keywords)
    assert isinstance(seen, tuple) == isinstance(expected, tuple)
    parts = zip(expected, seen, strict=True) if isinstance(seen, tuple) else [(expected, seen)]
    for one, other in parts:
        same(one, other)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["linspace", "logspace", "geomspace"])
def test_axes_and_steps_of_ranges(name: str, device: flow.Device) -> None:
    theirs = getattr(np, name)

    def ours(start: Any, stop: Any, *rest: Any, **keywords: Any) -> Any:
        ends = [flow.tensor(x) if isinstance(x, np.ndarray) else x for x in (start, stop)]
        return getattr(flow, name)(*ends, *rest, device=device, **keywords)

    for start, stop in ENDS:
        for num in (0, 1, 5, -1, 2.5, np.int64(3)):
            for keywords in WAYS:
                if "retstep" not in keywords or name == "linspace":
                    both(theirs, ours, start, stop, num, **keywords)


@pytest.mark.parametrize("name", ["linspace", "logspace", "geomspace"])
def test_ranges_between_tensors_and_lists(name: str, device: flow.Device) -> None:
    theirs, ours = getattr(np, name), getattr(flow, name)
    for x, y in (([1.0, 2.0], [3, 4]), (np.float32([1, 2]), [3, 4]), ([1, 2], [[3], [4j]])):
        t, u = (flow.tensor(one, device=device) for one in (x, y))
        for seen in (ours(t, y, 4), ours(x, u, 4), ours(t, u.tolist(), 4, axis=1 - u.ndim)):
            assert seen.device == device
        same(theirs(np.asarray(x), y, 4), ours(t, y, 4))
        same(theirs(x, np.asarray(y), 4), ours(x, u, 4))


@pytest.mark.filterwarnings("ignore")
def test_steps_by_place_and_bases() -> None:
    both(np.linspace, flow.linspace, 0, 3, 4, True, True, "float32", 0)
    both(np.linspace, flow.linspace, 0, 3, 4, True, False, "float32")
    both(np.logspace, flow.logspace, 0, 3, 4, True, [2, 3], None, -1)
    values, step = flow.linspace(flow.tensor(0.0).mock(), 1, 3, retstep=True)
    assert values.device == step.device == flow.device("mock:0")


def test_ranges_of_many_ranks_have_one_result() -> None:
    ranks = flow.distributed.placement("cpu", ranks=[0])
    with pytest.raises(TypeError, match=r"\[linspace\] placement"):
        flow.linspace(0, 1, 3, retstep=True, placement=ranks)  # type: ignore[call-overload]
    assert flow.linspace([0, 1], 2, 3, axis=1, placement=ranks).shape == (2, 3)


def test_the_least_integer() -> None:
    with pytest.raises(ValueError, match="size"):
        flow.arange(-(2**63), 2**60)
    assert flow.arange(-(2**63), 3 - 2**63).tolist() == [-(2**63), 1 - 2**63, 2 - 2**63]
