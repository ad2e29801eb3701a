"""Inverses, determinants, solutions and factorizations agree with central differences."""

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.graphs.differences import assert_gradients

linalg = flow.linalg
WEIGHTS = np.random.default_rng(0).normal(size=600)


def weighted(y):
    """Return a number that each element counts in, differently."""
    return (flow.reshape(y, -1) ** 2 * flow.tensor(WEIGHTS[: y.size], device=y.device)).sum()


def array(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape)


def regular(*shape):
    """Return matrices that are far from singular ones, and have different singular values."""
    return array(*shape) / 3 + np.eye(*shape[-2:]) * np.arange(1, shape[-1] + 1)


def symmetric(x):
    return x + x.mT


def positive(x):
    return x @ x.mT + flow.eye(x.shape[-2])


def both(pair):
    return weighted(pair[0]) + weighted(pair[1] * 1.5)


SQUARES = {
    "inv": lambda x: weighted(linalg.inv(x)),
    "det": lambda x: weighted(linalg.det(x)),
    "slogdet": lambda x: weighted(linalg.slogdet(x).logabsdet),
    "sign and logarithm": lambda x: both(linalg.slogdet(x)),
    "cholesky": lambda x: weighted(linalg.cholesky(positive(x))),
    "cholesky, upper": lambda x: weighted(linalg.cholesky(positive(x), upper=True)),
    "eigh": lambda x: both(linalg.eigh(symmetric(x))),
    "eigh of the upper triangle": lambda x: weighted(linalg.eigh(symmetric(x), "U").eigenvalues),
    "eigenvectors": lambda x: weighted(linalg.eigh(symmetric(x)).eigenvectors),
    "eigvalsh": lambda x: weighted(linalg.eigvalsh(symmetric(x), "U")),
    "matrix_power": lambda x: weighted(linalg.matrix_power(x, 3)),
    "matrix_power of the inverse": lambda x: weighted(linalg.matrix_power(x, -2)),
    "trace": lambda x: weighted(linalg.trace(x)),
    "cond": lambda x: weighted(linalg.cond(x)),
    "cond by columns": lambda x: weighted(linalg.cond(x, 1)),
    "all singular vectors": lambda x: both(linalg.svd(x)[::2]),
}


@pytest.mark.parametrize("function", SQUARES.values(), ids=SQUARES.keys())
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4), (1, 1)], ids=str)
def test_square_matrices(function, shape):
    assert_gradients(function, regular(*shape))


RECTANGLES = {
    "qr": lambda x: both(linalg.qr(x)),
    "Q": lambda x: weighted(linalg.qr(x).Q),
    "R": lambda x: weighted(linalg.qr(x, mode="r")),
    "complete R": lambda x: weighted(linalg.qr(x, mode="complete").R),
    "svd": lambda x: sum(weighted(part) for part in linalg.svd(x, full_matrices=False)),
    "left vectors": lambda x: weighted(linalg.svd(x, full_matrices=False).U),
    "right vectors": lambda x: weighted(linalg.svd(x, full_matrices=False).Vh),
    "values beside all vectors": lambda x: weighted(linalg.svd(x).S),
    "svdvals": lambda x: weighted(linalg.svdvals(x)),
    "pinv": lambda x: weighted(linalg.pinv(x)),
    "norm 2": lambda x: linalg.matrix_norm(x, ord=2).sum(),
    "norm -2": lambda x: linalg.matrix_norm(x, ord=-2).sum(),
    "nuclear norm": lambda x: linalg.matrix_norm(x, ord="nuc").sum(),
    "Frobenius norm": lambda x: linalg.matrix_norm(x).sum(),
    "norm of columns": lambda x: linalg.matrix_norm(x, ord=1).sum(),
    "norm of vectors": lambda x: linalg.vector_norm(x, axis=-1, ord=3).sum(),
    "of what lies turned": lambda x: both(linalg.qr(flow.sin(x.mT))),
}


@pytest.mark.parametrize("function", RECTANGLES.values(), ids=RECTANGLES.keys())
@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (3, 5), (2, 4, 3)], ids=str)
def test_rectangles(function, shape):
    assert_gradients(function, array(*shape))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *(((3, 3), (3,)), ((3, 3), (3, 2)), ((2, 3, 3), (3,)), ((2, 3, 3), (3, 2))),
        *(((3, 3), (2, 3, 1)), ((2, 1, 3, 3), (4, 3, 2))),
    ],
    ids=str,
)
def test_solutions_of_equations(one, other):
    assert_gradients(lambda a, b: weighted(linalg.solve(a, b)), regular(*one), array(*other))


PRODUCTS = {
    "outer": lambda a, b: weighted(linalg.outer(a[0], b[1])),
    "cross": lambda a, b: weighted(linalg.cross(a, b)),
    "multi_dot": lambda a, b: weighted(linalg.multi_dot([a[0], b, a, b[:, 1]])),
    "einsum": lambda a, b: weighted(flow.einsum("ij,jk,ik->i", a, b, a)),
    "a diagonal by einsum": lambda a, b: weighted(flow.einsum("ii,ij->j", a, b)),
    "tensorsolve": lambda a, b: weighted(linalg.tensorsolve(a, b[0])),
    "tensorinv": lambda a, b: weighted(linalg.tensorinv(a, ind=1) * b),
    "an inverse in a product": lambda a, b: weighted(linalg.inv(a) @ b @ linalg.inv(a)),
}


@pytest.mark.parametrize("function", PRODUCTS.values(), ids=PRODUCTS.keys())
def test_products_and_tensors(function):
    assert_gradients(function, regular(3, 3), regular(3, 3)[::-1].T.copy())


TWICE = {
    "inv": linalg.inv,
    "log of the determinant": lambda x: linalg.slogdet(x).logabsdet,
    "cholesky": lambda x: linalg.cholesky(positive(x)),
    "eigenvectors": lambda x: linalg.eigh(symmetric(x)).eigenvectors,
    "singular values": linalg.svdvals,
    "Q": lambda x: linalg.qr(x).Q,
}


@pytest.mark.parametrize("function", TWICE.values(), ids=TWICE.keys())
def test_second_derivatives(function):
    def inner(x):
        return weighted(flow.grad(lambda x: weighted(function(x)))(x))

    assert_gradients(inner, regular(3, 3), rtol=1e-5)


@pytest.mark.parametrize("triangle", ["L", "U"])
def test_gradients_of_what_reads_a_triangle_are_symmetric(triangle):
    x = flow.tensor(regular(3, 3))
    for function in (
        lambda x: weighted(linalg.cholesky(x, upper=triangle == "U")),
        lambda x: both(linalg.eigh(x, triangle)),
        lambda x: weighted(linalg.eigvalsh(x, triangle)),
    ):
        found = flow.grad(function)(symmetric(x)).numpy()
        np.testing.assert_allclose(found, found.T, rtol=1e-12)
        through = flow.grad(lambda x, of=function: of(symmetric(x)))(x).numpy()
        np.testing.assert_allclose(through, 2 * found, rtol=1e-12)


def test_equal_eigenvalues_have_gradients_of_values():
    found = flow.grad(lambda x: (linalg.eigvalsh(x) * flow.tensor([1.0, 1.0])).sum())(flow.eye(2))
    np.testing.assert_allclose(found.numpy(), np.eye(2), atol=1e-15)
    found = flow.grad(lambda x: linalg.svdvals(x).sum())(flow.eye(2) * 3)
    np.testing.assert_allclose(found.numpy(), np.eye(2), atol=1e-15)


def test_a_singular_matrix_has_no_gradient_of_its_determinant():
    value, g = flow.value_and_grad(linalg.det)(flow.tensor([[1.0, 2.0], [2.0, 4.0]]))
    assert abs(value.item()) < 1e-12
    with pytest.raises(flow.linalg.LinAlgError, match=r"test_linear_algebra\.py"):
        g.numpy()


def test_gradients_have_the_dtype_of_the_operand(device):
    x = flow.tensor(regular(3, 3).astype("float32"), device=device)
    for function in (linalg.inv, linalg.svdvals, lambda x: linalg.qr(x).R):
        found = flow.grad(lambda x, of=function: weighted(of(x)))(x)
        assert (found.dtype, found.device) == (flow.float32, x.device)
        wide = flow.grad(lambda x, of=function: weighted(of(x)))(x.astype("float64"))
        np.testing.assert_allclose(found.numpy(), wide.numpy(), rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: linalg.qr(x, mode="complete").Q.sum(), r"qr \(.*\) is not .* no rule"),
        (lambda x: linalg.qr(x, mode="raw")[0].sum(), r"qr_raw \(.*\) .* reflectors have no rule"),
        (lambda x: linalg.svd(x).U.sum(), r"svd \(.*test_linear_.*\) .* use full_matrices=False"),
        (
            lambda x: linalg.lstsq(x.mT, x[:2, 0]).x.sum(),
            r"lstsq \(.*test_linear_.*\) is not .* no rule",
        ),
        (lambda x: linalg.eigvals(x[:2]).real.sum(), r"complex numbers"),
    ],
)
def test_what_has_no_rule_says_so(function, message):
    with pytest.raises(NotImplementedError, match=message):
        flow.grad(function)(flow.tensor(array(4, 2)))
