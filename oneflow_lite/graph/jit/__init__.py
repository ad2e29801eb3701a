"""Functions that are traced at their first call, and run as a whole from then on."""

from oneflow_lite.graph.jit.function import jit as jit
from oneflow_lite.graph.jit.jitted import Jitted as Jitted

__all__ = ["Jitted", "jit"]
