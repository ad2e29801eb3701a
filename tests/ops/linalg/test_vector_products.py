"""Products of vectors and small arrays: the native paths, and the functions behind them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.oracle import same
from tests.support.rounding import agrees_in_sums

Shape = tuple[int, ...]

# Each function, the shapes of its operands, and what else it is called with.
CALLS: list[tuple[str, Shape, Shape, dict[str, Any]]] = [
    *[("dot", a, b, {}) for a, b in (((4,), (4,)), ((2, 3, 4), (4, 5)), ((2, 3, 4), (4,)))],
    *[("dot", a, b, {}) for a, b in (((4,), (2, 4, 3)), ((2, 3, 4), (5, 4, 2)), ((3, 0), (0, 2)))],
    *[("inner", a, b, {}) for a, b in (((3, 4), (5, 4)), ((4,), (5, 4)), ((3, 4), (4,)))],
    *[("inner", a, b, {}) for a, b in (((2, 3, 4), (5, 4)), ((3, 0), (2, 0)), ((), (3,)))],
    *[("vdot", a, b, {}) for a, b in (((4,), (4,)), ((3, 4), (3, 4)), ((3, 4), (2, 6)))],
    *[("vdot", a, b, {}) for a, b in (((0, 3), (3, 0)), ((), ()), ((2, 2, 3), (12,)))],
    *[("vecdot", a, b, {}) for a, b in (((4,), (4,)), ((3, 4), (4,)), ((2, 3, 4), (3, 4)))],
    *[("vecdot", (4, 3), (4, 3), {"axis": axis}) for axis in (0, 1, -2)],
    *[("matvec", a, b, {}) for a, b in (((3, 4), (4,)), ((2, 3, 4), (4,)), ((2, 3, 4), (2, 4)))],
    *[("matvec", a, b, {}) for a, b in (((3, 4), (2, 4)), ((2, 0, 4), (2, 4)), ((3, 0), (0,)))],
    *[("vecmat", a, b, {}) for a, b in (((4,), (4, 3)), ((4,), (2, 4, 3)), ((2, 4), (2, 4, 3)))],
    *[("vecmat", a, b, {}) for a, b in (((2, 4), (4, 3)), ((2, 4), (2, 4, 0)), ((0,), (0, 3)))],
    *[("tensordot", (3, 4), (4, 2), {"axes": axes}) for axes in (0, 1, (1, 0), ([1], [0]))],
    *[("tensordot", (3, 4), (3, 4), {"axes": axes}) for axes in (2, (0, 0), ((1, 0), (1, 0)))],
    *[("tensordot", (4,), (4,), {"axes": 1}), ("tensordot", (0, 3), (0, 3), {"axes": 2})],
]


def turned(x: flow.Tensor) -> flow.Tensor:
    """The same elements, column after column."""
    axes = range(x.ndim)[::-1]
    return flow.permute_dims(flow.permute_dims(x, axes).copy(), axes)


LAYOUTS: dict[str, Callable[[flow.Tensor], flow.Tensor]] = {
    "as it is": lambda x: x,
    "turned": turned,
    "every other": lambda x: flow.repeat(x, 2, axis=-1)[..., ::2] if x.ndim else x,
}


def numbers(shape: Shape, dtype: str, seed: int) -> np.ndarray:
    x = np.random.default_rng(seed).integers(-4, 5, shape)
    return (x + 1j * x[..., ::-1] if dtype[0] == "c" and shape else x).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int64", "float16"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_products_are_numpys(layout: str, dtype: str, device: flow.Device) -> None:
    for name, a, b, how in CALLS:
        x, y = (numbers(shape, dtype, seed) for seed, shape in enumerate((a, b)))
        theirs = {"axes": tuple(how["axes"])} if isinstance(how.get("axes"), tuple) else how
        expected = np.asarray(getattr(np, name)(x, y, **theirs))
        t, u = (LAYOUTS[layout](flow.tensor(one, device=device)) for one in (x, y))
        seen = getattr(flow, name)(t, u, **how)
        assert (seen.shape, seen.dtype) == (expected.shape, expected.dtype), (name, a, b)
        assert np.array_equal(expected, seen.numpy()), (name, a, b, how)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_a_conjugated_vector_is_never_made(dtype: str, device: flow.Device) -> None:
    """The bits are those of the product with one that is."""
    rng = np.random.default_rng(3)
    for n in (0, 1, 5, 64, 1001, 70_000, 200_001):
        x, y = rng.normal(0, 1, (2, n, 2)).view("complex128")[..., 0].astype(dtype)
        t, u = flow.tensor(x, device=device), flow.tensor(y, device=device)
        for a, b in ((t, u), (u, u), (t[n // 2 :], u[: n - n // 2])):
            expected = flow.matmul(flow.conj(a), b).numpy().tobytes()
            assert expected == flow.vdot(a, b).numpy().tobytes(), n
            assert expected == flow.vecdot(a, b).numpy().tobytes(), n
        views = [(t[::-1], u), (t[::2], u[::-2])]  # routines add these in other orders
        for a, b in views if n < 2 else [*views, (flow.broadcast_to(t[0], (n,)), u)]:
            expected = np.vdot(a.numpy(), b.numpy())
            sizes = np.dot(np.abs(a.numpy()), np.abs(b.numpy()))
            for seen in (flow.vdot(a, b), flow.vecdot(a, b)):
                assert abs(seen.item() - expected) <= 1e-5 * sizes, n
    for special in (np.inf, np.nan, -0.0, complex(np.inf, np.nan)):
        x = np.array([1, special, 2j], dtype)
        expected = np.asarray(np.vdot(x, x[::-1]))
        seen = flow.vdot(flow.tensor(x, device=device), flow.tensor(x[::-1].copy(), device=device))
        assert np.array_equal(expected.view(dtype), seen.numpy(), equal_nan=True)


@pytest.mark.parametrize(
    ("name", "a", "b", "how"),
    [
        ("inner", (3, 4), (5, 3), {}),
        ("inner", (4,), (3,), {}),
        ("vdot", (3, 4), (3, 3), {}),
        ("matvec", (2, 3, 4), (3, 4), {}),
        ("matvec", (4,), (4,), {}),
        ("vecmat", (3,), (4, 3), {}),
        ("vecmat", (2, 4), (3, 4, 3), {}),
        ("tensordot", (3, 4), (3, 4), {"axes": 1}),
        ("tensordot", (3, 4), (4, 3), {"axes": 2}),
        ("dot", (2, 3, 4), (3, 4), {}),
    ],
)
def test_shapes_that_do_not_fit(name: str, a: Shape, b: Shape, how: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"\[\w+\] .*expected|do not broadcast"):
        getattr(flow, name)(flow.ones(a), flow.ones(b), **how)


PAIRED_AXES: dict[str, Any] = {  # of shapes (3, 4, 3) and (4, 3, 3)
    "arrays": (np.array([0, 1]), np.array([1, 0])),
    "one array": np.array([[0, 1], [-1, 0]]),
    "an array of two": np.array([1, 0]),
    "a 0-d array": np.array(0),
    "an integer of NumPy": np.int8(0),
    "an array and a number": (np.array([1], "uint8"), 0),
    "ranges": (range(1, 2), range(1)),
    "none of either": ([], []),
    "a negative number": -1,
    "far below": -(2**70),
}
WRONG_AXES: dict[str, Any] = {
    "three": ([0], [1], [1]),
    "one": ([0],),
    "no sides": [],
    "too many": 5,
    "far too many": 2**40,
    "other counts": ([0], [1, 2]),
    "of other counts, beyond": ([0, 9], [1]),
    "beyond": (9, 0),
    "twice": ([0, 0], [1, 2]),
    "twice, from the end": ([0, -3], [1, 2]),
    "float": 1.5,
    "floats": (1.0, 1),
    "array of floats": (np.array([1.0]), [0]),
    "text": "ab",
    "nothing": None,
    "other sizes": ([0], [0]),
}


@pytest.mark.parametrize("name", PAIRED_AXES)
def test_axes_of_tensordot(name: str, device: flow.Device) -> None:
    x, y = numbers((3, 4, 3), "float64", 0), numbers((4, 3, 3), "float64", 1)
    t, u = flow.tensor(x, device=device), flow.tensor(y, device=device)
    axes = PAIRED_AXES[name]
    wanted = np.tensordot(x, y, axes if name != "far below" else -1)
    for seen in (
        flow.tensordot(t, u, axes),
        flow.jit(lambda a, b: flow.tensordot(a, b, axes))(t, u),
    ):
        assert seen.dtype == wanted.dtype
        assert np.array_equal(wanted, seen.numpy())
        assert wanted.shape == seen.shape
    if isinstance(axes, np.ndarray):
        assert np.array_equal(wanted, flow.tensordot(t, u, flow.tensor(axes)).numpy())


@pytest.mark.parametrize("name", WRONG_AXES)
def test_wrong_axes_of_tensordot(name: str) -> None:
    x, y, axes = np.ones((3, 4, 3)), np.ones((4, 3, 3)), WRONG_AXES[name]
    wanted: type[BaseException] = IndexError
    if name != "far too many":  # NumPy makes a list of them
        with pytest.raises((IndexError, TypeError, ValueError)) as expected:
            np.tensordot(x, y, axes)
        wanted = expected.type
    with pytest.raises(wanted, match=r"^\[tensordot\] .*(expected|out of bounds|given twice)"):
        flow.tensordot(flow.tensor(x), flow.tensor(y), axes)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_norms_of_complex_numbers(dtype: str, device: flow.Device) -> None:
    for shape in ((7,), (3, 5), (2, 3, 4), (0,), ()):
        x = numbers(shape, dtype, 0)
        for layout in LAYOUTS.values():
            t = layout(flow.tensor(x, device=device))
            expected = np.asarray(np.linalg.norm(x))
            assert np.array_equal(expected, flow.linalg.norm(t).numpy()), shape


def test_the_product_that_takes_fewer_multiplications(device: flow.Device) -> None:
    for shapes in (((2, 9), (9, 3), (3, 8)), ((9, 2), (2, 9), (9, 1)), ((3,), (3, 4), (4, 2))):
        arrays = [numbers(shape, "float64", seed) for seed, shape in enumerate(shapes)]
        seen = flow.linalg.multi_dot([flow.tensor(x, device=device) for x in arrays])
        assert np.array_equal(np.linalg.multi_dot(arrays), seen.numpy())


def test_norms_in_the_order_of_memory(device: flow.Device) -> None:
    x = np.random.default_rng(0).normal(0, 1, (30, 7, 50)).astype("float32")
    t = flow.tensor(x, device=device)
    for axes in ((2, 1, 0), (1, 0, 2), (2, 0, 1)):
        expected = np.asarray(np.linalg.norm(x.transpose(axes)))
        agrees_in_sums(expected, expected, flow.linalg.norm(flow.permute_dims(t, axes)))
    expected = np.asarray(np.linalg.norm(x[::2, ::-1].T))
    agrees_in_sums(expected, expected, flow.linalg.norm(t[::2, ::-1].T))


def test_products_of_bool_that_end_early(device: flow.Device, naive: bool) -> None:
    """What is true may be the first element, the last one, or none; a truth may be any byte."""
    for rows, columns in ((1, 5000), (40, 33), (300, 2100), (9, 1)):
        for place in (None, (0, 0), (rows - 1, columns - 1), (rows // 2, columns // 3)):
            m = np.zeros((rows, columns), np.uint8)
            if place:
                m[place] = 2
            m[rows // 3] = columns % 2
            w, r = np.ones((2, max(rows, columns)), np.uint8)
            w, r = w[:rows], r[:columns]
            w[rows // 3] = 0
            a, b, c = m.view(bool), w.view(bool), r.view(bool)
            ta, tb, tc = (flow.tensor(x, device=device) for x in (a, b, c))
            for x, tx in ((a, ta), (np.asfortranarray(a), flow.transpose(flow.transpose(ta)))):
                same(np.vecmat(b, x != 0), flow.vecmat(tb, tx))
                same(np.matvec(x != 0, c), flow.matvec(tx, tc))
            same(np.vecmat(c, (a != 0).T), flow.vecmat(tc, ta.T))
            same(np.matvec((a != 0).T, b), flow.matvec(ta.T, tb))
            same(np.vdot(a, a), flow.vdot(ta, ta))
            same(np.outer(b, c), flow.outer(tb, tc))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_many_dots_of_views(dtype: str, device: flow.Device) -> None:
    """Sums of small integers are exact, in whichever order they are made."""
    random = np.random.default_rng(2)
    for shape in ((5, 7), (40, 33, 17), (3, 300, 9)):
        a, b = (random.integers(-9, 9, shape).astype(dtype) for _ in range(2))
        s, t = flow.tensor(a, device=device), flow.tensor(b, device=device)
        for axis in range(len(shape)):
            same(np.vecdot(a, b, axis=axis), flow.vecdot(s, t, axis=axis))
            turned, mirrored = b[::-1, ..., ::-1], t[::-1, ..., ::-1]
            same(np.vecdot(a, turned, axis=axis), flow.vecdot(s, mirrored, axis=axis))
        same(np.vecdot(a[:, ::2], b[:, ::2]), flow.vecdot(s[:, ::2], t[:, ::2]))
        same(np.vecdot(a.T, b.T), flow.vecdot(s.T, t.T))


@pytest.mark.parametrize("axes", [(0, 1, 2), (-1, 0, 0), (2, -1, 1), (1, 1, -2)])
def test_the_axes_of_a_cross_product(axes: tuple[int, int, int], device: flow.Device) -> None:
    x, y = (np.random.default_rng(k).normal(size=(3, 3, 3)) for k in (1, 2))
    t, u = (flow.tensor(one, device=device) for one in (x, y))
    same(np.cross(x, y, *axes), flow.cross(t, u, *axes))
    names = dict(zip(("axisa", "axisb", "axisc"), axes, strict=True))
    for function in (flow.cross, np.cross):
        same(np.cross(x, y, **names), function(t, u, **names))
        same(np.cross(x, y, *axes, axis=0), function(t, u, **names, axis=0))
    with pytest.raises(IndexError, match="axis"):
        flow.cross(t, u, axisc=3)
    with pytest.raises(ValueError, match=r"\[cross\] expected vectors of 3 elements, got 2"):
        flow.cross(t[:2], u, axisa=0)
