"""Sums, products, quotients, derivatives and roots of polynomials: NumPy's results."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.graph import TraceError, trace
from tests.support.oracle import DTYPES, computes_itself, same

ROWS = ([0, 0, 3, 1, 2], [2, 0, 1], [0, 1], [0, 0], [1], [])
RUNNING = ("polyadd", "polysub", "polymul")


def arrays(dtype: str) -> list[np.ndarray]:
    found = [np.asarray(row).astype(dtype) for row in ROWS]
    if np.dtype(dtype).kind in "fc":
        rng = np.random.default_rng(1)
        found += [rng.normal(size=n).astype(dtype) for n in (3, 6)]
    if dtype[0] == "c":
        found[-1] = (found[-1] + 1j * found[-1][::-1]).astype(dtype)
    return found


def as_numpy(name: str, *given: Any, call: Callable[..., Any] | None = None) -> None:
    """A call gives what NumPy gives, or raises what it raises."""
    function = getattr(np, name)
    operands = [x.numpy() if isinstance(x, flow.Tensor) else x for x in given]
    with np.errstate(all="ignore"):
        try:
            expected = function(*operands)
        except (ValueError, TypeError, IndexError) as error:
            with pytest.raises(type(error), match=rf"\[({name}|subtract)\]"):
                getattr(flow, name)(*given)
            return
    alike(expected, getattr(flow, name)(*given), f"{name}{operands}")
    if not np.size(given[0]) or (name == "poly" and not np.ndim(given[0])):
        return  # NumPy asks the elements of these whose function it is
    alike(expected, function(*given), f"numpy.{name}{operands}")


def alike(expected: Any, seen: Any, label: str) -> None:
    """The bits; on a GPU, whose products of sequences are its own, as good numbers."""
    devices = {x.device.type for x in (seen if isinstance(seen, tuple) else [seen])}
    if devices != {"cuda"}:
        return same(expected, seen, label)
    pairs = [(expected, seen)] if not isinstance(seen, tuple) else zip(expected, seen, strict=True)
    for wanted, made in pairs:
        assert (np.asarray(wanted).dtype, np.shape(wanted)) == (made.dtype, made.shape), label
        small = made.dtype.itemsize <= 4 or made.dtype == np.complex64
        tolerance = 1e-2 if made.dtype == np.float16 else 1e-5 if small else 1e-12
        np.testing.assert_allclose(made.numpy(), wanted, tolerance, tolerance, err_msg=label)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", RUNNING)
def test_of_two(name: str, dtype: str, device: flow.Device) -> None:
    given = arrays(dtype)
    for x in given:
        t = flow.tensor(x, device=device)
        for y in given:
            as_numpy(name, t, flow.tensor(y, device=device))
        as_numpy(name, t[::-1], given[1][::-1])
        as_numpy(name, [1.5, 2], t)
        as_numpy(name, t, 2)
        as_numpy(name, t, flow.tensor(True, device=device))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "bool"])
def test_quotients(dtype: str, device: flow.Device) -> None:
    given = [x for x in arrays(dtype) if x.size]
    for x in given:
        t = flow.tensor(x, device=device)
        for y in given:
            as_numpy("polydiv", t, flow.tensor(y, device=device))
        as_numpy("polydiv", t, given[-1].astype("float64"))
        as_numpy("polydiv", t[::-1], [2.0, 1])
        as_numpy("polydiv", t, 3)
    u = flow.tensor([1.0, np.nan, 2.0], device=device)
    as_numpy("polydiv", u, [1.0])
    as_numpy("polydiv", flow.tensor([2.0, 3e-9, 1.0], device=device), [2.0])


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_quotients(dtype: str, device: flow.Device) -> None:
    given = [x for x in arrays(dtype) if x.any() and x[0]]
    for x in given:
        t = flow.tensor(x, device=device)
        for y in given:
            as_numpy("polydiv", t, flow.tensor(y, device=device))


@pytest.mark.parametrize("dtype", DTYPES)
def test_derivatives_and_integrals(dtype: str, device: flow.Device) -> None:
    for x in arrays(dtype):
        t = flow.tensor(x, device=device)
        for m in (0, 1, 2, 7):
            as_numpy("polyder", t, m)
            as_numpy("polyder", t[::-1], m)
            as_numpy("polyint", t, m)
            as_numpy("polyint", t[::-1], m, 3)
            as_numpy("polyint", t, m, [1.5] * m)
        as_numpy("polyint", t, 2, flow.tensor([1, 2, 3], device=device))
        as_numpy("polyint", t, 1, 2j)
    assert flow.polyder(t, 0) is t


def as_good(expected: Any, seen: flow.Tensor) -> None:
    """NumPy's bits, or as good where a device computes eigenvalues by itself."""
    if not computes_itself(seen.device):
        return same(expected, seen)
    wanted, array = np.asarray(expected), seen.numpy()
    assert (wanted.dtype, wanted.shape) == (array.dtype, array.shape)
    small = wanted.dtype in (np.float32, np.complex64)
    np.testing.assert_allclose(array, wanted, rtol=2e-3 if small else 1e-8, atol=1e-6)


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != "float16"])
def test_roots(dtype: str, device: flow.Device) -> None:
    for x in (*arrays(dtype), *(np.asarray(row).astype(dtype) for row in ([0, 1, 3, 1, 0, 0],))):
        for array in (x, x[::-1]):
            t = flow.tensor(array, device=device)
            seen = flow.roots(t)
            assert seen.device == device
            as_good(np.roots(array), seen)
            if array.size:  # NumPy asks the elements whose function it is
                as_good(np.roots(array), np.roots(t))
    as_good(np.roots([2.0]), flow.roots(flow.tensor(2.0, device=device)))
    with pytest.raises(ValueError, match=r"\[roots\] expected one dimension"):
        flow.roots(flow.ones((2, 2), device=device))
    with pytest.raises(np.linalg.LinAlgError):
        flow.roots(flow.tensor([1.0, np.nan, 2.0], device=device)).numpy()


@pytest.mark.parametrize("dtype", DTYPES)
def test_poly(dtype: str, device: flow.Device) -> None:
    for x in arrays(dtype):
        t = flow.tensor(x, device=device)
        as_numpy("poly", t)
        as_numpy("poly", t[::-1])
    if dtype[0] == "c":
        pairs = np.asarray([1 + 2j, 1 - 2j, 3, 1j, -1j]).astype(dtype)
        as_numpy("poly", flow.tensor(pairs, device=device))
    same(np.array([1.0, -2.0]), flow.poly(flow.tensor(2.0, device=device)))
    if dtype != "float16":
        square = np.asarray([[2, 1], [1, 3]]).astype(dtype)
        seen = flow.poly(flow.tensor(square, device=device))
        as_good(np.poly(square), seen)
    turned = np.asarray([[0.0, -1.0], [1.0, 0.0]])  # its eigenvalues are a pair
    as_good(np.poly(turned), flow.poly(flow.tensor(turned, device=device)))


def test_wrong_input(device: flow.Device) -> None:
    t = flow.tensor([1.0, 2.0, 3.0], device=device)
    square = flow.ones((2, 2), device=device)
    for name, arguments, error, text in (
        ("polymul", (square, t), ValueError, "one dimension"),
        ("polydiv", (t, square), ValueError, "one dimension"),
        ("polydiv", (t, t[:0]), IndexError, "coefficients"),
        ("polydiv", (t[:0], t), IndexError, "coefficients"),
        ("polyder", (t, -1), ValueError, "at least 0"),
        ("polyint", (t, -1), ValueError, "at least 0"),
        ("polyint", (t, 3, [1, 2]), ValueError, "one number or 3, got 2"),
        ("polyder", (t[0],), TypeError, "one dimension"),
        ("polyint", (t[0],), TypeError, "one dimension"),
        ("poly", (flow.ones((2, 3), device=device),), ValueError, "square"),
        ("poly", (flow.ones((0, 0), device=device),), ValueError, "square"),
    ):
        with pytest.raises(error, match=rf"\[{name}\].*{text}"):
            getattr(flow, name)(*arguments)
    with pytest.raises(ValueError, match="concat"):
        flow.polyadd(square, t)


def test_programs() -> None:
    p, q = flow.tensor([1.0, 2.0, 3.0]), flow.tensor([2.0, 1.0])

    @flow.jit
    def several(p: flow.Tensor, q: flow.Tensor) -> Any:
        return (
            flow.polyadd(p, q),
            flow.polysub(q, p),
            flow.polyder(p),
            flow.polyint(p),
            flow.poly(q),
        )

    for factor in (1.0, 3.0):
        x, y = factor * p.numpy(), q.numpy()
        expected = (np.polyadd(x, y), np.polysub(y, x), np.polyder(x), np.polyint(x), np.poly(y))
        same(expected, several(factor * p, q))
    for look in (flow.polymul, flow.polydiv, lambda p, q: flow.roots(p)):
        with pytest.raises(TraceError, match="needs the values of"):
            trace(look, p, q)


def test_gradients() -> None:
    p, q = flow.tensor([1.0, 2.0, 3.0]), flow.tensor([2.0, 1.0])
    slope = flow.grad(lambda p: flow.polyval(flow.polyint(flow.polyadd(p, q)), 2.0))(p)
    same(np.array([8 / 3, 2.0, 2.0]), slope)
