"""Functions that are pushed: their order, their errors, and what waits for them."""

import asyncio
import concurrent.futures
import ctypes
import gc
import random
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite import engine
from tests.support.machine import here, run_in_threads

C_TYPE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))
C_STATUS = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))


@pytest.fixture(params=[1, 2, 4])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    with flow.flags(engine_threads=request.param):
        yield request.param


@pytest.fixture
def held() -> Iterator[Callable[[engine.Var], None]]:
    """Keeps a variable in use until the test ends, or calls it without one."""
    goes_on = threading.Event()

    def hold(var: engine.Var | None = None) -> None:
        if var is None:
            goes_on.set()
        else:
            engine.push(goes_on.wait, writes=[var], blocking=True)

    yield hold
    goes_on.set()


# --- order


def test_writers_run_in_the_order_of_their_pushes(threads: int, naive: bool) -> None:
    var, order = engine.Var(), []
    for k in range(200):
        engine.push(lambda k=k: order.append(k), writes=[var])
    engine.wait(var)
    assert order == list(range(200))


def test_readers_run_at_once_between_two_writers() -> None:
    var, barrier = engine.Var(), threading.Barrier(3)
    seen: list[str] = []
    engine.push(lambda: seen.append("first"), writes=[var])
    for _ in range(3):
        engine.push(lambda: (barrier.wait(60), seen.append("read")), reads=[var], blocking=True)
    engine.push(lambda: seen.append("last"), writes=[var]).wait()
    assert seen == ["first", *["read"] * 3, "last"]


def test_independent_functions_run_at_once() -> None:
    with flow.flags(engine_threads=3):
        barrier = threading.Barrier(3)
        for done in [engine.push(barrier.wait, name="meet") for _ in range(3)]:
            done.wait(60)


def test_the_highest_priority_runs_first() -> None:
    with flow.flags(engine_threads=1):
        begun, goes_on, order = threading.Event(), threading.Event(), []
        engine.push(lambda: (begun.set(), goes_on.wait(60)))
        assert begun.wait(60)
        for priority in (0, 5, -3, 5, 1):
            engine.push(lambda p=priority: order.append(p), priority=priority)
        goes_on.set()
        engine.wait_all()
    assert order == [5, 5, 1, 0, -3]


def test_tensors_order_functions_with_operations(naive: bool) -> None:
    x, y = flow.arange(50_000.0), flow.zeros(50_000)
    for k in range(5):
        x += 1
        engine.push(lambda a, b: np.multiply(a, 2, out=b), reads=[x], writes=[y])
        z = y + 1
        assert (z.numpy() == (np.arange(50_000.0) + k + 1) * 2 + 1).all()


def test_views_of_one_memory_are_ordered(threads: int) -> None:
    x = flow.zeros(8)
    for k in range(100):
        engine.push(lambda a, k=k: a.fill(k), writes=[x[:4]])
        engine.push(lambda a, b: b.__setitem__(..., a), reads=[x[:4]], writes=[x[4:]])
    assert x.tolist() == [99] * 8


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_equal_the_serial_run(seed: int, naive: bool) -> None:
    rng = random.Random(seed)
    variables = [engine.Var(f"v{k}") for k in range(6)]
    numbers, expected = [0] * 6, [0] * 6
    timers = []

    def change(reads: list[int], writes: list[int], k: int, of: list[int]) -> None:
        total = sum(of[i] for i in reads) + k
        for i in writes:
            of[i] = (of[i] * 31 + total) % 1_000_003

    with flow.flags(engine_threads=1 + seed % 4):
        for k in range(120):
            chosen = rng.sample(range(6), rng.randint(1, 4))
            cut = rng.randint(0, len(chosen) - 1)
            reads, writes = chosen[:cut], chosen[cut:]
            change(reads, writes, k, expected)
            lists = [[variables[i] for i in part] for part in (reads, writes)]
            kind = rng.random()
            if kind < 0.2:

                def later(
                    _: Any, on_complete: Any, args: Any = (reads, writes, k, numbers)
                ) -> None:
                    def end() -> None:
                        change(*args)
                        on_complete()

                    timers.append(threading.Thread(target=end))
                    timers[-1].start()

                engine.push_async(later, *lists)
            else:
                engine.push(
                    lambda a=(reads, writes, k, numbers): change(*a),
                    *lists,
                    priority=rng.randint(-2, 2),
                    blocking=kind < 0.4,
                )
        for variable in variables:
            engine.wait(variable)
    for each in timers:
        each.join()
    assert numbers == expected


def test_each_threads_order_is_kept(threads: int) -> None:
    var, order = engine.Var(), []

    def work(number: int) -> None:
        for k in range(100):
            engine.push(lambda k=k: order.append((number, k)), writes=[var])

    run_in_threads(work, 4)
    engine.wait(var)
    for number in range(4):
        assert [k for n, k in order if n == number] == list(range(100))


def test_functions_push_and_wait(threads: int) -> None:
    def outer() -> int:
        inner = [engine.push(lambda k=k: k * k) for k in range(10)]
        return sum(done.result() for done in inner)

    assert engine.push(outer).result(60) == 285


def test_a_function_cannot_wait_for_itself() -> None:
    var = engine.Var()
    done = engine.push(lambda: engine.wait(var), writes=[var])
    with pytest.raises(RuntimeError, match="cannot wait for itself"):
        done.result(60)


# --- errors


def test_dependents_are_skipped_with_the_error_and_its_line(naive: bool) -> None:
    var, ran = engine.Var("table"), []
    line = here() + 1
    failed = engine.push(lambda: 1 / 0, writes=[var], name="divide")
    skipped = engine.push(lambda: ran.append(1), reads=[var])
    for wait in (failed.result, skipped.result, lambda: engine.wait(var)):
        with pytest.raises(ZeroDivisionError) as caught:
            wait()
        assert any(f"{__file__}:{line}" in note for note in caught.value.__notes__)
    assert ran == []
    var.clear_error()
    engine.push(lambda: ran.append(2), writes=[var]).wait()
    assert ran == [2]
    with pytest.raises(ZeroDivisionError):
        engine.wait_all()


def test_a_failed_function_poisons_its_tensors() -> None:
    x = flow.ones(5)
    engine.push(lambda _: 1 / 0, writes=[x])
    with pytest.raises(ZeroDivisionError):
        (x + 1).numpy()


def test_an_error_of_what_gives_the_variables_is_the_users() -> None:
    def variables() -> Iterator[engine.Var]:
        yield engine.Var()
        raise TypeError("the user's own")

    with pytest.raises(TypeError, match="^the user's own$"):
        engine.push(int, reads=variables())


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda v: engine.push(int, reads=[v], writes=[v]), ValueError, '"t" is given twice'),
        (lambda v: engine.push(int, reads=[v, v]), ValueError, '"t" is given twice'),
        (lambda v: engine.push(int, writes=[3]), TypeError, r"writes\[0\]: expected a Var"),
        (lambda v: engine.push(int, reads=5), TypeError, r"^\[push\] reads: expected a sequence"),
        (
            lambda v: engine.push_async(int, writes=v),
            TypeError,
            r"^\[push_async\] writes: .*got Var",
        ),
        (lambda v: engine.Operator(int, v), TypeError, r"^\[Operator\] reads: .*, got Var"),
        (
            lambda v: engine.push(int, writes=flow.ones(2)),
            TypeError,
            r"^\[push\] writes: expected a sequence of Var and Tensor, got Tensor$",
        ),
        (lambda v: engine.push(int, flow.ones(0)), TypeError, "reads: .*, got Tensor"),
        (lambda v: engine.Operator(int, [], flow.ones(2)), TypeError, "writes: .*, got Tensor"),
        (lambda v: engine.push(int, writes=np.array([v])), TypeError, "writes: .*, got ndarray"),
        (lambda v: engine.push(int, reads=""), TypeError, "reads: .*, got str"),
        (
            lambda v: engine.push(int, writes=[flow.broadcast_to(flow.ones(3), (2, 3))]),
            ValueError,
            r"^\[push\] cannot write into a broadcast view of shape \(2, 3\)",
        ),
        (lambda v: engine.push(5), TypeError, "fn: expected a callable"),
        (lambda v: engine.push(int, priority="a"), TypeError, r"^\[push\] priority: .*, got 'a'"),
        (lambda v: engine.push(int, name=3), TypeError, r"^\[push\] name: expected a string"),
        (lambda v: engine.push(int, stream=3), TypeError, r"^\[push\] stream: expected a string"),
        (lambda v: engine.push(int).result("a"), TypeError, r"^\[Completion\] timeout: .*got str"),
        (lambda v: engine.push(int, priority=2**31), OverflowError, "priority"),
        (lambda v: engine.push(int, reads=[flow.ones(2, device="mock:0")]), ValueError, "mock:0"),
        (lambda v: engine.wait(3), TypeError, "expected a Var or a Tensor"),
        (lambda v: engine.delete(3), TypeError, "expected a Var"),
        (lambda v: engine.Operator(int, [v], [v]), ValueError, '"t" is given twice'),
        (lambda v: engine.CFunction(0), ValueError, "address is 0"),
        (lambda v: engine.CFunction("f"), TypeError, "function: expected an address"),
        (lambda v: engine.CFunction(2**64), OverflowError, r"^\[CFunction\] function: .*64 bits"),
        (lambda v: engine.CFunction(-(2**64)), OverflowError, "function: .*64 bits"),
        (lambda v: engine.CFunction(1, 2**64), OverflowError, "argument: .*64 bits"),
        (lambda v: engine.push_async(engine.CFunction(1)), TypeError, "use push"),
        (
            lambda v: engine.push(engine.CFunction(1), reads=[flow.ones((3, 3)).T]),
            ValueError,
            "row-major",
        ),
    ],
)
def test_bad_arguments(call: Callable[[Any], Any], error: type, words: str) -> None:
    with pytest.raises(error, match=words):
        call(engine.Var("t"))


def test_a_deleted_variable_is_refused() -> None:
    var, order = engine.Var("t"), []
    operator = engine.Operator(lambda: order.append("use"), reads=[var])
    operator.push()
    done = engine.delete(var, lambda: order.append("delete"))
    for use in (lambda: engine.push(int, [var]), operator.push, var.delete):
        with pytest.raises(RuntimeError, match='"t" has been deleted'):
            use()
    done.wait()
    assert order == ["use", "delete"]


# --- completions


def test_cancel(held: Callable[..., None]) -> None:
    var, ran = engine.Var(), []
    held(var)
    waiting = engine.push(lambda: ran.append(1), writes=[var])
    behind = engine.push(lambda: ran.append(2), reads=[var])
    assert waiting.cancel()
    assert (waiting.done(), waiting.cancelled(), waiting.cancel()) == (True, True, True)
    with pytest.raises(concurrent.futures.CancelledError):
        waiting.result()
    held()
    with pytest.raises(concurrent.futures.CancelledError):
        behind.result(60)
    assert ran == []
    engine.wait_all()  # what was cancelled is no failure


def test_time_is_limited(held: Callable[..., None]) -> None:
    var = engine.Var()
    held(var)
    behind = engine.push(int, reads=[var])
    for timeout in (0, 0.01, -1):
        with pytest.raises(TimeoutError):
            behind.result(timeout)
    held()
    assert behind.result(60) == 0


def test_concurrent_futures_take_it(held: Callable[..., None]) -> None:
    var = engine.Var()
    held(var)
    late, soon = engine.push(int, reads=[var]), engine.push(lambda: 5)
    done, left = concurrent.futures.wait(
        [late, soon], 60, return_when=concurrent.futures.FIRST_COMPLETED
    )
    assert (done, left) == ({soon}, {late})
    held()
    found = list(concurrent.futures.as_completed([late, soon], 60))
    assert set(found) == {late, soon}


def test_callbacks(naive: bool) -> None:
    told, seen = threading.Event(), []
    done = engine.push_async(lambda _, on_complete: threading.Timer(0.02, on_complete, [3]).start())
    done.add_done_callback(lambda each: (seen.append(each.result()), told.set()))
    assert told.wait(60)
    done.add_done_callback(lambda each: seen.append(each))
    assert seen == [3, done]


def test_await() -> None:
    async def main() -> list[Any]:
        first = await engine.push(lambda: (time.sleep(0.02), 1)[1])
        rest = await asyncio.gather(*[engine.push(lambda k=k: k) for k in range(20)])
        y = flow.ones(50_000) + 1
        await y.ready()
        with pytest.raises(ZeroDivisionError):
            await engine.push(lambda: 1 / 0)
        return [first, rest, y.is_ready()]

    assert asyncio.run(main()) == [1, list(range(20)), True]


@pytest.mark.parametrize("is_over", [False, True])
def test_await_of_one_that_raises_stop_iteration(is_over: bool) -> None:
    go_on = threading.Event()

    def function() -> Any:
        assert go_on.wait(60)
        return next(iter([]))

    async def main() -> None:
        done = engine.push(function)
        if is_over:
            go_on.set()
            assert isinstance(done.exception(60), StopIteration)
        asyncio.get_running_loop().call_soon(go_on.set)
        await asyncio.wait_for(done, 60)

    with pytest.raises(RuntimeError, match="raised StopIteration") as caught:
        asyncio.run(main())
    assert isinstance(caught.value.__cause__, StopIteration)


def test_the_lock_of_a_completion_is_its_own() -> None:
    """Else concurrent.futures.wait, which takes locks in the order of futures, may never return."""
    held, other = engine.push(int), engine.push(int)
    wait = concurrent.futures.wait
    thread = threading.Thread(target=wait, args=([other, engine.push(int)],), daemon=True)
    with held._condition:
        thread.start()
        thread.join(20)
        assert not thread.is_alive()


def test_one_that_completes_later() -> None:
    kept: list[Any] = []
    var = engine.Var()
    done = engine.push_async(lambda _, end: kept.append(end), writes=[var])
    behind = engine.push(lambda: "behind", reads=[var])
    while not kept:
        time.sleep(0)
    assert not behind.done()
    kept[0]("text")
    with pytest.raises(RuntimeError, match="had completed before"):
        kept[0]()
    assert (done.result(60), behind.result(60)) == ("text", "behind")
    assert isinstance(
        engine.push_async(lambda _, end: end(error=KeyError("k"))).exception(60), KeyError
    )
    dropped = engine.push_async(lambda *_: None)
    assert "dropped without a call" in str(dropped.exception(60))


# --- functions of C


def test_a_c_function_gets_pointers(naive: bool) -> None:
    @C_TYPE
    def add(argument: int, memory: Any) -> None:
        number = ctypes.cast(argument, ctypes.POINTER(ctypes.c_double))[0]
        source, target = (ctypes.cast(memory[k], ctypes.POINTER(ctypes.c_double)) for k in (0, 1))
        for k in range(4):
            target[k] = source[k] + number

    x, y = flow.arange(4.0), flow.zeros(4)
    code = engine.CFunction(add, ctypes.c_double(10))
    engine.push(code, reads=[x], writes=[y])
    assert y.tolist() == [10, 11, 12, 13]
    step = engine.Operator(code, reads=[x], writes=[y[::1]])
    for _ in range(100):
        step.push()
    assert y.tolist() == [10, 11, 12, 13]


def test_a_status_is_an_error() -> None:
    for status in (0, 7):
        code = engine.CFunction(C_STATUS(lambda argument, memory, s=status: s), status=True)
        error = engine.push(code, name="check").exception(60)
        assert (error is None) == (status == 0)
        assert status == 0 or "[check] returned status 7" in str(error)


def test_a_push_does_not_wait_for_memory_that_numpy_shares() -> None:
    x, goes_on, calls = flow.zeros(3), threading.Event(), []
    seen = np.asarray(x)

    def fill(array: Any) -> None:
        goes_on.wait(60)
        array += 1

    step = engine.Operator(fill, writes=[x], blocking=True)
    done = [step.push(), engine.push(fill, writes=[x], blocking=True)]
    done.append(flow.vm.host_func(fill, writes=[x]))
    done.append(engine.push_async(lambda run, end, a: calls.append(end), writes=[x]))
    assert not any(one.done() for one in done)
    goes_on.set()
    done[2].wait()
    assert seen.tolist() == [3, 3, 3]
    while not calls:
        time.sleep(0.001)
    calls[0]()
    x += 1  # an operation comes after them, and has run when it returns
    assert seen.tolist() == [4, 4, 4]
    assert all(one.done() for one in done)


# --- lifetimes and reports


def test_objects_are_let_go() -> None:
    class Held:
        def work(self) -> "Held":
            return self

    def check(make: Callable[[Held], Any]) -> None:
        one = Held()
        alive = weakref.ref(one)
        made = make(one)
        engine.wait_all()
        del one, made
        gc.collect()
        assert alive() is None

    def operator_of(one: Held) -> None:
        one.step = engine.Operator(one.work)  # type: ignore[attr-defined]
        one.step.push()  # type: ignore[attr-defined]

    check(lambda one: engine.push(one.work))
    check(operator_of)
    check(lambda one: setattr(one, "done", engine.push(one.work)))


def test_a_report_names_variables(held: Callable[..., None]) -> None:
    table, page = engine.Var("table"), engine.Var("page")
    held(table)
    engine.push(int, reads=[table], writes=[page], name="load")
    assert "reads table; writes page" in flow.vm.dump()
    held()
    engine.wait(page)


def test_functions_are_in_no_program() -> None:
    with pytest.raises(flow.graph.TraceError, match="functions of the engine are in no program"):
        flow.jit(lambda x: (engine.push(int), x + 1)[1])(flow.ones(2))
