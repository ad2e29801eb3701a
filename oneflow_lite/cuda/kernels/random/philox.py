"""Kernels of counted random numbers. ``Request.op`` names a structure of ``philox_numbers.h``."""

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
    """
    if request.op not in _DRAWS:
        return None
    return f"""
extern "C" __global__ void __launch_bounds__(ofl::kThreads)
{name}(const __grid_constant__ ofl::DrawArgs args) {{
  using namespace ofl;
  run_draw<philox::{request.op}, {request.dtypes[-1]}>(args);
}}
"""
