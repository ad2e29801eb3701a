"""Work on a device's tensors stays on the device: no function computes on the host unseen.

The tables hold a call of every public function: a new function is added to one of them.
"""

import inspect
import io
import re
from collections.abc import Iterable
from types import ModuleType
from typing import Any

import pytest

import oneflow_lite as flow
from tests.support.machine import Gate

HOME = "mock:0"
SPACES: dict[str, Any] = {
    "flow": flow,
    "flow.linalg": flow.linalg,
    "flow.fft": flow.fft,
    "flow.random": flow.random,
}

# What a call is made on -> calls that copy nothing, in neither direction. Operands: x, a matrix;
# v, a vector; i, integers; b, what is true of x; z, complex; c, of three dimensions; s, of none.
STAYS = {
    "flow": """
        all(x) any(x, axis=0) amax(x) amin(x) argmax(x) argmin(x, axis=1) argsort(x) sort(x)
        array(x) asarray(x) asanyarray(x) ascontiguousarray(x.T) tensor(x) astype(x, 'int8')
        array_split(x, 2) split(x, 3) hsplit(x, 3) vsplit(x, 3) dsplit(c, 2) unstack(x)
        atleast_1d(x) atleast_2d(v, x) atleast_3d(x) average(x) average(x,weights=x)
        broadcast_arrays(x,v) broadcast_to(v,(2,3)) clip(x,0,1) clip(x,v,None) round(x,1)
        column_stack([v,v]) concat([x,x]) concatenate([x,x]) dstack([x,x]) hstack([x,x])
        stack([x,x]) vstack([x,v]) count_nonzero(x) cross(x,x) cumprod(x) cumsum(x,0)
        cumulative_prod(v) cumulative_sum(v,include_initial=True) diag(v) diag(x) diagonal(x)
        diff(x) dot(x,x) einsum('ij,jk->ik',x,x) einsum('ij->j',x)
        empty_like(x) full_like(x,2) ones_like(x) zeros_like(x) expand_dims(x,0) flatten(x)
        flip(x) fliplr(x) flipud(x) from_dlpack(x) imag(z) real(z) inner(x,x)
        isclose(x,x) isin(x,v) kron(x,x) matmul(x,x) matrix_transpose(x) matvec(x,v) vecmat(v,x)
        max(x) mean(x) median(x) min(x) meshgrid(v,v) moveaxis(x,0,1) nan_to_num(x) nanmax(x)
        nanmean(x) nanmin(x) nanprod(x) nansum(x) outer(v,v) pad(x,1) pad(x,1,mode='edge')
        permute_dims(x,(1,0)) prod(x) ptp(x) quantile(x,0.5) percentile(x,50,axis=0)
        ravel(x) repeat(x,2) reshape(x,(9,)) roll(x,1) rot90(x) searchsorted(v,x) squeeze(x)
        std(x) var(x) sum(x) swapaxes(x,0,1) take(x,i) put(x,i,v) take_along_axis(x,i[:,None])
        tensordot(x,x) tile(x,2) trace(x) transpose(x)
        vdot(v,v) vecdot(x,v) where(b,x,v) stop_gradient(x)
        angle(z) i0(x) fix(x) isposinf(x) isneginf(x) isreal(z) iscomplex(z) sinc(x) around(x,1)
        append(x,v) block([[x,x],[x,x]]) rollaxis(c,2) shape(x) ndim(x) size(x) copy(x)
        nanstd(x) nanvar(x) nanmedian(x) nanquantile(x,0.5) nanpercentile(x,50) nancumsum(x)
        nancumprod(x) cov(x) corrcoef(x) gradient(x) trapezoid(v) convolve(v,v) correlate(v,v)
        interp(v,v,v) partition(x,1) argpartition(x,1) lexsort((v,v)) choose(i,[v,v,v])
        piecewise(x,[b],[1]) place(x,b,v) fill_diagonal(x,1.0)
        unravel_index(i,(3,3)) ravel_multi_index((i,i),(3,3))
        vander(v) polyval(v,v) polyadd(v,v) polysub(v,v) poly(v) conv2d(x[None,None],x[None,None])
        conv2d_input_gradient((1,1,3,3),x[None,None],s.reshape(1,1,1,1))
        conv2d_weight_gradient(x[None,None],(1,1,1,1),x[None,None])
        layout_transform(x[None,None],'NCHW','NCHW')
        ediff1d(x) ediff1d(x,v,s) unwrap(x) diagflat(x) sort_complex(x)
        apply_along_axis(flow.max,0,x) apply_over_axes(flow.sum,x,(0,1))
        divmod(x,v) modf(x) frexp(x) ldexp(x,i) packbits(b) unpackbits(b.view('uint8'))
        copyto(x,v) copyto(x,v,where=b) require(x.T,requirements='C') isfortran(x)
        may_share_memory(x,x) shares_memory(x,v) min_scalar_type(x) common_type(x,v) isscalar(x)
        iterable(x) iscomplexobj(x) isrealobj(x) einsum_path('ij,jk->ik',x,x)
        """,
    "flow.linalg": """
        cholesky(x) cond(x) cross(x,x) det(x) diagonal(x) eigh(x) eigvalsh(x) inv(x) lstsq(x,v)
        matmul(x,x) matrix_norm(x) matrix_norm(x,ord=2) matrix_power(x,3) matrix_power(x,-1)
        matrix_rank(x) matrix_transpose(x) multi_dot([x,x,x]) norm(x) norm(v,1) outer(v,v)
        eig(x) eigvals(x) slogdet(x) solve(x,v) svd(x) svdvals(x) tensordot(x,x) trace(x)
        vecdot(x,x) vector_norm(x) tensorinv(x,ind=1) tensorsolve(x,v)
        """,
    "flow.fft": """
        fft(v) ifft(z) rfft(v) irfft(z) hfft(z) ihfft(v) fftn(x) ifftn(x) rfftn(x) irfftn(x)
        fft2(x) ifft2(x) rfft2(x) irfft2(x) fftshift(x) ifftshift(x)
        """,
    "x": """
        sum() prod() max() min() mean() any() all() argmax() argmin() argsort() cumprod() cumsum()
        sort() ptp() put(i,v) partition(1) argpartition(1)
        take(i) astype('int8') clip(0,1) dot(x) diagonal() trace() round()
        flatten() ravel() squeeze() swapaxes(0,1) repeat(2) std() var() reshape(9) permute_dims(1,0)
        transpose() copy() to_device(HOME) to('int8') mock() conj() conjugate() fill(2)
        T mT real imag flat view() view('int8')
        is_contiguous() is_pinned() is_ready() shares_storage(x)
        __lt__(v) __le__(v) __eq__(v) __ne__(v) __gt__(v) __ge__(v) __iter__() __add__(v)
        __radd__(v) __sub__(v) __rsub__(v) __mul__(v) __rmul__(v) __mod__(v) __rmod__(v)
        __pow__(v) __rpow__(v) __neg__() __pos__() __abs__() __iadd__(v) __isub__(v) __imul__(v)
        __imod__(v) __ipow__(v) __floordiv__(v) __rfloordiv__(v) __truediv__(v) __rtruediv__(v)
        __ifloordiv__(v) __itruediv__(v) __matmul__(x) __rmatmul__(x) __imatmul__(x) __len__()
        __getitem__(0) __getitem__(i) __getitem__((slice(None),i)) __setitem__(0,v)
        __setitem__(b,1.0) __setitem__(i,v) __divmod__(v) __rdivmod__(v) __copy__()
        __deepcopy__({}) __array_namespace__() __dlpack_device__()
        """,
    "v": "searchsorted(x)",
    "i": """
        choose([v,v,v])
        __invert__() __lshift__(i) __rlshift__(i) __rshift__(i) __rrshift__(i) __and__(i)
        __rand__(i) __xor__(i) __rxor__(i) __or__(i) __ror__(i) __ilshift__(i) __irshift__(i)
        __iand__(i) __ixor__(i) __ior__(i)
        """,
}

# Calls that make something on the host, and the bytes of it that are copied to the device. Nothing
# is looked at.
UPLOADS = {
    "flow.arange(5)": 40,
    "flow.empty((2, 3))": 0,
    "flow.eye(3)": 0,
    "flow.full((2,), 1)": 0,
    "flow.full((2,), s)": 0,
    "flow.geomspace(1, 2, 3)": 24,
    "flow.identity(3)": 0,
    "flow.linspace(0, 1, 3)": 24,
    "flow.logspace(0, 1, 3)": 24,
    "flow.ones((2,))": 0,
    "flow.tri(3)": 12,
    "flow.zeros((2,))": 0,
    "flow.tril(x)": 12,
    "flow.triu(x)": 12,
    "flow.take(x, [0, 1])": 16,
    "flow.put_along_axis(x, i[:, None], 2.0)": 24,
    "flow.histogram(x, 4, (0, 1))": 40,
    "flow.histogram_bin_edges(x, 4, (0, 1))": 40,
    "flow.histogram2d(v, v, 2, ((0, 1), (0, 1)))": 48,
    "flow.histogramdd((v, v), 2, ((0, 1), (0, 1)))": 48,
    "flow.linalg.pinv(x)": 8,
    "flow.linalg.qr(x)": 12,
    "flow.fft.fftfreq(5)": 40,
    "flow.fft.rfftfreq(5)": 24,
    "flow.random.permutation(x)": 24,
    "flow.random.bytes(3)": 0,
    "flow.random.dirichlet([1.0, 1], 3)": 48,
    "flow.random.multinomial(3, [0.5, 0.5])": 16,
    "flow.insert(v, 1, 2.0)": 0,
    "flow.delete(v, 1)": 0,
    "flow.resize(x, (2, 2))": 0,
    "flow.select([b], [x])": 8,
    "flow.putmask(x, b, v)": 72,
    "flow.bartlett(5)": 40,
    "flow.blackman(5)": 40,
    "flow.hamming(5)": 40,
    "flow.hanning(5)": 40,
    "flow.kaiser(5, s)": 40,
    "flow.polyder(v)": 16,
    "flow.polyint(v)": 24,
    "flow.indices((2, 2))": 32,
    "flow.ix_([0, 1], [1, 2])": 32,
    "flow.tril_indices(3)": 96,
    "flow.triu_indices(3)": 96,
    "flow.diag_indices(3)": 24,
    "flow.tril_indices_from(x)": 96,
    "flow.triu_indices_from(x)": 96,
    "flow.diag_indices_from(x)": 24,
    "flow.frombuffer(b'12345678')": 8,
    "flow.fromfunction(flow.add, (2, 2))": 32,
    "flow.fromiter([1, 2], 'int64')": 16,
    "flow.fromstring('1 2', sep=' ')": 16,
}
# Random numbers are drawn on the host: three float64 or int64.
DRAWS = """
    beta(1.0,2.0,3) binomial(5,0.5,3) chisquare(2.0,3) choice(v,3) exponential(1.0,3) f(1.0,2.0,3)
    gamma(1.0,1.0,3) geometric(0.5,3) gumbel(size=3) hypergeometric(3,3,3,3) laplace(size=3)
    logistic(size=3) lognormal(size=3) logseries(0.5,3) multivariate_normal([0.0],[[1.0]],3)
    rand(3) randn(3) randint(5,size=3) random_sample(3) ranf(3) sample(3)
    negative_binomial(3,0.5,3) noncentral_chisquare(2.0,1.0,3) noncentral_f(1.0,1.0,1.0,3)
    pareto(1.0,3) poisson(1.0,3) power(1.0,3) random(3) rayleigh(1.0,3) shuffle(x)
    standard_cauchy(3) standard_exponential(3) standard_gamma(1.0,3) standard_normal(3)
    standard_t(2.0,3) triangular(0.0,1.0,2.0,3) vonmises(0.0,1.0,3) wald(1.0,1.0,3)
    weibull(1.0,3) zipf(2.0,3) normal(size=3) uniform(size=3)
    """

# Calls that must know values, and the bytes that they copy to the host for it.
LOOKS = {
    "flow.allclose(x, x)": 1,
    "flow.arange(s)": 8,
    "flow.argwhere(x)": 8,
    "flow.array2string(x)": 72,
    "flow.array_repr(x)": 72,
    "flow.array_str(x)": 72,
    "flow.array_equal(x, x)": 1,
    "flow.array_equiv(x, x)": 1,
    "flow.bincount(i)": 16,
    "flow.compress(b[0], v)": 8,
    "flow.digitize(x, v)": 3,
    "flow.extract(b, x)": 8,
    "flow.flatnonzero(x)": 8,
    "flow.histogram(x)": 16,
    "flow.histogram(x, v)": 1,
    "flow.histogram_bin_edges(x)": 16,
    "flow.histogram_bin_edges(x, v)": 1,
    "flow.histogram2d(v, v)": 32,
    "flow.histogramdd(x)": 48,
    "flow.histogramdd(x, [v, 2, v])": 18,
    "flow.asarray_chkfinite(x)": 1,
    "flow.intersect1d(i, i)": 16,
    "flow.mask_indices(3, lambda m, k: m * x)": 8,
    "flow.real_if_close(z)": 1,
    "flow.trim_zeros(v)": 16,
    "flow.linspace(s, s, 3)": 16,
    "flow.nonzero(x)": 8,
    "flow.quantile(x, v / 9)": 24,
    "flow.repeat(v, i)": 24,
    "flow.save(io.BytesIO(), x)": 72,
    "flow.savetxt(io.StringIO(), x)": 72,
    "flow.min_scalar_type(s)": 8,
    "flow.vectorize(abs)(x)": 72,
    "flow.savez(io.BytesIO(), x)": 72,
    "flow.savez_compressed(io.BytesIO(), x)": 72,
    "flow.setdiff1d(i, i)": 16,
    "flow.union1d(i, i)": 8,
    "flow.unique(i)": 8,
    "flow.unique(x, axis=0)": 8,
    "flow.unique_all(i)": 8,
    "flow.unique_counts(i)": 8,
    "flow.unique_inverse(i)": 8,
    "flow.unique_values(i)": 8,
    "flow.nanargmax(x)": 1,
    "flow.nanargmin(x)": 1,
    "flow.setxor1d(i, i)": 24,
    "flow.polyfit(v, v, 1)": 4,
    "flow.polydiv(v, v)": 8,
    "flow.polymul(v, v)": 16,
    "flow.roots(v)": 17,
    "flow.where(b)": 8,
    "x.nonzero()": 8,
    "x.compress(b[0], 0)": 8,
    "x.tobytes()": 72,
    "x.tofile('/dev/null')": 72,
    "x.__getitem__(b)": 8,
    "x.__contains__(4.0)": 1,
    "x.__array__()": 72,
    "x.__dlpack__(dl_device=(1, 0))": 72,
    "x.__format__('')": 72,
    "x.__reduce__()": 72,
    "x.__repr__()": 72,
    "x.__str__()": 72,
    "x.numpy()": 72,
    "x.tolist()": 72,
    "s.__bool__()": 8,
    "s.__ceil__()": 8,
    "s.__complex__()": 8,
    "s.__float__()": 8,
    "s.__floor__()": 8,
    "s.__int__()": 8,
    "s.__round__()": 8,
    "s.__trunc__()": 8,
    "s.as_integer_ratio()": 8,
    "s.item()": 8,
    "i[0].__index__()": 8,
}

# What has no tensor for an operand or, of methods, is no work on one. cuda needs another machine.
APART = """
    Philox RandomState broadcast_shapes can_cast default_rng devices empty_cache finfo flags
    fromfile genfromtxt get_printoptions get_state geterr grad iinfo isdtype issubdtype jit load
    loadtxt memory_stats placement printoptions promote promote_types result_type seed
    set_printoptions set_state seterr synchronize value_and_grad vjp
    """
APART_METHODS = """
    __cuda_array_interface__ __slotnames__
    __array_function__ __array_priority__ __array_ufunc__ __delitem__ __doc__ __hash__ __module__
    __new__ __buffer__ __release_buffer__ cpu cuda device dtype itemsize nbytes ndim shape size
    ready strides to_global
    """


def split_calls(text: str) -> list[str]:
    """``["f(x, 1)", "g(x)"]`` of ``"f(x, 1) g(x)"``."""
    return re.findall(r"\w+(?:\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))?", text)


def of_ops() -> list[str]:
    """A call of each elementwise operation: of floats, or of integers where it takes no floats."""
    calls = []
    for name in (n for n in dir(flow) if isinstance(getattr(flow, n), flow.Op)):
        op = getattr(flow, name)
        operands = inspect.signature(op).parameters.values()
        count = sum(p.kind is p.POSITIONAL_ONLY for p in operands)
        try:
            op(*[flow.ones(1)] * count)
            calls.append(f"flow.{name}({', '.join('xv'[:count])})")
        except TypeError:
            calls.append(f"flow.{name}({', '.join('ii'[:count])})")
    return calls


STAYING = [f"{on}.{call}" for on, text in STAYS.items() for call in split_calls(text)] + of_ops()
UPLOADS |= {f"flow.random.{call}": 24 for call in split_calls(DRAWS)}


def operands(more: Any = 0.0) -> dict[str, Any]:
    """What calls are made on, fresh, on HOME; there when ``more``, a 0-d zero, is there."""
    with flow.device(HOME):
        x = flow.asarray([[4.0, 1, 0], [1, 5, 2], [0, 2, 6]]) + more
        v = flow.asarray([1.0, 2, 3]) + more
        i = flow.asarray([2, 0, 1]) + flow.asarray(more).astype("int64")
        given = {"x": x, "v": v, "i": i, "b": x > 1, "z": v + 1j, "s": v[0] + v[1]}
        return given | {"c": flow.ones((2, 2, 2)) + more, "flow": flow, "io": io, "HOME": HOME}


def tensors(result: Any) -> Iterable[flow.Tensor]:
    """Every tensor in a result."""
    if isinstance(result, flow.Tensor):
        yield result
    elif isinstance(result, (tuple, list)):
        for item in result:
            yield from tensors(item)


def copied(call: str) -> tuple[int, int]:
    """Make a call; return the bytes that it copied to the host, and to the device."""
    given = operands()
    flow.synchronize()
    with flow.device(HOME), flow.profiler.profile() as recording:
        result = eval(call, given)
    assert all(x.device == HOME for x in tensors(result))
    sizes = {f"{HOME} compute": 0, f"{HOME} d2h": 0, f"{HOME} h2d": 0}
    for record in recording.records:
        if record.kind == "run":
            sizes[record.lane] += record.bytes  # KeyError: on the host, or another device
    return sizes[f"{HOME} d2h"], sizes[f"{HOME} h2d"]


def made_early(call: str) -> None:
    """Make a call on operands that are not there yet, where waiting for one is an error."""
    with Gate() as gate:
        given = operands(gate.on(HOME)[0])
        with flow.device(HOME), flow.flags(implicit_sync="error"):
            eval(call, given)


@pytest.mark.parametrize("call", STAYING)
def test_nothing_leaves_the_device(call: str) -> None:
    assert copied(call) == (0, 0)
    made_early(call)


@pytest.mark.parametrize(("call", "size"), UPLOADS.items())
def test_only_what_the_host_makes_is_copied(call: str, size: int) -> None:
    assert copied(call) == (0, size)
    made_early(call)


@pytest.mark.parametrize(("call", "size"), LOOKS.items())
def test_looks_copy_what_they_need(call: str, size: int) -> None:
    to_host, _ = copied(call)
    assert to_host == size
    with pytest.raises(RuntimeError, match="waits for a tensor that is not ready"):
        made_early(call)


def test_a_leak_is_seen() -> None:
    with pytest.raises(KeyError, match=r"cpu compute|thread"):  # small work runs in this thread
        copied("(x.cpu() + 1).to(HOME)")
    with pytest.raises(AssertionError):
        copied("x.cpu()")
    assert copied("flow.tensor(x.numpy() + 1)") == (72, 72)


# --- the tables are whole


def called(on: str) -> set[str]:
    """The names that the tables call on something."""
    calls = [*STAYING, *UPLOADS, *LOOKS]
    return {m[1] for call in calls if (m := re.match(rf"{re.escape(on)}\.(\w+)(?![\w.])", call))}


def is_function(value: Any) -> bool:
    return callable(value) and not isinstance(value, (type, ModuleType))


@pytest.mark.parametrize("space", SPACES)
def test_every_function_is_called(space: str) -> None:
    module = SPACES[space]
    names = getattr(module, "__all__", dir(module))
    public = {n for n in names if not n.startswith("_") and is_function(getattr(module, n))}
    assert public - set(APART.split()) == called(space)


def test_every_method_is_called() -> None:
    public = set(vars(flow.Tensor)) - set(APART_METHODS.split())
    assert public == set().union(*map(called, ("x", "v", "i", "i[0]", "s")))
