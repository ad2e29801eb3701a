"""Covariances and correlation coefficients."""

from typing import TYPE_CHECKING, Any

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import (
    canonical,
    float64,
    isdtype,
    result_type,
)
from oneflow_lite.ops.creation.data import asarray, empty
from oneflow_lite.ops.creation.matrices import diag
from oneflow_lite.ops.elementwise import clip, conj, real, sqrt
from oneflow_lite.ops.linear_algebra import dot
from oneflow_lite.ops.manipulation.joining import concat
from oneflow_lite.ops.manipulation.shapes import squeeze
from oneflow_lite.ops.operands import host_array, on_one_device
from oneflow_lite.ops.statistics.averages import average
from oneflow_lite.ops.statistics.reduction import sum
from oneflow_lite.ops.table import exported

_INEXACT = ("real floating", "complex floating")


def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Tensor:
    """Return the covariance matrix of variables.

    Parameters
    ----------
    m, y : Tensor or array
        A variable, or a matrix with a variable in each row; those of y are added.
    rowvar : bool
        False: variables are the columns.
    bias : bool
        Divide by the number of observations instead of one less.
    ddof : int, optional
        What is taken from the number of observations, whatever ``bias`` says.
    fweights, aweights : Tensor or array, optional
        How often each observation occurs, and how much it counts. Those of the host are checked.
    dtype : dtype, optional
        To compute in; by default float64 at least.

    Examples
    --------
    >>> flow.cov(flow.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]])).numpy()
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    if ddof is not None and ddof != int(ddof):
        raise ValueError(f"[cov] expected ddof to be an integer, got {ddof}")
    given = on_one_device(m) if y is None else on_one_device(m, y)
    for x in given:
        if x.ndim > 2:
            raise ValueError(f"[cov] expected at most two dimensions, got shape {x.shape}")
    wanted = result_type(*given, float64) if dtype is None else canonical(dtype, "cov")
    if not isdtype(wanted, _INEXACT):
        raise TypeError(f"[cov] expected a floating or complex dtype, got {wanted}")
    rows = [_rows(_C.astype(x, wanted, False)) for x in given]
    if not rowvar:  # a y of one row stays as it is, an m of one dimension
        stay = [given[0].ndim == 1, rows[-1].shape[0] == 1]
        rows = [x if as_is else x.T for x, as_is in zip(rows, stay, strict=False)]
    if rows[0].shape[0] == 0:
        return empty((0, 0), device=given[0].device)
    variables = rows[0] if y is None else concat(rows, 0)
    less = (0 if bias else 1) if ddof is None else int(ddof)
    weights, factor = _weighted(variables, fweights, aweights, less)
    centred = variables - average(variables, 1, weights)[:, None]
    right = centred if weights is None else centred * weights
    products = dot(centred, conj(right.T) if isdtype(wanted, "complex floating") else right.T)
    return squeeze(_C.astype(products * factor, products.dtype, False))


def _rows(x: Tensor) -> Tensor:
    return x if x.ndim == 2 else _C.reshape(x, (1, -1), None)


def _weighted(x: Tensor, fweights: Any, aweights: Any, less: int) -> tuple[Tensor | None, Any]:
    """The weight of each observation, and what the sums of products are multiplied by."""
    counts = _weights(x, fweights, "fweights")
    weights = shares = _weights(x, aweights, "aweights")
    if counts is not None:
        weights = counts if shares is None else counts * shares
    if weights is None:
        left = x.shape[1] - less
        return None, np.divide(1.0, left if left > 0 else 0.0)
    total = _C.reshape(sum(_C.astype(weights, result_type(x, weights), False)), (), None)
    if less == 0:
        left_of = total
    elif shares is None:
        left_of = total - less
    else:
        left_of = total - less * sum(weights * shares) / total
    return weights, 1 / _C.where(left_of <= 0, 0.0, left_of)


def _weights(x: Tensor, weights: Any, name: str) -> Tensor | None:
    if weights is None:
        return None
    if not isinstance(weights, Tensor):
        numbers = host_array(weights, "cov").astype(float)
        if name == "fweights" and (numbers != np.round(numbers)).any():
            raise TypeError(f"[cov] expected fweights to be integers, got {weights}")
        if (numbers < 0).any():
            raise ValueError(f"[cov] {name} cannot be negative, got {weights}")
    given = _C.astype(asarray(weights, device=x.device), float64, False)
    if given.ndim != 1 or given.shape[0] != x.shape[1]:
        raise RuntimeError(f"[cov] expected {x.shape[1]} {name}, got shape {given.shape}")
    return given


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Tensor:
    """Return the correlation coefficients of variables. Parameters as for ``cov``.

    Examples
    --------
    >>> flow.corrcoef(flow.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]])).numpy()
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    covariance = cov(x, y, rowvar, dtype=dtype)
    if covariance.ndim == 0:
        return covariance / covariance
    deviation = sqrt(real(diag(covariance)))
    scaled = covariance / deviation[:, None] / deviation[None, :]
    if not isdtype(scaled.dtype, "complex floating"):
        return clip(scaled, -1, 1)
    for part in (scaled.real, scaled.imag):
        _C.assign(part, clip(part, -1, 1))
    return scaled


if not TYPE_CHECKING:
    __all__ = exported(globals())
