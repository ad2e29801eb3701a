"""AlterOpLayout: operations that are faster on another layout of their operands get that one.

x (NCHW) ─► packed ─► conv2d ─► add ─► tanh ─► unpacked ─► result
             one for each value         └── those that do not care follow
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from oneflow_lite._C import Tensor
from oneflow_lite.graph.ir import Function, Op, Scalar, Value
from oneflow_lite.graph.passes.base import FunctionPass, register_pass
from oneflow_lite.graph.passes.context import PassContext
from oneflow_lite.graph.passes.info import PassInfo
from oneflow_lite.graph.passes.pure import only_computes, uses_slots
from oneflow_lite.graph.passes.rewriter import Rewriter, with_operands
from oneflow_lite.graph.program import Program
from oneflow_lite.ops.convolution import layout_transform


@dataclass(frozen=True)
class Layout:
    """A way to arrange the elements of a value: what packs it, and what brings it back.

    ``pack`` and ``unpack`` are functions of a tensor. ``fits`` tells whether a shape can be packed.
    Two layouts of one name are the same.
    """

    name: str
    pack: Callable[[Tensor], Tensor]
    unpack: Callable[[Tensor], Tensor]
    fits: Callable[[tuple[int, ...]], bool]


@dataclass(frozen=True)
class Altered:
    """What a rule wants: the operation on packed operands.

    ``packed`` has the numbers of the operands that are packed; ``make`` is called with all
    operands, and returns the packed result.
    """

    layout: Layout
    packed: tuple[int, ...]
    make: Callable[..., Tensor]


Rule = Callable[[Op], Altered | None]
_RULES: dict[str, list[tuple[int, Rule]]] = {}


#: Images (n, c, h, w) as (n, c / 16, h, w, 16).
NCHW16c = Layout(
    "NCHW16c",
    lambda x: layout_transform(x, "NCHW", "NCHW16c"),
    lambda x: layout_transform(x, "NCHW16c", "NCHW"),
    lambda shape: len(shape) == 4 and shape[1] % 16 == 0,
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

    def register(rule: Rule) -> Rule:
        rows = _RULES.setdefault(operation, [])
        rows.append((level, rule))
        rows.sort(key=lambda row: row[0])
        return rule

    return register


class AlterOpLayout(FunctionPass):
    """Gives operations the layout that their rules ask for. Level 3.

    Elementwise operations follow where all their operands have the shape of the result. A value is
    packed once for each layout. Results, assigns and all other operations get the layout that they
    had. Where a shape cannot be packed nothing happens. What the rules make is verified.
    """

    info = PassInfo(3, "AlterOpLayout")
    is_checked = True

    def transform_function(
        self, function: Function, program: Program, context: PassContext
    ) -> Function:
        """Return the function with other layouts."""
        if not any(op.name in _RULES for op in function.ops):
            return function
        return _Altering().rewritten(function)


class _Altering(Rewriter):
    """Values that are there in a layout only stand in `_packed`, under the value as it was."""

    def __init__(self) -> None:
        self._packed: dict[tuple[Value, str], Value] = {}
        self._layouts: dict[Value, Layout] = {}  # of values that are not unpacked so far
        self._plain: dict[Value, Value] = {}

    def visit_op(self, op: Op) -> Any:
        wanted = self._wanted(op)
        if wanted is None:
            return self._on_plain(op)
        operands = [
            self._in_layout(x, wanted.layout) if k in wanted.packed else self._as_it_was(x)
            for k, x in enumerate(op.operands)
        ]
        made = self.emit(wanted.make, *operands)
        stand_in = op.results[0]
        self._packed[stand_in, wanted.layout.name] = made
        self._layouts[stand_in] = wanted.layout
        return stand_in

    def _wanted(self, op: Op) -> Altered | None:
        """Return what a rule asks for, or what follows from the operands."""
        if not only_computes(op) or uses_slots(op):
            return None
        if op.name in _RULES:
            wanted = _RULES[op.name][-1][1](op)
            if wanted is not None and not isinstance(wanted, Altered):
                raise TypeError(
                    f"[AlterOpLayout] expected an Altered or None from the rule for {op.name}, got "
                    f"{type(wanted).__name__}"
                )
        else:
            wanted = self._following(op)
        if wanted is None:
            return None
        shapes = [op.operands[k] for k in wanted.packed]
        values = [x for x in (*shapes, op.results[0]) if isinstance(x, Value)]
        fits = wanted.layout.fits
        return wanted if all(x.type.is_row_major and fits(x.type.shape) for x in values) else None

    def _following(self, op: Op) -> Altered | None:
        layouts = [self._layouts[x] for x in op.values() if x in self._layouts]
        shape = op.results[0].type.shape if op.results else ()
        is_alike = all(x.type.shape == shape for x in op.values())
        if not layouts or op.call.kind != "elementwise" or not is_alike:
            return None
        packed = tuple(k for k, x in enumerate(op.operands) if isinstance(x, Value))
        call = op.call

        def make(*operands: Any) -> Any:
            return call.replay(operands)[0]

        return Altered(layouts[0], packed, make)

    def _in_layout(self, value: Value | Scalar, layout: Layout) -> Value | Scalar:
        if isinstance(value, Scalar):
            return value
        key = value, layout.name
        if key not in self._packed:
            self._packed[key] = self.emit(layout.pack, self._as_it_was(value))
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
