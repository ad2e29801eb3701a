"""Every public name, traced and run with other data: what eager gives, or a TraceError.

A value of the trace that is baked into the program is what must not happen.
"""

import inspect
import itertools
import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.graph import TraceError, plain_run, trace
from oneflow_lite.graph.tracing import Result
from oneflow_lite.graph.trees import mapped
from tests.support.graphs.tracing import equal, leaves
from tests.support.hostile.places import functions, good, positional

DATA = {
    "f": ([[2.0, 1.0], [1.0, 3.0]], [[5.0, -1.5], [-1.5, 2.25]], [[1.5, 0.25], [0.25, 0.75]]),
    "i": ([1, 0], [0, 1], [1, 1]),
    "b": ([[True, False], [False, True]], [[False, True], [True, False]], [[True] * 2] * 2),
}


def given(x: Any, seed: int, device: flow.Device) -> Any:
    """The same tensor, with the data of a seed."""
    if not isinstance(x, flow.Tensor):
        return x
    data = np.array(DATA[x.dtype.kind][seed])
    return flow.tensor(data.reshape(-1)[: x.size].reshape(x.shape), dtype=x.dtype, device=device)


def x() -> flow.Tensor:
    return flow.tensor([[2.0, 1.0], [1.0, 3.0]])


def n() -> flow.Tensor:
    return flow.tensor([1, 0])


def mask() -> flow.Tensor:
    return x() > 1


def _set(key: Callable[[flow.Tensor], Any]) -> Callable[..., Any]:
    def call(x: flow.Tensor, value: Any) -> flow.Tensor:
        x[key(x)] = value
        return x + 0

    return call


def with_nan(x: flow.Tensor) -> flow.Tensor:
    return flow.concat([x, flow.where(x > 1, x, flow.nan)])


INTEGERS = (
    *("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift"),
    *("left_shift", "right_shift", "gcd", "lcm", "bitwise_count", "bitwise_invert"),
    *("bitwise_not", "invert"),
)
# What the parameters' names do not tell.
CALLS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "Tensor.to_global": (
        lambda x: x.to_global(flow.distributed.placement("cpu", 0), flow.distributed.sbp.broadcast),
        (x(),),
    ),
    "placement": (lambda x: x + flow.placement("cpu", ranks=[0]).size, (x(),)),
    **{name: (getattr(flow, name), (n(),)) for name in INTEGERS[-4:]},
    **{name: (getattr(flow, name), (n(), n())) for name in INTEGERS[:-4]},
    "bincount": (flow.bincount, (n(),)),
    "broadcast_shapes": (flow.broadcast_shapes, ((2, 1), (1, 3))),
    "choose": (flow.choose, (n(), [x(), x()])),
    "Tensor.choose": (flow.Tensor.choose, (n(), [x(), x()])),
    "convolve": (lambda x: flow.convolve(x[0], x[1]), (x(),)),
    "correlate": (lambda x: flow.correlate(x[0], x[1]), (x(),)),
    "conv2d": (
        lambda x: flow.conv2d(x.reshape(1, 1, 2, 2), x.reshape(2, 1, 1, 2), padding=1),
        (x(),),
    ),
    "conv2d_input_gradient": (
        lambda x: flow.conv2d_input_gradient((1, 1, 3, 2), x[None, :1, :, None], x[None, None]),
        (x(),),
    ),
    "conv2d_weight_gradient": (
        lambda x: flow.conv2d_weight_gradient(x[None, None], (1, 1, 2, 1), x[None, None, :1]),
        (x(),),
    ),
    "layout_transform": (
        lambda x: flow.layout_transform(flow.tile(x, (1, 16, 1, 1)), "NCHW", "NCHW16c"),
        (x(),),
    ),
    "copysign": (flow.copysign, (x(), -x())),
    "cross": (lambda x: flow.cross(flow.ones((2, 3), device=x.device), x[:, [0, 1, 0]]), (x(),)),
    "linalg.cross": (
        lambda x: flow.linalg.cross(flow.ones((2, 3), device=x.device), x[:, [0, 1, 0]]),
        (x(),),
    ),
    "digitize": (lambda x: flow.digitize(x, flow.sort(x[0])), (x(),)),
    "dsplit": (lambda x: flow.dsplit(x[:, :, None][:, :, [0, 0]], 2), (x(),)),
    "hsplit": (lambda x: flow.hsplit(x, 2), (x(),)),
    "vsplit": (lambda x: flow.vsplit(x, 2), (x(),)),
    "split": (lambda x: flow.split(x, 2), (x(),)),
    "array_split": (lambda x: flow.array_split(x, 2, axis=1), (x(),)),
    "einsum": (lambda x: flow.einsum("ij,jk->ik", x, x), (x(),)),
    "grad": (lambda x: flow.grad(lambda y: (y**3).sum())(x), (x(),)),
    "vjp": (lambda x: flow.vjp(lambda y: flow.sin(y), x)[1](x), (x(),)),
    "value_and_grad": (lambda x: flow.value_and_grad(lambda y: flow.exp(y).max())(x), (x(),)),
    "fft.fftfreq": (flow.fft.fftfreq, (4,)),
    "fft.rfftfreq": (flow.fft.rfftfreq, (4,)),
    "expand_dims": (flow.expand_dims, (x(), 0)),
    "from_dlpack": (flow.from_dlpack, (x(),)),
    "geomspace": (flow.geomspace, (1.0, 8.0, 4)),
    "linspace": (flow.linspace, (1.0, 8.0, 4)),
    "logspace": (flow.logspace, (1.0, 2.0, 4)),
    "histogram of edges": (lambda x: flow.histogram(x, flow.sort(x[0])), (x(),)),
    "histogram2d": (lambda x: flow.histogram2d(x[0], x[1]), (x(),)),
    "histogram2d of edges": (lambda x: flow.histogram2d(x[0], x[1], [0, 1, 2, 5]), (x(),)),
    "histogramdd of edges": (
        lambda x: flow.histogramdd(x, [flow.sort(x[0]), 3], [None, (0, 3)]),
        (x(),),
    ),
    "interp": (lambda x: flow.interp(x, flow.sort(x[0]), x[1]), (x(),)),
    "isdtype": (flow.isdtype, (np.dtype("int8"), "integral")),
    "can_cast": (flow.can_cast, ("int8", "int16")),
    "ix_": (flow.ix_, (n(), n())),
    "kron": (flow.kron, (x(), x())),
    "ldexp": (flow.ldexp, (x(), n())),
    "linalg.multi_dot": (lambda x: flow.linalg.multi_dot([x, x, x]), (x(),)),
    "linalg.matrix_power": (flow.linalg.matrix_power, (x(), 3)),
    "linalg.tensorinv": (
        lambda x: flow.linalg.tensorinv(x.reshape(2, 1, 2), ind=2),
        (x(),),
    ),
    "linalg.tensorsolve": (lambda x: flow.linalg.tensorsolve(x, x[0]), (x(),)),
    "linalg.outer": (lambda x: flow.linalg.outer(x[0], x[1]), (x(),)),
    "packbits": (flow.packbits, (mask(),)),
    "unpackbits": (lambda n: flow.unpackbits(n.astype("uint8")), (n(),)),
    "copyto": (lambda x, y: [flow.copyto(x, y, where=y > 1), x + 0][1], (x(), x())),
    "einsum_path": (lambda x: flow.einsum_path("ij,jk->ik", x, x), (x(),)),
    "issubdtype": (flow.issubdtype, ("int8", np.integer)),
    "fromiter": (flow.fromiter, ([1, 2], "int64")),
    "frombuffer": (flow.frombuffer, (b"12345678",)),
    "fromstring": (lambda text: flow.fromstring(text, sep=" "), ("1 2",)),
    "fromfunction": (flow.fromfunction, (lambda i, j: i + j, (2, 3))),
    "vectorize": (lambda x: flow.vectorize(lambda a: a + 1)(x), (x(),)),
    "min_scalar_type of a number": (lambda x: flow.min_scalar_type(x[0, 0]), (x(),)),
    "r_[x]": (lambda x: (flow.r_[x[0], 1:3, 2.5], flow.c_[x, x]), (x(),)),
    "mgrid": (lambda: flow.mgrid[:2, 1:2:3j], ()),
    "place": (flow.place, (x(), mask(), x())),
    **{
        name: (lambda x, name=name: getattr(flow, name)(4, device=x.device) * x[0, 0], (x(),))
        for name in ("bartlett", "blackman", "hamming", "hanning")
    },
    "apply_along_axis": (
        lambda x: flow.apply_along_axis(lambda lane: lane / lane.max(), 0, x),
        (x(),),
    ),
    "apply_over_axes": (lambda x: flow.apply_over_axes(flow.sum, x, [1, 0]), (x(),)),
    "mask_indices": (lambda x: flow.mask_indices(2, lambda m, k: m * (x > k)), (x(),)),
    "real_if_close of complex numbers": (lambda x: flow.real_if_close(x + 0j), (x(),)),
    "unique of slices": (lambda x: flow.unique(x, axis=0), (x(),)),
    "unwrap": (lambda x: flow.unwrap(x * 5), (x(),)),
    "kaiser": (lambda x: flow.kaiser(4, x[0, 0]), (x(),)),
    "poly": (lambda x: flow.poly(x[0]), (x(),)),
    "poly of a matrix": (flow.poly, (x(),)),
    "polydiv": (lambda x: flow.polydiv(x[0], x[1]), (x(),)),
    "polymul": (lambda x: flow.polymul(x[0], x[1]), (x(),)),
    "polyder": (lambda x: flow.polyder(x[0]), (x(),)),
    "polyint": (lambda x: flow.polyint(x[0], 2, x[1]), (x(),)),
    "roots": (lambda x: flow.roots(x[0]), (x(),)),
    "polyval": (lambda x: flow.polyval(x[0], x), (x(),)),
    "polyfit": (lambda x: flow.polyfit(flow.arange(2.0, device=x.device), x[0], 1), (x(),)),
    "put": (flow.put, (x(), n(), x()[0])),
    "Tensor.put": (flow.Tensor.put, (x(), n(), x()[0])),
    "put_along_axis": (flow.put_along_axis, (x(), n()[None], 5.0, 0)),
    "take_along_axis": (flow.take_along_axis, (x(), n()[None], 0)),
    "ravel_multi_index": (flow.ravel_multi_index, ((n(), n()), (2, 2))),
    "unravel_index": (flow.unravel_index, (n(), (2, 2))),
    "searchsorted": (lambda x: flow.searchsorted(flow.sort(x[0]), x), (x(),)),
    "Tensor.searchsorted": (lambda x: flow.sort(x[0]).searchsorted(x), (x(),)),
    "select": (flow.select, ([mask(), ~mask()], [x(), x()], 7.0)),
    "swapaxes": (flow.swapaxes, (x(), 0, 1)),
    "squeeze": (lambda x: flow.squeeze(x[None], axis=0), (x(),)),
    "Tensor.squeeze": (lambda x: x[None].squeeze(axis=0), (x(),)),
    "tile": (flow.tile, (x(), (2, 1))),
    "vander": (lambda x: flow.vander(x[0], 3), (x(),)),
    "where": (flow.where, (mask(), x(), x())),
    "diag_indices": (flow.diag_indices, (3,)),
    "eye": (flow.eye, (3,)),
    "identity": (flow.identity, (3,)),
    "tri": (flow.tri, (3,)),
    "tril_indices": (flow.tril_indices, (3,)),
    "triu_indices": (flow.triu_indices, (3,)),
    "Tensor.fill": (lambda x, y: [x.fill(y[0, 0]), x + 0], (x(), x())),
    "Tensor.reshape": (flow.Tensor.reshape, (x(), 4)),
    "Tensor.permute_dims": (flow.Tensor.permute_dims, (x(), (1, 0))),
    "Tensor.transpose": (flow.Tensor.transpose, (x(),)),
    "Tensor.to": (flow.Tensor.to, (x(), "mock:0")),
    "Tensor.to_device": (flow.Tensor.to_device, (x(), "mock:0")),
    "Tensor.compress": (flow.Tensor.compress, (x(), mask()[0], 0)),
    "piecewise": (flow.piecewise, (x(), [mask()], [1.0, lambda x: x * 2])),
    "arange": (flow.arange, (1, 9, 2)),
    "compress": (flow.compress, (mask()[0], x(), 0)),
    "cumulative_prod": (lambda x: flow.cumulative_prod(x, axis=0), (x(),)),
    "cumulative_sum": (lambda x: flow.cumulative_sum(x, axis=1), (x(),)),
    "iinfo": (flow.iinfo, ("int8",)),
    "insert": (flow.insert, (x(), 1, x()[0], 0)),
    "insert at places": (flow.insert, (x(), n(), x(), 0)),
    "delete one": (flow.delete, (x(), 1, 0)),
    **{
        f"{name} of a number": (getattr(flow, name), (x(), q))
        for name, q in (
            *(("quantile", 0.3), ("nanquantile", 0.3), ("percentile", 30), ("nanpercentile", 30)),
        )
    },
    "quantile": (lambda x: flow.quantile(x, abs(x) / 5, axis=0), (x(),)),
    "quantile of ends": (lambda x, n: flow.quantile(x, n, axis=1, keepdims=True), (x(), n())),
    "percentile": (lambda x: flow.percentile(x, abs(x[0]) * 20), (x(),)),
    "nanquantile": (lambda x: flow.nanquantile(with_nan(x), abs(x) / 5, axis=0), (x(),)),
    "nanpercentile": (lambda x: flow.nanpercentile(with_nan(x), abs(x[0, 1]) * 20), (x(),)),
    "nanquantile of ends": (lambda x, n: flow.nanquantile(x, n, axis=1), (x(), n())),
    "permute_dims": (flow.permute_dims, (x(), (1, 0))),
    "Tensor.as_integer_ratio": (lambda x: x[0, 0].as_integer_ratio(), (x(),)),
    "Tensor.item": (lambda x: x[0, 0].item(), (x(),)),
    "Tensor.tofile": (lambda x: x.tofile(os.devnull), (x(),)),
    "Tensor.shares_storage": (lambda x: x.shares_storage(x[0]), (x(),)),
    # operators
    **{
        f"x {name} y": (eval(f"lambda x, y: x {name} y"), (x(), x()))
        for name in ("+", "-", "*", "/", "//", "%", "**", "@", "<", "<=", "==", "!=", ">", ">=")
    },
    **{f"m {name} y": (eval(f"lambda x, y: x {name} y"), (n(), n())) for name in ("&", "|", "^")},
    **{f"n {name} y": (eval(f"lambda x, y: x {name} y"), (n(), n())) for name in ("<<", ">>")},
    **{
        f"x {name}= y": (eval(f"lambda x, y: [x.__i{name}__(y), x]"), (x(), x()))
        for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul")
    },
    "-x": (lambda x: (-x, +x, abs(x), ~(x > 1)), (x(),)),
    "divmod(x, 2)": (divmod, (x(), 2)),
    "len": (len, (x(),)),
    "iteration": (lambda x: [row * 2 for row in x], (x(),)),
    "x[0]": (lambda x: (x[0], x[:, ::-1], x[None, 1, ...]), (x(),)),
    "x[n]": (lambda x, n: x[n], (x(), n())),
    "x[n, n]": (lambda x, n: x[n, n], (x(), n())),
    "x[mask]": (lambda x, m: x[m], (x(), mask())),
    "x[0] = y": (_set(lambda x: 0), (x(), 5.0)),
    "x[n] = y": (_set(lambda x: flow.argsort(x[0])), (x(), x())),
    "x[mask] = y": (_set(lambda x: x > 1), (x(), x()[0, 0])),
    "bool(x)": (lambda x: bool(x[0, 0]), (x(),)),
    "float(x)": (lambda x: float(x[0, 0]), (x(),)),
    "int(x)": (lambda x: int(x[0, 0]), (x(),)),
    "complex(x)": (lambda x: complex(x[0, 0]), (x(),)),
    "index": (lambda n: [0, 1][n[0]], (n(),)),
    "x in y": (lambda x, y: x[0, 0] in y, (x(), x())),
    "np.sum(x)": (np.sum, (x(),)),
    "np.add(x, y)": (np.add, (x(), x())),
    "np.concatenate": (lambda x: np.concatenate([x, x]), (x(),)),
    "np.array(x)": (np.array, (x(),)),
    "x.real": (lambda x: ((x + 1j * x).real, (x + 1j).imag), (x(),)),
    "x.T": (lambda x: (x.T, x.mT, x[0].T), (x(),)),
}

# Why a call is refused, and which ones. The list may only shrink.
REFUSED = {
    "the result is Python's": (
        *("allclose", "array_equal", "array_equiv", "Tensor.as_integer_ratio", "Tensor.item"),
        *(
            "Tensor.numpy",
            "Tensor.tobytes",
            "Tensor.tofile",
            "Tensor.tolist",
            "np.array(x)",
            "x in y",
            "index",
        ),
        *("bool(x)", "float(x)", "int(x)", "complex(x)", "min_scalar_type of a number"),
        *("array2string", "array_repr", "array_str"),
    ),
    "the shape depends on values": (
        *("argwhere", "bincount", "extract", "flatnonzero", "intersect1d", "nonzero", "compress"),
        *("Tensor.compress", "Tensor.nonzero", "setdiff1d", "setxor1d", "union1d", "unique"),
        *("unique_all", "unique_counts", "unique_inverse", "unique_values", "x[mask]", "delete"),
        *("piecewise", "insert at places", "polydiv", "polymul", "roots"),
        *("mask_indices", "trim_zeros", "unique of slices"),
    ),
    "the dtype depends on values": ("poly of a matrix", "real_if_close of complex numbers"),
    "elements that are not finite are an error": ("asarray_chkfinite",),
    "edges are made of values by the host": (
        *("histogram", "histogram2d", "histogram_bin_edges", "histogramdd"),
    ),
    "a function of the program sees the values": ("vectorize",),
    "it acts on more than tensors": ("synchronize", "Tensor.ready", "Tensor.to_global"),
}
REFUSAL = r"^\[[\w.]+\] (needs the values of|cannot be recorded).* do it outside"
REASONS = {name: reason for reason, names in REFUSED.items() for name in names}
# These say nothing of elements: of memory, and of the machine.
FREE = ("empty", "empty_like", "empty_cache", "jit", "memory_stats", "Tensor.is_ready")
NEEDS_CUDA = ("Tensor.cuda",)


def calls() -> Iterator[tuple[str, Callable[..., Any], tuple[Any, ...]]]:
    for name, function in functions():
        if name.startswith(("random.", "vm.")):
            continue  # test_random_numbers.py, test_host_functions.py, test_trace_errors.py
        if name in CALLS:
            yield (name, *CALLS[name])
            continue
        try:
            parameters = inspect.signature(function).parameters.values()
            args = [good(p) for p in parameters if p.default is p.empty and positional(p)]
            if any(p.kind == p.VAR_POSITIONAL for p in parameters) and not args:
                args = [x(), x()]
        except ValueError:  # a method of C
            args = [x()]
        yield name, function, tuple(args)
    known = {name for name, _ in functions()}
    for name, (function, args) in CALLS.items():
        if name not in known:
            yield name, function, args


ALL = {name: (function, args) for name, function, args in calls()}


@pytest.mark.parametrize("name", ALL)
def test_every_name(name: str, device: flow.Device) -> None:
    if name in NEEDS_CUDA and not flow.cuda.is_available():
        pytest.skip("no CUDA device here")
    function, args = ALL[name]

    def call(*args: Any) -> Any:
        with flow.device(device):
            result = function(*args)
        return list(result) if isinstance(result, tuple) else result

    def arguments(seed: int) -> list[Any]:
        return mapped(list(args), lambda leaf, _: given(leaf, seed, device))

    flat_call = lambda *args: leaves(call(*args))  # noqa: E731
    expected = flat_call(*arguments(0))  # eager takes it
    if name in REASONS:
        with pytest.raises(TraceError, match=REFUSAL):
            trace(flat_call, *arguments(0))
        return
    traced = trace(flat_call, *arguments(0))  # a TraceError: list it, with the reason
    traced.program.verify()
    for seed in (1, 2, 0):
        eager, run = arguments(seed), arguments(seed)
        expected = flat_call(*eager)
        given_tensors = [leaf for leaf in leaves(run) if isinstance(leaf, flow.Tensor)]
        results = plain_run.run(traced.program.main, given_tensors)
        seen = [
            results[leaf.number] if isinstance(leaf, Result) else leaf
            for leaf in leaves(traced.results)
        ]
        assert len(expected) == len(seen)
        for k, (one, other) in enumerate(zip(expected, seen, strict=True)):
            if name not in FREE:
                equal(one, other, f"{name}, result {k}")
        for one, other in zip(leaves(eager), leaves(run), strict=True):
            equal(one, other, f"{name}, argument afterwards")


def test_a_baked_value_is_found() -> None:
    """The test above can fail."""
    numbers = itertools.count()
    ALL["baked"] = (lambda x: x + next(numbers), (x(),))
    try:
        with pytest.raises(AssertionError, match="baked, result 0"):
            test_every_name("baked", flow.Device("cpu"))
    finally:
        del ALL["baked"]


def test_the_refused_are_calls() -> None:
    assert set(REASONS) <= set(ALL)
