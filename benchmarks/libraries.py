"""The array libraries to compare with: how each makes an array and finishes its work.

The optional ones are imported here and nowhere else.
"""

import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

import convolutions
import expressions
import oneflow_lite as flow

Function = Callable[..., Any]


@dataclass(frozen=True)
class Library:
    """One contender's library.

    Attributes
    ----------
    array : callable
        An array of the library with the values of a NumPy array.
    xp : namespace
        Where a program finds its functions: NumPy's names and arguments, ``contiguous`` (the
        elements in C order), ``take`` of a flat array, ``stop_gradient`` and what
        ``convolutions`` has.
    numpy : str
        Expression that gives the NumPy array of ``{}``.
    finish : str
        Statement that waits until ``r`` and everything before has been computed.
    each : str
        Statement after each operation, without which a lazy library would not execute it.
    compile : callable
        Makes what is called of a program, which takes the namespace and then arrays.
    """

    name: str
    module: ModuleType
    version: str
    array: Callable[[np.ndarray], Any]
    xp: Any
    numpy: str = "{}"
    finish: str = "pass"
    each: str = ""
    compile: Callable[[Function, Any], Function] = partial


def _names(module: ModuleType, **others: Any) -> SimpleNamespace:
    """The names of a module, with some that it lacks or spells in another way."""
    kept = {name: getattr(module, name) for name in _own_names(module)}
    return SimpleNamespace(**(kept | others))


def _own_names(module: ModuleType) -> Iterable[str]:
    """The names of a module: also those of this project that are loaded at their first use."""
    return dir(module) if module is flow else vars(module)


def _numpy(module: ModuleType) -> Library:
    xp = _names(
        module,
        contiguous=module.ascontiguousarray,
        stop_gradient=lambda x: x,
        **convolutions.of_numpy(),
    )
    return Library("NumPy", module, module.__version__, lambda x: x.copy(), xp)


def _numexpr(module: ModuleType) -> Library:
    compile_one = partial(expressions.compiled, module.evaluate)
    return Library(
        "numexpr",
        module,
        module.__version__,
        lambda x: x.copy(),
        expressions.NAMES,
        compile=lambda function, _: compile_one(function),
    )


def torch_names(module: ModuleType) -> SimpleNamespace:
    """Return PyTorch's functions by NumPy's names."""
    return _names(
        module,
        max=module.amax,
        min=module.amin,
        var=partial(module.var, correction=0),
        astype=lambda x, dtype: x.to(dtype),
        copy=module.clone,
        contiguous=lambda x: x.contiguous(),
        permute_dims=module.permute,
        sort=lambda x: module.sort(x).values,
        cumsum=lambda x: module.cumsum(x, 0),
        maximum=lambda x, y: x.clamp(min=y) if isinstance(y, int) else module.maximum(x, y),
        stop_gradient=lambda x: x.detach(),
        **convolutions.of_torch(module),
    )


def _torch(module: ModuleType) -> Library:
    return Library(
        "PyTorch",
        module,
        module.__version__,
        lambda x: module.from_numpy(x.copy()),
        torch_names(module),
        "{}.numpy()",
    )


def _jax(module: ModuleType) -> Library:
    module.config.update("jax_enable_x64", True)  # or float64 would be float32
    xp = module.numpy
    others = {"stop_gradient": module.lax.stop_gradient, **convolutions.of_jax(module)}
    return Library(
        "JAX",
        module,
        module.__version__,
        lambda x: module.device_put(x, module.devices("cpu")[0]),
        _names(xp, contiguous=xp.copy, **others),
        "np.asarray({})",
        "lib.block_until_ready(r)",
    )


def _mlx(module: ModuleType) -> Library:
    module.set_default_device(module.cpu)
    xp = _names(
        module, astype=lambda x, dtype: x.astype(dtype), bool=module.bool_, asarray=module.array
    )
    del xp.conv2d  # of images in layout NHWC
    return Library(
        "MLX",
        module,
        module.__version__,
        module.array,
        xp,
        "np.asarray({})",
        "lib.eval(r)",
        "lib.async_eval(r)",
    )


OURS = Library(
    "oneflow_lite",
    flow,
    flow.__version__,
    flow.tensor,
    _names(flow, contiguous=flow.ascontiguousarray),
    "{}.numpy()",
    "lib.synchronize()",
)


def _recorded(function: Function, xp: Any) -> Function:
    """Record the program at the first call; from then on the same arrays run it as a whole."""
    run: Function | None = None
    is_tuple = False

    def call(*arrays: Any) -> Any:
        nonlocal run, is_tuple
        if run is None:
            traced = flow.graph.trace(partial(function, xp), *arrays)
            run, is_tuple = flow.graph.compile(traced.program), isinstance(traced.results, tuple)
        results = run(*arrays)
        return tuple(results) if is_tuple else results[0]

    return call


RECORDED = replace(OURS, name="oneflow_lite graph", compile=_recorded)

# Module to import -> the library.
_OTHERS: dict[str, Callable[[ModuleType], Library]] = {
    "numpy": _numpy,
    "numexpr": _numexpr,
    "torch": _torch,
    "jax": _jax,
    "mlx.core": _mlx,
}
COMPILERS = {"numexpr"}  # run whole programs only, not an operation of arrays


def installed(only_numpy: bool = False) -> tuple[list[Library], list[str]]:
    """Return ours and every other library that is there, and the names of those that are not."""
    found, missing = [OURS], []
    for name, make in _OTHERS.items():
        if only_numpy and name != "numpy":
            continue
        try:
            module = importlib.import_module(name)
        except ImportError:
            missing.append(name)
        else:
            found.append(make(module))
    return found, missing


def for_programs(libraries: list[Library]) -> list[Library]:
    """Return the libraries and the ways of each to run a whole program."""
    found = []
    for library in libraries:
        found.append(library)
        if library.name == "JAX":
            jit = library.module.jit
            found.append(
                replace(library, name="JAX jit", compile=lambda f, xp, jit=jit: jit(partial(f, xp)))
            )
    return found
