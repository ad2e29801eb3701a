"""A function that is traced and run plainly does what it does eagerly, bit for bit."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import oneflow_lite as flow
from oneflow_lite.graph import Program, Traced, plain_run, trace
from oneflow_lite.graph.tracing import Result
from tests.support.oracle import compare

Maker = Callable[[int], flow.Tensor]
SQUARE = flow.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 1.0]])


def numbers(*shape: int, dtype: str = "float64") -> Callable[[int], np.ndarray]:
    """Data of a seed."""

    def data(seed: int) -> np.ndarray:
        drawn = np.random.default_rng(seed).normal(0, 3, shape)
        if np.dtype(dtype).kind == "c":
            return (drawn + 1j * drawn[..., ::-1]).astype(dtype)
        return drawn.astype(dtype)

    return data


def made_from(device: flow.Device) -> Callable[[Callable[[int], np.ndarray]], Any]:
    return lambda data: lambda seed: flow.tensor(data(seed), device=device)


def works() -> None:
    """Eager calls and traces do."""
    x = flow.ones(3)
    x += 1
    assert (x * 2).tolist() == [4] * 3
    main = trace(lambda x: x + 1, x).program.main
    assert plain_run.run(main, [x])[0].tolist() == [3] * 3
    flow.synchronize()


def leaves(tree: Any) -> list[Any]:
    """The leaves of a tree of results, in order."""
    if isinstance(tree, dict):
        return [leaf for key in tree for leaf in leaves(tree[key])]
    if isinstance(tree, (list, tuple)):
        return [leaf for one in tree for leaf in leaves(one)]
    return [] if tree is None else [tree]


def equal(expected: Any, seen: Any, what: str) -> None:
    """Fail unless two leaves are the same, bit for bit."""
    if not isinstance(expected, flow.Tensor):
        assert repr(expected) == repr(seen), what
        return
    assert isinstance(seen, flow.Tensor), what
    assert (expected.device, expected.dtype) == (seen.device, seen.dtype), what
    if expected.dtype.name == "bfloat16":
        expected, seen = expected.astype("float32"), seen.astype("float32")
    difference = compare(expected.numpy(), seen.numpy())
    assert difference is None, f"{what}: {difference}"


def agree(
    build: Callable[..., Callable[..., Any]],
    captured: Sequence[Maker],
    arguments: Sequence[Maker],
    device: flow.Device | None,
) -> Program:
    """Trace ``build(*captured)(*arguments)`` with data of seed 0, and run it with that of others.

    Results, captured tensors and arguments must be those of an eager call. Nothing may be written
    to while it is traced.
    """
    held = [make(0) for make in captured]
    given = [make(0) for make in arguments]
    function = build(*held)
    traced = trace(function, *given)
    for make, one in zip([*captured, *arguments], [*held, *given], strict=True):
        equal(make(0), one, "written while it was traced")
    traced.program.verify()
    for seed in (1, 2):
        for make, one in zip(captured, held, strict=True):
            one[...] = make(seed)
        others = [make(seed) for make in captured]
        eager_arguments = [make(seed) for make in arguments]
        run_arguments = [make(seed) for make in arguments]
        again(build(*others), traced, eager_arguments, run_arguments)
        for k, (one, other) in enumerate(zip(others, held, strict=True)):
            equal(one, other, f"captured tensor {k} afterwards")
    return traced.program


def again(
    function: Callable[..., Any],
    traced: Traced,
    eager_arguments: Sequence[flow.Tensor],
    run_arguments: Sequence[flow.Tensor],
) -> None:
    """Call the function and run its program on equal arguments; compare what comes out."""
    expected = leaves(function(*eager_arguments))
    results = plain_run.run(traced.program.main, run_arguments)
    seen = [
        results[leaf.number] if isinstance(leaf, Result) else leaf
        for leaf in leaves(traced.results)
    ]
    assert len(expected) == len(seen)
    for k, (one, other) in enumerate(zip(expected, seen, strict=True)):
        equal(one, other, f"result {k}")
        if isinstance(one, flow.Tensor):
            aliases = [one.shares_storage(x) for x in eager_arguments]
            assert aliases == [other.shares_storage(x) for x in run_arguments], f"result {k}"
    for k, (one, other) in enumerate(zip(eager_arguments, run_arguments, strict=True)):
        equal(one, other, f"argument {k} afterwards")
