"""Fourier transforms: NumPy's bits and dtypes, on every device."""

from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.oracle import DTYPES, same

NORMS = (None, "backward", "ortho", "forward")
COMPLEX, REAL, TO_REAL = ("fft", "ifft"), ("rfft", "ihfft"), ("irfft", "hfft")
SHAPES = [(8,), (7,), (1,), (3, 6), (2, 5, 4), (0, 4)]


def numbers(shape: tuple[int, ...], dtype: str, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind in "biu":
        return rng.integers(0, 9, shape).astype(dtype)
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape)).astype(dtype) if dtype[0] == "c" else x.astype(dtype)


def check(name: str, x: np.ndarray, t: flow.Tensor, *arguments: Any, **keywords: Any) -> None:
    expected = getattr(np.fft, name)(x, *arguments, **keywords)
    seen = getattr(flow.fft, name)(t, *arguments, **keywords)
    same(expected, seen, f"{name} {x.shape} {x.dtype} {arguments} {keywords}")


@pytest.mark.parametrize("dtype", DTYPES)
def test_one_axis(dtype: str, device: flow.Device) -> None:
    names = (*COMPLEX, *TO_REAL) if dtype[0] == "c" else (*COMPLEX, *TO_REAL, *REAL)
    for shape in SHAPES:
        x = numbers(shape, dtype)
        t = flow.tensor(x, device=device)
        for name in names:
            for norm in NORMS:
                if name in TO_REAL and shape[-1] == 1:
                    check(name, x, t, 3, norm=norm)
                else:
                    check(name, x, t, norm=norm)
                check(name, x, t, 5, norm=norm)


@pytest.mark.parametrize("name", [*COMPLEX, *REAL, *TO_REAL])
def test_points_and_axes(name: str, device: flow.Device) -> None:
    for dtype in ("float32", "float64"):
        x = numbers((3, 4, 5), dtype)
        t = flow.tensor(x, device=device)
        for axis in (0, 1, -1, -3):
            for n in (None, 1, 2, 3, 4, 5, 9, 16):
                check(name, x, t, n, axis)
        check(name, x[::-1, ::2, ::-2], t[::-1, ::2, ::-2], axis=0)
        check(name, x.T, t.T, axis=1)
        row, wide = np.broadcast_to(x[0], (20, 4, 5)), flow.broadcast_to(t[0], (20, 4, 5))
        check(name, row, wide, axis=1)


@pytest.mark.parametrize("n", [2, 97, 128, 1000, 1021])
def test_long_and_many(n: int, device: flow.Device) -> None:
    x = numbers((9, n), "float64")
    t = flow.tensor(x, device=device)
    for name in (*COMPLEX, *REAL, *TO_REAL):
        check(name, x, t)
        check(name, x.T, t.T, axis=0)


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
def test_several_axes(name: str, device: flow.Device) -> None:
    for dtype in ("float64", "float32", "int16"):
        x = numbers((4, 3, 6), dtype)
        t = flow.tensor(x, device=device)
        for axes in (None, (0,), (0, 1), (-1, 0), (2, 1, 0), (1, 1)):
            for norm in NORMS:
                check(name, x, t, axes=axes, norm=norm)
        check(name, x, t, s=(5, 2), axes=(0, 2))
        check(name, x, t, s=(-1, 8), axes=(2, 1))
        check(name.replace("n", "2"), x, t)
        check(name.replace("n", "2"), x, t, s=(3, 4), norm="ortho")


def test_sizes_without_axes_are_those_of_the_last(device: flow.Device) -> None:
    x = numbers((2, 3, 4), "float64")
    t = flow.tensor(x, device=device)
    same(np.fft.fftn(x, s=(5, 2), axes=(-2, -1)), flow.fft.fftn(t, s=(5, 2)))


def test_a_transform_and_back(device: flow.Device) -> None:
    x = numbers((5, 8), "complex128")
    t = flow.tensor(x, device=device)
    for norm in NORMS:
        assert np.allclose(flow.fft.ifft(flow.fft.fft(t, norm=norm), norm=norm).numpy(), x)
        assert np.allclose(flow.fft.irfftn(flow.fft.rfftn(t.real)).numpy(), x.real)


@pytest.mark.parametrize("d", [1.0, 0.1, 3])
def test_frequencies(d: float, device: flow.Device) -> None:
    for n in (1, 2, 5, 8, 3000):
        for name in ("fftfreq", "rfftfreq"):
            expected = getattr(np.fft, name)(n, d)
            same(expected, getattr(flow.fft, name)(n, d=d, device=device))
            seen = getattr(flow.fft, name)(n, d, dtype=flow.float32, device=device)
            same(expected.astype("float32"), seen)
            assert seen.device == device


@pytest.mark.parametrize("name", ["fftshift", "ifftshift"])
def test_shifts(name: str, device: flow.Device) -> None:
    for shape in ((1,), (5,), (4, 3), (0, 2)):
        x = np.arange(np.prod(shape, dtype=int)).reshape(shape)
        t = flow.tensor(x, device=device)
        axes: list[Any] = [None, 0, -1, (0,), np.array([-1]), np.int8(0), [], (0, 0)]
        for one in axes + ([(0, -1), np.array([0, 1]), range(2)] if len(shape) > 1 else []):
            check(name, x, t, one)
        assert not getattr(flow.fft, name)(t).shares_storage(t)


OUTS: dict[str, tuple[dict[str, Any], str]] = {  # keywords, and the kind of the result
    **{name: ({"axis": 1}, "c") for name in (*COMPLEX, *REAL)},
    **{f"{name} of 9": ({"axis": 1, "n": 9}, "c") for name in (*COMPLEX, *REAL)},
    **{name: ({"axis": 0}, "f") for name in TO_REAL},
    **{name: ({}, "c") for name in ("fft2", "ifft2", "fftn", "ifftn", "rfft2", "rfftn")},
    **{name: ({}, "f") for name in ("irfft2", "irfftn")},
    **{"fftn along": ({"axes": (2, 0)}, "c"), "rfftn along": ({"axes": (1, 2, 0)}, "c")},
    **{"irfftn along": ({"axes": (2, 0), "s": (3, 4)}, "f")},
}
# NumPy 2.4 leaves their targets as they are; these do the same with theirs.
FORGETFUL: dict[str, tuple[str, dict[str, Any]]] = {
    "ifft2": ("ifftn", {"axes": (-2, -1)}),
    "irfft2": ("irfftn", {"axes": (-2, -1)}),
    "hfft": ("irfft", {"norm": "forward"}),
}


@pytest.mark.parametrize("name", OUTS)
def test_out(name: str, device: flow.Device) -> None:
    """Of each precision, in which NumPy computes along the next axis."""
    (keywords, kind), name = OUTS[name], name.split()[0]
    ours = getattr(flow.fft, name)
    instead, more = FORGETFUL.get(name, (name, {}))
    is_of_real = name in REAL or name.startswith("rfft")
    for dtype in ("float32", "float64") if is_of_real else ("float64", "complex64"):
        x = numbers((3, 4, 5), dtype)
        t = flow.tensor(x, device=device)
        shape = ours(t, **keywords).shape
        for target in ("c8", "c16") if kind == "c" else ("f4", "f8", "c16"):
            wanted = np.full(shape, 7, target)
            operand = x.conj() if name == "hfft" else x
            getattr(np.fft, instead)(operand, **keywords, **more, out=wanted)
            whole = flow.full((*shape, 2), 7, dtype=target, device=device)
            ours(t, **keywords, out=whole[..., 1])
            same(wanted, whole[..., 1])
            assert flow.all(whole[..., 0] == 7)
            for function in (ours, getattr(np.fft, name)):
                out = flow.full(shape, 7, dtype=target, device=device)
                assert function(t, **keywords, out=out) is out
                same(wanted, out)
            array = np.full(shape, 7, target)
            assert ours(t, **keywords, out=array) is array
            same(wanted, flow.tensor(array))
            out = flow.full(shape, 7, dtype=target, device=device)
            flow.jit(lambda t, out: ours(t, **keywords, out=out))(t, out)
            same(wanted, out)


@pytest.mark.parametrize("name", OUTS)
def test_an_out_that_does_not_fit(name: str, device: flow.Device) -> None:
    (keywords, kind), name = OUTS[name], name.split()[0]
    function = getattr(flow.fft, name)
    t = flow.tensor(numbers((3, 4, 5), "float64"), device=device)
    result = function(t, **keywords)
    for target in ("int64", "float64") if kind == "c" else ("int64",):
        if name not in FORGETFUL:
            with pytest.raises(TypeError, match="Cannot cast ufunc"):
                getattr(np.fft, name)(t.numpy(), **keywords, out=np.zeros(result.shape, target))
        with pytest.raises(TypeError, match="Cannot cast ufunc"):
            function(t, **keywords, out=flow.zeros(result.shape, dtype=target, device=device))
    for shape in ((3, 40, 5), (*result.shape, 1), result.shape[1:]):
        with pytest.raises(ValueError, match="expected out of shape"):
            function(t, **keywords, out=flow.zeros(shape, dtype=result.dtype, device=device))
    with pytest.raises(TypeError, match="expected out to be a tensor or array, got list"):
        function(t, **keywords, out=[0j])


def test_out_may_be_the_operand(device: flow.Device) -> None:
    x = numbers((4, 4), "complex128")
    for name in (*COMPLEX, "fft2", "ifftn"):
        wanted = getattr(np.fft, name)(x)
        t = flow.tensor(x, device=device)
        assert getattr(flow.fft, name)(t, out=t) is t
        same(wanted, t)
        whole = flow.tensor(np.concatenate([x, x[:1]]), device=device)
        getattr(flow.fft, name)(whole[:4], out=whole[1:])
        same(wanted, whole[1:])
    rows = flow.zeros((3, 4), dtype=complex, device=device)
    flow.fft.fft(flow.tensor(x[:1], device=device), out=rows)
    same(np.fft.fft(x[:1], out=np.zeros((3, 4), complex)), rows)
    none = flow.zeros((0, 4), dtype=complex, device=device)
    assert flow.fft.fft(flow.zeros((0, 4), device=device), out=none) is none


def test_errors() -> None:
    x = flow.ones(4)
    for name in (*COMPLEX, *REAL, *TO_REAL):
        function = getattr(flow.fft, name)
        with pytest.raises(ValueError, match=rf"\[{name}\] expected at least 1 point, got 0"):
            function(x, n=0)
        with pytest.raises(ValueError, match=rf"\[{name}\] expected norm"):
            function(x, norm="x")
        with pytest.raises(IndexError, match=rf"\[{name}\] axis 1"):
            function(x, axis=1)
        with pytest.raises(IndexError):
            function(flow.ones(()))
        with pytest.raises(TypeError):
            function(x, n=2.0)
    for name in REAL:
        with pytest.raises(TypeError, match=rf"\[{name}\] expected real numbers"):
            getattr(flow.fft, name)(x + 1j)
    with pytest.raises(ValueError, match=r"\[fftn\] expected as many sizes"):
        flow.fft.fftn(x, s=(1, 2), axes=(0,))
    with pytest.raises(IndexError, match=r"\[rfftn\]"):
        flow.fft.rfftn(x, axes=(1,))
    with pytest.raises(IndexError, match=r"\[fftshift\]"):
        flow.fft.fftshift(x, axes=1)
    with pytest.raises(TypeError, match=r"\[fftshift\] expected an integer or integers, got 1.0"):
        flow.fft.fftshift(x, axes=1.0)
    with pytest.raises(ValueError, match=r"\[fftshift\] expected .* in one dimension"):
        flow.fft.fftshift(x, axes=np.array([[0]]))
    with pytest.raises(TypeError, match=r"\[fftfreq\]"):
        flow.fft.fftfreq(3, dtype=flow.int64)
    with pytest.raises(ValueError, match=r"\[fftfreq\] expected a number of points"):
        flow.fft.fftfreq(-3)
    for function in (flow.fft.fftfreq, flow.fft.rfftfreq):
        with pytest.raises(ZeroDivisionError):
            function(0)
