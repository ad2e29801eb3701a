"""Graph mode: programs that are recorded, planned and run as a whole."""

from oneflow_lite._C import Executable as Executable, TraceError as TraceError
from oneflow_lite.graph import analyses as analyses
from oneflow_lite.graph.executable import compile as compile
from oneflow_lite.graph.ir import (
    Function as Function,
    Op as Op,
    Scalar as Scalar,
    Type as Type,
    Value as Value,
)
from oneflow_lite.graph.jit import Jitted as Jitted, jit as jit
from oneflow_lite.graph.program import Program as Program
from oneflow_lite.graph.tracing import Traced as Traced, spec as spec, trace as trace

__all__ = [
    *(
        "Executable",
        "Function",
        "Jitted",
        "Op",
        "Program",
        "Scalar",
        "TraceError",
        "Traced",
        "Type",
        "Value",
    ),
    *("analyses", "compile", "jit", "spec", "trace"),
]
