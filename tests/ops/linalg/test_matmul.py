"""Matrix products: NumPy's shapes and dtypes; integers exactly."""

import operator
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.oracle import DTYPES, same

SHAPES = [
    *(
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 4)),
        ((2, 3), (3, 4)),
        ((1, 1), (1, 1)),
        ((5, 2, 3), (3, 4)),
    ),
    *(
        ((2, 3), (5, 3, 4)),
        ((5, 1, 2, 3), (6, 3, 4)),
        ((2, 0), (0, 3)),
        ((0, 3), (3, 2)),
        ((0,), (0,)),
    ),
    *(((4, 0, 3), (3, 2)), ((3,), (2, 3, 4)), ((2, 4, 3), (3,)), ((70, 80), (80, 90))),
]
BAD = [
    ((2, 3), (2, 3)),
    ((3,), (4,)),
    ((2, 3), (4,)),
    ((2, 2, 3), (3, 3, 4)),
    ((), (3,)),
    ((3,), ()),
    ((), ()),
]


THREADS = (1, 2, 3, 7)
FLOATS = ("float16", "float32", "float64", "complex64", "complex128")


def turned(x: Any) -> Any:
    return x.swapaxes(-1, -2) if isinstance(x, np.ndarray) else flow.matrix_transpose(x)


def fresh(x: Any) -> Any:
    """The same numbers, row-major."""
    return np.ascontiguousarray(x) if isinstance(x, np.ndarray) else flow.concat([x], axis=0)


def spread(x: Any, xp: Any) -> Any:
    return xp.broadcast_to(x[..., :1, :], x.shape)


# How an operand may lie in memory.
LAYOUTS: dict[str, Callable[[Any, Any], Any]] = {
    "rows": lambda xp, x: x,
    "columns": lambda xp, x: turned(fresh(turned(x))),
    "of wider rows": lambda xp, x: xp.concat([x, x], axis=-1)[..., x.shape[-1] :],
    "of longer columns": lambda xp, x: turned(
        xp.concat([turned(x), turned(x)], axis=-1)[..., : x.shape[-2]]
    ),
    "every second": lambda xp, x: xp.repeat(xp.repeat(x, 2, axis=-1), 2, axis=-2)[..., ::2, ::2],
    "upside down": lambda xp, x: fresh(x[..., ::-1, :])[..., ::-1, :],
    "mirrored": lambda xp, x: fresh(x[..., ::-1])[..., ::-1],
    "one row": lambda xp, x: spread(x, xp),
    "one column": lambda xp, x: turned(spread(turned(x), xp)),
}


def numbers(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 5, shape).astype(dtype)


@pytest.mark.parametrize(("a", "b"), SHAPES, ids=str)
def test_small_integers_are_exact_in_every_dtype(a: Any, b: Any, device: flow.Device) -> None:
    for dtype in DTYPES:
        x, y = numbers(a, dtype, 1), numbers(b, dtype, 2)
        same(x @ y, flow.tensor(x, device=device) @ flow.tensor(y, device=device))
        same(
            np.matmul(x, y),
            flow.matmul(flow.tensor(x, device=device), flow.tensor(y, device=device)),
        )


@pytest.mark.parametrize(("a", "b"), BAD, ids=str)
def test_bad_shapes(a: Any, b: Any) -> None:
    with pytest.raises(ValueError, match=r"\[matmul\]"):
        flow.matmul(flow.ones(a), flow.ones(b))


@pytest.mark.parametrize("a", DTYPES)
def test_promotion(a: str) -> None:
    for b in DTYPES:
        x, y = numbers((3, 4), a, 1), numbers((4, 2), b, 2)
        same(x @ y, flow.tensor(x) @ flow.tensor(y))


def test_views(device: flow.Device) -> None:
    x, y = numbers((40, 60), "float32", 1), numbers((40, 60), "float32", 2)
    t, u = flow.tensor(x, device=device), flow.tensor(y, device=device)
    same(x @ y.T, t @ u.T)
    same(x.T @ y, t.T @ u)
    same(x[::2, ::-3] @ y.T[::3, 1:9], t[::2, ::-3] @ u.T[::3, 1:9])
    same(np.broadcast_to(x[:1], (7, 60)) @ y.T, flow.broadcast_to(t[:1], (7, 60)) @ u.T)
    same(x @ x.T, t @ t.T)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_floats_are_close(dtype: str, device: flow.Device) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(65, 130)).astype(dtype), rng.normal(size=(130, 33)).astype(dtype)
    result = flow.tensor(x, device=device) @ flow.tensor(y, device=device)
    assert result.dtype == dtype
    assert np.allclose(result.numpy(), x @ y, rtol=1e-4, atol=1e-4)


def test_operators(device: flow.Device) -> None:
    x = np.arange(9.0).reshape(3, 3)
    t = flow.tensor(x, device=device)
    same(x @ x, t @ x)
    same(x @ x, x @ t)
    for other in (2, 2.0, "a", None):
        with pytest.raises((TypeError, ValueError)):
            operator.matmul(t, other)
    alias = t
    t @= x + 1
    same(x @ (x + 1), alias)
    t @= t
    expected = (x @ (x + 1)) @ (x @ (x + 1))
    same(expected, alias)


def test_special_values() -> None:
    x = np.array([[np.nan, 1], [0, np.inf]])
    with np.errstate(all="ignore"):
        same(x @ np.eye(2), flow.tensor(x) @ flow.eye(2))


def test_a_product_of_something_not_ready(device: flow.Device) -> None:
    with flow.flags(mock="jitter=100us"):
        t = flow.eye(50, device=device)
        for i in range(10):
            product = t @ (flow.full((50, 50), i, dtype="float64", device=device) + 1)
            t[0, 0] = 5
            t[0, 0] = 1
            same(np.full((50, 50), i + 1.0), product)


# --- floating-point products: near the exact ones, in every layout, with any number of threads


def noise(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    made = rng.normal(size=shape)
    return (made + 1j * rng.normal(size=shape) if dtype[0] == "c" else made).astype(dtype)


def near(x: np.ndarray, y: np.ndarray, seen: flow.Tensor) -> None:
    """Within the error bound of a sum of products (twice); one rounding more for float16."""
    wide = "complex128" if x.dtype.kind == "c" else "float64"
    reference = np.matmul(x.astype(wide), y.astype(wide))
    scale = np.matmul(abs(x).astype("float64"), abs(y).astype("float64"))
    computed = np.dtype("float32") if x.dtype == np.float16 else x.dtype
    bound = 4 * (x.shape[-1] + 2) * np.finfo(computed).eps * scale
    if x.dtype == np.float16:
        bound += 0.501 * np.spacing(abs(reference).astype("float16")).astype("float64")
    assert (seen.dtype, seen.shape) == (x.dtype, reference.shape)
    assert (abs(seen.numpy().astype(wide) - reference) <= bound).all()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("left", LAYOUTS)
def test_layouts(left: str, dtype: str, device: flow.Device) -> None:
    for m, k, n in ((1, 9, 8), (8, 9, 1), (1, 40, 1), (35, 33, 40)):
        x, y = noise((2, m, k), dtype, 1), noise((2, k, n), dtype, 2)
        t, u = flow.tensor(x, device=device), flow.tensor(y, device=device)
        for right in LAYOUTS:
            a, b = LAYOUTS[left](np, x), LAYOUTS[right](np, y)
            c, d = LAYOUTS[left](flow, t), LAYOUTS[right](flow, u)
            near(a, b, c @ d)


@pytest.mark.parametrize("dtype", FLOATS)
def test_batches_that_become_one_product(dtype: str, device: flow.Device) -> None:
    for a, b in (
        ((6, 4, 3), (3, 5)),
        ((6, 1, 3), (3, 5)),
        ((2, 6, 4, 3), (3, 5)),
        ((2, 6, 4, 3), (2, 1, 3, 5)),
        ((4, 3), (6, 3, 1)),
        ((4, 3), (6, 3, 5)),
        ((1, 3), (6, 3, 5)),
        ((6, 1, 3), (6, 3, 1)),
        ((1, 1, 3), (7, 6, 3, 1)),
        ((5, 1, 4, 3), (1, 6, 3, 2)),
    ):
        x, y = noise(a, dtype, 1), noise(b, dtype, 2)
        t, u = flow.tensor(x, device=device), flow.tensor(y, device=device)
        near(x, y, t @ u)
        near(x[..., ::-1, :], y, t[..., ::-1, :] @ u)
        near(turned(y), turned(x), turned(u) @ turned(t))


# (m, k, n): several parts of the depth (512), blocks of rows (70), rounds of panels (16 MiB).
PANELS = [(300, 600, 161), (257, 1030, 270), (1100, 129, 270), (256, 128, 1500), (290, 9000, 600)]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", PANELS, ids=str)
def test_large_products_of_any_layout(shape: Any, dtype: str, device: flow.Device) -> None:
    m, k, n = shape
    x, y = numbers((m, k), dtype, 1), numbers((k, n), dtype, 2)
    expected = x.astype("float64") @ y.astype("float64")
    t, u = flow.tensor(x, device=device), flow.tensor(y, device=device)
    for layout in ("rows", "columns", "every second", "upside down"):
        left, right = LAYOUTS[layout](flow, t), LAYOUTS[layout](flow, u)
        for result in (left @ u, t @ right, left @ right, (u.T @ left.T).T):
            same(expected.astype(dtype), result)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_is_not_finite_stays_in_its_rows_and_columns(dtype: str, device: flow.Device) -> None:
    x, y = np.ones((270, 300), dtype), np.ones((300, 150), dtype)
    x[17, 3], x[260, 299], y[100, 149] = np.nan, np.inf, -np.inf
    for _ in range(2):  # the second one works in memory that has held these
        same(x @ y, flow.tensor(x, device=device) @ flow.tensor(y, device=device))
    same(
        np.full((270, 150), 300, dtype),
        flow.ones((270, 300), dtype=dtype, device=device)
        @ flow.ones((300, 150), dtype=dtype, device=device),
    )


LARGE = [
    *((300, 200, 250), (1000, 64, 3), (2, 70_000, 3), (1, 100_000, 1), (1, 50_000, 1)),
    *((900, 900, 1), (1, 900, 900), (3, 1, 90_000), (700, 1100, 300), (256, 700, 2000)),
    *((112, 112, 112), (144, 144, 144), (165, 165, 165)),
]


@pytest.mark.parametrize("size", [64, 112, 144])
@pytest.mark.parametrize("dtype", FLOATS)
def test_products_of_a_batch_have_the_bits_of_one(dtype: str, size: int) -> None:
    x, y = noise((9, size, size), dtype, 1), noise((9, size, size), dtype, 2)
    t, u = flow.tensor(x), flow.tensor(y)
    with flow.flags(num_threads=1):
        alone = np.stack([(t[i] @ u[i]).numpy() for i in range(9)])
        squares = np.stack([(t[i] @ t[i].mT).numpy() for i in range(9)])
        with_one_square = np.stack([(t[i] @ t[8 - i].mT).numpy() for i in range(9)])
    for threads in THREADS:
        with flow.flags(num_threads=threads):
            for count in (1, 2, 3, 9):
                same(alone[:count], t[:count] @ u[:count])
                same(squares[:count], t[:count] @ t[:count].mT)
            same(with_one_square, t @ t[::-1].mT)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", LARGE, ids=str)
def test_bits_are_those_of_one_thread(shape: Any, dtype: str) -> None:
    m, k, n = shape
    x, y = noise((m, k), dtype, 1), noise((k, n), dtype, 2)
    t, u = flow.tensor(x), flow.tensor(y)
    with flow.flags(num_threads=1):
        alone = t @ u
        near(x, y, alone)
    for threads in THREADS[1:]:
        with flow.flags(num_threads=threads):
            for _ in range(2):
                same(alone.numpy(), t @ u)
    with flow.flags(sync=True):
        same(alone.numpy(), t @ u)
    same(alone.numpy(), t.mock() @ u.mock())


@pytest.mark.slow
@pytest.mark.parametrize("dtype", FLOATS)
def test_products_with_the_transpose_are_symmetric(dtype: str, device: flow.Device) -> None:
    for shape in ((400, 70), (129, 300), (50, 50), (3, 9)):
        x = noise(shape, dtype, 1)
        t = flow.tensor(x, device=device)
        for threads in (1, 3):
            with flow.flags(num_threads=threads):
                product = t @ t.T
                near(x, x.T, product)
                same(product.numpy().T, product)
                near(x.T, x, t.T @ t)


def test_batches_with_any_number_of_threads() -> None:
    for dtype in FLOATS:
        x, y = noise((300, 20, 30), dtype, 1), noise((300, 30, 25), dtype, 2)
        t, u = flow.tensor(x), flow.tensor(y)
        for threads in THREADS:
            with flow.flags(num_threads=threads):
                near(x, y, t @ u)
                near(x[:3], y[:3], t[:3] @ u[:3])
                near(x[:, :1], y[:, :, :1], t[:, :1] @ u[:, :, :1])


def test_half_precision_is_rounded_once() -> None:
    x, y = noise((60, 500), "float16", 1), noise((500, 40), "float16", 2)
    exact = x.astype("float64") @ y.astype("float64")
    seen = (flow.tensor(x) @ flow.tensor(y)).numpy()
    assert abs(seen - exact).max() <= 1.01 * abs(x @ y - exact).max()
    large = np.full((2, 300), 60000, "float16")  # the sum of products is finite in float32
    alternating = np.array([[1, -1] * 150], "float16").T
    same(np.zeros((2, 1), "float16"), flow.tensor(large) @ flow.tensor(alternating))


@pytest.mark.parametrize("dtype", FLOATS)
def test_what_was_in_the_memory_of_the_result_does_not_matter(dtype: str) -> None:
    for m, k, n in ((40, 30, 20), (1, 30, 200), (200, 30, 1), (1, 3000, 1), (64, 64, 64)):
        x, y = noise((m, k), dtype, 1), noise((k, n), dtype, 2)
        t, u = flow.tensor(x), flow.tensor(y)
        for _ in range(3):
            flow.full((m, n), np.nan, dtype=dtype).numpy()  # its memory is free again
            near(x, y, t @ u)


def test_a_nan_spoils_its_row_only(device: flow.Device) -> None:
    for dtype in FLOATS:
        x, y = noise((90, 80), dtype, 1), noise((80, 70), dtype, 2)
        x[5, 7] = np.nan
        seen = (flow.tensor(x, device=device) @ flow.tensor(y, device=device)).numpy()
        assert np.isnan(seen[5]).all()
        assert np.isfinite(np.delete(seen, 5, axis=0)).all()


# --- integers


@pytest.mark.parametrize("dtype", [name for name in DTYPES if name not in FLOATS])
def test_integers_wrap_around(dtype: str, device: flow.Device) -> None:
    rng = np.random.default_rng(0)
    limits = (0, 1) if dtype == "bool" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    of = "uint8" if dtype == "bool" else dtype

    def draw(*shape: int) -> np.ndarray:
        return rng.integers(*limits, shape, dtype=of, endpoint=True).astype(dtype)

    for m, k, n in ((70, 300, 130), (1, 600, 90), (90, 600, 1), (1, 700, 1), (3, 2, 4), (5, 9, 65)):
        x, y = draw(2, m, k), draw(2, k, n)
        t, u = flow.tensor(x, device=device), flow.tensor(y, device=device)
        for layout, lay in LAYOUTS.items():
            same(lay(np, x) @ y, lay(flow, t) @ u, layout)
            same(x @ lay(np, y), t @ lay(flow, u), layout)
        with flow.flags(num_threads=3):
            same(x @ y, t @ u)


# --- products of vectors and of several axes


@pytest.mark.parametrize("dtype", ["int32", *FLOATS])
def test_vectors(dtype: str, device: flow.Device) -> None:
    x, y = noise((4, 5, 60), dtype, 1), noise((5, 60), dtype, 2)
    matrix = noise((5, 30, 60), dtype, 3)
    t, u, v = (flow.tensor(each, device=device) for each in (x, y, matrix))
    tolerance = {"rtol": 1e-2, "atol": 2e-2} if dtype == "float16" else {"rtol": 1e-4, "atol": 1e-4}
    for threads in THREADS:
        with flow.flags(num_threads=threads):
            for expected, seen in (
                (np.vecdot(x, y), flow.vecdot(t, u)),
                (np.vecdot(x, y[:, ::-1]), flow.vecdot(t, u[:, ::-1])),
                (np.matvec(matrix, x), flow.matvec(v, t)),
                (np.vecmat(x[..., :30], matrix), flow.vecmat(t[..., :30], v)),
                (np.vdot(x, x), flow.vdot(t, t)),
                (np.inner(x, y), flow.inner(t, u)),
                (np.tensordot(x, y, ((2, 1), (1, 0))), flow.tensordot(t, u, axes=((2, 1), (1, 0)))),
            ):
                assert seen.dtype == np.asarray(expected).dtype
                assert np.allclose(seen.numpy(), expected, **tolerance)


def test_vectors_that_do_not_fit() -> None:
    for call, name in (
        (lambda: flow.matvec(flow.ones((2, 3)), flow.ones(4)), "matvec"),
        (lambda: flow.matvec(flow.ones(3), flow.ones(3)), "matvec"),
        (lambda: flow.vecmat(flow.ones(3), flow.ones((2, 3))), "vecmat"),
        (lambda: flow.vecdot(flow.ones((2, 3)), flow.ones((4, 3))), "vecdot"),
        (lambda: flow.vecdot(flow.ones((2, 1)), flow.ones((2, 3))), "vecdot"),
    ):
        with pytest.raises(ValueError, match=rf"\[{name}\]"):
            call()


# --- from several threads


def test_several_threads_issue_products(device: flow.Device) -> None:
    x, y = noise((150, 120), "float64", 1), noise((120, 110), "float64", 2)
    t, u = flow.tensor(x, device=device), flow.tensor(y, device=device)
    failures: list[BaseException] = []

    def issue() -> None:
        try:
            products = [t @ u for _ in range(10)]
            for product in products:
                near(x, y, product)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=issue) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
