"""A function that was built by hand, for one run: what is fetched, known extents, one device.

pruned ─► unknown extents get their sizes, the device its place ─► types inferred anew ─► Function
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from oneflow_lite import _C
from oneflow_lite._C import Device, OpCall, TraceError
from oneflow_lite.graph.calls import attributes_of, call_of
from oneflow_lite.graph.hand.declared import Declared
from oneflow_lite.graph.hand.extents import LEAST, Dim, is_unknown, sized
from oneflow_lite.graph.hand.numbers import used_slots
from oneflow_lite.graph.hand.views import UnclearError, moved_view
from oneflow_lite.graph.ir import Bound, Function, Op, Scalar, Slot, Type, Value, row_major
from oneflow_lite.graph.sites import at
from oneflow_lite.graph.verify import infer


def pruned(function: Function, results: Sequence[Value]) -> Function:
    """Return the function with these results, without what they and the assigns do not need."""
    needed = {*results, *(last for _, last in function.assigns)}
    ops = []
    for op in reversed(function.ops):
        if not needed.isdisjoint(op.results) or not op.results or op.effects:
            ops.append(op)
            needed.update(op.values())

    def used(bound: Iterable[Bound]) -> tuple[Bound, ...]:
        assigned = {target for target, _ in function.assigns}
        return tuple(x for x in bound if x.value in needed or x.value in assigned)

    kept = replace(
        function,
        captures=used(function.captures),
        constants=used(function.constants),
        ops=tuple(reversed(ops)),
        results=tuple(results),
    )
    return replace(kept, slots=used_slots(kept))


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


_WITH_SHAPE = ("view", "fill", "empty", "array")
_SCALAR_WORDS = 2  # the last of a kernel that writes at some places: the number that it writes
Operands = tuple[Value | Scalar, ...]


class _Instance:
    def __init__(self, function: Function, declared: Declared, setting: Setting) -> None:
        self.function, self.declared, self.setting = function, declared, setting
        self.unknowns = declared.unknowns
        self.values: dict[Value, Value] = {}
        self.whole: dict[Value, Value] = {}  # of each view, what it is a view of
        self.extents: dict[int, int | None] = {}  # by those that were recorded; None: two of them
        self.changing: set[Value] = set()  # those that unknown extents have a part in
        self.ops: list[Op] = []
        for number, extent in self.unknowns.handed.items():
            if extent.names <= setting.sizes.keys():  # of others nobody may ask
                self.extents[number] = sized(extent, setting.sizes)

    def made(self) -> Function:
        function = self.function
        self._operands()
        self._check_limits()
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
        return replace(
            function,
            params=params,
            captures=captures,
            constants=constants,
            ops=tuple(self.ops),
            results=tuple(values[x] for x in function.results),
            assigns=tuple((values[target], values[last]) for target, last in function.assigns),
            names={
                x if isinstance(x, Slot) else values[x]: name
                for x, name in function.names.items()
                if isinstance(x, Slot) or x in values
            },
            extents={},
        )

    def _check_limits(self) -> None:
        """Refuse extents that are too small for the slices of a memory that views are made of."""
        roots: dict[Value, Value] = {}
        viewed = set()
        for op in self.function.ops:
            targets = iter(op.targets)
            for k, value in enumerate(op.results):
                if op.is_view or op.call.targets >> k & 1:
                    whole = op.values()[0] if op.is_view else next(targets)
                    roots[value] = roots.get(whole, whole)
            if op.is_view:
                viewed.add(roots[op.results[0]])
        for number, extent, least, site in list(self.unknowns.limits.values()):
            value = self.declared.values[number]
            if roots.get(value, value) not in viewed:
                continue
            size = sized(extent, self.setting.sizes)
            if size < least:
                raise TraceError(
                    f"[view]{at(site)} cannot be made for other extents: {extent!r} is {size}, and "
                    f"it needs at least {least}"
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

    def _new(self, old: Value, given: Type, op: Op | None = None) -> Value:
        """Return the value in the place of one; its extents are known from now on."""
        for before, after in zip(old.type.shape, given.shape, strict=True):
            if before < LEAST and before != after:
                raise _refused(op, f"an extent is {before} at first, and {after} then")
            if before >= LEAST and self.extents.setdefault(before, after) != after:
                self.extents[before] = None
        self.values[old] = Value(given)
        self.whole[self.values[old]] = self.values[old]
        return self.values[old]

    def _extent(self, number: int) -> int | None:
        """Return the extent in the place of one; None: it is not known."""
        if number < LEAST or not self.unknowns.names:
            return number
        if number in self.extents:
            return self.extents[number]
        near = self.unknowns.near(number)
        return None if near is None else sized(near, self.setting.sizes)

    def _sized(self, given: Type, op: Op) -> Type:
        """Return a type that an operation does not infer; its axes keep their order."""
        found = [self._extent(n) for n in given.shape]
        shape = tuple(n for n in found if n is not None)
        if len(shape) < len(found) or any(n < 0 for n in shape):
            raise _refused(op, "its shape cannot be told")
        strides = given.strides
        if shape != given.shape:
            dense = _dense_strides(given, shape)
            if dense is None:
                raise _refused(op, "its result does not lie in a simple way")
            strides = dense
        return Type(given.dtype, shape, strides, self.setting.place(given.device))

    def _param(self, value: Value, extents: Sequence[int | Dim]) -> Value:
        shape = tuple(sized(n, self.setting.sizes) for n in extents)
        if is_unknown(extents):
            self.changing.add(value)
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
            self._move(x.value, here)
        return tuple(made)

    def _move(self, value: Value, here: Value) -> None:
        """Copy a value that stays where it is to the device."""
        call = OpCall("transfer", "to_device", device=self.setting.place(here.type.device))
        copy = Op(call, (here,), (), (Value(here.type),))
        (given,) = infer(copy)
        self.ops.append(replace(copy, results=(self._new(value, given),)))

    def _op(self, op: Op) -> None:
        operands = tuple(x if isinstance(x, Scalar) else self.values[x] for x in op.operands)
        targets = tuple(self.values[x] for x in op.targets)
        new = replace(op, operands=operands, targets=targets, call=self._call(op, operands))
        try:
            inferred = infer(new)
        except (ValueError, TypeError, IndexError, MemoryError, RuntimeError) as error:
            raise _refused(op, f"{error}{self._sizes()}") from error
        if not self.changing.isdisjoint(op.values()) or self._has_large(op):
            self.changing.update(x for x in op.results if op.is_view or _is_large(x))
        written = iter(targets)
        results = []
        for k, value in enumerate(op.results):
            is_target = op.call.targets >> k & 1
            given = self.whole[next(written)].type if is_target else inferred[k]
            results.append(self._new(value, given, op))
        if op.is_view:
            self.whole[results[0]] = self.whole[new.values()[0]]
        self.ops.append(replace(new, results=tuple(results)))
        if op.call.kind == "source":  # what the host makes is made where it was
            for value, here in zip(op.results, results, strict=True):
                if self.setting.place(here.type.device) != here.type.device:
                    self._move(value, here)

    def _sizes(self) -> str:
        """Return the sizes of unknown extents that a run has, for errors."""
        sizes = self.setting.sizes
        if any(sizes == self.unknowns.stand_ins(which) for which in (0, 1)):
            return ""
        return "".join(f", and {name} is {size}" for name, size in sizes.items())

    def _call(self, op: Op, operands: Operands) -> OpCall:
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
        attributes = attributes_of(op)
        if "elements" in attributes:  # an estimate of the work
            pairs = [*_pairs(op, operands)]
            grown = sum(x.size for _, x in pairs) / max(1, sum(x.size for x, _ in pairs))
            attributes["elements"] *= grown
        return call_of(kind, op.name, attributes, operands, types, len(op.targets))

    def _view(self, op: Op, operands: Operands) -> OpCall:
        (old,), (new,) = op.values(), operands
        assert isinstance(new, Value)
        if old not in self.changing and not self._has_large(op):
            return op.call
        try:
            attr = moved_view(op.call.attr, old.type, new.type, self._extent)
        except UnclearError as unclear:
            raise _refused(op, str(unclear)) from None
        return OpCall("view", op.name, attr=attr)

    def _has_large(self, op: Op) -> bool:
        """An extent that its operands do not have may be an unknown one."""
        if not self.unknowns.names or op.call.kind not in _WITH_SHAPE:
            return False
        if op.call.kind == "array" and op.values():
            return False
        given = op.results[0].type
        is_new = [op.call.kind != "view" or step == 0 for step in given.strides]
        return any(
            new and n >= LEAST and n not in self.unknowns.known
            for new, n in zip(is_new, given.shape, strict=True)
        )

    def _kernel_results(self, op: Op, operands: Operands) -> tuple[Type, ...]:
        """Return the types of the results of an array kernel."""
        large = (x for x in op.values() if _is_large(x))
        if self.changing.isdisjoint(large) and not self._has_large(op):
            return tuple(
                replace(x.type, device=self.setting.place(x.type.device)) for x in op.results
            )
        moves = _C.kernel_keeps_extents(op.call.kernel or "")
        if op.targets and not moves:
            raise _refused(op, "it changes what it writes to, at places that depend on the extents")
        attr = op.call.attr[:-_SCALAR_WORDS] if op.targets and moves else op.call.attr
        if any(abs(number) >= LEAST for number in attr):
            raise _refused(op, "its attributes cannot be told for other extents")
        tell = self._moved_type if moves else self._type_of_an_operand
        targets = iter(op.targets)
        return tuple(
            self.values[next(targets)].type if op.call.targets >> k & 1 else tell(op, x, operands)
            for k, x in enumerate(op.results)
        )

    def _moved_type(self, op: Op, value: Value, operands: Operands) -> Type:
        """Return the type of a result each of whose extents is one of an operand."""
        sizes: dict[int, int] = {}
        for old, new in _pairs(op, operands):
            sizes |= zip(old.shape, new.shape, strict=True)
        if any(n >= LEAST and n not in sizes for n in value.type.shape):
            raise _refused(op, "its shapes cannot be told for other extents")
        shape = tuple(sizes[n] if n >= LEAST else n for n in value.type.shape)
        strides = _dense_strides(value.type, shape)
        if strides is None:
            raise _refused(op, "its result does not lie in a simple way")
        return Type(value.type.dtype, shape, strides, self.setting.place(value.type.device))

    def _type_of_an_operand(self, op: Op, value: Value, operands: Operands) -> Type:
        known = {old.shape: new for old, new in _pairs(op, operands)}
        like = known.get(value.type.shape)
        strides = None if like is None else _dense_strides(value.type, like.shape)
        if like is None or strides is None:
            raise _refused(op, "its shapes cannot be told for other extents")
        return replace(value.type, shape=like.shape, strides=strides, device=like.device)


def _pairs(op: Op, operands: Operands) -> Iterator[tuple[Type, Type]]:
    """Return the types of the operands, as they were recorded and as they are now."""
    for old, new in zip(op.operands, operands, strict=True):
        if isinstance(old, Value) and isinstance(new, Value):
            yield old.type, new.type


def _dense_strides(given: Type, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the strides of another shape whose axes lie in the same order, without gaps.

    None: there are gaps.
    """
    axes = sorted(range(len(shape)), key=lambda axis: -given.strides[axis])
    old, new = given.dtype.itemsize, given.dtype.itemsize
    strides = [0] * len(shape)
    for axis in reversed(axes):
        if given.shape[axis] != 1 and given.strides[axis] != old:
            return None
        strides[axis] = new
        old, new = old * given.shape[axis], new * shape[axis]
    return tuple(strides)


def _is_large(value: Value) -> bool:
    return any(n >= LEAST for n in value.type.shape)


def _refused(op: Op | None, why: str) -> TraceError:
    if op is None:
        return TraceError(f"[run] {why}")
    return TraceError(
        f"[{op.name}]{at(op.site)} cannot be made for other extents: {why}; give its extents in "
        "data(), or do it outside of the program"
    )


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
    for op in function.ops:
        for x in op.operands:
            if isinstance(x, Scalar) and type(x.value) is int and unknowns.is_made_of_one(x.value):
                raise _refused(op, f"the number {x.value} in it may stand for an extent")
    for which in (0, 1):
        sizes = unknowns.stand_ins(which)
        made = instance(function, declared, Setting(sizes, declared.device, declared.device))
        ops = made.ops[len(made.ops) - len(function.ops) :]
        for old, new in zip(function.ops, ops, strict=True):
            for before, after in zip(old.results, new.results, strict=True):
                if which == 0 and not _is_alike(before.type, after.type):
                    raise _refused(old, "it makes another type when it is made again")
                for one, other in zip(before.type.shape, after.type.shape, strict=True):
                    extent = unknowns.handed.get(one)
                    if extent is not None and sized(extent, sizes) != other:
                        raise _refused(old, f"an extent is {other} where {extent!r} was told")


def _is_alike(one: Type, other: Type) -> bool:
    """Elements are of the same type, and at the same distances."""
    if (one.dtype, one.shape, one.device) != (other.dtype, other.shape, other.device):
        return False
    steps = zip(one.shape, one.strides, other.strides, strict=True)
    return one.size == 0 or all(n == 1 or a == b for n, a, b in steps)
