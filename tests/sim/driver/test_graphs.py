"""Stream capture and graphs: what is captured, what is refused meanwhile, what is replayed."""

import ctypes
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sim
from tests.support.gpu import Code, Gate, Gpu, code, driver, launch, ok

Mode = driver.CUstreamCaptureMode
GLOBAL = Mode.CU_STREAM_CAPTURE_MODE_GLOBAL
THREAD_LOCAL = Mode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
RELAXED = Mode.CU_STREAM_CAPTURE_MODE_RELAXED
Status = driver.CUstreamCaptureStatus
Type = driver.CUgraphNodeType
STEP = """
extern "C" __global__ void step(int* p, int factor, int summand) { *p = *p * factor + summand; }
"""


class Steps:
    """One integer of the device, and a kernel that multiplies and adds."""

    def __init__(self, gpu: Gpu, value: int = 1) -> None:
        self.gpu, self.kernel = gpu, gpu.kernel(STEP, "step")
        self.pointer = gpu.put(np.array([value], np.int32))

    def step(self, stream: Any, factor: int, summand: int) -> Code:
        given = self.pointer, np.int32(factor), np.int32(summand)
        return launch(self.kernel, 1, 1, *given, stream=stream)

    def parameters(self, factor: int, summand: int) -> tuple[Any, Any]:
        """CUDA_KERNEL_NODE_PARAMS, and what must live as long."""
        values = ctypes.c_uint64(self.pointer), ctypes.c_int(factor), ctypes.c_int(summand)
        table = (ctypes.c_void_p * 3)(*map(ctypes.addressof, values))
        given = driver.CUDA_KERNEL_NODE_PARAMS()
        given.func, given.kernelParams = self.kernel, ctypes.addressof(table)
        given.gridDimX = given.gridDimY = given.gridDimZ = 1
        given.blockDimX = given.blockDimY = given.blockDimZ = 1
        return given, (values, table)

    def value(self) -> int:
        return int(self.gpu.get(self.pointer, np.empty(1, np.int32))[0])


@pytest.fixture
def steps(gpu: Gpu) -> Steps:
    return Steps(gpu)


def begin(stream: Any, mode: Any = GLOBAL) -> None:
    ok(driver.cuStreamBeginCapture(stream, mode))


def end(stream: Any) -> Any:
    return ok(driver.cuStreamEndCapture(stream))


def executable(graph: Any) -> Any:
    return ok(driver.cuGraphInstantiate(graph, 0))


def wait(stream: Any, other: Any, event: Any) -> None:
    """``stream`` waits for what ``other`` has."""
    ok(driver.cuEventRecord(event, other))
    ok(driver.cuStreamWaitEvent(stream, event, 0))


def status(stream: Any) -> Any:
    return ok(driver.cuStreamIsCapturing(stream))


# --- what is captured


def test_what_is_captured_runs_when_the_graph_is_launched(gpu: Gpu, steps: Steps) -> None:
    stream = gpu.stream()
    begin(stream)
    assert status(stream) == Status.CU_STREAM_CAPTURE_STATUS_ACTIVE
    assert steps.step(stream, 10, 1) == Code.CUDA_SUCCESS
    assert steps.step(stream, 10, 2) == Code.CUDA_SUCCESS
    graph = end(stream)
    assert status(stream) == Status.CU_STREAM_CAPTURE_STATUS_NONE
    assert steps.value() == 1  # nothing has run
    replay = executable(graph)
    ok(driver.cuGraphDestroy(graph))
    for expected in (112, 11212):
        ok(driver.cuGraphLaunch(replay, stream))
        ok(driver.cuStreamSynchronize(stream))
        assert steps.value() == expected
    ok(driver.cuGraphExecDestroy(replay))
    assert code(driver.cuGraphLaunch(replay, stream)) == Code.CUDA_ERROR_INVALID_VALUE


def test_copies_fills_and_host_functions_are_captured(gpu: Gpu) -> None:
    stream, host, back = gpu.stream(), gpu.pinned(4), gpu.pinned(4)
    pointer, other = gpu.put(np.zeros(4, np.uint8)), gpu.put(np.zeros(4, np.uint8))
    called: list[int] = []
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: called.append(int(host[0])))
    begin(stream)
    ok(driver.cuMemcpyHtoDAsync(pointer, host.ctypes.data, 4, stream))
    ok(driver.cuMemsetD8Async(pointer, 9, 1, stream))
    ok(driver.cuMemcpyDtoDAsync(other, pointer, 4, stream))
    ok(driver.cuMemcpyDtoHAsync(back.ctypes.data, other, 4, stream))
    address = ctypes.cast(function, ctypes.c_void_p).value
    ok(driver.cuLaunchHostFunc(stream, driver.CUhostFn(address), 0))
    graph = end(stream)
    nodes, count = ok(driver.cuGraphGetNodes(graph, 8))
    types = [int(ok(driver.cuGraphNodeGetType(node))) for node in nodes[:count]]
    assert types == [1, 2, 1, 1, 3]
    replay = executable(graph)
    for value in (3, 4):
        host[:] = value
        ok(driver.cuGraphLaunch(replay, stream))
        ok(driver.cuStreamSynchronize(stream))
        assert list(back) == [9, value, value, value]
    assert called == [3, 4]


@pytest.mark.parametrize("seed", range(4))
def test_streams_fork_and_join_by_events(gpu: Gpu, seed: int) -> None:
    """Branches may run in any order, and what is joined runs behind both."""
    sim.configure(f"seed={seed}")
    first, second = gpu.stream(), gpu.stream()
    fork, join = gpu.event(), gpu.event()
    left, right = Steps(gpu), Steps(gpu)
    begin(first)
    left.step(first, 0, 5)
    wait(second, first, fork)
    assert status(second) == Status.CU_STREAM_CAPTURE_STATUS_ACTIVE
    right.step(second, 0, 7)
    left.step(first, 10, 0)
    wait(first, second, join)
    ok(driver.cuMemcpyDtoDAsync(left.pointer, right.pointer, 4, first))
    graph = end(first)
    assert status(second) == Status.CU_STREAM_CAPTURE_STATUS_NONE
    nodes, count = ok(driver.cuGraphGetNodes(graph, 8))
    before = [ok(driver.cuGraphNodeGetDependencies(node, 8)) for node in nodes[:count]]
    numbers = {int(node): i for i, node in enumerate(nodes[:count])}
    found = [[numbers[int(node)] for node in some[0][: some[-1]]] for some in before]
    assert found == [[], [0], [0], [2, 1]]
    replay = executable(graph)
    for _ in range(10):
        ok(driver.cuGraphLaunch(replay, second))
        ok(driver.cuStreamSynchronize(second))
        assert (left.value(), right.value()) == (7, 7)


def test_a_forgotten_wait_shows_in_some_order(gpu: Gpu) -> None:
    """Two branches that write the same: both orders come about."""
    first, second, fork, join = gpu.stream(), gpu.stream(), gpu.event(), gpu.event()
    steps, seen = Steps(gpu), set()
    begin(first)
    wait(second, first, fork)
    steps.step(first, 0, 1)
    steps.step(second, 0, 2)
    wait(first, second, join)
    replay = executable(end(first))
    for _ in range(40):
        ok(driver.cuGraphLaunch(replay, first))
        ok(driver.cuStreamSynchronize(first))
        seen.add(steps.value())
    assert seen == {1, 2}


def test_launches_of_a_graph_follow_each_other(gpu: Gpu, steps: Steps) -> None:
    first, second = gpu.stream(), gpu.stream()
    begin(first)
    steps.step(first, 2, 0)
    replay = executable(end(first))
    gate = Gate(first)
    ok(driver.cuGraphLaunch(replay, first))
    ok(driver.cuGraphLaunch(replay, second))  # not beside the one that waits
    assert code(driver.cuStreamQuery(second)) == Code.CUDA_ERROR_NOT_READY
    gate.open()
    ok(driver.cuStreamSynchronize(second))
    assert steps.value() == 4


def test_where_a_capture_is_can_be_asked(gpu: Gpu, steps: Steps) -> None:
    stream = gpu.stream()
    assert ok(driver.cuStreamGetCaptureInfo(stream))[0] == Status.CU_STREAM_CAPTURE_STATUS_NONE
    begin(stream)
    steps.step(stream, 1, 1)
    told = ok(driver.cuStreamGetCaptureInfo(stream))
    assert told[0] == Status.CU_STREAM_CAPTURE_STATUS_ACTIVE
    graph = end(stream)
    assert int(told[2]) == int(graph)
    nodes, _ = ok(driver.cuGraphGetNodes(graph, 1))
    assert [int(node) for node in told[3]] == [int(node) for node in nodes]


# --- updates


def test_kernel_nodes_are_updated_for_later_launches(gpu: Gpu, steps: Steps) -> None:
    stream = gpu.stream()
    begin(stream)
    steps.step(stream, 10, 1)
    graph = end(stream)
    node = ok(driver.cuGraphGetNodes(graph, 1))[0][0]
    kept = ok(driver.cuGraphKernelNodeGetParams(node))
    assert (kept.gridDimX, kept.blockDimX, int(kept.func)) == (1, 1, int(steps.kernel))
    replay = executable(graph)
    gate = Gate(stream)
    ok(driver.cuGraphLaunch(replay, stream))
    given, held = steps.parameters(10, 2)
    ok(driver.cuGraphExecKernelNodeSetParams(replay, node, given))
    ok(driver.cuGraphLaunch(replay, stream))
    gate.open()
    ok(driver.cuStreamSynchronize(stream))
    assert steps.value() == 112  # the launch that waited was not changed
    ok(driver.cuGraphLaunch(executable(graph), stream))  # nor was the graph
    ok(driver.cuStreamSynchronize(stream))
    assert steps.value() == 1121
    ok(driver.cuGraphKernelNodeSetParams(node, given))
    ok(driver.cuGraphLaunch(executable(graph), stream))
    ok(driver.cuStreamSynchronize(stream))
    assert steps.value() == 11212
    other = Steps(gpu)
    begin(stream)
    other.step(stream, 1, 1)
    foreign = ok(driver.cuGraphGetNodes(end(stream), 1))[0][0]
    wrong = driver.cuGraphExecKernelNodeSetParams(replay, foreign, given)
    assert code(wrong) == Code.CUDA_ERROR_INVALID_VALUE
    del held


def test_an_executable_takes_over_a_graph_of_its_shape(gpu: Gpu, steps: Steps) -> None:
    stream = gpu.stream()

    def captured(*works: Callable[[], object]) -> Any:
        begin(stream)
        for work in works:
            work()
        return end(stream)

    def step(number: int) -> Callable[[], object]:
        return lambda: steps.step(stream, 10, number)

    def fill() -> None:
        ok(driver.cuMemsetD32Async(steps.pointer, 4, 1, stream))

    replay = executable(captured(step(1), step(2)))
    ok(driver.cuGraphExecUpdate(replay, captured(step(3), step(4))))
    ok(driver.cuGraphLaunch(replay, stream))
    ok(driver.cuStreamSynchronize(stream))
    assert steps.value() == 134
    result = driver.CUgraphExecUpdateResult
    for graph, why in (
        (captured(step(1)), result.CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED),
        (captured(step(1), fill), result.CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED),
    ):
        refused, info = driver.cuGraphExecUpdate(replay, graph)
        assert refused == Code.CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE
        if info is not None:
            assert info.result == why


# --- memory


@pytest.mark.parametrize("kind", ["kernel", "copy", "fill"])
def test_a_graph_of_memory_that_was_freed_fails(gpu: Gpu, steps: Steps, kind: str) -> None:
    stream = gpu.stream()
    other = gpu.put(np.zeros(1, np.int32))
    begin(stream)
    works = {
        "kernel": lambda: steps.step(stream, 1, 1),
        "copy": lambda: ok(driver.cuMemcpyDtoDAsync(other, steps.pointer, 4, stream)),
        "fill": lambda: ok(driver.cuMemsetD8Async(steps.pointer, 0, 4, stream)),
    }
    works[kind]()
    replay = executable(end(stream))
    ok(driver.cuMemFree(steps.pointer))
    ok(driver.cuGraphLaunch(replay, stream))
    assert code(driver.cuStreamSynchronize(stream)) == Code.CUDA_ERROR_ILLEGAL_ADDRESS


def test_injected_deaths_reach_nodes(gpu: Gpu, steps: Steps) -> None:
    stream = gpu.stream()
    begin(stream)
    steps.step(stream, 10, 1)
    steps.step(stream, 10, 1)
    replay = executable(end(stream))
    sim.configure("die=kernel:2:719")
    ok(driver.cuGraphLaunch(replay, stream))
    assert code(driver.cuStreamSynchronize(stream)) == Code.CUDA_ERROR_LAUNCH_FAILED


# --- what is refused


INVALIDATED = Code.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
UNSUPPORTED = Code.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
# What a thread must not call while it captures, or another one in the global mode.
UNSAFE: dict[str, Callable[[Gpu, Any, Any], Any]] = {
    "cuMemAlloc": lambda gpu, other, event: driver.cuMemAlloc(16),
    "cuMemHostAlloc": lambda gpu, other, event: driver.cuMemHostAlloc(16, 0),
    "cuMemFree": lambda gpu, other, event: driver.cuMemFree(0),
    "cuMemcpyHtoD": lambda gpu, other, event: driver.cuMemcpyHtoD(0, 0, 0),
    "cuEventQuery": lambda gpu, other, event: driver.cuEventQuery(event),
    "cuEventSynchronize": lambda gpu, other, event: driver.cuEventSynchronize(event),
    "cuStreamQuery": lambda gpu, other, event: driver.cuStreamQuery(other),
    "cuStreamSynchronize": lambda gpu, other, event: driver.cuStreamSynchronize(other),
    "cuModuleLoadData": lambda gpu, other, event: driver.cuModuleLoadData(b"\x7fELF"),
}


@pytest.mark.parametrize("name", UNSAFE)
def test_unsafe_calls_of_the_capturing_thread_are_refused(gpu: Gpu, name: str) -> None:
    stream, other, event = gpu.stream(), gpu.stream(), gpu.event()
    for mode in (GLOBAL, THREAD_LOCAL):
        begin(stream, mode)
        assert code(UNSAFE[name](gpu, other, event)) == UNSUPPORTED
        assert status(stream) == Status.CU_STREAM_CAPTURE_STATUS_INVALIDATED
        assert code(driver.cuMemsetD8Async(0, 0, 0, other)) == Code.CUDA_SUCCESS
        assert code(driver.cuStreamEndCapture(stream)) == INVALIDATED
    begin(stream, RELAXED)
    assert code(UNSAFE[name](gpu, other, event)) != UNSUPPORTED
    end(stream)


def in_a_thread(gpu: Gpu, work: Callable[[], Any]) -> Any:
    """The result of work in another thread, with the same context."""
    results: list[Any] = []

    def run() -> None:
        gpu.use()
        results.append(work())

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return results[0]


@pytest.mark.parametrize("mine", [GLOBAL, THREAD_LOCAL, RELAXED], ids=lambda mode: mode.name[23:])
@pytest.mark.parametrize("theirs", [GLOBAL, THREAD_LOCAL, RELAXED], ids=lambda mode: mode.name[23:])
def test_modes_of_threads_and_of_captures(gpu: Gpu, mine: Any, theirs: Any) -> None:
    """A call that is unsafe, of a thread beside one that captures."""
    stream = gpu.stream()
    begin(stream, theirs)

    def call() -> Code:
        before = ok(driver.cuThreadExchangeStreamCaptureMode(mine))
        assert before == GLOBAL
        return code(driver.cuMemAlloc(16))

    is_refused = mine == theirs == GLOBAL
    assert in_a_thread(gpu, call) == (UNSUPPORTED if is_refused else Code.CUDA_SUCCESS)
    expected = INVALIDATED if is_refused else Code.CUDA_SUCCESS
    assert code(driver.cuStreamEndCapture(stream)) == expected


def test_a_capturing_stream_is_not_waited_for(gpu: Gpu, steps: Steps) -> None:
    stream, event, other = gpu.stream(), gpu.event(), gpu.event()
    captured = Code.CUDA_ERROR_CAPTURED_EVENT
    for refused in (
        lambda: driver.cuStreamSynchronize(stream),
        lambda: driver.cuStreamQuery(stream),
        lambda: driver.cuCtxSynchronize(),
        lambda: driver.cuCtxRecordEvent(gpu.context, other),
    ):
        begin(stream, RELAXED)
        steps.step(stream, 1, 1)
        ok(driver.cuEventRecord(event, stream))
        assert code(driver.cuEventQuery(event)) == captured
        assert code(driver.cuEventSynchronize(event)) == captured
        before = ok(driver.cuThreadExchangeStreamCaptureMode(RELAXED))
        assert code(refused()) == UNSUPPORTED
        ok(driver.cuThreadExchangeStreamCaptureMode(before))
        assert steps.step(stream, 1, 1) == INVALIDATED
        assert code(driver.cuStreamEndCapture(stream)) == INVALIDATED
    assert code(driver.cuEventQuery(event)) == captured
    ok(driver.cuEventRecord(event, stream))
    ok(driver.cuEventSynchronize(event))


def test_captures_are_ended_where_they_began(gpu: Gpu) -> None:
    stream, second, event = gpu.stream(), gpu.stream(), gpu.event()
    illegal = Code.CUDA_ERROR_ILLEGAL_STATE
    assert code(driver.cuStreamEndCapture(stream)) == illegal
    begin(stream)
    assert code(driver.cuStreamBeginCapture(stream, GLOBAL)) == illegal
    wrong = in_a_thread(gpu, lambda: code(driver.cuStreamEndCapture(stream)))
    assert wrong == Code.CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD
    wait(second, stream, event)
    unmatched = Code.CUDA_ERROR_STREAM_CAPTURE_UNMATCHED
    assert code(driver.cuStreamEndCapture(second)) == unmatched
    wait(stream, second, event)
    end(stream)
    begin(stream, RELAXED)
    assert in_a_thread(gpu, lambda: code(driver.cuStreamEndCapture(stream))) == 0
    assert code(driver.cuStreamBeginCapture(0, GLOBAL)) == UNSUPPORTED


def test_work_that_is_not_joined_ends_a_capture(gpu: Gpu, steps: Steps) -> None:
    stream, second, event = gpu.stream(), gpu.stream(), gpu.event()
    begin(stream)
    wait(second, stream, event)
    steps.step(second, 1, 1)
    unjoined = Code.CUDA_ERROR_STREAM_CAPTURE_UNJOINED
    assert code(driver.cuStreamEndCapture(stream)) == unjoined
    assert steps.step(second, 10, 0) == Code.CUDA_SUCCESS  # it captures no more
    ok(driver.cuStreamSynchronize(second))
    assert steps.value() == 10


def test_captures_do_not_depend_on_what_is_outside(gpu: Gpu, steps: Steps) -> None:
    stream, outside, event = gpu.stream(), gpu.stream(), gpu.event()
    ok(driver.cuEventRecord(event, outside))
    begin(stream)
    isolation = Code.CUDA_ERROR_STREAM_CAPTURE_ISOLATION
    assert code(driver.cuStreamWaitEvent(stream, event, 0)) == isolation
    assert code(driver.cuStreamEndCapture(stream)) == INVALIDATED
    begin(stream)
    steps.step(stream, 1, 1)
    ok(driver.cuEventRecord(event, stream))
    end(stream)
    wrong = driver.cuStreamWaitEvent(outside, event, 0)
    assert code(wrong) == Code.CUDA_ERROR_CAPTURED_EVENT


def test_two_captures_do_not_merge(gpu: Gpu) -> None:
    first, second, event = gpu.stream(), gpu.stream(), gpu.event()
    begin(first)
    begin(second)
    ok(driver.cuEventRecord(event, first))
    merge = Code.CUDA_ERROR_STREAM_CAPTURE_MERGE
    assert code(driver.cuStreamWaitEvent(second, event, 0)) == merge
    for stream in (first, second):
        assert code(driver.cuStreamEndCapture(stream)) == INVALIDATED


def test_the_legacy_stream_is_unusable_beside_a_blocking_one_that_captures(gpu: Gpu) -> None:
    free, blocking = gpu.stream(flags=1), gpu.stream(flags=0)
    pointer = gpu.put(np.zeros(1, np.int32))
    begin(free)
    ok(driver.cuMemsetD8Async(pointer, 1, 1, 0))
    end(free)
    begin(blocking)
    implicit = Code.CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
    assert code(driver.cuStreamIsCapturing(0)) == implicit
    assert status(blocking) == Status.CU_STREAM_CAPTURE_STATUS_ACTIVE
    assert code(driver.cuMemsetD8Async(pointer, 1, 1, 0)) == implicit
    assert code(driver.cuStreamEndCapture(blocking)) == INVALIDATED


def test_pageable_memory_and_memory_of_a_stream_are_not_captured(gpu: Gpu) -> None:
    stream, host = gpu.stream(), np.zeros(4, np.uint8)
    pointer = gpu.put(host)
    for refused, why in (
        (lambda: driver.cuMemcpyHtoDAsync(pointer, host.ctypes.data, 4, stream), UNSUPPORTED),
        (lambda: driver.cuMemAllocAsync(4, stream), Code.CUDA_ERROR_NOT_SUPPORTED),
        (lambda: driver.cuMemFreeAsync(pointer, stream), Code.CUDA_ERROR_NOT_SUPPORTED),
        (lambda: driver.cuStreamDestroy(stream), UNSUPPORTED),
    ):
        begin(stream)
        assert code(refused()) == why
        assert code(driver.cuStreamEndCapture(stream)) == INVALIDATED
