"""Inverses, determinants and solutions of linear equations.

The formulas are those of Giles, "An extended collection of matrix derivative results for forward
and reverse mode algorithmic differentiation" (2008), by their sections. Singular matrices, which
have no inverse, make the gradient fail as ``inv`` does.
"""

from collections.abc import Sequence

import numpy as np

from oneflow_lite._C import Tensor
from oneflow_lite.graph.gradients.shapes import unbroadcast
from oneflow_lite.graph.gradients.step import Results, Step, loop_rule
from oneflow_lite.linalg.solving import inv, solve
from oneflow_lite.ops.elementwise import multiply, negative
from oneflow_lite.ops.linear_algebra import matmul
from oneflow_lite.ops.manipulation.shapes import expand_dims, squeeze


@loop_rule("inv")
def inverse(step: Step, gs: Results) -> Sequence[Tensor | None]:
    """Section 2.2.3: -C^T g C^T, where C is the inverse."""
    (g,) = gs
    turned = step.outs[0].mT
    return (negative(matmul(matmul(turned, g), turned)),)


@loop_rule("det")
def determinant(step: Step, gs: Results) -> Sequence[Tensor | None]:
    """Section 2.2.4: g det(A) A^-T."""
    (g,) = gs
    scale = expand_dims(multiply(g, step.outs[0]), axis=(-2, -1))
    return (multiply(scale, inv(step.operand(0)).mT),)


@loop_rule("slogdet")
def log_determinant(step: Step, gs: Results) -> Sequence[Tensor | None]:
    """Section 2.2.4, divided by the determinant: g A^-T. The sign has no gradient."""
    g = gs[1]
    if g is None:
        return (None,)
    return (multiply(expand_dims(g, axis=(-2, -1)), inv(step.operand(0)).mT),)


@loop_rule("solve", "solve1")
def solution(step: Step, gs: Results) -> Sequence[Tensor | None]:
    """Section 2.3.1: B gets A^-T g, A gets minus that times X^T; summed where it was broadcast."""
    (g,) = gs
    a, x = step.operand(0), step.outs[0]
    is_one = step.call.loop[0] == "solve1"
    if is_one:
        g, x = expand_dims(g, axis=-1), expand_dims(x, axis=-1)
    of_b = solve(a.mT, g)
    of_a = negative(matmul(of_b, x.mT)) if step.needs(0) else None
    if of_a is not None:
        of_a = unbroadcast(of_a, of_a.shape, step.type(0).shape)
    given = step.type(1).shape
    if is_one:
        return of_a, unbroadcast(squeeze(of_b, axis=-1), step.out_type.shape, given)
    batch = np.broadcast_shapes(step.type(0).shape[:-2], given[:-2])
    return of_a, unbroadcast(of_b, (*batch, *given[-2:]), given)
