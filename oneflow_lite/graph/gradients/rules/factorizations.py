"""Factorizations of matrices, their eigenvalues and their singular values.

Where eigenvalues or singular values are equal, vectors are not unique: gradients through them have
infinities or NaNs; those through values alone are fine. What reads one triangle is differentiated
as a function of symmetric matrices, so its gradient is symmetric.
"""

from collections.abc import Sequence

from oneflow_lite._C import Tensor
from oneflow_lite.graph.gradients.step import Results, Step, loop_rule
from oneflow_lite.linalg.decompositions import Q_REDUCED, eigh, svd
from oneflow_lite.linalg.solving import solve
from oneflow_lite.ops.creation.data import zeros
from oneflow_lite.ops.creation.matrices import eye, tril, triu
from oneflow_lite.ops.elementwise import add, divide, multiply, subtract
from oneflow_lite.ops.linear_algebra import matmul
from oneflow_lite.ops.manipulation.joining import concat
from oneflow_lite.ops.manipulation.shapes import expand_dims


@loop_rule("cholesky_lo", "cholesky_up")
def cholesky(step: Step, gs: Results) -> Sequence[Tensor | None]:
    """Murray, "Differentiation of the Cholesky decomposition" (2016), equation 10.

    L^-T P L^-1, where P is the lower triangle of L^T g with half of its diagonal; made symmetric.
    """
    (g,), lower = gs, step.outs[0]
    if step.call.loop[0] == "cholesky_up":
        g, lower = g.mT, lower.mT
    inner = tril(matmul(lower.mT, tril(g)))
    inner = subtract(inner, multiply(inner, _identity(inner) * 0.5))
    return (_symmetric(_over(solve(lower.mT, inner), lower)),)


@loop_rule("eigh_lo", "eigh_up")
def eigenvectors(step: Step, gs: Results) -> Sequence[Tensor | None]:
    """Section 3.1 of Giles's collection (2008), for symmetric matrices."""
    return (_of_symmetric(*step.outs, *gs),)


@loop_rule("eigvalsh_lo", "eigvalsh_up")
def eigenvalues(step: Step, gs: Results) -> Sequence[Tensor | None]:
    """The same; the vectors are computed for it."""
    triangle = "L" if step.call.loop[0] == "eigvalsh_lo" else "U"
    w, v = eigh(step.operand(0), triangle)
    return (_of_symmetric(w, v, gs[0], None),)


def _of_symmetric(w: Tensor, v: Tensor, of_w: Tensor | None, of_v: Tensor | None) -> Tensor:
    """Return V (diag(gw) + F * (V^T gV)) V^T, made symmetric; F is 1 / (w_j - w_i)."""
    left = None if of_w is None else multiply(v, expand_dims(of_w, axis=-2))
    if of_v is not None:
        turned = matmul(v, multiply(matmul(v.mT, of_v), _gaps(w)))
        left = turned if left is None else add(left, turned)
    assert left is not None
    return _symmetric(matmul(left, v.mT))


def _gaps(w: Tensor) -> Tensor:
    """Return 1 / (w_j - w_i) for row i and column j; 0 on the diagonal."""
    difference = subtract(expand_dims(w, axis=-2), expand_dims(w, axis=-1))
    one = _identity(difference)
    return divide(subtract(1, one), add(difference, one))


@loop_rule("svd_s", "svd_f")
def singular_vectors(step: Step, gs: Results) -> Sequence[Tensor | None]:
    """Townsend, "Differentiating the singular value decomposition" (2016), section 1.1."""
    (rows, columns), (of_u, of_s, of_vh) = step.type(0).shape[-2:], gs
    u, s, vh = step.outs
    if step.call.loop[0] == "svd_f" and rows != columns:
        if of_u is not None or of_vh is not None:
            step.fail(
                "is not differentiable by the vectors that complete a basis, which are not unique: "
                "use full_matrices=False"
            )
        smaller = min(rows, columns)
        u, vh = u[..., :smaller], vh[..., :smaller, :]
    return (_of_singular(u, s, vh, of_u, of_s, None if of_vh is None else of_vh.mT),)


@loop_rule("svd")
def singular_values(step: Step, gs: Results) -> Sequence[Tensor | None]:
    """The same; the vectors are computed for it."""
    u, s, vh = svd(step.operand(0), full_matrices=False)
    return (_of_singular(u, s, vh, None, gs[0], None),)


def _of_singular(
    u: Tensor,
    s: Tensor,
    vh: Tensor,
    of_u: Tensor | None,
    of_s: Tensor | None,
    of_v: Tensor | None,
) -> Tensor:
    """Return the gradient of a matrix from those of U, S and V.

    U (skew(U^T gU) / E S + S skew(V^T gV) / E + diag(gS)) V^T, where skew(x) is x - x^T and E_ij is
    s_j^2 - s_i^2; and what of gU / S and gV / S is outside of the columns of U and V.
    """
    parts: list[Tensor] = []
    across, down = expand_dims(s, axis=-2), expand_dims(s, axis=-1)
    gaps = _gaps(multiply(s, s)) if of_u is not None or of_v is not None else s
    if of_s is not None:
        parts.append(matmul(multiply(u, expand_dims(of_s, axis=-2)), vh))
    if of_u is not None:
        inner = multiply(multiply(_skew(matmul(u.mT, of_u)), gaps), across)
        outside = divide(_outside(u, of_u), across)
        parts.append(matmul(add(matmul(u, inner), outside), vh))
    if of_v is not None:
        inner = multiply(down, multiply(_skew(matmul(vh, of_v)), gaps))
        outside = divide(_outside(vh.mT, of_v), across).mT
        parts.append(matmul(u, add(matmul(inner, vh), outside)))
    found = parts[0]
    for part in parts[1:]:
        found = add(found, part)
    return found


def _outside(basis: Tensor, x: Tensor) -> Tensor:
    """Return columns without what the columns of an orthonormal basis span; zeros for a square."""
    return subtract(x, matmul(basis, matmul(basis.mT, x)))


# --- QR: LAPACK leaves R and reflectors in one matrix, of which Q is made


@loop_rule("qr_r_raw")
def triangle(step: Step, gs: Results) -> Sequence[Tensor | None]:
    """Walter and Lehmann, "Algorithmic differentiation of linear algebra functions" (2012).

    That of R alone: Q copyltu(R gR^T) R^-T, where copyltu() mirrors the lower triangle.
    Where there are more columns than rows, A = [X Y] and R = [U Q^T Y]: the second part adds to the
    gradients of Y and of Q, and Q = X U^-1.
    """
    packed, reflectors = step.outs
    if step.call.name != "qr":
        step.fail("is not differentiable: reflectors have no rule")
    if gs[1] is not None or gs[0] is None:
        step.fail("is not differentiable: factors of reflectors have no rule")
    rows, columns = step.type(0).shape[-2:]
    smaller = min(rows, columns)
    (q,) = Q_REDUCED(packed, reflectors)
    r, g = triu(packed[..., :smaller, :]), triu(gs[0][..., :smaller, :])
    square, of_square = r[..., :smaller], g[..., :smaller]
    rest: Tensor | None = None
    added: Tensor | None = None
    if columns > rows:
        y, of_v = step.operand(0)[..., rows:], g[..., rows:]
        rest = matmul(q, of_v)
        added = _over_turned(matmul(y, of_v.mT), square)
        of_square = subtract(of_square, triu(matmul(q.mT, added)))
    lower = tril(matmul(square, of_square.mT))
    mirrored = add(lower, tril(lower, k=-1).mT)
    found = _over_turned(matmul(q, mirrored), square)
    if rest is None or added is None:
        return (found,)
    return (concat([add(found, added), rest], axis=-1),)


@loop_rule("qr_reduced")
def orthonormal(step: Step, gs: Results) -> Sequence[Tensor | None]:
    """Q = X U^-1, for the columns X and U that make a square of R: see ``triangle``.

    X, the matrix before LAPACK wrote to it, gets g U^-T; U gets minus the triangle of Q^T g U^-T.
    """
    (g,) = gs
    packed, q = step.operand(0), step.outs[0]
    columns, smaller = packed.shape[-1], q.shape[-1]
    added = _over_turned(g, triu(packed[..., :smaller, :smaller]))
    of_square = triu(matmul(q.mT, added))
    left = (*packed.shape[:-2], packed.shape[-2] - smaller, smaller)
    below = zeros(left, dtype=g.dtype, device=g.device)
    of_packed = concat([of_square * -1.0, below], axis=-2)
    if columns > smaller:
        none = zeros((*packed.shape[:-1], columns - smaller), dtype=g.dtype, device=g.device)
        added, of_packed = concat([added, none], axis=-1), concat([of_packed, none], axis=-1)
    step.beside.append((step.record.operand_before(step.operands[0]), added))
    return of_packed, None


def _over(x: Tensor, square: Tensor) -> Tensor:
    """Return x times the inverse of a square."""
    return solve(square.mT, x.mT).mT


def _over_turned(x: Tensor, square: Tensor) -> Tensor:
    """Return x times the inverse of a transposed square."""
    return solve(square, x.mT).mT


def _identity(like: Tensor) -> Tensor:
    return eye(like.shape[-1], dtype=like.dtype, device=like.device)


def _skew(x: Tensor) -> Tensor:
    return subtract(x, x.mT)


def _symmetric(x: Tensor) -> Tensor:
    return add(x, x.mT) * 0.5
