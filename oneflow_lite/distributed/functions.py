"""Functions of the namespace on tensors of many ranks: by their rule, else on whole tensors."""

import inspect
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, TypeVar

from oneflow_lite import _C
from oneflow_lite._C import GlobalTensor, Tensor
from oneflow_lite.distributed.creation import created
from oneflow_lite.distributed.layout import Layout
from oneflow_lite.distributed.sbp import broadcast

KNOWN = 4096  # layouts for which the result of a rule is remembered
RULES: dict[str, Callable[..., Any]] = {}
_OF_LISTS: set[str] = set()  # those whose first argument is a list of tensors
# Of those that draw in the order of NumPy's.
_GENERATORS = ("oneflow_lite.random.generator", "oneflow_lite.random.random_state")
Rule = TypeVar("Rule", bound=Callable[..., Any])


def rule(*names: str, of_list: bool = False) -> Callable[[Rule], Rule]:
    """Make a function the rule of functions of these names, which take the same arguments."""

    def register(function: Rule) -> Rule:
        for name in names:
            RULES[name] = function
        if of_list:
            _OF_LISTS.update(names)
        return function

    return register


def call(function: Any, args: tuple[Any, ...], names: dict[str, Any]) -> Any:
    """Call a function of the namespace, some of whose arguments are tensors of many ranks.

    Raises
    ------
    TypeError
        For a function without a rule, on tensors of which a rank has only a part.
    """
    name = function.__name__
    if "placement" in names and not name.endswith("_like"):
        if function.__module__ in _GENERATORS:
            raise TypeError(
                f"[{name}] each rank would draw by a generator of its own; "
                f"flow.random.Philox(seed).{name}(..., placement=...) draws the same on all"
            )
        given = dict(names)
        ranks, sbp = given.pop("placement"), given.pop("sbp", broadcast)
        return created(function, args, given, ranks, sbp)
    if function.__module__ in _GENERATORS:
        raise TypeError(
            f"[{name}] each rank would draw by a generator of its own; "
            "flow.random.Philox(seed), whose permutation() and choice() take a GlobalTensor, draws "
            "the same on all"
        )
    refuse_out(name, names.get("out"))
    refuse_out_by_place(name, function, args)
    if name in RULES:
        if args and isinstance(args[0], (list, tuple)) and name not in _OF_LISTS:
            raise TypeError(
                f"[{name}] expected a GlobalTensor, got {type(args[0]).__name__}; flow.stack(...) "
                "makes one tensor of several"
            )
        given = {key: x for key, x in names.items() if key != "out"}
        unknown = given.keys() - _parameters(RULES[name], tuple(given))
        if unknown:
            raise TypeError(f"[{name}] {', '.join(sorted(unknown))}: not for a GlobalTensor")
        return RULES[name](*args, **given)
    return on_whole(name, function, args, names)


@cache
def _parameters(function: Callable[..., Any], given: tuple[str, ...]) -> frozenset[str]:
    """Those of the given keywords that a function takes."""
    known = inspect.signature(function).parameters
    if any(each.kind is each.VAR_KEYWORD for each in known.values()):
        return frozenset(given)
    return frozenset(given).intersection(known)


@cache
def _place_of_out(function: Any) -> int | None:
    """Where ``out`` is by position; None: nowhere."""
    try:
        given = list(inspect.signature(function).parameters.values())
    except ValueError:  # native
        return None
    return next(
        (i for i, x in enumerate(given) if x.name == "out" and x.kind is x.POSITIONAL_OR_KEYWORD),
        None,
    )


def refuse_out(name: str, out: Any) -> None:
    """Results of many ranks go nowhere but into a new tensor."""
    if out is not None:
        raise TypeError(f"[{name}] out: not for a GlobalTensor; y[...] = flow.{name}(...)")


def refuse_out_by_place(name: str, function: Any, args: tuple[Any, ...]) -> None:
    """The same for an argument without a name."""
    place = _place_of_out(function)
    if place is not None and len(args) > place:
        refuse_out(name, args[place])


def on_whole(
    name: str, function: Callable[..., Any], args: tuple[Any, ...], names: dict[str, Any]
) -> Any:
    """Compute on each rank what all of them have; each has all of the results."""
    if isinstance(names.get("out"), (GlobalTensor, Tensor)):
        refuse_out(name, names["out"])
    operands = list(tensors((args, names)))
    like = next((x for x in operands if isinstance(x, GlobalTensor)), None)
    if like is None:
        raise TypeError(f"[{name}] expected a GlobalTensor among the arguments")
    for x in (_beside(name, like, each) for each in operands):
        if any(not sbp.is_broadcast for sbp in x.sbp):
            whole = x.size * x.dtype.itemsize
            raise TypeError(
                f"[{name}] has no rule for {', '.join(map(str, x.sbp))}; "
                f"x.to_global(sbp=flow.distributed.sbp.broadcast) first ({whole:,} bytes a rank)"
            )
    if not is_here(like):
        raise TypeError(
            f"[{name}] rank {_C.rank_of(like)} holds nothing of it, and without computing cannot "
            "know the shape of the result"
        )
    made = function(*replaced(args), **replaced(names))
    return mapped(made, lambda part: whole_of(part, like))


def is_here(x: GlobalTensor) -> bool:
    """Return whether this rank is in its placement."""
    return x._is_here()


def require_one_placement(name: str, a: GlobalTensor, b: GlobalTensor) -> None:
    """Tensors of two placements have no operation in common."""
    if a.placement != b.placement:
        raise ValueError(
            f"[{name}] operands are on {a.placement} and {b.placement}; "
            "x.to_global(placement=...) brings them together"
        )


def require_together(name: str, like: GlobalTensor, given: Any) -> None:
    """What is given with a tensor of many ranks is of many ranks, too, and of its placement."""
    for x in tensors(given):
        _beside(name, like, x)


def _beside(name: str, like: GlobalTensor, x: GlobalTensor | Tensor) -> GlobalTensor:
    if isinstance(x, Tensor):
        raise TypeError(
            f"[{name}] one operand is a GlobalTensor on {like.placement}, another a Tensor of this "
            "rank alone; x.to_global(placement, sbp) says which part of what the latter is"
        )
    require_one_placement(name, like, x)
    return x


def whole_of(part: Tensor, like: GlobalTensor) -> GlobalTensor:
    """The tensor of which each rank of a placement has all."""
    layout = Layout(list(part.shape), like.placement, [broadcast] * len(like.sbp))
    return _C.of_part(part, layout, like)


def tensors(given: Any) -> Iterator[GlobalTensor | Tensor]:
    """Those in arguments, and in lists, tuples, dicts and slices of them."""
    if isinstance(given, (GlobalTensor, Tensor)):
        yield given
    elif isinstance(given, (list, tuple)):
        for each in given:
            yield from tensors(each)
    elif isinstance(given, dict):
        yield from tensors(list(given.values()))
    elif isinstance(given, slice):
        yield from tensors((given.start, given.stop, given.step))


def global_tensors(given: Any) -> Iterator[GlobalTensor]:
    """Those of many ranks; see ``tensors``."""
    return (each for each in tensors(given) if isinstance(each, GlobalTensor))


def replaced(given: Any, part_of: Callable[[GlobalTensor], Tensor] = GlobalTensor._part) -> Any:
    """The same with this rank's parts in their places."""
    if isinstance(given, GlobalTensor):
        return part_of(given)
    if isinstance(given, dict):
        return {name: replaced(each, part_of) for name, each in given.items()}
    if isinstance(given, (list, tuple)):
        return type(given)(replaced(each, part_of) for each in given)
    return given


def mapped(made: Any, function: Callable[[Tensor], Any]) -> Any:
    """The same with what a function makes of tensors in their places."""
    if isinstance(made, Tensor):
        return function(made)
    if isinstance(made, tuple) and hasattr(made, "_fields"):
        return type(made)(*(mapped(each, function) for each in made))
    if isinstance(made, (list, tuple)):
        return type(made)(mapped(each, function) for each in made)
    return made


_C.set_other_caller(call)
