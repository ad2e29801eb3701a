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
from oneflow_lite.random.random_state import RandomState as RandomState

__all__ = ["MT19937", "PCG64", "PCG64DXSM", "SFC64", "BitGenerator", "Generator", "Philox"]
__all__ += ["RandomState", "SeedSequence", "default_rng", *default.__all__]

# Names that NumPy's module lacks, or will lose, and what to call instead.
_INSTEAD = {
    "integers": "default_rng(seed).integers(low, high, size)",
    "multivariate_hypergeometric": "default_rng(seed).multivariate_hypergeometric(colors, n)",
    "permuted": "default_rng(seed).permuted(x)",
    "random_integers": "randint(low, high + 1, size)",
}

if not _typing.TYPE_CHECKING:  # with it, type checkers would take any name

    def __getattr__(name: str) -> _typing.Any:
        if name in _INSTEAD:
            raise AttributeError(f"flow.random has no {name}: use flow.random.{_INSTEAD[name]}")
        raise AttributeError(f"module 'oneflow_lite.random' has no attribute {name!r}")
