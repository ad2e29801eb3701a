"""Graph mode: programs that are recorded, planned and run as a whole."""

from oneflow_lite._C import Executable as Executable, TraceError as TraceError
from oneflow_lite.graph import analyses as analyses, passes as passes
from oneflow_lite.graph.gradients import (
    grad as grad,
    gradients as gradients,
    stop_gradient as stop_gradient,
    value_and_grad as value_and_grad,
    vjp as vjp,
)
from oneflow_lite.graph.hand.building import (
    building as building,
    data as data,
    named as named,
    number as number,
    parameter as parameter,
)
from oneflow_lite.graph.hand.compiled import Compiled as Compiled
from oneflow_lite.graph.hand.executor import Executor as Executor, compile as compile
from oneflow_lite.graph.hand.extents import Dim as Dim
from oneflow_lite.graph.hand.scope import (
    Scope as Scope,
    global_scope as global_scope,
    scope_guard as scope_guard,
)
from oneflow_lite.graph.ir import (
    Function as Function,
    Op as Op,
    Scalar as Scalar,
    Type as Type,
    Value as Value,
)
from oneflow_lite.graph.jit import Jitted as Jitted, jit as jit
from oneflow_lite.graph.numbered import Numbered as Numbered, numbered as numbered
from oneflow_lite.graph.program import Program as Program
from oneflow_lite.graph.tracing import Traced as Traced, spec as spec, trace as trace

__all__ = [
    *("Compiled", "Dim", "Executable", "Executor", "Function", "Jitted", "Numbered", "Op"),
    *("Program", "Scalar", "Scope", "TraceError", "Traced", "Type", "Value"),
    *("analyses", "building", "compile", "data", "global_scope", "grad", "gradients", "jit"),
    *("named", "number", "numbered", "parameter", "passes", "scope_guard", "spec"),
    *("stop_gradient", "trace", "value_and_grad", "vjp"),
]
