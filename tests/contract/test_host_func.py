"""Host functions: in the machine's order, on a thread of the machine."""

import gc
import threading
import weakref

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.machine import Gate


def test_it_runs_after_what_it_reads_and_before_what_reads_it(naive: bool) -> None:
    x, y = flow.arange(50_000), flow.zeros(50_000)
    for _ in range(5):
        x += 1

        def fill(source: np.ndarray, target: np.ndarray) -> int:
            target[:] = source * 2
            return int(source[0])

        call = flow.vm.host_func(fill, reads=[x], writes=[y])
        z = y + 1
        assert call.result() == x[0].item()
        assert (z.numpy() == x.numpy() * 2 + 1).all()


def test_the_arrays_it_gets(naive: bool) -> None:
    base = flow.arange(12).reshape(3, 4)
    seen = []

    def look(read: np.ndarray, write: np.ndarray) -> None:
        seen.append((read.tolist(), read.flags.writeable, write.flags.writeable, read.strides))
        with pytest.raises(ValueError, match="read-only"):
            read[0] = 1
        write[...] = 5

    target = flow.zeros((2, 2))
    flow.vm.host_func(look, reads=[base.T[1:3]], writes=[target]).wait()
    assert seen == [([[1, 5, 9], [2, 6, 10]], False, True, (8, 32))]
    assert target.tolist() == [[5, 5], [5, 5]]


def test_calls_on_one_tensor_keep_their_order(naive: bool) -> None:
    x = flow.zeros(1)
    order: list[int] = []
    for i in range(50):
        flow.vm.host_func(lambda _, i=i: order.append(i), writes=[x])
    x.numpy()
    assert order == list(range(50))


def test_done() -> None:
    with Gate() as gate:
        assert not gate.call.done()
    assert gate.call.done()


def test_it_runs_on_a_thread_of_the_machine() -> None:
    assert flow.vm.host_func(threading.get_ident).result() != threading.get_ident()


def test_in_naive_mode_it_runs_here() -> None:
    with flow.flags(sync=True):
        call = flow.vm.host_func(threading.get_ident)
        assert call.done()
        assert call.result() == threading.get_ident()


def test_it_may_issue_and_look_at_other_tensors(naive: bool) -> None:
    x = flow.ones(50_000)

    def work() -> float:
        y = (x + 1).mock(0) * 2
        inner = flow.vm.host_func(lambda: 3)
        assert inner is not None
        return float(y.numpy()[0])

    assert flow.vm.host_func(work).result() == 4


def test_it_may_not_issue_on_its_own_tensors(naive: bool) -> None:
    """Such work would come after the function, which would wait for it when it looked."""
    x, y = flow.ones(4), flow.zeros(4)
    errors: list[str] = []

    def work(read: np.ndarray, write: np.ndarray) -> None:
        write[:] = read
        for use in (lambda: y + 1, y.numpy, lambda: x.__iadd__(1)):
            with pytest.raises(RuntimeError, match="inside a function") as caught:
                use()
            errors.append(str(caught.value))

    flow.vm.host_func(work, reads=[x], writes=[y]).wait()
    assert len(errors) == 3
    assert (y + 1).tolist() == [2] * 4


def test_synchronize_inside_does_not_wait_for_what_waits_for_it() -> None:
    y = flow.zeros(4)
    begun, issued = threading.Event(), threading.Event()

    def work(_: np.ndarray) -> str:
        begun.set()
        assert issued.wait(60)
        try:
            flow.synchronize()
        except RuntimeError as error:
            return str(error)
        return "returned"

    call = flow.vm.host_func(work, writes=[y])
    assert begun.wait(60)
    after = y + 1
    issued.set()
    assert call.result()
    assert after.tolist() == [1] * 4


def test_its_objects_are_let_go(naive: bool) -> None:
    class Held:
        pass

    held = Held()
    reference = weakref.ref(held)
    call = flow.vm.host_func(lambda held=held: None)
    call.wait()
    flow.synchronize()
    del held, call
    gc.collect()
    assert reference() is None


def test_an_array_kept_past_the_call_stays_valid(naive: bool) -> None:
    kept: list[np.ndarray] = []
    x = flow.ones(50_000) * 3
    flow.vm.host_func(kept.append, reads=[x]).wait()
    del x
    flow.synchronize()
    flow.ones(50_000).numpy()
    assert kept[0].sum() == 150_000


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match=r"\[host_func\].*mock:0.*\.cpu\(\)"):
        flow.vm.host_func(print, reads=[flow.ones(2, device="mock:0")])
    for given in ({"reads": np.ones(2)}, {"writes": flow.ones(2)}, {"reads": ""}):
        with pytest.raises(TypeError, match=r"\[host_func\] (reads|writes): .*of Tensor, got"):
            flow.vm.host_func(print, **given)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        flow.vm.host_func(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        flow.vm.host_func(print, reads=[np.ones(2)])  # type: ignore[list-item]
