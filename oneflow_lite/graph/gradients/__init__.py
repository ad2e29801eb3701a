"""Gradients: operations that compute them are recorded behind those of the function.

function ─► recording ─► walked back: a rule for each operation, made of the library's functions
└──► operations of the gradients, in the same recording
"""

from oneflow_lite.graph.gradients.functions import (
    grad as grad,
    gradients as gradients,
    stop_gradient as stop_gradient,
    value_and_grad as value_and_grad,
)
from oneflow_lite.graph.gradients.pulling import vjp as vjp
