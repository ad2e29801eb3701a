"""What fusion must not change: order, bits, memory, errors, waiting, forks and exits."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.fusion import fused, held, saved
from tests.support.machine import in_thread
from tests.support.oracle import same, values

N = 40_000
RNG = np.random.default_rng(17)
A = RNG.normal(size=N)
B = RNG.normal(size=N)
PLANE = RNG.normal(size=(120, 330))
CUBE = RNG.normal(size=(20, 30, 40))


@pytest.fixture(params=[1, 3], ids=lambda n: f"{n} threads", autouse=True)
def threads(request: pytest.FixtureRequest) -> Any:
    with flow.flags(num_threads=request.param):
        yield request.param


def zeros(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Zeros of both signs: which of them wins tells where a loop's vectors are."""
    return np.where(RNG.random(shape) < 0.5, -0.0, 0.0).astype(dtype)


# --- reductions of what is not in row-major order


def test_reductions_of_a_transposed_input() -> None:
    """The input is in memory, in another order than the elements of the group."""

    def program(xp: Any, x: Any, y: Any) -> Any:
        z = y * 2 + 1
        t = x.T
        return (z, t.sum(axis=0), t.max(axis=0), t.sum(axis=1), t.sum(), z * z)

    saved(program, PLANE, RNG.normal(size=PLANE.size))


def test_reductions_of_a_transposed_result() -> None:
    def program(xp: Any, x: Any) -> Any:
        z = x.T * 2
        s = z.sum(axis=0)
        w = (z - s) * z
        return (z, s, z.sum(axis=1), w.sum(axis=0), w.max(axis=1), w.sum())

    saved(program, PLANE)


@pytest.mark.parametrize("axes", [(0, 1, 2), (2, 0, 1), (1, 0, 2), (2, 1, 0)])
def test_reductions_of_permuted_axes(axes: tuple[int, ...]) -> None:
    def program(xp: Any, x: Any) -> list[Any]:
        x = xp.permute_dims(x, axes)
        z = x * 2
        results = [z]
        for axis in (0, 1, 2, (0, 1), (0, 2), (1, 2), None):
            results += [z.sum(axis=axis), (x + 1).max(axis=axis), x.sum(axis=axis)]
        return results

    saved(program, CUBE)


def rows(xp: Any, x: Any) -> list[Any]:
    """Reductions of everything on the way, and kernels over what they give."""
    results: list[Any] = []
    for axis in (None, *range(x.ndim), tuple(range(x.ndim))[1:]):
        s = xp.sum((x + 1) * x, axis=axis, keepdims=True)
        q = (x - s) * 2
        q /= 1 + abs(s)
        results += [q, s * 2 + 1]
        s += s
        m = xp.mean(q, axis=axis, keepdims=True)
        results += [s, m, (q + s).max(axis=axis), ((q - m) ** 2).sum(axis=axis)]
    return results


SHAPES = [(1, 9000), (9000, 1), (4000, 2), (1, 1, 9000), (2, 3, 4, 500), (12, 1000), (3, 7, 11, 13)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_axes_of_every_length(shape: tuple[int, ...]) -> None:
    saved(rows, RNG.normal(size=shape))


REPEATED = RNG.normal(size=(10, 14)).astype(np.float32)


@pytest.mark.parametrize(
    "operand",
    [
        REPEATED[0, :7],
        REPEATED[0, ::2],
        REPEATED[0, 6::-1],
        REPEATED[:5, :7],
        REPEATED[::2, ::-2],
        REPEATED[:7, :5].T,
        REPEATED[:5, :1],
        REPEATED[0, :7].astype(np.float64),
        REPEATED[:5, :7] > 0,
    ],
)
@pytest.mark.parametrize("rows", [90, 147, 9001])
def test_what_repeats_is_laid_out_once(operand: np.ndarray, rows: int) -> None:
    """Of a few tiles, and of many, among which a thread begins anywhere."""

    def program(xp: Any, x: Any, y: Any, z: Any) -> Any:
        positive = y > 0
        centred = (x - y) * z
        return xp.maximum(centred + y, x) * centred + xp.where(positive, x, centred)

    x = RNG.normal(size=(rows, 5, 7)).astype(np.float32)
    turned = 2 * operand[::-1]
    assert saved(program, x, operand, turned)["groups"] == 1
    jitted = flow.jit(lambda *operands: program(flow, *operands))
    for other in (operand, turned, operand):  # its own memory, in each run
        for _ in range(2):
            seen = jitted(*map(flow.tensor, (x, other, turned)))
            same(program(np, x, other, turned), seen)


def test_a_row_beside_each_sum_of_a_row() -> None:
    def program(xp: Any, x: Any, y: Any) -> Any:
        sums = (x * 2).sum(axis=-1)
        return x / xp.expand_dims(sums * y + y, axis=-1)

    assert saved(program, RNG.normal(size=(3000, 7, 16)), RNG.normal(size=7))["groups"] == 1


@pytest.mark.parametrize("dtype", ["float16", "float32", "int32", "uint8", "bool", "int64"])
def test_rows_of_every_kind(dtype: str) -> None:
    def program(xp: Any, x: Any, y: Any) -> Any:
        s, m = x.sum(axis=1, keepdims=True), x.max(axis=1, keepdims=True)
        u = y * s - m
        v = u * u
        k = u / xp.sqrt(1 + v.sum(axis=1, keepdims=True))
        p = v.sum(axis=1)
        p *= k.sum(axis=1)
        return (s, m, u, v, k, p, (v + x).sum(axis=0), k.astype(xp.float32).sum(axis=-1).sum())

    saved(program, values((50, 600), dtype, 3), values((50, 600), "float32", 4))


# --- loops whose bits depend on where they begin


@pytest.mark.parametrize("shape", [(7, 5003), (3, 9001), (129, 129), (5, 20_001)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_signs_of_zeros_beside_broadcast_rows(shape: tuple[int, ...], dtype: str) -> None:
    def program(xp: Any, x: Any, row: Any) -> Any:
        y = xp.negative(row) * xp.abs(x + 1)
        a, b = xp.maximum(x, y), xp.minimum(x, y)
        c, d = xp.maximum(b, a), xp.minimum(x, b)
        return (y, a, b, c, d, xp.fmax(x, y), xp.maximum(y, row), xp.copysign(1.0 + x, a).sum())

    saved(program, zeros(shape, dtype), zeros(shape[-1:], dtype))


@pytest.mark.parametrize("shape", [(7, 5003), (3, 9001), (35_021,)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_casts_out_of_range(shape: tuple[int, ...], dtype: str) -> None:
    def program(xp: Any, x: Any, row: Any) -> Any:
        y = x + row
        u = y.astype(xp.uint32)
        return (u, (y * 1).astype(xp.uint32) + u, u.sum(), y.astype(xp.int32), y.astype(xp.uint64))

    big = RNG.normal(size=shape).astype(dtype) * 1e12
    saved(program, big.astype(dtype), RNG.normal(size=shape[-1:]).astype(dtype))


# --- views of one storage


def real_and_imaginary(xp: Any, a: Any, b: Any) -> Any:
    w = a * 2j + b
    re, im = xp.real(w), xp.imag(w)
    sums = re + im
    re += b
    im *= b
    squares = w * w
    im += re
    return (w, sums, squares, re, im, w + sums)


def halves(xp: Any, a: Any, b: Any) -> Any:
    a[1:] += a[:-1]
    b[::2] *= b[1::2]
    c = a + b
    a[::-1] += b
    b[:] = a[::-1]
    c[5:] -= (c * c)[:-5]
    return (a, b, c, c.sum())


def pieces(xp: Any, a: Any, b: Any) -> Any:
    """Disjoint, shifted and equal parts of one storage, written in turn."""
    n = N // 4
    x, y, z = a[:n], a[n : 2 * n], a[n // 2 : n + n // 2]
    x += b[:n]
    y *= x
    z -= y
    x += z
    y[...] = x
    return (a, x, y, z, a.sum())


def square_transposed(xp: Any, a: Any, b: Any) -> Any:
    t = a.reshape(200, 200) * 2
    t += t.T
    u = t.T + b.reshape(200, 200)
    t -= u.T
    u *= t
    s = t.sum(axis=1, keepdims=True)
    t /= s
    t -= t.T.sum(axis=0)
    return (t, u, s)


def one_element_for_all(xp: Any, a: Any, b: Any) -> Any:
    """What is broadcast is changed between its uses."""
    first = a[:1]
    c = b * first
    first += 1
    d = b * first
    a += d
    e = b * first
    first *= 0
    return (a, c, d, e)


VIEWS = [real_and_imaginary, halves, pieces, square_transposed, one_element_for_all]


@pytest.mark.parametrize("program", VIEWS, ids=lambda program: program.__name__)
def test_views_of_one_storage(program: Callable[..., Any]) -> None:
    saved(program, A, B)


def test_results_of_reductions_are_written() -> None:
    def program(xp: Any, x: Any) -> Any:
        s = x.sum(axis=1, keepdims=True)
        y = x - s
        s *= 2
        z = y / s
        s[::2] = 1
        return (s, y, z, z * s, (z * s).sum(axis=1))

    saved(program, RNG.normal(size=(100, 400)))


def test_a_long_chain_of_temporaries() -> None:
    """Many groups; what is dropped while it is queued never needs memory."""
    x = flow.tensor(A)
    before = fused()
    for _ in range(3000):
        x = x * 0.5 + 1.0
    same(_repeat(A, 3000), x)
    assert fused()["instructions"] > before["instructions"]


def _repeat(x: np.ndarray, count: int) -> np.ndarray:
    for _ in range(count):
        x = x * 0.5 + 1.0
    return x


# --- memory that is taken over from what nobody needs any more


@pytest.mark.parametrize("fusion", ["0", "always"], ids=["alone", "fused"])
def test_memory_is_not_taken_from_what_is_read_in_two_ways(fusion: str) -> None:
    def program(xp: Any, a: Any) -> Any:
        x = a * 2
        reversed_ = x + x[::-1]
        x = a * 3
        shifted = x - x[0]
        x = a * 4
        scaled = x[5:6] * x
        x = a * 5
        chosen = xp.where(x > 0, x, x[::-1])
        x = a * 6
        written = x * 2  # takes it
        return (reversed_, shifted, scaled, chosen, written)

    with flow.flags(fusion=fusion):
        saved(program, A)


def test_rows_do_not_take_the_memory_of_elements() -> None:
    """A part of what ends is read once a row, and what begins is as large as the whole."""

    def program(xp: Any, p: Any, q: Any) -> Any:
        x = xp.cumulative_sum(q.reshape(-1))
        y = p * 2
        v = x[: p.shape[0]] * y.sum(axis=1)
        del x
        z = y + v[:, None]
        return (z, z * 2, y, v)

    saved(program, RNG.normal(size=(1000, 100)), RNG.normal(size=(1000, 100)))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "complex64", "float16"])
def test_what_takes_memory_has_numpys_bits(dtype: str) -> None:
    def program(xp: Any, x: Any, y: Any) -> list[Any]:
        results = []
        for name in ("maximum", "fmin", "add", "divide", "arctan2", "power"):
            if dtype == "complex64" and name == "arctan2":
                continue
            for swapped in (False, True):
                copy = x * 1
                results.append(getattr(xp, name)(*((y, copy) if swapped else (copy, y))))
        for name in ("sqrt", "sin", "exp", "abs", "negative", "square", "reciprocal"):
            results.append(getattr(xp, name)(x * 1))
        return results

    x = zeros((N,), dtype) if dtype != "int32" else np.arange(1, N + 1, dtype=dtype)
    x[::7] = 3
    for fusion in ("0", "always"):
        with flow.flags(fusion=fusion):
            saved(program, x, x[::-1].copy() if dtype != "int32" else x % 5)


# --- memory, sharing, errors


def test_a_group_that_does_not_fit_leaves_room_for_what_stands_between() -> None:
    """Its later members have no memory before their turn."""
    a = flow.tensor(np.ones(1 << 18))  # 2 MiB
    flow.synchronize()
    flow.empty_cache()
    with flow.flags(memory_limit=flow.memory_stats("cpu")["in_use"] + (5 << 20)):
        with held(a):
            first = a + 1
            total = flow.cumulative_sum(first)[-1:] + 0  # needs memory beside `first`
            del first
            kept = [a + 2, a + 3]
        assert total.item() == 2 << 18
        assert [float(x[0].item()) for x in kept] == [3.0, 4.0]
        flow.synchronize()


@pytest.mark.parametrize("share", [np.asarray, np.from_dlpack], ids=["buffer", "dlpack"])
def test_sharing_waits_for_what_is_queued(share: Callable[[Any], np.ndarray]) -> None:
    a = flow.tensor(A)
    opened = threading.Event()
    call = flow.vm.host_func(lambda *_: opened.wait(), writes=[a])
    x = a * 2 + 1
    x *= x
    other = x - 1
    threading.Timer(0.02, opened.set).start()
    view = share(x)
    same((A * 2 + 1) ** 2, view)
    x += 1  # shared: it has run when the call returns
    same((A * 2 + 1) * (A * 2 + 1) + 1, np.array(view))
    same((A * 2 + 1) * (A * 2 + 1) - 1, other)
    call.result()


def test_a_poisoned_operand_in_the_middle() -> None:
    a, n = flow.tensor(A), flow.tensor(np.arange(N))
    with held(a, n):
        x = a * 2
        x += n**-n  # fails when it runs
        after = x + 1
        sound = a * 2 + 1
        a += 1
    for poisoned in (x, after):
        with pytest.raises(ValueError, match="negative integer powers"):
            poisoned.numpy()
    same(A * 2 + 1, sound)
    same(A + 1, a)
    with pytest.raises(ValueError, match="negative"):
        flow.synchronize()


def test_host_functions_and_barriers_stand_between() -> None:
    a = flow.tensor(A)
    seen: list[np.ndarray] = []
    with held(a):
        x = a * 2 + 1
        read = flow.vm.host_func(lambda x: seen.append(np.array(x)), reads=[x])
        x *= 3
        flow.vm.barrier()
        y = x + a
        a[...] = 0
    read.result()
    same([A * 2 + 1], seen)
    same((A * 2 + 1) * 3 + A, y)
    same(np.zeros(N), a)


def test_flags_change_while_work_is_queued() -> None:
    a = flow.tensor(A)
    with held(a):
        x = a * 2
        for setting in ({"fusion": "0"}, {"num_threads": 3}, {"inline": "1us"}, {"fusion": "1"}):
            with flow.flags(**setting):
                x = x * 1.5 + 1
    wanted = A * 2
    for _ in range(4):
        wanted = wanted * 1.5 + 1
    same(wanted, x)


def test_threads_share_what_they_write() -> None:
    """Each keeps its own order; sums of whole numbers are the same in any."""
    total = flow.zeros(N)
    results: list[Any] = []

    def work() -> None:
        for _ in range(40):
            total.__iadd__(1)
            x = flow.ones(N) * 2
            x += 1
            results.append((x * x).sum())

    running = [in_thread(work) for _ in range(4)]
    for thread in running:
        thread.join()
    same(np.full(N, 160.0), total)
    assert {x.item() for x in results} == {9.0 * N}


# --- processes

START = """
import os, signal, threading, time
import numpy as np
import oneflow_lite as flow

opened = threading.Event()
a = flow.ones(200_000)
call = flow.vm.host_func(lambda *_: opened.wait(), writes=[a])
x, kept = a, []
for i in range(200):
    x = flow.sin(x * 1.5 + i)
    kept.append(x)
wanted = np.ones(200_000)
for i in range(200):
    wanted = np.sin(wanted * 1.5 + i)
"""

PROGRAMS = {
    "exit": "opened.set()",
    "exit by another thread": "threading.Thread(target=opened.set).start()",
    "looks": "opened.set(); kept[3].numpy(); print(bool((x.numpy() == wanted).all()))",
    "fork": """
opened.set()
kept[5].numpy()  # the groups behind it are on their way
child = os.fork()
good = bool((x.numpy() == wanted).all()) and bool((x + a * 2 == wanted + 2).all())
if child == 0:
    os._exit(0 if good else 1)
print(good, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
""",
    "interrupt": """
threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    threading.Timer(0.1, opened.set).start()
    x.numpy()
    print("not interrupted")
except KeyboardInterrupt:
    print(bool((x.numpy() == wanted).all()))
""",
}
SAID = {"looks": "True", "fork": "True 0", "interrupt": "True"}


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:.*fork.*:RuntimeWarning")
@pytest.mark.parametrize("name", PROGRAMS)
def test_leaving_with_a_group_in_flight(run_program: Callable[..., Any], name: str) -> None:
    done = run_program(START + PROGRAMS[name], timeout=100)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == SAID.get(name, "")
