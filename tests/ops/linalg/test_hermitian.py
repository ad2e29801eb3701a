"""Decompositions of matrices that are said to be Hermitian: NumPy's bits."""

from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.oracle import same, values


def hermitian(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    a = np.asarray(values(shape, "complex128" if dtype[0] == "c" else "float64", 3)).astype(dtype)
    a = np.nan_to_num(a, posinf=2, neginf=-2) if a.dtype.kind in "fc" else a
    return np.asarray(a + np.conj(np.swapaxes(a, -1, -2)), dtype)


OF_HERMITIAN: dict[str, Any] = {
    "svd": lambda m, x: tuple(m.svd(x, hermitian=True)),
    "svd values": lambda m, x: (m.svd(x, True, False, True),),
    "matrix_rank": lambda m, x: (m.matrix_rank(x, hermitian=True),),
    "matrix_rank by rtol": lambda m, x: (m.matrix_rank(x, None, True, rtol=0.3),),
    "pinv": lambda m, x: (m.pinv(x, hermitian=True),),
    "pinv by rcond": lambda m, x: (m.pinv(x, 0.1, True),),
}


@pytest.mark.parametrize("name", OF_HERMITIAN)
@pytest.mark.parametrize(
    "dtype", ["float64", "float32", "complex64", "complex128", "int64", "bool"]
)
def test_hermitian_matrices(name: str, dtype: str, device: flow.Device) -> None:
    call = OF_HERMITIAN[name]
    for shape in ((1, 1), (3, 3), (2, 5, 5), (0, 3, 3), (0, 0)):
        a = hermitian(shape, dtype)
        for x in (a, a[..., ::-1, ::-1], np.swapaxes(a, -1, -2), np.tril(a)):
            base = flow.tensor(np.ascontiguousarray(x), device=device)
            try:
                wanted = call(np.linalg, x)
            except ValueError:  # no largest one of none
                assert shape == (0, 0)
                continue
            for one, other in zip(wanted, call(flow.linalg, base), strict=True):
                if name.startswith("pinv"):  # a product of matrices
                    precision = 1e-5 if np.asarray(one).dtype in ("float32", "complex64") else 1e-12
                    assert (other.shape, other.dtype) == (one.shape, one.dtype)
                    np.testing.assert_allclose(other.numpy(), one, rtol=precision, atol=precision)
                else:
                    same(one, other)


def test_wrong_hermitian_matrices() -> None:
    for call in OF_HERMITIAN.values():
        with pytest.raises(np.linalg.LinAlgError, match="square"):
            call(flow.linalg, flow.ones((2, 3)))
    with pytest.raises(ValueError, match=r"\[pinv\] expected rcond or rtol, got both"):
        flow.linalg.pinv(flow.ones((2, 2)), 0.1, rtol=0.1)
    assert flow.linalg.matrix_rank(flow.ones(3), hermitian=True).item() == 1
