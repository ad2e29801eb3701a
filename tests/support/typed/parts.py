"""The other parts of the package: random numbers, flags, functions, graphs, ranks."""

import concurrent.futures
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, assert_type

import oneflow_lite as flow
from oneflow_lite import Tensor, graph
from oneflow_lite.distributed import GlobalTensor
from oneflow_lite.graph import passes


def legal_random_numbers() -> None:
    rng = flow.random.default_rng(1)
    flow.random.seed(3)
    assert_type(flow.random.normal(size=(2, 2)), Tensor)
    assert_type(flow.random.uniform(0, 1, 3), Tensor)
    assert_type(flow.random.randn(2, 3, device="cpu"), Tensor)
    assert_type(flow.random.RandomState(3).randint(0, 5, 3, "int32"), Tensor)
    assert_type(rng.standard_normal(3, "float32"), Tensor)
    assert_type(rng.poisson(lam=2.0, size=3, dtype="int32", device="cpu"), Tensor)


def wrong_random_numbers() -> None:
    rng = flow.random.default_rng(1)
    rng.normal(mean=3)  # type: ignore[call-arg]
    rng.normal(0, 1, 3, 4)  # type: ignore[call-arg]
    flow.random.normal(sise=3)  # type: ignore[call-arg]
    flow.random.random(3, "float32")  # type: ignore[call-arg]
    flow.random.nosuch(3)  # type: ignore[attr-defined]


def legal_flags() -> None:
    with flow.flags(sync=True, inline="1us"):
        assert_type(flow.flags.sync, bool)
    assert_type(flow.flags.ccl_timeout, float)

    @flow.flags(sync=True)
    def synchronous() -> None: ...

    synchronous()


def wrong_flags() -> None:
    flow.flags(snyc=True)  # type: ignore[call-arg]
    flow.flags.snyc  # type: ignore[attr-defined]  # noqa: B018
    flow.flags(profile="x.json")  # type: ignore[call-arg]


def legal_functions_that_are_pushed() -> None:
    done = flow.engine.push(lambda: 3)
    concurrent.futures.wait([done])
    future: concurrent.futures.Future[Any] = done
    future.result()


def legal_traces() -> None:
    with TemporaryDirectory() as folder:
        flow.profiler.start_file(Path(folder, "trace.json"))
        flow.profiler.write_file()


def legal_programs() -> None:
    @passes.function_pass(opt_level=1)
    def same(
        function: graph.Function, program: graph.Program, context: passes.PassContext
    ) -> graph.Function:
        return function

    program = graph.trace(lambda a: a + 1, graph.spec((2,), "float32")).program
    assert_type(same(program), graph.Program)


def legal_tensors_of_many_ranks() -> None:
    def program() -> None:
        ranks = flow.placement.all("cpu")
        x = flow.ones((2, 2), placement=ranks, sbp=flow.sbp.split(0))
        assert_type(x, GlobalTensor)
        assert_type(x.to_global(sbp=flow.sbp.broadcast), GlobalTensor)
        assert_type(flow.sum(x), GlobalTensor)
        assert_type(flow.exp(x) + 1, GlobalTensor)
        assert_type(x.sum(axis=0), GlobalTensor)
        assert_type(x[0], GlobalTensor)
        assert_type(x.full(), Tensor)
        x[0] = 1
        x += 1
        mask = x > 0
        assert_type(True & mask, GlobalTensor)

    flow.distributed.run(program, 2)


def wrong_tensors_of_many_ranks(x: GlobalTensor, ranks: Sequence[int]) -> None:
    x.summ()  # type: ignore[attr-defined]
    x.sum(axs=0)  # type: ignore[call-arg]
    x.to_global(ranks)  # type: ignore[arg-type]
    flow.ones((2, 2), placement=ranks)  # type: ignore[call-overload]
