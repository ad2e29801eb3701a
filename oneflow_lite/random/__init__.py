"""Random numbers: NumPy's generators, and counted numbers that are made where the tensor is."""

from oneflow_lite.random import generator
from oneflow_lite.random.generator import *
from oneflow_lite.random.philox import Philox as Philox

__all__ = [*generator.__all__, "Philox"]
