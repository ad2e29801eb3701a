"""Rewriter: goes through a function in order and puts other operations in the place of some."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.graph.calls import attributes_of, call_of
from oneflow_lite.graph.copies import type_of
from oneflow_lite.graph.ir import Bound, Function, Op, Scalar, Site, Slot, Value
from oneflow_lite.graph.sites import at
from oneflow_lite.graph.tracing import recorded
from oneflow_lite.graph.verify import infer


class Rewriter:
    """Makes a function anew, operation by operation. A base for passes; override ``visit_...``.

    ``visit_op`` gets each operation, with the new values as operands, and returns it, or another
    value in the place of its result. New operations are made by ``emit``: it calls a function of
    the library on values. Where an operand has got another type, the operation is made again with
    it, and so its results have the types that follow.

    Examples
    --------
    >>> import oneflow_lite as flow
    >>> from oneflow_lite.graph import passes
    >>> class NoNegative(passes.Rewriter):
    ...     def visit_op(self, op):
    ...         if op.name != "negative":
    ...             return op
    ...         return self.emit(flow.multiply, op.operands[0], -1)
    >>> @passes.function_pass
    ... def no_negative(function, program, context):
    ...     return NoNegative().rewritten(function)
    >>> program = flow.graph.trace(lambda x: -x + 1, flow.ones(3)).program
    >>> [op.name for op in no_negative(program).main.ops]
    ['multiply', 'add']
    """

    def visit_param(self, value: Value) -> Value:
        """Return a parameter, or another one in its place: of another type, that is.

        What a pass makes of a program takes the same parameters, or the pass is refused.
        """
        return value

    def visit_capture(self, bound: Bound) -> Bound:
        """Return a captured tensor, or another one in its place."""
        return bound

    def visit_constant(self, bound: Bound) -> Bound | Tensor:
        """Return a constant, or the tensor of another one in its place."""
        return bound

    def visit_op(self, op: Op) -> Op | Value | tuple[Value, ...]:
        """Return the operation, or the values that take the place of its results."""
        return op

    def emit(self, function: Callable[..., Any], *operands: Any) -> Any:
        """Call a function of the library on values, and put what it does into the new function.

        Parameters
        ----------
        function : callable
            Of tensors, numbers and all else; it returns a tensor or a tuple of tensors.
        operands : Value, Scalar or any
            Values stand for tensors. All else is passed as it is.

        Returns
        -------
        Value or tuple of Value
            Of what the function returns.

        Raises
        ------
        TraceError
            As ``trace`` does.
        """
        made, given = _recorded(function, operands)
        new = dict(zip(made.params, [x for x in operands if isinstance(x, Value)], strict=True))
        self._captures += made.captures
        self._constants += made.constants
        for op in made.ops:
            self._ops.append(with_operands(_at(op, self._site, self._lane), new))
        results = tuple(new.get(value, value) for value in made.results)
        return results if isinstance(given, tuple) else results[0]

    def constant(self, tensor: Tensor) -> Value:
        """Return a new constant with the elements of a tensor."""
        bound = Bound(Value(type_of(tensor)), tensor)
        self._constants.append(bound)
        return bound.value

    def rewritten(self, function: Function) -> Function:
        """Return the function made anew."""
        self._ops: list[Op] = []
        self._constants: list[Bound] = []
        self._site: Site | None = None
        self._lane: int | None = None
        new: dict[Value, Value] = {}
        params = [_of_type("param", Value, self.visit_param(x)) for x in function.params]
        new |= zip(function.params, params, strict=True)
        self._captures = [
            _of_type("capture", Bound, self.visit_capture(x)) for x in function.captures
        ]
        new |= {a.value: b.value for a, b in zip(function.captures, self._captures, strict=True)}
        for bound in function.constants:
            new[bound.value] = self._visited_constant(bound, function)
        for op in function.ops:
            self._site, self._lane = op.site, op.lane
            try:
                results = self._visited(with_operands(op, new))
            except Exception as error:
                error.add_note(f"at the operation {op.name}{at(op.site)}")
                raise
            new |= zip(op.results, results, strict=True)
        names = {new.get(x, x) if isinstance(x, Value) else x: y for x, y in function.names.items()}
        return replace(
            function,
            params=tuple(params),
            captures=tuple(self._captures),
            constants=tuple(self._constants),
            ops=tuple(self._ops),
            results=tuple(new[value] for value in function.results),
            assigns=tuple((new[target], new[last]) for target, last in function.assigns),
            names=names,
        )

    def _visited_constant(self, bound: Bound, function: Function) -> Value:
        try:
            found = _of_type("constant", Bound | Tensor, self.visit_constant(bound))
        except Exception as error:
            users = (op for op in function.ops if bound.value in op.values())
            note = next((f"at an operand of {op.name}{at(op.site)}" for op in users), "")
            error.add_note(note or "at a constant that no operation uses")
            raise
        if not isinstance(found, Bound):
            return self.constant(found)
        self._constants.append(found)
        return found.value

    def _visited(self, op: Op) -> tuple[Value, ...]:
        found = self.visit_op(op)
        if isinstance(found, Value):
            found = (found,)
        if isinstance(found, tuple) and all(isinstance(x, Value) for x in found):
            if len(found) != len(op.results):
                raise ValueError(
                    f"[visit_op] expected {len(op.results)} values in the place of {op.name}, got "
                    f"{len(found)}"
                )
            return found
        if not isinstance(found, Op):
            raise TypeError(f"[visit_op] expected an Op or its values, got {type(found).__name__}")
        self._ops.append(found)
        return found.results


def _of_type(visited: str, kind: Any, found: Any) -> Any:
    if isinstance(found, kind):
        return found
    wanted = " or a ".join(x.__name__ for x in getattr(kind, "__args__", (kind,)))
    raise TypeError(f"[visit_{visited}] expected a {wanted}, got {type(found).__name__}")


def with_operands(op: Op, new: dict[Value, Value]) -> Op:
    """Return the operation on other values; made again where one has another type."""
    if all(new.get(value, value) is value for value in op.values()):
        return op
    operands = tuple(new.get(x, x) if isinstance(x, Value) else x for x in op.operands)
    targets = tuple(new.get(x, x) for x in op.targets)
    made = replace(op, operands=operands, targets=targets)
    before = [value.type for value in op.values()]
    return made if before == [x.type for x in made.values()] else _made_again(op, made)


_FOLLOW = ("elementwise", "where", "copy", "reduce", "arg_reduce", "matmul", "concat", "transfer")


def _made_again(op: Op, made: Op) -> Op:
    """Return the operation with the results that it has on operands of other types."""
    if op.call.kind not in _FOLLOW or op.targets:
        raise TypeError(
            f"[Rewriter] {op.name} cannot take operands of other types: its call names shapes or "
            "dtypes; put another operation in its place"
        )
    types = tuple(value.type for value in op.results)
    call = call_of(op.call.kind, op.name, attributes_of(op), made.operands, types)
    again = replace(made, call=call)
    results = tuple(
        value if value.type == found else Value(found)
        for value, found in zip(op.results, infer(again), strict=True)
    )
    return replace(again, results=results)


def _at(op: Op, site: Site | None, lane: int | None) -> Op:
    return replace(op, site=site, lane=None if op.is_view else lane)


def _recorded(function: Callable[..., Any], operands: tuple[Any, ...]) -> tuple[Function, Any]:
    """Return what a function of the library does to values, and what it returned."""
    name = getattr(function, "__name__", "emit")
    recorder = _C.Recorder(name)
    with recorder:
        given = function(*(_stand_in(recorder, x) for x in operands))
        results = [recorder.value_of(x) for x in (given if isinstance(given, tuple) else (given,))]
    made = recorded(recorder, name, results)
    if made.assigns or made.objects:
        raise ValueError(
            f"[emit] {name} writes to its operands, draws random numbers or calls the host: "
            "operations that are put into a function only compute"
        )
    return made, given


def _stand_in(recorder: _C.Recorder, x: Any) -> Any:
    """Return what the function gets in the place of a value: a tensor of its type."""
    if isinstance(x, Scalar):
        if isinstance(x.value, Slot):
            raise TypeError("[emit] expected values and numbers, got a number of the run")
        return x.value
    if not isinstance(x, Value):
        return x
    return recorder.parameter_of(x.type.dtype, x.type.shape, x.type.strides, x.type.device)
