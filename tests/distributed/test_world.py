"""Ranks that fail, leave, or do not do the same: errors on all, and never a wrong number."""

import os
import re
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.distributed import (
    DesyncError,
    RankError,
    barrier,
    placement,
    save,
    sbp,
    to_global,
    tree_sum,
)

HERE = "test_world.py"


def each_error(program: Callable[[], Any], world: int = 2) -> list[BaseException]:
    """What each rank's program raises."""
    errors: list[BaseException] = [AssertionError("nothing was raised")] * world

    def rank() -> None:
        try:
            program()
        except BaseException as error:
            errors[flow.distributed.rank()] = error

    flow.distributed.run(rank, world)
    return errors


def part() -> flow.distributed.GlobalTensor:
    return flow.ones(3).to_global(placement.all("cpu"), sbp.partial_sum)


@pytest.mark.parametrize("device", ["cpu", "mock"])
def test_a_rank_waits_for_what_it_has_issued_itself(device: str) -> None:
    """What others have in flight needs what it has yet to issue; so a profile begins, too."""

    def program() -> None:
        ranks = placement.all(device)
        x = flow.ones(40, placement=ranks, sbp=sbp.partial_sum)
        for number in range(6):
            if flow.distributed.rank() == number % 3:
                y = x.to_local() + 1
                flow.synchronize()
                with flow.profiler.profile() as prof:
                    y += 1
                assert prof.records
            for _ in range(5):
                x = (x.to_global(sbp=sbp.broadcast) * 0.5).to_global(sbp=sbp.partial_sum)
        assert x.full().tolist() == 40 * [0.5**30]

    flow.distributed.run(program, 3)


def test_a_device_without_its_index_is_that_of_the_rank() -> None:
    count = sum(device.type == "mock" for device in flow.devices())

    def program() -> None:
        own = flow.device("mock")
        assert own.index == flow.distributed.rank() % count
        assert own == "mock"
        assert flow.ones(2, device="mock").device == own
        assert flow.device("mock:0").index == 0
        assert flow.device("cpu").index == 0
        x = flow.ones(4).to_global(placement.all("mock"), sbp.split(0))
        assert x.to_local().device == own
        with pytest.raises(ValueError, match=r"no device \"mock:\""):
            flow.device("mock:")

    flow.distributed.run(program, 3)
    assert flow.device("mock") == "mock:0"


@pytest.mark.process
def test_a_function_of_the_machine_enters_no_world(
    run_program: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
    code = """
import oneflow_lite as flow
def look(_):
    assert flow.device("mock:0") == flow.device("mock:0")
    flow.device("mock")
x = flow.zeros(1)
flow.vm.host_func(look, writes=[x])
x.numpy()
"""
    done = run_program(code)
    assert done.returncode != 0
    assert "[device] a function of the machine cannot enter the world of its rank" in done.stderr


def test_names_at_the_top() -> None:
    assert flow.placement is flow.distributed.placement
    assert flow.sbp is flow.distributed.sbp
    x = flow.ones(3).to_global(flow.placement("cpu", ranks=[0]), flow.sbp.split(0))
    assert x.to_global(flow.placement.all("cpu"), flow.sbp.broadcast).tolist() == [1.0] * 3


def test_results_by_rank() -> None:
    assert flow.distributed.run(lambda: flow.distributed.rank() ** 2, 4) == [0, 1, 4, 9]
    assert flow.distributed.run(lambda a, b: a + b, 1, 2, 3) == [5]


def test_the_first_error_is_raised() -> None:
    def program() -> None:
        if flow.distributed.rank() == 1:
            raise KeyError("on purpose")
        part().full().numpy()

    with pytest.raises(KeyError, match="on purpose"):
        flow.distributed.run(program, 3)
    assert flow.distributed.run(lambda: part().full().tolist(), 2) == [[2.0] * 3] * 2


def test_others_learn_which_rank_has_failed_where() -> None:
    def program() -> None:
        x = part()
        if flow.distributed.rank() == 1:
            raise ValueError("on purpose")
        x.full().numpy()

    errors: list[BaseException] = []

    def rank() -> None:
        try:
            program()
        except RankError as error:
            errors.append(error)
        except ValueError:
            raise

    with pytest.raises(ValueError, match="on purpose"):
        flow.distributed.run(rank, 3)
    assert len(errors) == 2
    for error in errors:
        assert re.search(rf"rank 1: ValueError: on purpose, at .*{HERE}:\d+", str(error))


def test_a_failed_operand_poisons_the_result_on_all_ranks() -> None:
    def program() -> None:
        mine = flow.ones(3)
        if flow.distributed.rank() == 1:

            def fail(_: Any) -> None:
                raise ValueError("on purpose")

            flow.vm.host_func(fail, writes=[mine])
        x = flow.ones(3).to_global(placement.all("cpu"), sbp.partial_sum)
        local = x.to_local()
        local += mine  # the part of x itself
        x.full().numpy()

    errors = each_error(program, 3)
    assert isinstance(errors[1], ValueError)
    for error in (errors[0], errors[2]):
        assert isinstance(error, RankError)
        assert re.search(rf"rank 1: .*on purpose.*; issued at .*{HERE}:\d+", str(error))
    with pytest.raises(ValueError, match="on purpose"):
        flow.synchronize()
    while True:  # the failures of the others
        try:
            flow.synchronize()
            break
        except RankError:
            continue


def different(*programs: Callable[[], Any]) -> list[BaseException]:
    """Each rank runs another program."""
    return each_error(lambda: programs[flow.distributed.rank()](), len(programs))


def forget_failures() -> None:
    for _ in range(10):
        try:
            return flow.synchronize()
        except (RankError, DesyncError):
            continue


def ones(n: int, dtype: str = "float32") -> flow.distributed.GlobalTensor:
    return flow.ones(n, dtype=dtype).to_global(placement.all("cpu"), sbp.partial_sum)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(lambda x: x.to_global(sbp=sbp.split(0)).numpy(), id="another operation"),
        pytest.param(lambda x: (x.full(), x.full())[1].numpy(), id="once too often"),
        pytest.param(lambda x: None, id="nothing"),
    ],
)
def test_ranks_that_differ(other: Callable[[Any], Any]) -> None:
    def own() -> None:
        ones(100).full().numpy()

    def another() -> None:
        other(ones(100))

    errors = different(own, another)
    forget_failures()
    told = [str(error) for error in errors if isinstance(error, DesyncError)]
    assert told, errors
    for text in told:
        assert "rank 1" in text
        assert re.search(rf"{HERE}:\d+", text)


@pytest.mark.parametrize(
    ("first", "second"), [((100, "float32"), (101, "float32")), ((9, "float32"), (9, "int32"))]
)
def test_parts_that_do_not_fit(first: Any, second: Any) -> None:
    errors = different(lambda: ones(*first), lambda: ones(*second))
    for error in errors:
        assert isinstance(error, ValueError)
        assert "rank 0 has" in str(error)
        assert "rank 1 has" in str(error)


def test_the_lines_of_both_sides() -> None:
    def own() -> None:
        x = ones(10)
        x.to_global(sbp=sbp.split(0)).full().numpy()

    def another() -> None:
        x = ones(10)
        x.full().numpy()

    errors = different(own, another)
    forget_failures()
    lines = {f"{HERE}:{f.__code__.co_firstlineno + 2}" for f in (own, another)}
    for error in errors:
        assert isinstance(error, DesyncError | RankError)
        assert all(line in str(error) for line in lines), error


def everywhere(x: Any, how: sbp.Sbp) -> flow.distributed.GlobalTensor:
    made: flow.distributed.GlobalTensor = x.to_global(placement.all("cpu"), how)
    return made


@pytest.mark.parametrize(
    ("first", "second", "texts"),
    [
        pytest.param(
            lambda: everywhere(flow.ones((2, 3)), sbp.split(0)),
            lambda: everywhere(flow.ones((4, 3), dtype="int32"), sbp.split(1)),
            (
                "to_global of float64 (2, 3) to split(0) on cpu [0, 1]",
                "to_global of int32 (4, 3) to split(1) on cpu [0, 1]",
            ),
            id="other sbps",
        ),
        pytest.param(
            lambda: to_global([flow.ones(2), flow.ones(3)], placement.all("cpu"), sbp.broadcast),
            lambda: everywhere(flow.ones(2), sbp.broadcast),
            (
                "to_global of float64 (2,) and 1 more to broadcast on cpu [0, 1]",
                "to_global of float64 (2,) to broadcast on cpu [0, 1]",
            ),
            id="a list",
        ),
        pytest.param(
            lambda: tree_sum([flow.ones(2), flow.ones(2)]),
            lambda: tree_sum([], placement.all("mock")),
            (
                "tree_sum of 2 blocks of float64 (2,) on cpu [0, 1]",
                "tree_sum of no blocks on mock [0, 1]",
            ),
            id="tree_sum",
        ),
        pytest.param(
            lambda: save("x.npy", flow.ones(2, placement=placement.all("cpu"))),
            lambda: everywhere(flow.ones(2), sbp.split(0)),
            ("save", "to_global of float64 (2,) to split(0) on cpu [0, 1]"),
            id="save",
        ),
        pytest.param(
            barrier,
            lambda: flow.ones(2, placement=placement.all("cpu"), sbp=sbp.split(0)).sum().full(),
            ("barrier", "reduce of float64 () partial(sum) on cpu [0, 1] to () broadcast on cpu "),
            id="barrier",
        ),
        pytest.param(
            barrier,
            lambda: save("x.npy", flow.ones(2, placement=placement.all("cpu"))),
            ("barrier", "save"),
            id="barrier and save",
        ),
    ],
)
def test_what_ranks_are_said_to_do(
    first: Callable[[], Any], second: Callable[[], Any], texts: tuple[str, str]
) -> None:
    """It is what the program calls, and not the exchange inside."""

    def program() -> None:
        made = (second if flow.distributed.rank() else first)()
        made.numpy()

    errors = each_error(program)
    forget_failures()
    for error in errors:
        assert isinstance(error, DesyncError), error
        for rank, text in enumerate(texts):
            assert re.search(rf"rank {rank}: collective \d+, {re.escape(text)}", str(error)), error


def test_another_thread_is_no_rank() -> None:
    def program() -> None:
        x = ones(4)
        caught: list[BaseException] = []

        def elsewhere() -> None:
            try:
                x.full()
            except RuntimeError as error:
                caught.append(error)

        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        assert "another thread" in str(caught[0])
        assert x.full().tolist() == [2.0] * 4

    flow.distributed.run(program, 2)


def test_a_function_cannot_communicate() -> None:
    def program() -> None:
        caught: list[str] = []

        def function(_: Any) -> None:
            try:
                ones(2)
            except RuntimeError as error:
                caught.append(str(error))

        y = flow.ones(1)
        flow.vm.host_func(function, writes=[y])
        y.numpy()
        assert "cannot communicate" in caught[0]

    flow.distributed.run(program, 1)


def test_bad_input() -> None:
    ranks = placement("cpu", [0, 1])
    with pytest.raises(ValueError, match=r"rank 1 is not in this world, which has 1 rank"):
        flow.ones(2).to_global(ranks, sbp.broadcast)
    one = placement("cpu", [0])
    with pytest.raises(ValueError, match="expected 1 sbps"):
        flow.ones(2).to_global(one, [sbp.broadcast] * 2)
    with pytest.raises(IndexError, match=r"split\(1\)"):
        flow.ones(2).to_global(one, sbp.split(1))
    with pytest.raises(IndexError, match=r"split\(0\) of parts of 0 dimensions"):
        flow.ones(()).to_global(one, sbp.split(0))
    with pytest.raises(TypeError, match="placement: expected a Placement, got str"):
        flow.ones(2).to_global("cpu", sbp.broadcast)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="sbp: expected an Sbp, got str"):
        flow.ones(2).to_global(one, ["broadcast"])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="at least one rank, got 0"):
        flow.distributed.run(print, 0)
    with pytest.raises(RuntimeError, match="no worlds inside"):
        flow.distributed.run(lambda: flow.distributed.run(print, 1), 2)
    x = flow.ones(2).to_global(one, sbp.broadcast)
    with pytest.raises(TypeError, match="to_global"):
        x + flow.ones(2)  # type: ignore[operator]
    np.testing.assert_array_equal((x + np.ones(2)).numpy(), [2, 2])


def test_a_barrier_waits_for_all_ranks() -> None:
    came: list[int] = []

    def program() -> int:
        flow.distributed.init()
        if flow.distributed.rank() == 2:
            time.sleep(0.2)  # the others would be through without it
        came.append(flow.distributed.rank())
        flow.distributed.barrier()
        return len(came)

    assert flow.distributed.run(program, 3) == [3, 3, 3]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_forked_child_of_a_thread_is_no_rank(run_program: Callable[..., Any]) -> None:
    """It has an error at once where it would wait for ranks that are in its parent."""
    done = run_program(
        """
import os, warnings
import oneflow_lite as flow
from oneflow_lite.distributed import placement, rank, run, sbp
warnings.simplefilter("ignore")
def say(*words):
    print(*words, flush=True)
def said(call):
    try:
        call()
    except RuntimeError as error:
        return str(error)
def program():
    x = flow.arange(6.0, placement=placement.all("cpu"), sbp=sbp.split(0))
    x.full()
    if rank() == 1:
        pid = os.fork()
        if pid == 0:
            for call in (rank, x.full, lambda: x[1:], lambda: flow.ones(2).to_global(
                    x.placement, sbp.broadcast)):
                say(said(call))
            say((flow.ones(1) + 6).tolist(), (x.to_local() + 1).tolist())
            os._exit(0)
        say(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    return x[1:].full().tolist()
say(run(program, 2)[0])
pid = os.fork()
if pid == 0:
    say(run(lambda: rank(), 2))
    os._exit(0)
os.waitpid(pid, 0)
""",
        timeout=60,
    )
    forked = "[distributed] this process was forked from a rank, and is none\n"
    lines = "[7.0] [4.0, 5.0, 6.0]\n0\n[1.0, 2.0, 3.0, 4.0, 5.0]\n[0, 1]\n"
    assert (done.returncode, done.stdout) == (0, 4 * forked + lines), done


def test_a_rank_whose_thread_cannot_start_ends_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    start, started = threading.Thread.start, []

    def refuse(thread: threading.Thread) -> None:
        if thread.name == "rank 2":
            raise RuntimeError("can't start new thread")
        start(thread)
        started.append(thread)

    def program() -> None:
        ranks = placement("cpu", [0, 1, 2, 3])
        flow.ones(4).to_global(ranks, sbp.broadcast).full()

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        flow.distributed.run(program, 4)
    assert [thread.name for thread in started if thread.name.startswith("rank")] == [
        "rank 0",
        "rank 1",
    ]
    assert not any(thread.is_alive() for thread in started)
