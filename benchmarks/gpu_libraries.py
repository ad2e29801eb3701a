"""The array libraries of a GPU: how each brings an array there and back, and waits for the device;
and contenders that are made of their calls.

Those that are not there, or do not work on this machine, are rows of the check and no more.
"""

import importlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, TypeVar

import numpy as np

import oneflow_lite as flow
from gpu_rows import SKIPPED, Rows
from timing import Contender, Measurement, statement

DEVICE = "cuda:0"
OURS, TORCH, CUPY, JAX, JIT = "oneflow_lite", "PyTorch", "CuPy", "JAX", "JAX jit"
Made = TypeVar("Made")
# JAX would take most of the memory of the device for itself.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")


@dataclass(frozen=True)
class Library:
    """One contender on the device.

    Attributes
    ----------
    xp : namespace
        Where a program finds its functions.
    array : callable
        The device's array with the values of a NumPy array, as a naive program makes it.
    numpy : callable
        The NumPy array of a device's array; waits for it.
    sync : callable
        ``sync(r)`` waits until ``r`` and everything before has been computed.
    astype : callable
        A cast to a dtype that is given by its name.
    compile : callable
        Makes what is called of a program.
    """

    name: str
    version: str
    xp: Any
    array: Callable[[np.ndarray], Any]
    numpy: Callable[[Any], np.ndarray]
    sync: Callable[[Any], object]
    astype: Callable[[Any, str], Any]
    compile: Callable[[Callable[..., Any]], Callable[..., Any]] = lambda function: function


def _ours() -> Library:
    return Library(
        *(OURS, flow.__version__, flow),
        lambda x: flow.tensor(x, device=DEVICE),
        lambda x: x.numpy(),
        lambda _: flow.cuda.synchronize(0),
        lambda x, dtype: x.astype(dtype),
    )


def _torch(module: ModuleType) -> Library:
    if not module.cuda.is_available():
        raise RuntimeError("this build of it has no CUDA, or does not find the device")
    return Library(
        *(TORCH, module.__version__, module),
        lambda x: module.from_numpy(x).to("cuda:0"),
        lambda x: x.cpu().numpy(),
        lambda _: module.cuda.synchronize(),
        lambda x, dtype: x.to(getattr(module, dtype)),
    )


def _cupy(module: ModuleType) -> Library:
    return Library(
        *(CUPY, module.__version__, module),
        module.asarray,
        module.asnumpy,
        lambda _: module.cuda.Device().synchronize(),
        lambda x, dtype: x.astype(dtype),
    )


def _jax(module: ModuleType) -> Library:
    module.config.update("jax_enable_x64", True)  # or float64 would be float32
    device = module.devices("gpu")[0]
    return Library(
        *(JAX, module.__version__, module.numpy),
        lambda x: module.device_put(x, device),
        np.asarray,
        module.block_until_ready,
        lambda x, dtype: x.astype(dtype),
    )


_OTHERS: Mapping[str, Callable[[ModuleType], Library]] = {
    "torch": _torch,
    "cupy": _cupy,
    "jax": _jax,
}


def found(rows: Rows, alone: bool) -> list[Library]:
    """Return ours and, unless ``alone``, each other that works here; say which do not."""
    libraries = [_ours()]
    for name, make in _OTHERS.items() if not alone else ():

        def working(module: ModuleType, make: Callable[[ModuleType], Library] = make) -> Library:
            library = make(module)
            library.sync(library.array(np.ones(3, np.float32)) + 1)
            return library

        libraries += made_of(rows, name, working)
    return libraries


def made_of(rows: Rows, name: str, make: Callable[[ModuleType], Made]) -> list[Made]:
    """Return what is made of a module; nothing, and a row that says why, where it does not work."""
    try:
        return [make(importlib.import_module(name))]
    except ImportError:
        rows.add("library", name, status=SKIPPED, note="not installed")
    except Exception as error:  # whatever a library for another machine does
        rows.log(f"library {name}", repr(error))
        rows.add("library", name, status=SKIPPED, note=f"{type(error).__name__}: {error}"[:160])
    return []


def with_jit(libraries: list[Library]) -> list[Library]:
    """Return the libraries and, where JAX is, the same with programs compiled by it."""
    result = []
    for library in libraries:
        result.append(library)
        if library.name == JAX:
            jit = importlib.import_module("jax").jit
            names = {**vars(library), "name": JIT, "compile": jit}
            result.append(Library(**names))
    return result


# --- contenders


def checked_calls(
    rows: Rows,
    question: str,
    libraries: Sequence[Library],
    make: Callable[[Library], Callable[[], Any]],
    expected: np.ndarray | None = None,
    near: float = 1e-4,
) -> list[Contender]:
    """Return a contender for each library whose call works and gives what is expected of it."""
    contenders = []
    for library in libraries:
        with rows.attempt(question, library.name):
            call = make(library)
            result = call()
            library.sync(result)
            if expected is not None:
                seen = library.numpy(result).astype(expected.dtype).ravel()[: expected.size]
                np.testing.assert_allclose(seen, expected.ravel(), rtol=near, atol=near)
            contenders.append(sustained(library.name, call, library.sync))
    return contenders


def sustained(name: str, call: Callable[[], Any], sync: Callable[[Any], object]) -> Contender:
    """Return a contender of calls one after the other; ``sync`` waits for the last result."""
    return statement(name, "r = call()", {"call": call, "sync": sync, "r": None}, finish="sync(r)")


def with_flags(contender: Contender, name: str, **flags: Any) -> Contender:
    """Return a contender that runs under flags of ours."""

    def run(times: int) -> float:
        with flow.flags(**flags):
            return contender.run(times)

    return Contender(name, run)


def add_ratio(
    rows: Rows, question: str, m: Measurement, name: str, other: str, target: float | None
) -> None:
    """Add a row of one contender in times of another, if both were measured."""
    if name in m.names and other in m.names:
        rows.summary(question, name, m.ratio(name, other), 1, unit=f"x {other}", target=target)


def with_tf32(contender: Contender, name: str, settings: Any, allowed: bool) -> Contender:
    """Return one of PyTorch's under settings for TF32: its default differs between operations."""

    def run(times: int) -> float:
        before = settings.allow_tf32
        settings.allow_tf32 = allowed
        try:
            return contender.run(times)
        finally:
            settings.allow_tf32 = before

    return Contender(name, run)
