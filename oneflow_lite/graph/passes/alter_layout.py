"""AlterOpLayout: operations that are faster on another layout of their operands get that one.

x (NCHW) ─► packed ─► conv2d ─► add ─► tanh ─► unpacked ─► result
             one for each value         └── those that do not care follow
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from oneflow_lite._C import Tensor
from oneflow_lite.graph.analyses import STAYS, assign_layouts
from oneflow_lite.graph.ir import Function, Op, Scalar, Type, Value
from oneflow_lite.graph.passes.base import FunctionPass, register_pass
from oneflow_lite.graph.passes.context import PassContext
from oneflow_lite.graph.passes.info import PassInfo, level_of
from oneflow_lite.graph.passes.pure import only_computes, uses_slots
from oneflow_lite.graph.passes.rewriter import Rewriter, with_operands
from oneflow_lite.graph.program import Program
from oneflow_lite.graph.verify import infer
from oneflow_lite.ops.convolution import layout_transform


@dataclass(frozen=True)
class Layout:
    """A way to arrange the elements of a value: what packs it, and what brings it back.

    ``pack`` and ``unpack`` are functions of a tensor. ``fits`` tells whether a shape can be packed.
    ``spread`` packs an operand that is broadcast to such a shape, and ``spreads`` tells whether one
    of a shape can be; without these two, operations on such operands keep the layout that they
    have. Two layouts of one name are the same.
    """

    name: str
    pack: Callable[[Tensor], Tensor]
    unpack: Callable[[Tensor], Tensor]
    fits: Callable[[tuple[int, ...]], bool]
    spread: Callable[[Tensor], Tensor] | None = None
    spreads: Callable[[tuple[int, ...]], bool] | None = None


@dataclass(frozen=True)
class Altered:
    """What a rule wants: the operation on packed operands.

    ``packed`` has the numbers of the operands that are packed; ``make`` is called with all
    operands, and returns the packed result. ``gain``: how many bytes could be packed in the time
    that it saves. A run of operations that share values is altered if it gains more than it costs.
    """

    layout: Layout
    packed: tuple[int, ...]
    make: Callable[..., Tensor]
    gain: float = inf


Rule = Callable[[Op], Altered | None]
_RULES: dict[str, list[tuple[int, Rule]]] = {}


def _spread_images(x: Tensor) -> Tensor:
    """Pack what is broadcast to images: where it has channels, and else for all of them."""
    whole = x.reshape((1,) * (4 - x.ndim) + x.shape)
    return whole[..., None] if whole.shape[1] == 1 else NCHW16c.pack(whole)


#: Images (n, c, h, w) as (n, c / 16, h, w, 16).
NCHW16c = Layout(
    "NCHW16c",
    lambda x: layout_transform(x, "NCHW", "NCHW16c"),
    lambda x: layout_transform(x, "NCHW16c", "NCHW"),
    lambda shape: len(shape) == 4 and shape[1] % 16 == 0,
    _spread_images,
    lambda shape: len(shape) < 3 or (len(shape) < 5 and (shape[-3] == 1 or shape[-3] % 16 == 0)),
)


def register_alter_op_layout(operation: str, level: int = 10) -> Callable[[Rule], Rule]:
    """Register a rule for an operation, for the pass ``AlterOpLayout``.

    A rule is a function of an operation. It returns an ``Altered``, or None: the operation stays as
    it is. Of several rules only the one of the highest level is asked, as in TVM; of those of one
    level, the last.

    Examples
    --------
    >>> import oneflow_lite as flow
    >>> from oneflow_lite.graph import passes
    >>> @passes.register_alter_op_layout("cbrt")
    ... def cube_root(op):
    ...     return passes.Altered(passes.NCHW16c, (0,), flow.cbrt)
    >>> f = lambda x: flow.cbrt(x) + 1
    >>> program = flow.graph.trace(f, flow.ones((1, 32, 4, 4))).program
    >>> [op.name for op in passes.AlterOpLayout()(program).main.ops if not op.is_view]
    ['layout_transform', 'cbrt', 'add', 'layout_transform']
    """
    if not isinstance(operation, str):
        raise TypeError("[register_alter_op_layout] expected the name of an operation")
    rank = level_of("register_alter_op_layout", "level", level)

    def register(rule: Rule) -> Rule:
        rows = _RULES.setdefault(operation, [])
        rows.append((rank, rule))
        rows.sort(key=lambda row: row[0])
        return rule

    return register


class AlterOpLayout(FunctionPass):
    """Gives operations the layout that their rules ask for. Level 3.

    Elementwise operations follow where their operands have the shape of the result; what IEEE 754
    defines follows with operands that are broadcast, too. ``analyses.assign_layouts`` says which
    runs of operations gain by it. A value is packed once for each layout. Results, assigns and all
    other operations get the layout that they had. What the rules make is verified.
    """

    info = PassInfo(3, "AlterOpLayout")
    is_checked = True

    def transform_function(
        self, function: Function, program: Program, context: PassContext
    ) -> Function:
        """Return the function with other layouts."""
        if not any(op.name in _RULES for op in function.ops):
            return function
        wishes = _assigned(function, list(_wishes(function.ops)))
        return _Altering(wishes).rewritten(function) if any(wishes) else function


@dataclass(frozen=True)
class _Wish:
    """The layout that an operation could have, and the operands that would be packed."""

    layout: Layout
    packed: tuple[int, ...]
    gain: float
    make: Callable[..., Tensor] | None  # None: it follows others


def _wishes(ops: Iterable[Op]) -> Iterator[_Wish | None]:
    """Yield what each operation could have, by its rule or by what makes its operands."""
    layouts: dict[Value, Layout] = {}
    for op in ops:
        wish = None
        if only_computes(op) and not uses_slots(op) and len(op.results) == 1:
            wish = _by_rule(op) if op.name in _RULES else _following(op, layouts)
        if wish is not None:
            layouts[op.results[0]] = wish.layout
        yield wish


def _by_rule(op: Op) -> _Wish | None:
    wanted = _RULES[op.name][-1][1](op)
    if wanted is None:
        return None
    if not isinstance(wanted, Altered):
        raise TypeError(
            f"[AlterOpLayout] expected an Altered or None from the rule for {op.name}, got "
            f"{type(wanted).__name__}"
        )
    values = [*(op.operands[k] for k in wanted.packed), op.results[0]]
    fits = wanted.layout.fits
    if not all(fits(x.type.shape) and x.type.is_row_major for x in values if isinstance(x, Value)):
        return None
    return _Wish(wanted.layout, wanted.packed, wanted.gain, wanted.make)


def _following(op: Op, layouts: Mapping[Value, Layout]) -> _Wish | None:
    """Return what an operation could have that does not care, after the first of its operands."""
    result = op.results[0].type
    whole = [x for x in op.values() if x.type.shape == result.shape]
    layout = next((layouts[x] for x in whole if x in layouts), None)
    if layout is None or op.call.kind != "elementwise" or not result.is_row_major:
        return None
    parts = [x.type for x in op.values() if x.type.shape != result.shape]
    if parts and not (op.call.is_exact and _spreads_all(layout, parts)):
        return None
    if not all(x.type.is_row_major for x in op.values()):
        return None
    packed = tuple(k for k, x in enumerate(op.operands) if isinstance(x, Value))
    return _Wish(layout, packed, 0, None)


def _spreads_all(layout: Layout, parts: Iterable[Type]) -> bool:
    return layout.spreads is not None and all(layout.spreads(x.shape) for x in parts)


def _assigned(function: Function, wishes: list[_Wish | None]) -> list[_Wish | None]:
    """Return the wishes of runs that gain by them."""
    numbers: dict[Value, int] = {x: k for k, x in enumerate(function.inputs())}
    for op in function.ops:
        for value in op.results:
            numbers[value] = len(numbers)
    names: dict[str, int] = {}
    wanted = [STAYS if x is None else names.setdefault(x.layout.name, len(names)) for x in wishes]
    takes, reads = [], []
    for op, wish in zip(function.ops, wishes, strict=True):
        packed = set() if wish is None else {op.operands[k] for k in wish.packed}
        takes.append([numbers[x] for x in op.values() if x in packed])
        reads.append([numbers[x] for x in op.values() if x not in packed])
    known = {bound.value for bound in function.constants}  # what packs them is folded
    costs = [0 if x in known else x.type.nbytes for x in numbers]
    kept = (*function.results, *(last for _, last in function.assigns))
    layouts = assign_layouts(
        wanted,
        takes,
        reads,
        [[numbers[x] for x in op.results] for op in function.ops],
        [numbers[x] for x in kept],
        costs,
        [0 if x is None else x.gain for x in wishes],
    )
    return [x if layout != STAYS else None for x, layout in zip(wishes, layouts, strict=True)]


class _Altering(Rewriter):
    """`_packed` has the values that exist in another layout only, by the value as it was."""

    def __init__(self, wishes: Iterable[_Wish | None]) -> None:
        self._wishes = iter(wishes)  # of the operations, in order
        self._packed: dict[tuple[Value, str], Value] = {}
        self._layouts: dict[Value, Layout] = {}  # of values that are not unpacked so far
        self._plain: dict[Value, Value] = {}

    def visit_op(self, op: Op) -> Any:
        wish = next(self._wishes)
        if wish is None:
            return self._on_plain(op)
        operands = [
            self._in_layout(x, wish.layout) if k in wish.packed else self._as_it_was(x)
            for k, x in enumerate(op.operands)
        ]
        made = (
            self._followed(op, operands) if wish.make is None else self.emit(wish.make, *operands)
        )
        stand_in = op.results[0]
        self._packed[stand_in, wish.layout.name] = made
        self._layouts[stand_in] = wish.layout
        return stand_in

    def _followed(self, op: Op, operands: list[Any]) -> Value:
        """Put the same call on packed operands into the function."""
        made = replace(op, operands=tuple(operands))
        (found,) = infer(made)
        result = Value(found)
        self._ops.append(replace(made, results=(result,)))
        return result

    def _in_layout(self, value: Value | Scalar, layout: Layout) -> Value | Scalar:
        if isinstance(value, Scalar):
            return value
        key = value, layout.name
        if key not in self._packed:
            pack = layout.pack if layout.fits(value.type.shape) else layout.spread
            assert pack is not None
            self._packed[key] = self.emit(pack, self._as_it_was(value))
        return self._packed[key]

    def _as_it_was(self, value: Any) -> Any:
        """Return a value in the layout that it had; unpacked once."""
        if value not in self._layouts:
            return value
        if value not in self._plain:
            layout = self._layouts[value]
            made = self.emit(layout.unpack, self._packed[value, layout.name])
            self._plain[value] = made
        return self._plain[value]

    def _on_plain(self, op: Op) -> Op:
        new = {x: self._as_it_was(x) for x in op.values()}
        return with_operands(op, new)

    def rewritten(self, function: Function) -> Function:
        """Return the function; results and assigns are as they were."""
        made = super().rewritten(function)
        self._site = None
        results = tuple(map(self._as_it_was, made.results))
        assigns = tuple((target, self._as_it_was(last)) for target, last in made.assigns)
        return replace(
            made,
            captures=tuple(self._captures),
            constants=tuple(self._constants),
            ops=tuple(self._ops),
            results=results,
            assigns=assigns,
        )


register_pass(AlterOpLayout())
