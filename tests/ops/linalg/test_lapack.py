"""Linear algebra by the library of products: results, bits, failures, and whose threads work.

Shapes are on both sides of the borders: up to 24 rows are NumPy's own, above 256 rows matrices are
factored block by block.
"""

import os
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.ops.blas import in_force

pytestmark = pytest.mark.slow


def product_of_eigh(xp: Any, x: Any, triangle: str = "L") -> Any:
    values, vectors = xp.linalg.eigh(x, triangle)
    return (vectors * values[..., None, :]) @ xp.conj(vectors.mT)


def products_of_svd(xp: Any, x: Any, full: bool) -> Any:
    u, s, vh = xp.linalg.svd(x, full_matrices=full)
    return (u[..., : s.shape[-1]] * s[..., None, :]) @ vh[..., : s.shape[-1], :]


def gram(xp: Any, q: Any) -> Any:
    return xp.conj(q.mT) @ q


# Of any matrix; nothing that depends on the signs of vectors.
RECTANGULAR: dict[str, Callable[[Any, Any], Any]] = {
    "qr": lambda xp, x: (lambda q, r: q @ r)(*xp.linalg.qr(x)),
    "Q": lambda xp, x: gram(xp, xp.linalg.qr(x)[0]),
    "complete qr": lambda xp, x: (lambda q, r: q @ r)(*xp.linalg.qr(x, mode="complete")),
    "complete Q": lambda xp, x: gram(xp, xp.linalg.qr(x, mode="complete")[0]),
    "R": lambda xp, x: xp.abs(xp.linalg.qr(x, mode="r")),
    "raw qr": lambda xp, x: xp.linalg.qr(x, mode="raw")[0],
    "svd": lambda xp, x: products_of_svd(xp, x, full=True),
    "reduced svd": lambda xp, x: products_of_svd(xp, x, full=False),
    "U": lambda xp, x: gram(xp, xp.linalg.svd(x)[0]),
    "svdvals": lambda xp, x: xp.linalg.svdvals(x),
    "pinv": lambda xp, x: xp.linalg.pinv(x),
    "matrix_rank": lambda xp, x: xp.linalg.matrix_rank(x),
    "nuclear norm": lambda xp, x: xp.linalg.matrix_norm(x, ord="nuc"),
    "norm 2": lambda xp, x: xp.linalg.matrix_norm(x, ord=2),
    "cond": lambda xp, x: xp.linalg.cond(x),
}
# Of Hermitian, positive definite ones.
SQUARE: dict[str, Callable[[Any, Any], Any]] = {
    "det": lambda xp, x: xp.linalg.det(x),
    "slogdet": lambda xp, x: xp.linalg.slogdet(x)[1],
    "solve": lambda xp, x: xp.linalg.solve(x, x[..., ::-1, :]),
    "solve of a column": lambda xp, x: xp.linalg.solve(x, x[..., :1]),
    "inv": lambda xp, x: xp.linalg.inv(x),
    "cholesky": lambda xp, x: xp.linalg.cholesky(x),
    "upper cholesky": lambda xp, x: xp.linalg.cholesky(x, upper=True),
    "eigh": product_of_eigh,
    "upper eigh": lambda xp, x: product_of_eigh(xp, x, "U"),
    "eigvalsh": lambda xp, x: xp.linalg.eigvalsh(x),
    "upper eigvalsh": lambda xp, x: xp.linalg.eigvalsh(x, "U"),
    "eig": lambda xp, x: (lambda w, v: x @ v - v * w[..., None, :])(*xp.linalg.eig(x)),
    "eigvals": lambda xp, x: xp.sort(xp.real(xp.linalg.eigvals(x)), axis=-1),
    "inverse power": lambda xp, x: xp.linalg.matrix_power(x, -2),
}
ALL = {**SQUARE, **RECTANGULAR}


def numbers(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    x = np.random.default_rng(0).normal(size=shape)
    return (x + 1j * x[..., ::-1, :] if dtype[0] == "c" else x).astype(dtype)


def positive(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    x = numbers(shape, dtype)
    return (x @ x.conj().mT / 100 + np.eye(shape[-1])).astype(dtype)


def close(expected: Any, seen: flow.Tensor) -> None:
    """Fail unless dtype and shape are NumPy's, and the elements to the precision."""
    expected = np.asarray(expected)
    assert (expected.shape, seen.shape) == (seen.shape, expected.shape)
    assert seen.dtype == expected.dtype or seen.dtype == np.result_type(expected.dtype, "c8")
    single = expected.dtype.name in ("float32", "complex64")
    tolerance = (2e-3 if single else 1e-7) * max(1.0, np.abs(expected).max(initial=0))
    np.testing.assert_allclose(seen.numpy(), expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("name", ALL)
def test_bits_do_not_depend_on_the_threads(name: str, dtype: str, device: flow.Device) -> None:
    large = [(270, 270)] if dtype == "float64" and device.type == "cpu" else []
    for shape in ((3, 7, 7), (2, 3, 45, 45), *large):
        x = positive(shape, dtype)
        t = flow.tensor(x, device=device)
        with flow.flags(num_threads=1):
            alone = ALL[name](flow, t)
        close(ALL[name](np, x), alone)
        turned = flow.matrix_transpose(flow.matrix_transpose(t).copy())
        for threads in (2, 3):
            with flow.flags(num_threads=threads):
                assert np.array_equal(alone.numpy(), ALL[name](flow, t).numpy())
                assert np.array_equal(alone.numpy(), ALL[name](flow, turned).numpy())
        with flow.flags(sync=True):
            assert np.array_equal(alone.numpy(), ALL[name](flow, t).numpy())


@pytest.mark.parametrize("name", ALL)
def test_dtypes_and_borders(name: str, device: flow.Device) -> None:
    for dtype in ("float32", "complex64", "int64", "bool"):
        for shape in ((24, 24), (25, 25), (2, 0, 0), (0, 30, 30)):
            if 0 in shape[-2:] and "cond" in name:
                continue  # no matrix without elements has a condition
            x = positive(shape, dtype) if dtype[0] in "fc" else np.eye(shape[-1]).astype(dtype)
            x = np.broadcast_to(x, shape)
            if name in ("eig", "inverse power") and dtype == "bool":
                continue  # NumPy has no difference and no power of truths
            close(ALL[name](np, x), ALL[name](flow, flow.tensor(x, device=device)))


@pytest.mark.parametrize("dtype", ["float64", "complex64"])
@pytest.mark.parametrize("name", RECTANGULAR)
def test_rectangular_matrices(name: str, dtype: str, device: flow.Device) -> None:
    large = [(300, 270)] if device.type == "cpu" else []
    for shape in ((40, 30), (2, 30, 40), (400, 3), (0, 40), (40, 0), *large):
        if 0 in shape and name in ("cond", "norm 2"):
            continue
        x = numbers(shape, dtype)
        x[..., : min(shape[-2:]), : min(shape[-2:])] += 40 * np.eye(min(shape[-2:]), dtype=dtype)
        close(RECTANGULAR[name](np, x), RECTANGULAR[name](flow, flow.tensor(x, device=device)))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_least_squares(dtype: str, device: flow.Device) -> None:
    for rows, columns, sides in ((60, 30, 3), (30, 60, 3), (40, 40, 1), (50, 20, 0), (400, 2, 30)):
        a, b = numbers((rows, columns), dtype), numbers((rows, sides), dtype)
        for seen, expected in zip(
            flow.linalg.lstsq(flow.tensor(a, device=device), flow.tensor(b, device=device)),
            np.linalg.lstsq(a, b),
            strict=True,
        ):
            close(expected, seen)
    deficient = np.repeat(numbers((40, 1), dtype), 30, axis=1)
    found = flow.linalg.lstsq(flow.tensor(deficient, device=device), numbers((40, 2), dtype))
    assert (found.rank.item(), found.residuals.shape) == (1, (0,))


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_blocks_of_all_sizes(dtype: str, device: flow.Device) -> None:
    for rows in (25, 47, 48, 64, 97, 129, 200):
        x = numbers((rows, rows + 3), dtype)
        t = flow.tensor(x, device=device)
        for name in ("qr", "complete qr", "complete Q", "R"):
            close(RECTANGULAR[name](np, x.T), RECTANGULAR[name](flow, t.T))
        close(RECTANGULAR["qr"](np, x), RECTANGULAR["qr"](flow, t))
        square = x[:, :rows] + 2 * rows**0.5 * np.eye(rows)
        m = flow.tensor(square, device=device)
        close(np.linalg.inv(square), flow.linalg.inv(m))
        for sides in (1, 3, 4, 7, 49):
            right = numbers((rows, sides), dtype)
            expected = np.linalg.solve(square, right)
            close(expected, flow.linalg.solve(m, flow.tensor(right, device=device)))


@pytest.mark.parametrize("function", ["inv", "solve"])
def test_where_a_nan_or_an_infinity_leads(function: str, device: flow.Device) -> None:
    for place in ((0, 0), (0, 29), (29, 0), (29, 29), (7, 20), (20, 7)):
        for value in (np.nan, np.inf):
            x = positive((30, 30), "float64")
            x[place] = value
            call = ALL[function]
            t = flow.tensor(x, device=device)
            assert outcome(lambda f=call, t=t: f(flow, t).numpy()) == outcome(
                lambda f=call, x=x: f(np, x)
            ), (place, value)


def outcome(call: Callable[[], Any]) -> Any:
    """Where the result is NaN, or the error."""
    try:
        with np.errstate(all="ignore"):
            return np.isnan(np.asarray(call())).tolist()
    except np.linalg.LinAlgError:
        return "error"


@pytest.mark.parametrize("rows", [30, 260])
def test_failures_are_numpys(rows: int, device: flow.Device) -> None:
    low = -positive((rows, rows), "float64")
    singular = np.ones((rows, rows))
    half = positive((rows, rows), "float64")
    half[rows // 2 :] = 0
    late = positive((rows, rows), "float64")
    late[-1, -1] = -1
    nan = np.full((rows, rows), np.nan)
    functions = {name: ALL[name] for name in ("det", "inv", "solve", "cholesky", "svdvals")}
    for name, function in functions.items():
        for x in (low, singular, half, late, nan):
            seen = outcome(lambda x=x, f=function: f(flow, flow.tensor(x, device=device)).numpy())
            assert seen == outcome(lambda x=x, f=function: f(np, x)), name
    stack = np.stack([half, np.eye(rows), low])
    for call in (flow.linalg.inv, flow.linalg.cholesky):
        with pytest.raises(np.linalg.LinAlgError):
            call(flow.tensor(stack, device=device)).numpy()
    with pytest.raises(np.linalg.LinAlgError):
        flow.synchronize()


def test_layouts(device: flow.Device) -> None:
    x = positive((4, 60, 60), "complex128")
    wide = flow.tensor(np.repeat(x, 2, axis=-1), device=device)
    t = flow.tensor(x, device=device)
    for name, function in ALL.items():
        expected = function(flow, t).numpy()
        assert np.array_equal(expected, function(flow, wide[..., ::2]).numpy()), name
        reversed_ = flow.flip(t, axis=(0, 2)).copy()[::-1, :, ::-1]
        assert np.array_equal(expected, function(flow, reversed_).numpy()), name
    same = flow.linalg.solve(t, t)  # one tensor as both operands
    np.testing.assert_allclose(same.numpy(), np.broadcast_to(np.eye(60), x.shape), atol=1e-9)


def test_several_threads_at_once() -> None:
    x = positive((90, 90), "float64")
    large = positive((300, 300), "float64")
    expected = {name: f(flow, flow.tensor(x)).numpy() for name, f in ALL.items()}
    inverse = flow.linalg.inv(flow.tensor(large)).numpy()
    wrong: list[str] = []

    def run(reverse: bool) -> None:
        t, u = flow.tensor(x), flow.tensor(large)
        for name in sorted(ALL, reverse=reverse):
            if not np.array_equal(ALL[name](flow, t).numpy(), expected[name]):
                wrong.append(name)
            if not np.array_equal(flow.linalg.inv(u).numpy(), inverse):
                wrong.append("large")

    threads = [threading.Thread(target=run, args=(i % 2 == 0,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_after_a_fork(run_program: Callable[..., Any]) -> None:
    code = """
import os
import numpy as np, oneflow_lite as flow
x = np.random.default_rng(0).normal(size=(300, 300))
def results():
    t = flow.tensor(x)
    return [flow.linalg.inv(t).numpy(), flow.linalg.qr(t).R.numpy(), flow.linalg.svdvals(t).numpy()]
before = results()
child = os.fork()
equal = all(np.array_equal(a, b) for a, b in zip(before, results()))
if child == 0:
    os._exit(0 if equal else 1)
print(equal, os.waitpid(child, 0)[1])
"""
    done = run_program(code)
    assert (done.returncode, done.stdout) == (0, "True 0\n"), done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_threads_of_numpys_library_stay_asleep(run_program: Callable[..., Any]) -> None:
    if not in_force().core:
        pytest.skip("this build has no OpenBLAS")
    code = """
import os, time
from tests.ops.linalg.test_lapack import ALL, positive
theirs = sorted(set(os.listdir("/proc/self/task")) - {str(os.getpid())})
def used():
    return [int(open(f"/proc/self/task/{one}/schedstat").read().split()[0]) for one in theirs]
import oneflow_lite as flow
arrays = [positive((rows, rows), "complex128") for rows in (20, 40, 120, 270)]
before = None
while before != (before := used()):  # they spin for a while after they were started
    time.sleep(0.3)
for x in map(flow.tensor, arrays):
    for name, function in ALL.items():
        function(flow, x).numpy(), function(flow, x.real).numpy()
        if used() != before:
            print(name, x.shape)
            before = used()
real = flow.tensor(arrays[-1].real)
for name in ("matmul", "inner", "dot", "vdot", "vecdot", "tensordot", "matvec", "vecmat"):
    for x in (real, real.astype("float32")):
        left, right = (x[0] if name == "vecmat" else x), (x[0] if name == "matvec" else x)
        getattr(flow, name)(left, right).numpy()
    if used() != before:
        print(name)
        before = used()
print("done")
"""
    done = run_program(code)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
