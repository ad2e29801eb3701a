"""Kernels of counted random numbers. ``Request.op`` names a structure of ``philox_numbers.h``.

``Request.options`` is ``(1,)`` where the array is a window of a draw, and else empty.
"""

from oneflow_lite.cuda.kernels.request import Request

FILES = ("types.cuh", "random/random.cuh")

_DRAWS = (
    *("Words32", "Words64", "UniformHalf", "UniformFloat", "UniformDouble"),
    *("NormalFloat", "NormalDouble", "ExponentialFloat", "ExponentialDouble"),
    *("Bernoulli", "SmallRange", "LargeRange"),
)


def kernel(name: str, request: Request) -> str | None:
    """Return a kernel that fills an array with random numbers.

    Examples
    --------
    >>> coins = Request("random", "Bernoulli", ("bool",), ("bool",), (), True, True)
    >>> "run_draw<philox::Bernoulli, bool>" in kernel("coins", coins)
    True
    >>> some = Request("random", "Bernoulli", ("bool",), ("bool",), (), True, True, (1,))
    >>> "run_window<philox::Bernoulli, bool>" in kernel("some", some)
    True
    """
    if request.op not in _DRAWS:
        return None
    run, args = ("run_window", "DrawWindowArgs") if request.options else ("run_draw", "DrawArgs")
    return f"""
extern "C" __global__ void __launch_bounds__(ofl::kThreads)
{name}(const __grid_constant__ ofl::{args} args) {{
  using namespace ofl;
  {run}<philox::{request.op}, {request.dtypes[-1]}>(args);
}}
"""
