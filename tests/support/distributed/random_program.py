"""Random programs of tensors on many ranks, beside NumPy's arrays.

    python -m tests.support.distributed.random_program --programs 10000
    python -m tests.support.distributed.random_program --seed 17 --ranks 4 --mode naive
    mpiexec -n 2 python -m tests.support.distributed.random_program --programs 1000

Ranks are threads, of all numbers in turn, or the processes of which this is one. A program makes
tensors in random layouts, some on a part of the ranks, and computes, indexes, writes and moves
them. Each result is compared: each rank's part with that part of the array, and the whole. A
failure shows the steps and the command that runs them again.
"""

import argparse
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import oneflow_lite as flow
from oneflow_lite.distributed import GlobalTensor, Layout, layout
from tests.support.distributed.programs import (
    SHAPES,
    Array,
    check,
    on_ranks,
    random_layout,
    random_sbps,
)

WORLDS = (1, 2, 3, 4, 6, 8)
STEPS = 14
MODES: dict[str, dict[str, object]] = {
    "default": {},
    "naive": {"sync": True},
    "workers": {"inline": "0", "fusion": "always", "num_threads": 2},
    "mock": {"mock": "devices=4,jitter=30us"},
}
MOST = 1 << 20  # of exact numbers: sums and products of them have no rounding, in any order


class Value(NamedTuple):
    """A tensor of many ranks, and what it is."""

    x: GlobalTensor
    v: Array

    @property
    def is_exact(self) -> bool:
        """Its elements are integers, small enough for any order of sums."""
        if self.v.dtype.kind in "iub":
            return bool(np.abs(self.v.astype("int64")).max(initial=0) <= MOST)
        return bool(np.isfinite(self.v).all() and (self.v == np.round(self.v)).all()) and bool(
            np.abs(self.v).max(initial=0) <= MOST / 8
        )


class Program:
    """One program, as each rank runs it: the same choices on all of them."""

    def __init__(self, seed: int, device: str):
        self.rng = np.random.default_rng(seed)
        self.seed, self.device = seed, device
        self.world = flow.distributed.world_size()
        self.values: list[Value] = []
        self.steps: list[str] = []

    # --- choices

    def pick(self, choices: Any) -> Any:
        return choices[self.rng.integers(len(choices))]

    def chance(self, of: int) -> bool:
        return bool(self.rng.integers(of) == 0)

    def axis(self, v: Array) -> int:
        return int(self.rng.integers(-v.ndim, v.ndim))

    def where(self, shape: tuple[int, ...], ops: Any = ()) -> Layout:
        return random_layout(self.rng, self.device, self.world, shape, ops)

    def beside(self, x: GlobalTensor, shape: tuple[int, ...]) -> Layout:
        """A layout on the ranks of another tensor."""
        return layout(shape, x.placement, random_sbps(self.rng, x.placement, len(shape)))

    def number(self) -> int:
        return int(self.rng.integers(-3, 4))

    def array(self, shape: tuple[int, ...], dtype: str) -> Array:
        made: Array = np.asarray(self.rng.integers(-4, 5, size=shape)).astype(dtype)
        return made

    # --- what a program does

    def note(self, name: str, *operands: Any) -> None:
        self.steps.append(f"{len(self.steps)}: {name}({', '.join(map(str, operands))})")

    def add(self, x: GlobalTensor, v: Any) -> Value:
        """Compare, and keep it for later steps."""
        expected = np.asarray(v)
        assert (x.shape, x.dtype) == (expected.shape, expected.dtype), (x, expected)
        check(x, expected)
        made = Value(x, expected)
        self.values.append(made)
        return made

    def one(self, accepts: Callable[[Value], bool] = lambda _: True) -> Value | None:
        """A tensor that a step may use; now and then none is there."""
        fitting = [each for each in self.values if accepts(each)]
        return self.pick(fitting) if fitting else None

    def create(self) -> None:
        shape = self.pick(SHAPES)
        dtype = str(self.pick(["float32", "float64", "int64", "int32", "bool"]))
        where = self.where(shape)
        how: dict[str, Any] = {"placement": where.placement, "sbp": list(where.sbp)}
        kind = self.pick(["tensor", "zeros", "full", "arange"])
        self.note(kind, dtype, where)
        if kind == "tensor":
            v = self.array(shape, dtype)
            self.add(flow.tensor(v, **how), v)
        elif kind == "zeros":
            self.add(flow.zeros(shape, dtype=dtype, **how), np.zeros(shape, dtype))
        elif kind == "full":
            self.add(flow.full(shape, 3, dtype=dtype, **how), np.full(shape, 3, dtype))
        else:
            flat = self.where((11,))
            how = {"placement": flat.placement, "sbp": list(flat.sbp)}
            self.add(flow.arange(11, dtype="int64", **how), np.arange(11))

    def partial(self) -> None:
        """Random numbers as partial values, made whole again later."""
        shape, op = self.pick(SHAPES), str(self.pick(["sum", "max", "min"]))
        where = self.where(shape, (op,))
        v = self.array(shape, "int64")
        local = flow.tensor(v)
        self.note("partial", where)
        count = int(
            np.prod(
                [
                    n
                    for n, each in zip(where.placement.grid, where.sbp, strict=True)
                    if each.op is not None
                ]
            )
        )
        box = where.box(flow.distributed.rank())
        part = local[box] if box is not None else local
        x = part.to_global(where.placement, list(where.sbp))
        self.add(x, v * count if op == "sum" else v)

    def unary(self) -> None:
        if (value := self.one()) is None:
            return
        x, v = value
        functions: list[tuple[str, Any, Any]] = [
            ("abs", abs, abs),
            ("square", flow.square, np.square),
        ]
        if v.dtype.kind == "f":
            functions += [("tanh", flow.tanh, np.tanh), ("sqrt", flow.sqrt, np.sqrt)]
            functions += [("exp", flow.exp, np.exp), ("round", flow.round, np.round)]
        name, ours, theirs = self.pick(functions)
        self.note(name, x.layout, v.dtype)
        with np.errstate(all="ignore"):
            self.add(ours(x), theirs(v))

    def binary(self) -> None:
        if (value := self.one()) is None:
            return
        x, v = value
        functions: list[tuple[str, Any, Any]] = [
            ("add", flow.add, np.add),
            ("multiply", flow.multiply, np.multiply),
            ("maximum", flow.maximum, np.maximum),
            ("less", flow.less, np.less),
            ("where", lambda a, b: flow.where(a > b, a, b), lambda a, b: np.where(a > b, a, b)),
        ]
        name, ours, theirs = self.pick(functions)
        kept = [n if self.chance(3) is False else 1 for n in v.shape]
        w = self.array(tuple(kept)[int(self.rng.integers(v.ndim + 1)) :], str(v.dtype))
        y = flow.tensor(w, placement=x.placement, sbp=list(self.beside(x, w.shape).sbp))
        kind = self.pick(["tensor", "array", "number"])
        self.note(name, x.layout, y.layout, v.dtype, kind)
        with np.errstate(all="ignore"):
            if kind == "tensor":
                self.add(ours(x, y), theirs(v, w))
            elif kind == "array":
                self.add(ours(x, w), theirs(v, w))
            elif v.dtype != bool:
                number = self.number()
                self.add(ours(x, number), theirs(v, number))

    def reduce(self) -> None:
        if (value := self.one(lambda each: each.is_exact and each.v.size > 0)) is None:
            return
        x, v = value
        name = str(self.pick(["sum", "max", "min", "any", "all", "mean", "var"]))
        axis = None if self.chance(3) or v.ndim == 0 else self.axis(v)
        keepdims = self.chance(2)
        self.note(name, x.layout, v.dtype, axis, keepdims)
        made = getattr(flow, name)(x, axis=axis, keepdims=keepdims)
        expected = np.asarray(getattr(np, name)(v, axis=axis, keepdims=keepdims))
        if name in ("mean", "var"):
            assert made.dtype == expected.dtype
            whole = made.full()
            if whole.size:
                np.testing.assert_allclose(whole.numpy(), expected, rtol=1e-5, atol=1e-5)
        else:
            self.add(made, expected)

    def multiply(self) -> None:
        if (value := self.one(lambda each: each.v.ndim > 0 and each.is_exact)) is None:
            return
        x, v = value
        if v.dtype == bool:
            return
        batch = self.pick([(), (1,), v.shape[:-2][-1:], (2, 1) if v.ndim < 4 else ()])
        columns = self.pick([(), (1,), (4,)])  # none: a vector
        w = self.array((*(batch if columns else ()), v.shape[-1], *columns), str(v.dtype))
        y = flow.tensor(w, placement=x.placement, sbp=list(self.beside(x, w.shape).sbp))
        self.note("matmul", x.layout, y.layout, v.dtype)
        self.add(x @ y, v @ w)

    def move(self) -> None:
        """Another layout, now and then on other ranks."""
        if (value := self.one()) is None:
            return
        x, v = value
        to = self.where(v.shape) if self.chance(3) else self.beside(x, v.shape)
        self.note("to_global", x.layout, to)
        self.add(x.to_global(to.placement, list(to.sbp)), v)

    def rearrange(self) -> None:
        if (value := self.one(lambda each: each.v.ndim > 0)) is None:
            return
        x, v = value
        order = self.rng.permutation(v.ndim).tolist()
        axis = self.axis(v)
        name = str(
            self.pick(
                ["permute_dims", "reshape", "flip", "expand_dims", "concat", "stack", "ravel"]
            )
        )
        self.note(name, x.layout, order, axis)
        if name == "flip" and self.chance(2):  # or a roll
            shift = int(self.rng.integers(-9, 10))
            self.add(flow.roll(x, shift, axis=axis), np.roll(v, shift, axis=axis))
            return
        if name == "permute_dims":
            self.add(flow.permute_dims(x, order), np.transpose(v, order))
        elif name == "reshape":
            shape = (v.shape[0], -1) if v.size else v.shape[::-1]
            self.add(flow.reshape(x, shape), v.reshape(shape))
        elif name == "flip":
            self.add(flow.flip(x, axis=axis), np.flip(v, axis))
        elif name == "expand_dims":
            self.add(flow.expand_dims(x, axis=axis), np.expand_dims(v, axis))
        elif name == "ravel":
            self.add(flow.ravel(x), np.ravel(v))
        elif v.size < 2000 and v.ndim < 5:
            join = flow.concat if name == "concat" else flow.stack
            other = x.to_global(sbp=list(self.beside(x, v.shape).sbp))
            self.add(join([x, other], axis=axis), getattr(np, name)([v, v], axis=axis))

    def key(self, v: Array) -> tuple[Any, ...]:
        """A basic index."""
        keys: list[Any] = []
        for extent in v.shape:
            kind = self.rng.integers(4)
            if kind == 0 and extent:
                keys.append(int(self.rng.integers(-extent, extent)))
            elif kind == 1:
                a, b = self.rng.integers(-extent - 1, extent + 2, 2)
                keys.append(slice(int(a), int(b), int(self.pick([1, 2, -1, 3]))))
            else:
                keys.append(slice(None))
        if self.chance(4):
            keys.insert(int(self.rng.integers(len(keys) + 1)), None)
        return tuple(keys)

    def index(self) -> None:
        if (value := self.one()) is None:
            return
        x, v = value
        key = self.key(v)
        self.note("getitem", x.layout, key)
        self.add(x[key], v[(*key, ...)])  # a view, also of one element

    def write(self) -> None:
        """Into a tensor; what shares its memory in NumPy is not used any more."""
        value = self.one(lambda each: all(one.op is None for one in each.x.sbp))
        if value is None or not value.v.flags.writeable:
            return
        x, v = value
        self.values = [each for each in self.values if each.x is x or not shares(each.v, v)]
        self.values = [each for each in self.values if each.x is not x]
        v = v.copy()
        key = self.key(v)
        kind = self.pick(["number", "array", "tensor", "mask", "in place"])
        self.note("setitem", x.layout, key, kind)
        if kind == "number":
            x[key] = v[key] = 2
        elif kind == "mask":
            mask = v > 0
            x[flow.tensor(mask, placement=x.placement, sbp=list(self.beside(x, v.shape).sbp))] = 1
            v[mask] = 1
        elif kind == "in place":
            w = self.array(v.shape, str(v.dtype))
            x *= flow.tensor(w, placement=x.placement, sbp=list(self.beside(x, v.shape).sbp))
            v *= w
        else:
            w = self.array(v[key].shape, str(v.dtype))
            where = self.beside(x, w.shape)
            x[key] = (
                w if kind == "array" else flow.tensor(w, placement=x.placement, sbp=list(where.sbp))
            )
            v[key] = w
        self.add(x, v)

    def look_along(self) -> None:
        """What goes along an axis."""
        value = self.one(lambda each: each.v.ndim > 0 and 0 not in each.v.shape and each.is_exact)
        if value is None or value.v.dtype == bool:
            return
        x, v = value
        axis = self.axis(v)
        name = str(self.pick(["argmax", "argmin", "cumsum", "take", "sort", "argsort"]))
        self.note(name, x.layout, axis)
        if name == "take":
            indices = self.rng.integers(-v.shape[axis], v.shape[axis], 3)
            self.add(flow.take(x, indices, axis=axis), np.take(v, indices, axis=axis))
        elif name == "cumsum":
            self.add(flow.cumsum(x, axis=axis), np.cumsum(v, axis=axis))
        elif name in ("argmax", "argmin"):
            self.add(getattr(flow, name)(x, axis=axis), getattr(np, name)(v, axis=axis))
        elif v.ndim > 1 or all(each.dim is None for each in x.sbp):
            made = getattr(flow, name)(x, axis=axis)
            kinds = {"kind": "stable"} if name == "argsort" else {}
            self.add(made, getattr(np, name)(v, axis=axis, **kinds))

    def run(self) -> None:
        """All steps; an error says which ones there were."""
        steps = [
            *(self.create, self.partial, self.unary, self.unary, self.binary, self.binary),
            *(self.reduce, self.multiply, self.move, self.move, self.rearrange, self.index),
            *(self.index, self.write, self.look_along),
        ]
        try:
            self.create()
            for _ in range(STEPS):
                self.pick(steps)()
                self.values = self.values[-8:]
        except Exception as error:
            listing = "\n".join(self.steps)
            raise AssertionError(f"after these steps:\n{listing}\n{error}") from error


def shares(a: Array, b: Array) -> bool:
    return a is b or bool(np.shares_memory(a, b))


def run(seed: int, ranks: int, mode: str, device: str | None = None) -> None:
    """Run one program on threads, or on the processes of this world; by default on the host, or on
    mock devices in that mode.

    Raises
    ------
    AssertionError
        With its steps, where a result is another one than NumPy's.
    """
    device = device or ("mock" if mode == "mock" else "cpu")
    with flow.flags(**MODES[mode]):
        on_ranks(lambda: Program(seed, device).run(), ranks)


def main() -> None:
    """Run as many as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="of the first one")
    parser.add_argument("--programs", type=int, default=1)
    parser.add_argument("--ranks", type=int, help="by default of threads all numbers in turn")
    parser.add_argument("--mode", choices=MODES, help="by default all in turn")
    options = parser.parse_args()
    world = flow.distributed.world_size()
    modes = [options.mode] if options.mode else list(MODES)
    for seed in range(options.seed, options.seed + options.programs):
        worlds = [options.ranks] if options.ranks else [world] if world > 1 else WORLDS
        ranks, mode = worlds[seed % len(worlds)], modes[seed // len(worlds) % len(modes)]
        try:
            run(seed, ranks, mode)
        except BaseException:
            command = f"--seed {seed} --ranks {ranks} --mode {mode}"
            print(f"FAILED: python -m {__spec__.name} {command}", file=sys.stderr, flush=True)
            raise
    if flow.distributed.rank() == 0:
        print(f"{options.programs} programs from seed {options.seed}: all as in NumPy")


if __name__ == "__main__":
    main()
