"""What is true: casts to bool, counts, any and all, products of bool; and argmax of any layout."""

from collections.abc import Callable

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite import _C
from tests.support.oracle import DTYPES, laid_out, same, values

SIZES = (0, 1, 7, 63, 64, 65, 1000, 70_001)
LAYOUTS: dict[str, Callable] = {
    "together": lambda x: x,
    "strided": lambda x: x[..., ::3],
    "reversed": lambda x: x[..., ::-1],
    "transposed": lambda x: x.T,
}


def sparse(size: int, dtype: str) -> np.ndarray:
    """Zeros of both signs, NaN, and numbers with few bits, in two rows."""
    x = values((2, size), dtype, size)
    x[:, ::2] = 0
    if x.dtype.kind in "fc":
        x[:, ::6] = np.copysign(x.real, -1)[:, ::6].astype(dtype) * 0
        x[:, 5::13] = np.finfo(x.real.dtype).smallest_subnormal
    if x.dtype.kind == "c":
        x[:, 3::7] = x[:, 3::7].imag * 1j
    return x


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_truths(dtype: str, layout: str, device: flow.Device) -> None:
    for size in SIZES:
        x = sparse(size, dtype)
        t = flow.tensor(x, device=device)
        array, seen = LAYOUTS[layout](x), LAYOUTS[layout](t)
        same(array.astype(bool), flow.astype(seen, "bool"))
        same(np.count_nonzero(array), flow.count_nonzero(seen))
        same(np.count_nonzero(array, axis=0), flow.count_nonzero(seen, axis=0))
        for axis in (None, 0, 1):
            same(np.any(array, axis), flow.any(seen, axis))
            same(np.all(array, axis), flow.all(seen, axis))
        for one, other in zip(np.nonzero(array), flow.nonzero(seen), strict=True):
            same(one, other)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float32", "float64", "complex64"])
def test_one_that_decides(dtype: str, device: flow.Device, naive: bool) -> None:
    """It may be the first, the last, or the first of a block."""
    size = 100_003
    for place in (0, 8191, 8192, 50_000, size - 1):
        for layout in ("together", "strided"):
            x = laid_out(np.zeros(size, dtype), layout)
            x[place] = np.nan if x.dtype.kind in "fc" else 1
            t = flow.tensor(x, device=device)
            assert flow.any(t).item() is True
            assert flow.all(t).item() is False
            assert flow.any(t[place + 1 :]).item() is False
            assert flow.all(flow.equal(t, 0)).item() is False
            if dtype == "bool":
                assert flow.max(t).item() is True
                assert flow.min(t).item() is False
                assert flow.dot(t, t).item() is flow.vecdot(t, t).item() is True
                assert flow.vdot(t, ~t).item() is flow.inner(~t, t).item() is False
    assert flow.all(flow.ones(size, dtype=dtype, device=device)).item() is True


@pytest.mark.parametrize("dtype", DTYPES)
def test_argmax_of_any_layout(dtype: str, device: flow.Device) -> None:
    for shape in ((5, 300), (257, 16), (1, 1000)):
        for kind in ("few", "any"):
            x = values(shape, dtype, 5)
            if kind == "few":  # equal ones: the first counts
                x = np.random.default_rng(1).integers(0, 2, shape).astype(dtype)
            t = flow.tensor(x, device=device)
            for layout in LAYOUTS.values():
                array, seen = layout(x), layout(t)
                for axis in (None, 0, 1):
                    same(np.argmax(array, axis), flow.argmax(seen, axis))
                    same(np.argmin(array, axis), flow.argmin(seen, axis))


@pytest.mark.parametrize("dtype", DTYPES)
def test_argmax_of_rows_of_any_length(dtype: str, device: flow.Device) -> None:
    """Around the lengths of vectors and blocks: the first of equal ones, of both zeros and NaN."""
    rng = np.random.default_rng(5)
    kind = np.dtype(dtype).kind
    for n in (*range(1, 70), 127, 128, 129, 255, 300, 1023, 1024, 1025, 1100):
        x = rng.integers(0, 4, (12, n)).astype(dtype)
        x[0] = 1
        x[1], x[1, -1] = 0, 1
        x[2], x[2, -1] = 1, 0
        if kind in "fc":
            x[3:6] *= -1
            x[6:] = np.where(rng.random((6, n)) < 0.02, np.nan, x[6:])
            x[7] = np.where(rng.random(n) < 0.5, 0.0, -0.0)
            x[8] = np.where(rng.random(n) < 0.1, np.inf, -np.inf)
            x[9] = np.nan
        elif kind == "i":
            x[3:6] *= -1
            x[6] = np.where(rng.random(n) < 0.1, np.iinfo(dtype).min, np.iinfo(dtype).max)
        t = flow.tensor(x, device=device)
        for name in ("argmax", "argmin"):
            of, ours = getattr(np, name), getattr(flow, name)
            same(of(x, axis=-1), ours(t, axis=-1))
            same(of(x[:, ::-1], axis=-1), ours(t[:, ::-1], axis=-1))
            same(of(x[:, ::2], axis=-1), ours(t[:, ::2], axis=-1))


def test_argmax_of_bools_that_are_any_byte() -> None:
    rng = np.random.default_rng(6)
    x = (rng.integers(1, 256, (40, 100)) * (rng.random((40, 100)) < 0.05)).astype(np.uint8)
    t = flow.tensor(x.view(bool))
    same((x != 0).argmax(axis=1), flow.argmax(t, axis=1))
    same((x == 0).argmax(axis=1), flow.argmin(t, axis=1))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "float32"])
def test_argmax_that_the_first_elements_decide(dtype: str, device: flow.Device) -> None:
    """Or the last ones, of an array that is searched in pieces."""
    for place in (0, 5, 1_000, 299_999):
        x = np.zeros(300_000, dtype)
        x[place] = np.nan if dtype == "float32" else np.iinfo("uint8").max
        same(np.argmax(x), flow.argmax(flow.tensor(x, device=device)))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "float32", "complex128"])
def test_counts_in_the_order_of_memory(dtype: str, device: flow.Device) -> None:
    for shape in ((3, 4, 5), (40, 30, 20)):
        x = np.random.default_rng(7).integers(0, 2, shape).astype(dtype)
        t = flow.tensor(x, device=device)
        for axes in ((2, 1, 0), (1, 2, 0), (0, 2, 1)):
            a, b = x.transpose(axes), flow.permute_dims(t, axes)
            for key in (..., np.s_[::-1], np.s_[:, ::-2], np.s_[..., 1:], np.s_[:0], np.s_[1]):
                assert np.count_nonzero(a[key]) == flow.count_nonzero(b[key]).item()
        for part in (np.s_[:1], np.s_[:, :1], np.s_[..., :1]):
            a, b = np.broadcast_to(x[part], shape), flow.broadcast_to(t[part], shape)
            assert np.count_nonzero(a) == flow.count_nonzero(b).item()


def test_real_and_complex(device: flow.Device) -> None:
    for dtype in ("bool", "int8", "float32", "complex64"):
        x = np.array([[0, 1], [2, 3]]).astype(dtype)
        if dtype == "complex64":
            x[0] += np.array([1j, np.nan * 1j])
        t = flow.tensor(x, device=device)
        same(np.isreal(x), flow.isreal(t))
        same(np.iscomplex(x), flow.iscomplex(t))
        assert flow.isreal(t).device == device


OF_EACH_SET = """
import numpy as np, oneflow_lite as flow
rng = np.random.default_rng(0)
for dtype in "bool int8 int16 int32 int64 float16 float32 float64 complex64 complex128".split():
    for size in (20, 100, 3000):
        x = (rng.standard_normal(size) * (rng.random(size) < 0.5)).astype(dtype)
        x[:2] = 0
        assert flow.count_nonzero(x).item() == np.count_nonzero(x), dtype
        assert (flow.astype(x, "bool").numpy() == x.astype(bool)).all(), dtype
        assert flow.argmax(flow.tensor(x)[::3]).item() == np.argmax(x[::3]), dtype
        rows = x[: size // 20 * 20].reshape(-1, size // 20 or 1)
        seen = flow.argmin(flow.tensor(rows), axis=-1).numpy()
        assert (seen == np.argmin(rows, axis=-1)).all(), dtype
        if x.dtype.kind != "c":
            x = x + x.dtype.type(0)  # without -0, which NumPy's sort of float16 missorts
            given = x.astype("uint8") if dtype == "bool" else x
            for bins in (9, [-1, 0, 0.5, 7]):
                seen = flow.histogram(x, bins, (-2, 2))[0].numpy()
                assert (seen == np.histogram(given, bins, (-2, 2))[0]).all(), dtype
"""


@pytest.mark.parametrize("limit", _C.CPU_ISAS[: _C.CPU_ISAS.index(_C.widest_cpu_isa()) + 1])
def test_every_instruction_set(limit: str, run_program: Callable) -> None:
    done = run_program(OF_EACH_SET, cpu_isa=limit)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_the_place_goes_to_out(name: str, device: flow.Device) -> None:
    x = np.array([[3.0, 7.0, 5.0], [9.0, 1.0, 2.0]])
    t = flow.tensor(x, device=device)
    for axis, kept in ((None, False), (0, False), (1, True)):
        wanted = getattr(np, name)(x, axis, keepdims=kept)
        out = flow.zeros(wanted.shape, dtype="int64", device=device)
        array = np.zeros(wanted.shape, np.int64)
        assert getattr(flow, name)(t, axis, out, keepdims=kept) is out
        assert getattr(t, name)(axis, array, keepdims=kept) is array
        same(wanted, out)
        assert (array == wanted).all()
    with pytest.raises(ValueError, match=rf"\[{name}\] expected out of shape"):
        getattr(flow, name)(t, 0, flow.zeros(2, dtype="int64", device=device))
    with pytest.raises(TypeError, match=rf"\[{name}\] expected out to be a tensor"):
        getattr(flow, name)(t, 0, True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_the_place_goes_to_the_dtypes_of_numpy(name: str, dtype: str, device: flow.Device) -> None:
    x = np.array([[3.0, 7.0, 5.0], [9.0, 1.0, 2.0]])
    t = flow.tensor(x, device=device)
    wanted, array = np.zeros(3, dtype), np.zeros(3, dtype)
    out = flow.zeros(3, dtype=dtype, device=device)
    try:
        getattr(np, name)(x, 0, wanted)
    except TypeError:
        for target in (out, array):
            with pytest.raises(TypeError, match=rf"\[{name}\] expected out of bool or of integers"):
                getattr(flow, name)(t, 0, target)
        return
    assert getattr(flow, name)(t, 0, out) is out
    assert getattr(flow, name)(t, 0, array) is array
    same(wanted, out)
    assert (array == wanted).all()


KEEPS = (
    "sum",
    "max",
    "any",
    "mean",
    "argmax",
    "count_nonzero",
    "linalg.norm",
    "linalg.matrix_norm",
)


@pytest.mark.parametrize("name", [*KEEPS, "linalg.vector_norm"])
def test_keepdims_is_a_truth(name: str) -> None:
    module = flow.linalg if "." in name else flow
    function, x = getattr(module, name.rpartition(".")[2]), flow.ones((2, 3))
    for given in (True, 1, np.int64(2), np.True_):
        assert function(x, keepdims=given).shape == (1, 1)
    assert function(x, keepdims=np.False_).shape == ()
    for wrong in ("no", None, 1.5, [], np.zeros(2), flow.zeros(2)):
        with pytest.raises(TypeError, match=r"\] keepdims: expected bool, got"):
            function(x, keepdims=wrong)
