"""Random numbers: NumPy's generators, and counted numbers that are made where the tensor is."""

from oneflow_lite.random import default
from oneflow_lite.random.default import *
from oneflow_lite.random.generator import Generator as Generator, default_rng as default_rng
from oneflow_lite.random.philox import Philox as Philox

__all__ = ["Generator", "Philox", "default_rng"]
__all__ += default.__all__
