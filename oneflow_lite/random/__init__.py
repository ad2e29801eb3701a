"""Random numbers: NumPy's generators, and counted numbers that are made where the tensor is."""

import typing as _typing

from numpy.random import (
    MT19937 as MT19937,
    PCG64 as PCG64,
    PCG64DXSM as PCG64DXSM,
    SFC64 as SFC64,
    BitGenerator as BitGenerator,
    SeedSequence as SeedSequence,
)

from oneflow_lite.random import default
from oneflow_lite.random.default import *
from oneflow_lite.random.generator import Generator as Generator, default_rng as default_rng
from oneflow_lite.random.philox import Philox as Philox

__all__ = ["MT19937", "PCG64", "PCG64DXSM", "SFC64", "BitGenerator", "Generator", "Philox"]
__all__ += ["SeedSequence", "default_rng", *default.__all__]

# NumPy's functions that draw from its global RandomState, and what draws here.
_INSTEAD = {
    "RandomState": "default_rng(seed)",
    "rand": "random((2, 3))",
    "randint": "integers(low, high, size)",
    "randn": "standard_normal((2, 3))",
    "random_integers": "integers(low, high, size, endpoint=True)",
    **dict.fromkeys(("random_sample", "ranf", "sample"), "random(size)"),
}

if not _typing.TYPE_CHECKING:  # with it, type checkers would take any name

    def __getattr__(name: str) -> _typing.Any:
        if name in _INSTEAD:
            raise AttributeError(
                f"flow.random has no {name}: its numbers are those of numpy.random.default_rng, "
                f"and numpy.random.{name} has others. flow.random.{_INSTEAD[name]} is like it; "
                f"flow.tensor(numpy.random.{name}(...)) has its numbers"
            )
        raise AttributeError(f"module 'oneflow_lite.random' has no attribute {name!r}")
