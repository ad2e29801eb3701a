"""Calls every public function with garbage: ``python fuzz_program.py SEED ROUNDS``.

Prints how many calls there were and how many raised; dies on an error that no user should see.
"""

import random
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import oneflow_lite as flow

RNG = random.Random()


class Liar:
    """Says it is everything, and fails at it."""

    def __index__(self) -> int:
        raise RuntimeError("no index")

    def __len__(self) -> int:
        return 1 << 40

    def __getitem__(self, i: object) -> object:
        raise KeyError(i)

    def __float__(self) -> Any:
        return "no float"

    def __array__(self, *arguments: object, **keywords: object) -> Any:
        return 5


class Shrinking(list[int]):
    """A list that is empty once it has been looked at."""

    def __getitem__(self, i: Any) -> Any:
        self.clear()
        return 1


DEVICES = ("cpu", "mock:0", "mock:1")
SHAPES = ((), (0,), (3,), (2, 3), (1, 1), (3, 0, 2), (40, 50))
DTYPES = ("bool", "int8", "uint64", "float16", "float32", "complex64", "int64")
KEYWORDS = (
    *("axis", "out", "dtype", "device", "keepdims", "copy", "k", "size", "min", "max", "nonsense"),
)
NOT_CALLED = {"lifecycle", "flags", "profiler"}
NOT_CALLED |= {"__class__", "__init_subclass__", "__subclasshook__", "__reduce_ex__"}
NOT_CALLED |= {"__setattr__", "__delattr__"}
NOT_CALLED |= {"tofile"}  # it writes files

GARBAGE: tuple[Callable[[tuple[int, ...], str], Any], ...] = (
    lambda shape, dtype: flow.full(shape, 1, dtype=dtype, device=RNG.choice(DEVICES)),
    lambda shape, dtype: flow.full((2, *shape), 1, dtype=dtype)[..., ::-1].T,
    lambda shape, dtype: np.ones(shape, dtype),
    lambda shape, dtype: np.lib.stride_tricks.as_strided(np.ones(4), (2, 3), (0, 8)),
    lambda shape, dtype: np.array(["a"]),
    lambda shape, dtype: np.array([None]),
    lambda shape, dtype: np.float32(1),
    lambda shape, dtype: flow.broadcast_to(flow.ones(1), (4, 1 << 10)),
    lambda shape, dtype: flow.ones(()),
    lambda shape, dtype: [flow.ones(2), flow.ones(2)],
    lambda shape, dtype: RNG.choice([-1, 0, 1, 2, 1 << 62, 10**30]),
    lambda shape, dtype: RNG.choice([0.0, float("nan"), -1e308, 1j, True]),
    lambda shape, dtype: RNG.choice(["float32", "int7", np.dtype("O"), np.longdouble]),
    lambda shape, dtype: RNG.choice([None, "mock:0", b"\0", object, len, flow.add, flow, {}, ...]),
    lambda shape, dtype: RNG.choice([(2, 3), [1, -1], [[1], [2, 3]], (), range(3), (1,) * 70]),
    lambda shape, dtype: RNG.choice([(-1, 1 << 62), [1 << 40] * 2, slice(None, None, -1)]),
    lambda shape, dtype: RNG.choice([Liar(), (Liar(),), Shrinking([1, 2, 3])]),
    lambda shape, dtype: flow.Device("mock:1"),
)


def garbage() -> Any:
    if RNG.random() < 0.4:  # so that calls get further than their first argument
        return RNG.choice([flow.full((2, 3), 1, dtype=RNG.choice(DTYPES)), 1, 0, (2, 3)])
    return RNG.choice(GARBAGE)(RNG.choice(SHAPES), RNG.choice(DTYPES))


def callables() -> Iterator[tuple[str, Callable[..., Any]]]:
    modules = (flow, flow.random, flow.vm)
    tensor = flow.ones((2, 3), device=RNG.choice(DEVICES))
    for space in (*modules, tensor, flow.zeros((3, 1), dtype="int8"), flow.Device("cpu")):
        for name in dir(space):
            function = getattr(space, name, None)  # some are of CUDA tensors only
            if name.startswith("__") and space in modules:
                continue
            if callable(function) and name not in NOT_CALLED:
                yield name, function


def call(name: str, function: Callable[..., Any]) -> bool:
    """Call it; tell whether it raised."""
    arguments = [garbage() for _ in range(RNG.choice([0, 1, 1, 2, 2, 3, 4]))]
    keywords = {RNG.choice(KEYWORDS): garbage() for _ in range(RNG.choice([0, 0, 0, 1, 2]))}
    try:
        result = function(*arguments, **keywords)
        if isinstance(result, flow.Tensor) and result.size < 1000:
            result.numpy()
            repr(result)
    except Exception as error:
        if isinstance(error, SystemError) or "C++ type" in str(error):
            raise RuntimeError(f"{name} with {arguments} and {keywords}") from error
        return True
    return False


def main() -> None:
    warnings.simplefilter("ignore")
    RNG.seed(int(sys.argv[1]))
    outcomes = [call(*one) for _ in range(int(sys.argv[2])) for one in callables()]
    while True:
        try:
            flow.synchronize()
            break
        except Exception:
            continue
    assert flow.arange(5).mock().sum().item() == 10
    print(len(outcomes), sum(outcomes))


if __name__ == "__main__":
    main()
