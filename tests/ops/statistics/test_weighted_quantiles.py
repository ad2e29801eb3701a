"""Quantiles by inverse distributions, with weights and outputs: NumPy's bits, errors, and casts."""

from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.ops.statistics.test_quantiles import axes_of, numbers
from tests.support.oracle import same

pytestmark = pytest.mark.filterwarnings("ignore")

MIDDLES = ("median", "nanmedian")
OF_PARTS = ("quantile", "nanquantile", "percentile", "nanpercentile")
CDF = "inverted_cdf"


def with_nan(x: np.ndarray) -> np.ndarray:
    """The same with NaN in a lane, and with a lane of NaN only, where x has floats."""
    x = x.copy()
    if x.dtype.kind == "f" and x.ndim > 1 and len(x) > 1:
        x[0], x[1, 0] = np.nan, np.nan
    return x


@pytest.mark.parametrize("name", OF_PARTS)
@pytest.mark.parametrize("dtype", ["float64", "float16", "int8", "bool"])
def test_inverted_distributions(name: str, dtype: str, device: flow.Device) -> None:
    scale = 100 if name.endswith("percentile") else 1
    theirs, ours = getattr(np, name), getattr(flow, name)
    for shape in ((7,), (4, 5), ()):
        for x in (numbers(shape, dtype, 3), with_nan(numbers(shape, dtype, 3))):
            t = flow.tensor(x.T, device=device).T
            for q in (0.5, 0, 1.0, [0.2, 0.4, 0.6], np.float32([0.25, 1]), np.float16(0.3), []):
                parts = q if type(q) is int else np.multiply(q, scale)
                for axis in axes_of(shape):
                    given = (parts, axis, None, False, CDF, axis == 0)
                    same(theirs(x, *given), ours(t, *given))


@pytest.mark.parametrize("name", OF_PARTS)
@pytest.mark.parametrize("dtype", ["float64", "float16", "int8", "bool"])
@pytest.mark.parametrize("weight", ["float64", "float32", "int64"])
def test_weights_of_quantiles(name: str, dtype: str, weight: str, device: flow.Device) -> None:
    rng, scale = np.random.default_rng(4), 100 if name.endswith("percentile") else 1
    theirs, ours = getattr(np, name), getattr(flow, name)
    for shape in ((7,), (4, 5), (1, 1)):
        x = rng.permutation(int(np.prod(shape))).reshape(shape).astype(dtype)
        w = (rng.random(shape) * 3).astype(weight)
        w[..., 0] = 1
        for seen in (x, with_nan(x)):
            t = flow.tensor(seen.T, device=device).T
            for q in (0.5, 1, [0.2, 0.6], np.float32([0.25, 1])):
                parts = q if type(q) is int else np.multiply(q, scale)
                for axis in (None, -1, *([(-1, 0)] if len(shape) > 1 else [])):
                    for v in (w, flow.tensor(w, device=device)):
                        wanted = theirs(seen, parts, axis, method=CDF, weights=w, keepdims=True)
                        found = ours(t, parts, axis, method=CDF, weights=v, keepdims=True)
                        same(wanted, found)
                        same(wanted, theirs(t, parts, axis, method=CDF, weights=v, keepdims=True))


def test_weights_along_axes(device: flow.Device) -> None:
    x, w = numbers((2, 3, 4), "float64", 1), np.arange(12.0).reshape(4, 3)
    t = flow.tensor(x, device=device)
    for axis, weights in ((1, w[1]), (-1, w[:, 0]), ((2, 1), w), ((1, 2), w.T)):
        given = ([0.2, 0.7], axis)
        wanted = np.quantile(x, *given, method=CDF, weights=weights)
        same(wanted, flow.quantile(t, *given, method=CDF, weights=weights))
        same(wanted, flow.nanquantile(t, *given, method=CDF, weights=weights))


@pytest.mark.parametrize("name", OF_PARTS)
def test_wrong_weights(name: str, device: flow.Device) -> None:
    t, part = flow.ones((2, 3), device=device), 0.5
    call = getattr(flow, name)
    for keywords, error, text in (
        ({"weights": np.ones((2, 3))}, ValueError, "only for the method 'inverted_cdf'"),
        ({"weights": np.ones(3)}, TypeError, "or an axis"),
        ({"weights": np.ones(2), "axis": 1}, ValueError, "expected weights of shape"),
        ({"weights": -np.eye(3)[:2]}, ValueError, "at least 0"),
        ({"weights": np.zeros((2, 3))}, ValueError, "sum to a finite number"),
        ({"weights": np.full((2, 3), np.nan)}, ValueError, "sum to a finite number"),
        ({"weights": np.full((2, 3), np.inf)}, ValueError, "sum to a finite number"),
        ({"weights": 1j * np.ones((2, 3))}, TypeError, "real weights"),
        ({"method": "least"}, ValueError, "expected method"),
        ({"method": CDF, "q": 300}, ValueError, "in the range"),
    ):
        method = {} if "only for" in text else {"method": CDF}
        arguments = {"q": part, **method, **keywords}
        with pytest.raises(error, match=rf"\[{name}\] .*{text}"):
            call(t, arguments.pop("q"), **arguments)


OUTS = ("float64", "float32", "int64", "int8", "bool")


@pytest.mark.parametrize("name", [*MIDDLES, *OF_PARTS, "quantile by weights"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_outputs_of_quantiles(name: str, dtype: str, device: flow.Device) -> None:
    x = numbers((3, 4), "int8", 2).astype(dtype)
    t, by_weights = flow.tensor(x, device=device), name.endswith("weights")
    rest = () if name in MIDDLES else (0.3,)
    keywords = {"method": CDF, "weights": np.abs(x) + 1} if by_weights else {}
    theirs, ours = (getattr(m, name.split()[0]) for m in (np, flow))
    for axis in (None, 0, (0, 1)):
        for keepdims in (False, True):
            shape = theirs(x, *rest, axis, keepdims=keepdims, **keywords).shape
            for kind in OUTS:
                how = {"keepdims": keepdims, **keywords}
                target, array = flow.ones(shape, kind, device=device), np.ones(shape, kind)
                other = np.ones(shape, kind)
                try:
                    theirs(x, *rest, axis, array, **how)
                except TypeError:
                    with pytest.raises(TypeError, match="cannot cast"):
                        ours(t, *rest, axis, target, **how)
                    continue
                assert ours(t, *rest, axis, target, **how) is target
                assert theirs(t, *rest, axis, out=other, **how) is other
                if name in ("quantile", "percentile"):  # which NumPy computes in the dtype of out
                    np.testing.assert_allclose(target.numpy(), array, rtol=1e-6)
                else:
                    same(array, target)
                same(target.numpy(), flow.tensor(other))


@pytest.mark.parametrize("name", [*MIDDLES, *OF_PARTS])
def test_wrong_outputs_and_dimensions(name: str, device: flow.Device) -> None:
    t, rest = flow.ones((2, 3), device=device), () if name in MIDDLES else (0.3,)
    call = getattr(flow, name)
    for out, error in ((flow.zeros(3, device=device), ValueError), ([0.0], TypeError)):
        with pytest.raises(error, match=rf"\[{name}\] expected out"):
            call(t, *rest, out=out)
    for keepdims in ("yes", None, 1.0, t, np.ones(2)):
        with pytest.raises(TypeError, match=rf"\[{name}\] keepdims: expected bool"):
            call(t, *rest, keepdims=keepdims)
    assert call(t, *rest, keepdims=np.True_).shape == (1, 1)


@pytest.mark.parametrize("name", [*MIDDLES, *OF_PARTS])
def test_the_input_is_never_overwritten(name: str, device: flow.Device) -> None:
    x, rest = np.array([3.0, 1, 2, 5, 4]), () if name in MIDDLES else (0.3,)
    t = flow.tensor(x, device=device)
    getattr(flow, name)(t, *rest, overwrite_input=True)
    getattr(np, name)(t, *rest, overwrite_input=True)
    same(x, t)


def test_weights_in_programs(device: flow.Device) -> None:
    x = flow.tensor([[1.0, 5, 2], [4, 3, np.nan]], device=device)
    w = flow.tensor([[1.0, 0, 2], [1, 1, 1]], device=device)
    for name in ("quantile", "nanpercentile"):
        call = getattr(flow, name)

        def middle(x: Any, w: Any, call: Any = call) -> Any:
            return call(x, [0.5, 0.9], 1, method=CDF, weights=w)

        recorded = flow.jit(middle)
        for values_of, weights in ((x, w), (x * -2, w + 1)):
            same(middle(values_of, weights).numpy(), recorded(values_of, weights))
        for wrong, text in ((w - 3, "at least 0"), (w * 0, "sum to a finite number")):
            with pytest.raises(ValueError, match=rf"\[{name}\] .*{text}"):
                recorded(x, wrong).numpy()
