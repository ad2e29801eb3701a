"""flow.jit: the function, and what its options mean."""

from collections.abc import Callable
from typing import Any, TypedDict, Unpack, overload

from oneflow_lite.graph.jit.jitted import Jitted
from oneflow_lite.graph.jit.options import Options
from oneflow_lite.graph.jit.signatures import P, R


class _Named(TypedDict, total=False):
    """The options of jit(), for the two ways to call it."""

    static: Any
    donate: Any
    on_break: str
    check: int
    freeze: bool
    max_programs: int
    lanes: int
    addto: bool
    opt_level: int | None
    cuda_graph: bool | None


@overload
def jit(function: Callable[P, R], **options: "Unpack[_Named]") -> Jitted[P, R]: ...
@overload
def jit(
    function: None = ..., **options: "Unpack[_Named]"
) -> Callable[[Callable[P, R]], Jitted[P, R]]: ...
def jit(
    function: Callable[..., Any] | None = None,
    *,
    static: Any = (),
    donate: Any = (),
    on_break: str = "raise",
    check: int = 0,
    freeze: bool = False,
    max_programs: int = 64,
    lanes: int = 1,
    addto: bool = False,
    opt_level: int | None = None,
    cuda_graph: bool | None = None,
) -> Any:
    """Return the function, traced once for each kind of arguments and run as a whole.

    Tensors and NumPy arrays count by their types, all else by its value; floats and complex numbers
    are given at each call. Results have eager's bits; writes to arguments and captured tensors are
    seen as in eager. Another tensor in the place of a captured one: the next call traces again.

    Parameters
    ----------
    function
        What trace() can record. None: jit returns a decorator.
    static
        names or positions of arguments that count by their value, whatever their type.
    donate
        names or positions of arguments that the call takes for good; reading them then raises.
    on_break
        for what cannot be recorded: "raise", or "eager" to call it eagerly, after one warning.
    check
        How many calls of each program also run eagerly, and are compared bit for bit.
    freeze
        Captured tensors are constants: later writes to them are not seen.
    max_programs
        How many programs are kept; the one that was used longest ago goes first.
    lanes, addto, opt_level, cuda_graph
        As ``compile`` has them; with addto, results differ in the last bits.

    Raises
    ------
    TraceError
        From a call: the function does what cannot be recorded; names the line.
    TypeError
        From a call: an argument counts by its value, and cannot be hashed.
    ValueError
        An option names no argument; from a call: one that is written to or donated shares memory.
    RuntimeError
        From a call that is checked: it differs from the eager one.

    Examples
    --------
    >>> step = flow.jit(lambda x, w, rate: w - rate * x)
    >>> [step(flow.ones(1), flow.ones(1), rate).item() for rate in (0.5, 0.25)]
    [0.5, 0.75]
    """
    kept = (on_break, check, freeze, max_programs)
    options = Options(static, donate, *kept, lanes, addto, opt_level, cuda_graph)
    return (lambda x: Jitted(x, options)) if function is None else Jitted(function, options)
