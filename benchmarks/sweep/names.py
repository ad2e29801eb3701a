"""The public functions, the chapter of each, and those that the sweep leaves out, with reasons."""

import inspect
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import oneflow_lite as flow

SPACES = ("", "linalg.", "fft.", "random.")
ELEMENTWISE = "elementwise"
# Module -> chapter, where the module's own name would make too small a chapter.
_CHAPTERS = {
    "adding_and_removing": "manipulation",
    "bits": "numerics",
    "calculus": "numerics",
    "comparison": ELEMENTWISE,
    "convolution": "numerics",
    "covariance": "statistics",
    "data": "creation",
    "data_types": "creation",
    "dtypes": "creation",
    "edges": "statistics",
    "einsum": "products",
    "elementwise": ELEMENTWISE,
    "dlpack": "creation",
    "fitting": "numerics",
    "histograms": "statistics",
    "index_arrays": "indexing",
    "interpolation": "numerics",
    "joining": "manipulation",
    "linear_algebra": "products",
    "host_data": "creation",
    "many_histograms": "statistics",
    "matrices": "creation",
    "memory": "manipulation",
    "nan_statistics": "statistics",
    "padding": "manipulation",
    "parts": ELEMENTWISE,
    "polynomials": "numerics",
    "quantiles": "statistics",
    "random_state": "random",
    "ranges": "creation",
    "rearranging": "manipulation",
    "reduction": "reductions",
    "scan": "reductions",
    "selection": "indexing",
    "sets": "sorting",
    "shapes": "manipulation",
    "splitting": "manipulation",
    "tiling": "manipulation",
    "utility": "numerics",
    "windows": "numerics",
}
_NO_ELEMENTS = "It computes nothing with elements, and NumPy has no such function."
_NO_COUNTERPART = "NumPy has no such function"
_DISK = "It measures the disk."
_FUNCTIONS = "It takes a function"
_NUMPYS = "It is NumPy's own, or asks for nothing but shapes, dtypes and storage."
# Function -> why the sweep leaves it out.
EXCLUDED = {
    **dict.fromkeys(("devices", "empty_cache", "flags", "memory_stats"), _NO_ELEMENTS),
    **dict.fromkeys(("placement", "promote", "synchronize"), _NO_ELEMENTS),
    **dict.fromkeys(("load", "save", "savez", "savez_compressed"), _DISK),
    **dict.fromkeys(("fromfile", "genfromtxt", "loadtxt", "savetxt"), _DISK),
    **dict.fromkeys(("frombuffer", "fromiter", "fromstring"), "It is NumPy's, and a copy."),
    **dict.fromkeys(("fromfunction", "vectorize"), f"{_FUNCTIONS}: the rest is little."),
    **dict.fromkeys(
        (
            *("array2string", "array_repr", "array_str", "common_type", "einsum_path"),
            *("get_printoptions", "geterr", "iscomplexobj", "isfortran", "isrealobj", "isscalar"),
            *("issubdtype", "iterable", "may_share_memory", "min_scalar_type", "printoptions"),
            *("set_printoptions", "seterr", "shares_memory"),
        ),
        _NUMPYS,
    ),
    "stop_gradient": f"{_NO_COUNTERPART}; it copies nothing.",
    **dict.fromkeys(
        ("conv2d", "conv2d_input_gradient", "conv2d_weight_gradient", "layout_transform"),
        f"{_NO_COUNTERPART}; bench_conv.py has it.",
    ),
    "jit": f"{_FUNCTIONS}; bench_graph.py has it.",
    **dict.fromkeys(("grad", "value_and_grad", "vjp"), f"{_FUNCTIONS}; bench_gradients.py has it."),
    **dict.fromkeys(
        ("apply_along_axis", "apply_over_axes", "mask_indices"),
        f"{_FUNCTIONS} of Python, which is what its time depends on.",
    ),
    "random.default_rng": "A generator is made once, not for each array.",
    **dict.fromkeys(
        ("random.get_state", "random.seed", "random.set_state"),
        "A generator is seeded once, not for each array.",
    ),
}


class SweepError(Exception):
    """The sweep does not know how to call a function."""


def _members(prefix: str) -> Mapping[str, Any]:
    space = getattr(flow, prefix[:-1]) if prefix else flow
    listed = getattr(space, "__all__", None) if prefix else None  # all that flow has is public
    names = listed or [n for n in dir(space) if not n.startswith("_")]
    return {name: getattr(space, name) for name in names}


def public() -> dict[str, Callable[..., Any]]:
    """Return every public function by its name, ``linalg.det`` for one, once for each object."""
    others = aliases()
    return {name: function for name, function in _callables() if name not in others}


def aliases() -> dict[str, str]:
    """Return the names that stand for a function of another name, and that name."""
    first: dict[int, str] = {}
    for name, function in sorted(_callables(), key=lambda pair: not _is_own_name(*pair)):
        first.setdefault(_identity(function), name)
    every = [(name, first[_identity(function)]) for name, function in _callables()]
    return {name: other for name, other in every if name != other}


def _callables() -> list[tuple[str, Callable[..., Any]]]:
    return [
        (prefix + name, value)
        for prefix in SPACES
        for name, value in _members(prefix).items()
        if callable(value) and not isinstance(value, (type, ModuleType))
    ]


def _is_own_name(name: str, function: Callable[..., Any]) -> bool:
    return getattr(function, "__name__", name) == name


def _identity(function: Callable[..., Any]) -> int:
    """Of a method, which is made anew at each look, the function's."""
    return id(inspect.unwrap(getattr(function, "__func__", function)))


def chapter(name: str, function: Callable[..., Any]) -> str:
    """Return the chapter of a function: of a new module its name."""
    if isinstance(function, flow.Op):
        return ELEMENTWISE
    if name.startswith(("linalg.", "fft.")):
        return name.partition(".")[0]
    module = str(getattr(function, "__module__", "")).rpartition(".")[2]
    return _CHAPTERS.get(module, module)
