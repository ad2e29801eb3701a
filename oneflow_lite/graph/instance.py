"""A function that was built by hand, for one run: what is fetched, known extents, one device.

pruned ─► unknown extents get their sizes, the device its place ─► types inferred anew ─► Function
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from oneflow_lite._C import Device, OpCall, TraceError
from oneflow_lite.graph.calls import attributes_of, call_of
from oneflow_lite.graph.declared import Declared
from oneflow_lite.graph.extents import Dim, is_unknown, sized
from oneflow_lite.graph.ir import Bound, Function, Op, Scalar, Type, Value, row_major
from oneflow_lite.graph.sites import at
from oneflow_lite.graph.verify import infer
from oneflow_lite.graph.views import UnclearError, decode_view


def pruned(function: Function, results: Sequence[Value]) -> Function:
    """Return the function with these results, without what they and the assigns do not need."""
    needed = {*results, *(last for _, last in function.assigns)}
    ops = []
    for op in reversed(function.ops):
        if not needed.isdisjoint(op.results) or not op.results:
            ops.append(op)
            needed.update(op.values())

    def used(bound: Iterable[Bound]) -> tuple[Bound, ...]:
        assigned = {target for target, _ in function.assigns}
        return tuple(x for x in bound if x.value in needed or x.value in assigned)

    return replace(
        function,
        captures=used(function.captures),
        constants=used(function.constants),
        ops=tuple(reversed(ops)),
        results=tuple(results),
    )


def values_read(function: Function) -> set[Value]:
    """Return the values that operations use, or that are results or assigned."""
    read = {value for op in function.ops for value in op.values()}
    return read | {*function.results, *(last for _, last in function.assigns)}


@dataclass(frozen=True)
class Setting:
    """What a program is made for: sizes of unknown extents, and the device in place of its own."""

    sizes: Mapping[str, int]
    home: Device
    device: Device

    def place(self, device: Device) -> Device:
        """Return the device in the place of one."""
        return self.device if device == self.home else device


def instance(function: Function, declared: Declared, setting: Setting) -> Function:
    """Return the function with the types of a setting.

    Raises
    ------
    TraceError
        An operation cannot be made anew for these extents; names it and its line.
    """
    return _Instance(function, declared, setting).made()


_WITH_PLACE = ("where", "fill", "empty", "transfer", "array")  # the call has its device, or shapes


class _Instance:
    def __init__(self, function: Function, declared: Declared, setting: Setting) -> None:
        self.function, self.declared, self.setting = function, declared, setting
        self.unknowns = declared.unknowns
        self.values: dict[Value, Value] = {}
        self.whole: dict[Value, Value] = {}  # of each view, what it is a view of
        self.ops: list[Op] = []

    def made(self) -> Function:
        function = self.function
        self._operands()
        feeds = {feed.value: feed.shape for feed in self.declared.feeds.values()}
        params = tuple(
            self._param(x, feeds.get(x, x.type.shape))
            for x in function.params
            if x not in self.declared.operands
        )
        captures = self._bound(function.captures)
        constants = self._bound(function.constants)
        for op in function.ops:
            self._op(op)
        values = self.values
        return Function(
            function.name,
            params,
            captures,
            constants,
            tuple(self.ops),
            tuple(values[x] for x in function.results),
            tuple((values[target], values[last]) for target, last in function.assigns),
            function.slots,
        )

    def _operands(self) -> None:
        """Make a number of each unknown extent that is an operand."""
        used = values_read(self.function)
        for value, extent in self.declared.operands.items():
            if value not in used:
                continue
            given = replace(value.type, device=self.setting.place(value.type.device))
            number = Scalar(given.dtype, sized(extent, self.setting.sizes), False)
            made = self._new(value, given)
            call = call_of("fill", "full", {}, (number,), (given,))
            self.ops.append(Op(call, (number,), (), (made,)))

    def _new(self, old: Value, given: Type) -> Value:
        self.values[old] = Value(given)
        self.whole[self.values[old]] = self.values[old]
        return self.values[old]

    def _shape(self, numbers: Sequence[int], op: Op | None = None) -> tuple[int, ...]:
        extents = self.unknowns.decoded(numbers)
        if extents is None:
            raise _refused(op, "its shape is no integer times an unknown extent and another")
        shape = tuple(sized(n, self.setting.sizes) for n in extents)
        if any(n < 0 for n in shape):
            raise _refused(op, f"its shape would be {shape}")
        return shape

    def _sized(self, given: Type, op: Op | None = None) -> Type:
        """Return a type that an operation does not infer; row-major where extents change."""
        shape = self._shape(given.shape, op)
        strides = given.strides
        if shape != given.shape:
            if not given.is_row_major:
                raise _refused(op, "its result does not lie row-major")
            strides = row_major(shape, given.dtype.itemsize)
        return Type(given.dtype, shape, strides, self.setting.place(given.device))

    def _param(self, value: Value, extents: Sequence[int | Dim]) -> Value:
        shape = tuple(sized(n, self.setting.sizes) for n in extents)
        dtype = value.type.dtype
        device = self.setting.place(value.type.device)
        return self._new(value, Type(dtype, shape, row_major(shape, dtype.itemsize), device))

    def _bound(self, bound: Iterable[Bound]) -> tuple[Bound, ...]:
        """Captured tensors and constants stay where they are; a copy goes to the device."""
        made = []
        assigned = {target for target, _ in self.function.assigns}
        for x in bound:
            here = self._new(x.value, x.value.type)
            made.append(Bound(here, x.tensor))
            device = self.setting.place(here.type.device)
            if device == here.type.device:
                continue
            if x.value in assigned:
                raise TraceError(
                    f"[{self.function.name}] writes to a captured tensor on {here.type.device}, "
                    f"and runs on {device}: declare it with parameter()"
                )
            call = OpCall("transfer", "to_device", device=device)
            copy = Op(call, (here,), (), (Value(here.type),))
            (given,) = infer(copy)
            self.ops.append(replace(copy, results=(self._new(x.value, given),)))
        return tuple(made)

    def _op(self, op: Op) -> None:
        operands = tuple(x if isinstance(x, Scalar) else self.values[x] for x in op.operands)
        targets = tuple(self.values[x] for x in op.targets)
        new = replace(op, operands=operands, targets=targets, call=self._call(op, operands))
        try:
            inferred = infer(new)
        except (ValueError, TypeError, IndexError, MemoryError, RuntimeError) as error:
            raise _refused(op, str(error)) from error
        written = iter(targets)
        results = []
        for k, value in enumerate(op.results):
            is_target = op.call.targets >> k & 1
            given = self.whole[next(written)].type if is_target else inferred[k]
            results.append(self._new(value, given))
        if op.is_view:
            self.whole[results[0]] = self.whole[next(new.values())]
        self.ops.append(replace(new, results=tuple(results)))

    def _call(self, op: Op, operands: tuple[Value | Scalar, ...]) -> OpCall:
        """Return the call with extents and devices of the setting."""
        kind = op.call.kind
        if kind == "view":
            return self._view(op, operands)
        if kind not in _WITH_PLACE or (kind == "fill" and op.targets):
            return op.call
        types = tuple(x.type for x in op.results)
        if kind == "array":
            types = self._kernel_results(op, operands)
        elif kind in ("fill", "empty"):
            types = tuple(self._sized(x, op) for x in types)
        else:
            types = tuple(replace(x, device=self.setting.place(x.device)) for x in types)
        if types == tuple(x.type for x in op.results):
            return op.call
        return call_of(kind, op.name, attributes_of(op), operands, types, len(op.targets))

    def _view(self, op: Op, operands: tuple[Value | Scalar, ...]) -> OpCall:
        (old,), (new,) = op.values(), operands
        assert isinstance(new, Value)
        lies_alike = (new.type.shape, new.type.strides) == (old.type.shape, old.type.strides)
        if lies_alike and not self._is_unknown(op.results[0]):
            return op.call
        try:
            found = decode_view(op.call.attr, old.type, self.unknowns)
            attr = found.attr(new.type, self.setting.sizes)
        except UnclearError as unclear:
            raise _refused(op, str(unclear)) from None
        return OpCall("view", op.name, attr=attr)

    def _is_unknown(self, value: Value) -> bool:
        return is_unknown(self.unknowns.decoded(value.type.shape) or ())

    def _kernel_results(self, op: Op, operands: tuple[Value | Scalar, ...]) -> tuple[Type, ...]:
        """Return the types of the results of an array kernel: each as one of its operands is."""
        if not any(map(self._is_unknown, (*op.values(), *op.results))):
            return tuple(
                replace(x.type, device=self.setting.place(x.type.device)) for x in op.results
            )
        known = {
            x.type.shape: new.type
            for x, new in zip(op.operands, operands, strict=True)
            if isinstance(x, Value) and isinstance(new, Value)
        }
        found = []
        for k, value in enumerate(op.results):
            like = known.get(value.type.shape)
            if op.call.targets >> k & 1 or like is None or not value.type.is_row_major:
                raise _refused(op, "its shapes cannot be told for other extents")
            strides = row_major(like.shape, value.type.dtype.itemsize)
            found.append(replace(value.type, shape=like.shape, strides=strides, device=like.device))
        if any(abs(number) >= 1 << 20 for number in op.call.attr):
            raise _refused(op, "its attributes cannot be told for other extents")
        return tuple(found)


def _refused(op: Op | None, why: str) -> TraceError:
    if op is None:
        return TraceError(f"[run] {why}")
    return TraceError(f"[{op.name}]{at(op.site)} cannot be made for other extents: {why}")


def check_instances(function: Function, declared: Declared) -> None:
    """Make the function anew for the stand-ins, and for others: what comes out has to agree.

    Raises
    ------
    TraceError
        An operation on unknown extents cannot be made for other ones; names it and its line.
    """
    unknowns = declared.unknowns
    if not unknowns.names:
        return
    for which in (0, 1):
        sizes = unknowns.stand_ins(which)
        made = instance(function, declared, Setting(sizes, declared.device, declared.device))
        ops = made.ops[len(made.ops) - len(function.ops) :]
        for old, new in zip(function.ops, ops, strict=True):
            for before, after in zip(old.results, new.results, strict=True):
                if after.type.shape == before.type.shape:
                    continue
                extents = unknowns.decoded(before.type.shape)
                wanted = None if extents is None else tuple(sized(n, sizes) for n in extents)
                if which == 0 or wanted != after.type.shape:
                    raise _refused(old, "its shape is no integer times an extent and another")
