"""Linear algebra: NumPy's dtypes and errors, on every device, and its bits for small matrices."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.oracle import DTYPES, laid_out, same
from tests.support.rounding import agrees_in_sums

FLOATS = ("float32", "float64", "complex64", "complex128")
SQUARE = [(1, 1), (3, 3), (2, 4, 4), (2, 1, 2, 2), (0, 0), (3, 0, 0), (0, 3, 3)]
MATRICES = [*SQUARE, (2, 4), (4, 2), (3, 2, 5), (0, 3), (3, 0), (2, 0, 3), (0, 2, 3)]
ORDERS = ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)


def numbers(shape: tuple[int, ...], dtype: str, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind in "biu":
        return rng.integers(0, 5, shape).astype(dtype)
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape)).astype(dtype) if dtype[0] == "c" else x.astype(dtype)


def positive(x: np.ndarray) -> np.ndarray:
    """Hermitian and positive definite."""
    return x @ x.mT.conj() + 3 * np.eye(x.shape[-1], dtype=x.dtype)


def check(name: str, device: flow.Device, *arrays: Any, **keywords: Any) -> None:
    """flow.linalg.name and np.linalg.name agree bit by bit."""
    given = [flow.tensor(x, device=device) if isinstance(x, np.ndarray) else x for x in arrays]
    function, reference = getattr(flow.linalg, name), getattr(np.linalg, name)
    label = f"{name} {[np.shape(x) for x in arrays]} {arrays[0].dtype} {keywords}"
    with np.errstate(all="ignore"):
        same(reference(*arrays, **keywords), function(*given, **keywords), label)


def check_norm(
    name: str, device: flow.Device, x: np.ndarray, *orders: Any, **keywords: Any
) -> None:
    """As ``check``; of a device that adds in an order of its own: no term is negative."""
    function, reference = getattr(flow.linalg, name), getattr(np.linalg, name)
    with np.errstate(all="ignore"):
        expected = reference(x, *orders, **keywords)
        seen = function(flow.tensor(x, device=device), *orders, **keywords)
    agrees_in_sums(expected, expected, seen)


def check_power(device: flow.Device, x: np.ndarray, n: int) -> None:
    """As ``check``; of a device with products of its own: each factor brings roundings."""
    expected, seen = (
        np.linalg.matrix_power(x, n),
        flow.linalg.matrix_power(flow.tensor(x, device=device), n),
    )
    size = np.linalg.matrix_power(np.abs(np.linalg.inv(x) if n < 0 else x), abs(n))
    agrees_in_sums(abs(n) * size, expected, seen)


# --- matrices


@pytest.mark.parametrize("shape", SQUARE, ids=str)
def test_square_matrices(shape: tuple[int, ...], device: flow.Device) -> None:
    for dtype in (*FLOATS, "int8", "uint64", "bool"):
        x = numbers(shape, dtype)
        for name in ("det", "slogdet"):
            check(name, device, x)
        regular = positive(x) if dtype in FLOATS else np.eye(shape[-1], dtype=dtype) + 0 * x
        for name in ("inv", "cholesky", "eigh", "eigvalsh"):
            check(name, device, regular)
        check("cholesky", device, regular, upper=True)
        for triangle in "LUl":
            check("eigh", device, x, UPLO=triangle)
            check("eigvalsh", device, x, UPLO=triangle)


@pytest.mark.parametrize("shape", MATRICES, ids=str)
def test_matrices(shape: tuple[int, ...], device: flow.Device) -> None:
    for dtype in (*FLOATS, "int16", "bool"):
        x = numbers(shape, dtype)
        for mode in ("reduced", "complete", "r", "raw"):
            check("qr", device, x, mode=mode)
        for full in (True, False):
            check("svd", device, x, full_matrices=full)
        check("svdvals", device, x)
        check("matrix_rank", device, x)
        check("matrix_rank", device, x, rtol=0.5)
        check("matrix_rank", device, x, tol=0.5)


@pytest.mark.parametrize("shape", MATRICES, ids=str)
def test_pinv(shape: tuple[int, ...], device: flow.Device) -> None:
    for dtype in FLOATS:
        x = numbers(shape, dtype)
        for keywords in ({}, {"rtol": None}, {"rtol": 0.3}, {"rcond": 0.3}):
            expected = np.linalg.pinv(x, **keywords)
            seen = flow.linalg.pinv(flow.tensor(x, device=device), **keywords)
            assert (seen.dtype, seen.shape) == (expected.dtype, expected.shape)
            assert np.allclose(seen.numpy(), expected, rtol=1e-4, atol=1e-5)
    batch = numbers((2, 3, 4), "float64")
    cutoff = np.array([0.1, 0.9])
    seen = flow.linalg.pinv(flow.tensor(batch), rtol=flow.tensor(cutoff))
    assert np.allclose(seen.numpy(), np.linalg.pinv(batch, rtol=cutoff))


@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (2, 4, 4), (0, 0), (0, 3, 3)], ids=str)
def test_eigenvalues_are_complex_always(shape: tuple[int, ...], device: flow.Device) -> None:
    for dtype in (*FLOATS, "int64"):
        x = numbers(shape, dtype)
        w, v = np.linalg.eig(x)
        wanted = np.result_type(w.dtype, 1j) if w.size else np.result_type(w.dtype, "complex64")
        seen = flow.linalg.eig(flow.tensor(x, device=device))
        same((w.astype(wanted), v.astype(wanted)), seen)
        values = flow.linalg.eigvals(flow.tensor(x, device=device))
        same(np.linalg.eigvals(x).astype(wanted), values)


SYSTEMS = [
    *(((3, 3), (3,)), ((3, 3), (3, 2)), ((2, 3, 3), (3,)), ((2, 3, 3), (3, 4))),
    *(((2, 1, 3, 3), (5, 3, 2)), ((3, 3), (4, 3, 2)), ((0, 0), (0,)), ((0, 0), (0, 2))),
    *(((3, 3), (3, 0)), ((0, 3, 3), (3,)), ((0, 3, 3), (3, 2))),
]


@pytest.mark.parametrize(("a", "b"), SYSTEMS, ids=str)
def test_solve(a: Any, b: Any, device: flow.Device) -> None:
    for first, second in zip((*FLOATS, "int32"), (*FLOATS[::-1], "bool"), strict=True):
        matrix = numbers(a, first) if first in FLOATS else np.eye(a[-1], dtype=first) + np.zeros(a)
        check("solve", device, matrix, numbers(b, second, 1))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        *(((4, 2), (4,)), ((4, 2), (4, 3)), ((2, 4), (2, 3)), ((3, 3), (3, 1))),
        *(((0, 3), (0, 2)), ((3, 0), (3, 2)), ((3, 3), (3, 0)), ((4, 2), (4, 0))),
    ],
    ids=str,
)
def test_lstsq(a: Any, b: Any, device: flow.Device) -> None:
    for dtype in FLOATS:
        check("lstsq", device, numbers(a, dtype), numbers(b, dtype, 1))
    deficient = np.ones(a)
    check("lstsq", device, deficient, numbers(b, "float64"), rcond=1e-10)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 7, 10, -1, -2, -3, -5])
def test_matrix_power(n: int, device: flow.Device) -> None:
    for dtype in (*FLOATS, "int64"):
        if n >= 0 or dtype in FLOATS:
            check_power(device, numbers((2, 3, 3), dtype), n)
    check_power(device, np.zeros((0, 0)), n)


def test_layouts(device: flow.Device) -> None:
    x, b = positive(numbers((2, 5, 5), "float64")), numbers((2, 5, 3), "float64")
    for layout in ("fortran", "negative", "strided"):
        y = laid_out(x, layout)
        steps = (
            (slice(None, None, -1),) * 3 if layout == "negative" else (slice(None, None, 1),) * 3
        )
        t = flow.tensor(np.ascontiguousarray(y[steps]), device=device)[steps]
        for name in ("inv", "cholesky", "eigh", "qr", "svd", "det"):
            same(getattr(np.linalg, name)(y), getattr(flow.linalg, name)(t), name)
    t, u = flow.tensor(x, device=device), flow.tensor(b, device=device)
    same(np.linalg.solve(x.mT, b[::-1]), flow.linalg.solve(t.mT, u[::-1]))
    row = flow.broadcast_to(t[:1], (4, 5, 5))
    same(np.linalg.inv(np.broadcast_to(x[:1], (4, 5, 5))), flow.linalg.inv(row))
    same(np.linalg.inv(x.real), flow.linalg.inv(flow.astype(t, "complex128").real))


def test_the_operand_of_qr_is_left_alone(device: flow.Device) -> None:
    x = numbers((4, 3), "float64")
    t = flow.tensor(x, device=device)
    flow.linalg.qr(t)
    same(x, t)


# --- norms


@pytest.mark.parametrize("shape", MATRICES, ids=str)
def test_matrix_norms(shape: tuple[int, ...], device: flow.Device) -> None:
    for dtype in (*FLOATS, "int16"):
        x = numbers(shape, dtype)
        for order in ORDERS:
            for keepdims in (False, True):
                try:
                    expected = np.linalg.matrix_norm(x, ord=order, keepdims=keepdims)
                except ValueError:
                    with pytest.raises(ValueError, match="no elements"):
                        flow.linalg.matrix_norm(flow.tensor(x, device=device), ord=order)
                else:
                    given = flow.tensor(x, device=device)
                    seen = flow.linalg.matrix_norm(given, ord=order, keepdims=keepdims)
                    assert seen.shape == expected.shape
                    assert seen.dtype == expected.dtype
                    assert np.allclose(seen.numpy(), expected, rtol=1e-5)


@pytest.mark.parametrize("shape", [(7,), (3, 4), (2, 3, 4), (0,), (3, 0)], ids=str)
def test_vector_norms(shape: tuple[int, ...], device: flow.Device) -> None:
    axes: list[Any] = [None, 0, -1] + ([(0, 1), (1, 0), (-1, 0)] if len(shape) > 1 else [])
    for dtype in (*FLOATS, "int16", "float16"):
        x = numbers(shape, dtype)
        for axis in axes:
            for keepdims in (False, True):
                for order in (2, 1, 0, np.inf):
                    check_norm("vector_norm", device, x, axis=axis, ord=order, keepdims=keepdims)
                for order in (3, 0.5, -1, -2):  # NumPy's scalars have a power of their own
                    keywords = {"axis": axis, "ord": order, "keepdims": keepdims}
                    expected = np.asarray(np.linalg.vector_norm(x, **keywords))
                    seen = flow.linalg.vector_norm(flow.tensor(x, device=device), **keywords)
                    assert (seen.dtype, seen.shape) == (expected.dtype, expected.shape)
                    rtol = 2e-3 if dtype == "float16" else 1e-6
                    assert np.allclose(seen.numpy(), expected, rtol, equal_nan=True)


def test_norm(device: flow.Device) -> None:
    for dtype in FLOATS:
        x = numbers((4, 5), dtype)
        check_norm("norm", device, x)
        check_norm("norm", device, x[0])
        check_norm("norm", device, numbers((2, 3, 4), dtype))
        check_norm("norm", device, x, axis=1, keepdims=True)
        for order in (None, *ORDERS):
            check_norm("norm", device, x, order)
            expected = np.linalg.norm(numbers((3, 4, 2), dtype), order, axis=(2, 0), keepdims=True)
            given = flow.tensor(numbers((3, 4, 2), dtype), device=device)
            seen = flow.linalg.norm(given, order, axis=(2, 0), keepdims=True)
            assert np.allclose(seen.numpy(), expected, rtol=1e-5)
        for order in (None, 2, 0, 1, 3, np.inf, -np.inf):
            check_norm("norm", device, x[0], order)
    for bad in ({"ord": 3}, {"ord": "fro", "axis": 0}, {"axis": (0, 0)}, {"ord": "x"}):
        with pytest.raises(ValueError, match=r"\[norm\]"):
            flow.linalg.norm(flow.ones((2, 2)), **bad)
    with pytest.raises(ValueError, match="one or two axes"):
        flow.linalg.norm(flow.ones((2, 2, 2)), 2)
    with pytest.raises(IndexError):
        flow.linalg.norm(flow.ones(2), axis=1)


def test_cond(device: flow.Device) -> None:
    for dtype in FLOATS:
        x = numbers((2, 3, 3), dtype)
        for order in (None, *ORDERS):
            expected = np.linalg.cond(x, order)
            seen = flow.linalg.cond(flow.tensor(x, device=device), order)
            assert seen.dtype == expected.dtype
            assert np.allclose(seen.numpy(), expected, rtol=1e-4)
    odd = np.array([[[1.0, 0], [0, 0]], [[np.nan, 0], [0, 1]], [[2, 0], [0, 4]]])
    with np.errstate(all="ignore"):
        expected = np.linalg.cond(odd, 1)
    same(expected, flow.linalg.cond(flow.tensor(odd, device=device), 1))
    with pytest.raises(np.linalg.LinAlgError, match=r"\[cond\]"):
        flow.linalg.cond(flow.zeros((0, 0)))


# --- products


@pytest.mark.parametrize("dtype", DTYPES)
def test_products(dtype: str, device: flow.Device) -> None:
    x, y = numbers((2, 3, 4), "int8").astype(dtype), numbers((4, 3), "int8", 1).astype(dtype)
    if dtype[0] == "c":
        x, y = x + 2j * x[::-1], y - 1j
    t, u = flow.tensor(x, device=device), flow.tensor(y, device=device)
    same(np.vecdot(x, y.T), flow.vecdot(t, u.T))
    same(np.vecdot(x, x, axis=0), flow.vecdot(t, t, axis=0))
    same(np.tensordot(x, y, axes=1), flow.tensordot(t, u, axes=1))
    same(np.tensordot(x, y, axes=([2, 1], [0, 1])), flow.tensordot(t, u, axes=([2, 1], [0, 1])))
    same(np.tensordot(x, y, axes=(-2, 1)), flow.tensordot(t, u, axes=(-2, 1)))
    same(np.tensordot(x, y, axes=0), flow.tensordot(t, u, axes=0))
    same(np.dot(x, y), flow.dot(t, u))
    same(np.dot(x[0], y[:, 0]), t[0].dot(u[:, 0]))
    same(np.dot(x, y[:, 0]), flow.dot(t, u[:, 0]))
    same(np.inner(x, y.T), flow.inner(t, u.T))
    same(np.vdot(x[0], y.T), flow.vdot(t[0], u.T))
    same(np.matvec(x, y[:, 0]), flow.matvec(t, u[:, 0]))
    same(np.vecmat(y[:, 0], x.mT), flow.vecmat(u[:, 0], t.mT))
    same(np.outer(x, y), flow.outer(t, u))
    same(np.linalg.outer(y[0], y[1]), flow.linalg.outer(u[0], u[1]))
    same(np.kron(x, y), flow.kron(t, u))
    same(np.kron(y[0], x), flow.kron(u[0], t))
    same(np.trace(y), flow.trace(u))
    same(np.trace(x, 1, 2, 0, dtype="complex128"), t.trace(1, 2, 0, dtype="complex128"))
    same(np.linalg.trace(x, offset=-1), flow.linalg.trace(t, offset=-1))


def test_scalar_products(device: flow.Device) -> None:
    x = flow.arange(3, device=device)
    same(np.arange(3) * 2, flow.dot(x, 2))
    same(np.arange(3) * 2, flow.inner(2, x))
    same(np.arange(3) * 2, flow.outer(x, 2)[:, 0])
    same(np.asarray(10), flow.vecdot(x, np.array([0, 2, 4])))
    assert flow.matmul(np.eye(3), x).device == device


@pytest.mark.parametrize(
    ("a", "b", "axis"),
    [
        *(((3,), (3,), -1), ((2, 3), (3,), -1), ((3, 2), (3, 2), 0), ((4, 1, 3), (2, 3), -1)),
        *(((2, 3, 1), (3, 5), -2), ((0, 3), (0, 3), 1)),
    ],
    ids=str,
)
def test_cross(a: Any, b: Any, axis: int, device: flow.Device) -> None:
    for dtype in ("int64", "float32", "complex128"):
        x, y = numbers(a, dtype), numbers(b, dtype, 1)
        expected = np.cross(np.moveaxis(x, axis, -1), np.moveaxis(y, axis, -1))
        seen = flow.linalg.cross(flow.tensor(x, device=device), y, axis=axis)
        same(np.moveaxis(expected, -1, axis), seen)
    with pytest.raises(ValueError, match=r"\[cross\] expected vectors of 3"):
        flow.cross(flow.ones(2), flow.ones(2))


def test_diagonals_are_views(device: flow.Device) -> None:
    x = np.arange(60).reshape(3, 4, 5)
    t = flow.tensor(x, device=device)
    for offset in (0, 1, -2, 4, -3, 100, -100, 2**70):
        for axes in ((0, 1), (1, 0), (2, 0), (-1, -2)):
            place = max(-1000, min(offset, 1000))
            same(np.diagonal(x, place, *axes), flow.diagonal(t, offset, *axes))
        same(np.linalg.diagonal(x, offset=place), flow.linalg.diagonal(t, offset=offset))
    flow.linalg.diagonal(t)[...] = -1
    t.diagonal(1, 0, 2)[0] += 5
    x[:, np.arange(4), np.arange(4)] = -1
    x[np.arange(3), 0, np.arange(3) + 1] += 5
    same(x, t)
    with pytest.raises(ValueError, match=r"\[diagonal\]"):
        flow.diagonal(flow.ones(3))
    with pytest.raises(ValueError, match=r"\[diagonal\]"):
        flow.diagonal(flow.ones((3, 3)), 0, 1, -1)
    with pytest.raises(IndexError, match=r"\[diagonal\]"):
        flow.diagonal(flow.ones((3, 3)), 0, 0, 2)


def test_multi_dot(device: flow.Device) -> None:
    shapes = [(10, 100), (100, 5), (5, 50), (50, 1)]
    arrays = [numbers(shape, "int64", i) for i, shape in enumerate(shapes)]
    given = [flow.tensor(x, device=device) for x in arrays]
    for count in (2, 3, 4):
        same(np.linalg.multi_dot(arrays[:count]), flow.linalg.multi_dot(given[:count]))
    ends = [arrays[0][0], arrays[1], arrays[2][:, 0]]
    same(
        np.linalg.multi_dot(ends),
        flow.linalg.multi_dot([given[0][0], given[1], given[2][:, 0]]),
    )
    with pytest.raises(ValueError, match=r"\[multi_dot\]"):
        flow.linalg.multi_dot([given[0]])


# --- errors


@pytest.mark.parametrize("name", ["inv", "det", "slogdet", "cholesky", "eigh", "eigvals", "eig"])
def test_shapes_are_checked_at_the_call(name: str) -> None:
    for shape in ((2, 3), (3,), (), (2, 3, 2)):
        with pytest.raises(np.linalg.LinAlgError, match=rf"\[{name}\] expected .*, got shape"):
            getattr(flow.linalg, name)(flow.ones(shape))
    with pytest.raises(TypeError, match=rf"\[{name}\] unsupported dtype float16"):
        getattr(flow.linalg, name)(flow.ones((2, 2), dtype="float16"))


def test_bad_arguments() -> None:
    square = flow.eye(3)
    for other in (flow.ones(4), flow.ones((4, 1)), flow.ones(())):
        with pytest.raises(ValueError, match=r"\[solve\]"):
            flow.linalg.solve(square, other)
    with pytest.raises(ValueError, match=r"\[solve\] the leading dimensions"):
        flow.linalg.solve(flow.ones((2, 3, 3)), flow.ones((3, 3, 1)))
    with pytest.raises(np.linalg.LinAlgError, match=r"\[qr\]"):
        flow.linalg.qr(flow.ones(3))
    with pytest.raises(ValueError, match=r"\[qr\] expected mode"):
        flow.linalg.qr(square, mode="x")
    with pytest.raises(ValueError, match=r"\[eigh\] expected UPLO"):
        flow.linalg.eigh(square, UPLO="X")
    with pytest.raises(ValueError, match=r"\[vecdot\]"):
        flow.vecdot(flow.ones(3), flow.ones(4))
    with pytest.raises(ValueError, match=r"\[vecdot\]"):
        flow.vecdot(flow.ones(()), flow.ones(4))
    with pytest.raises(ValueError, match=r"\[tensordot\]"):
        flow.tensordot(flow.ones((2, 3)), flow.ones((4, 2)), axes=1)
    with pytest.raises(IndexError, match=r"\[tensordot\]"):
        flow.tensordot(flow.ones(2), flow.ones(2), axes=2)
    with pytest.raises(IndexError, match=r"\[tensordot\]"):
        flow.tensordot(flow.ones(2), flow.ones(2), axes=(1, 0))
    with pytest.raises(ValueError, match="mock:0"):
        flow.linalg.solve(square.mock(0), flow.ones(3))
    with pytest.raises(np.linalg.LinAlgError, match=r"\[lstsq\]"):
        flow.linalg.lstsq(square, flow.ones(2))


FAILING: list[tuple[str, Callable[[Any], Any], np.ndarray, str]] = [
    ("inv", flow.linalg.inv, np.zeros((2, 2)), "singular"),
    (
        "solve",
        lambda x: flow.linalg.solve(x, flow.ones(2, device=x.device)),
        np.ones((2, 2)),
        "sing",
    ),
    ("cholesky", flow.linalg.cholesky, -np.eye(2), "positive definite"),
    ("eig", lambda x: flow.linalg.eig(x).eigenvectors, np.array([[np.nan, 0], [0, 1]]), "finite"),
    ("eigvals", flow.linalg.eigvals, np.array([[1, 0], [np.inf, 1]]), "finite"),
    ("svd", lambda x: flow.linalg.svd(x).U, np.full((3, 3), np.nan), "converge"),
]


@pytest.mark.parametrize(("name", "call", "bad", "message"), FAILING, ids=lambda x: str(x)[:9])
def test_numbers_are_checked_at_the_look(
    name: str,
    call: Callable[[Any], Any],
    bad: np.ndarray,
    message: str,
    device: flow.Device,
    naive: bool,
) -> None:
    result = call(flow.tensor(bad, device=device))
    dependent = result * 2
    sound = flow.linalg.inv(flow.tensor(np.eye(2) * 2, device=device))
    for poisoned in (result, dependent):
        with pytest.raises(np.linalg.LinAlgError, match=rf"\[{name}\] .*{message}") as error:
            poisoned.numpy()
        assert "test_linalg.py" in "".join(error.value.__notes__)
    same(np.eye(2) / 2, sound)
    with pytest.raises(np.linalg.LinAlgError):
        flow.synchronize()


def test_one_singular_matrix_of_a_batch_fails_the_batch(device: flow.Device) -> None:
    batch = np.stack([np.eye(40), np.zeros((40, 40)), np.eye(40)])
    with pytest.raises(np.linalg.LinAlgError):
        flow.linalg.inv(flow.tensor(batch, device=device)).numpy()
    same(batch[[0, 2]], flow.linalg.inv(flow.tensor(batch, device=device)[::2]))
    with pytest.raises(np.linalg.LinAlgError):
        flow.synchronize()


def test_a_poisoned_operand_of_qr_poisons(device: flow.Device) -> None:
    broken = flow.linalg.inv(flow.zeros((2, 2), device=device))
    with pytest.raises(np.linalg.LinAlgError, match=r"\[inv\]"):
        flow.linalg.qr(broken).R.numpy()
    with pytest.raises(np.linalg.LinAlgError):
        flow.synchronize()


def test_flags_of_the_thread_stay() -> None:
    """An operation that raised the invalid flag before does not make the next one fail."""
    nan = flow.tensor([np.inf]) - flow.tensor([np.inf])
    same(np.eye(2), flow.linalg.inv(flow.eye(2)))
    assert np.isnan(nan.item())
    x = np.full((2, 2), np.nan)
    same(np.linalg.inv(x), flow.linalg.inv(flow.tensor(x)))


def test_threads(device: flow.Device) -> None:
    """Results of one thread do not see the failures of another."""
    x = positive(numbers((6, 30, 30), "float64"))
    expected = flow.linalg.inv(flow.tensor(x)).numpy()
    wrong: list[Any] = []

    def good() -> None:
        for _ in range(10):
            seen = flow.linalg.inv(flow.tensor(x, device=device)).numpy()
            if not np.array_equal(seen, expected):
                wrong.append(seen)

    def bad() -> None:
        for _ in range(10):
            failed = flow.linalg.inv(flow.zeros((30, 30), device=device))
            try:
                failed.numpy()
                wrong.append(failed)
            except np.linalg.LinAlgError:
                pass

    threads = [threading.Thread(target=f) for f in (good, bad, good)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    with pytest.raises(np.linalg.LinAlgError):
        flow.synchronize()


def test_in_program_order(device: flow.Device) -> None:
    """A write after the call does not change the result; one before it does."""
    x = positive(numbers((60, 60), "float64"))
    t = flow.tensor(x, device=device)
    before = flow.linalg.inv(t)
    t[...] = flow.eye(60, device=device)
    after = flow.linalg.inv(t)
    same(flow.linalg.inv(flow.tensor(x)).numpy(), before)
    same(np.eye(60), after)
