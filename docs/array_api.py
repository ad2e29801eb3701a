"""What the array API standard has: its functions by chapter, its constants, its attributes."""

import inspect
from collections.abc import Iterator
from inspect import Signature

# Chapter -> its functions: ``parameters: names`` for those of positional-only parameters, or a
# signature. Facts of version 2025.12, which has all names of the earlier ones.
STANDARD: dict[str, str] = {
    "creation": """
        arange(start, /, stop=None, step=1, *, dtype=None, device=None)
        asarray(obj, /, *, dtype=None, device=None, copy=None)
        empty(shape, *, dtype=None, device=None)
        empty_like(x, /, *, dtype=None, device=None)
        eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None)
        from_dlpack(x, /, *, device=None, copy=None)
        full(shape, fill_value, *, dtype=None, device=None)
        full_like(x, /, fill_value, *, dtype=None, device=None)
        linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True)
        meshgrid(*arrays, indexing="xy")
        ones(shape, *, dtype=None, device=None)
        ones_like(x, /, *, dtype=None, device=None)
        tril(x, /, *, k=0)
        triu(x, /, *, k=0)
        zeros(shape, *, dtype=None, device=None)
        zeros_like(x, /, *, dtype=None, device=None)
        """,
    "data types": """
        astype(x, dtype, /, *, copy=True, device=None)
        can_cast(from_, to, /)
        finfo(type, /)
        iinfo(type, /)
        isdtype(dtype, kind)
        result_type(*arrays_and_dtypes)
        """,
    "elementwise": """
        x: abs acos acosh asin asinh atan atanh bitwise_invert ceil conj cos cosh exp expm1
        x: floor imag isfinite isinf isnan log log1p log2 log10 logical_not negative positive real
        x: reciprocal round sign signbit sin sinh square sqrt tan tanh trunc
        x1 x2: add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift
        x1 x2: bitwise_xor copysign divide equal floor_divide greater greater_equal hypot less
        x1 x2: less_equal logaddexp logical_and logical_or logical_xor maximum minimum multiply
        x1 x2: nextafter not_equal pow remainder subtract
        clip(x, /, min=None, max=None)
        """,
    "indexing": """
        take(x, indices, /, *, axis=None)
        take_along_axis(x, indices, /, *, axis=-1)
        """,
    "linear algebra": """
        x: matrix_transpose
        x1 x2: matmul
        tensordot(x1, x2, /, *, axes=2)
        vecdot(x1, x2, /, *, axis=-1)
        """,
    "manipulation": """
        broadcast_arrays(*arrays)
        broadcast_shapes(*shapes)
        broadcast_to(x, /, shape)
        concat(arrays, /, *, axis=0)
        expand_dims(x, /, axis)
        flip(x, /, *, axis=None)
        moveaxis(x, source, destination, /)
        permute_dims(x, /, axes)
        repeat(x, repeats, /, *, axis=None)
        reshape(x, /, shape, *, copy=None)
        roll(x, /, shift, *, axis=None)
        squeeze(x, /, axis)
        stack(arrays, /, *, axis=0)
        tile(x, repetitions, /)
        unstack(x, /, *, axis=0)
        """,
    "searching": """
        x: nonzero
        argmax(x, /, *, axis=None, keepdims=False)
        argmin(x, /, *, axis=None, keepdims=False)
        count_nonzero(x, /, *, axis=None, keepdims=False)
        searchsorted(x1, x2, /, *, side="left", sorter=None)
        where(condition, x1, x2, /)
        """,
    "sets": """
        x: unique_all unique_counts unique_inverse unique_values
        isin(x1, x2, /, *, invert=False)
        """,
    "sorting": """
        argsort(x, /, *, axis=-1, descending=False, stable=True)
        sort(x, /, *, axis=-1, descending=False, stable=True)
        """,
    "statistics": """
        cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False)
        cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False)
        max(x, /, *, axis=None, keepdims=False)
        mean(x, /, *, axis=None, keepdims=False)
        min(x, /, *, axis=None, keepdims=False)
        prod(x, /, *, axis=None, dtype=None, keepdims=False)
        std(x, /, *, axis=None, correction=0.0, keepdims=False)
        sum(x, /, *, axis=None, dtype=None, keepdims=False)
        var(x, /, *, axis=None, correction=0.0, keepdims=False)
        """,
    "utility": """
        all(x, /, *, axis=None, keepdims=False)
        any(x, /, *, axis=None, keepdims=False)
        diff(x, /, *, axis=-1, n=1, prepend=None, append=None)
        """,
    "linalg": """
        x: det eigh eigvalsh eig eigvals inv matrix_transpose slogdet svdvals
        x1 x2: matmul outer solve
        cholesky(x, /, *, upper=False)
        cross(x1, x2, /, *, axis=-1)
        diagonal(x, /, *, offset=0)
        matrix_norm(x, /, *, keepdims=False, ord="fro")
        matrix_power(x, n, /)
        matrix_rank(x, /, *, rtol=None)
        pinv(x, /, *, rtol=None)
        qr(x, /, *, mode="reduced")
        svd(x, /, *, full_matrices=True)
        tensordot(x1, x2, /, *, axes=2)
        trace(x, /, *, offset=0, dtype=None)
        vecdot(x1, x2, /, *, axis=-1)
        vector_norm(x, /, *, axis=None, keepdims=False, ord=2)
        """,
    "fft": """
        fft(x, /, *, n=None, axis=-1, norm="backward")
        ifft(x, /, *, n=None, axis=-1, norm="backward")
        fftn(x, /, *, s=None, axes=None, norm="backward")
        ifftn(x, /, *, s=None, axes=None, norm="backward")
        rfft(x, /, *, n=None, axis=-1, norm="backward")
        irfft(x, /, *, n=None, axis=-1, norm="backward")
        rfftn(x, /, *, s=None, axes=None, norm="backward")
        irfftn(x, /, *, s=None, axes=None, norm="backward")
        hfft(x, /, *, n=None, axis=-1, norm="backward")
        ihfft(x, /, *, n=None, axis=-1, norm="backward")
        fftfreq(n, /, *, d=1.0, dtype=None, device=None)
        rfftfreq(n, /, *, d=1.0, dtype=None, device=None)
        fftshift(x, /, *, axes=None)
        ifftshift(x, /, *, axes=None)
        """,
}


EXTENSIONS = ("linalg", "fft")
CONSTANTS = ("e", "inf", "nan", "newaxis", "pi")
ATTRIBUTES = ("dtype", "device", "mT", "ndim", "shape", "size", "T")
METHODS = """
    abs add and array_namespace bool complex dlpack dlpack_device eq float floordiv ge getitem gt
    index int invert le lshift lt matmul mod mul ne neg or pos pow rshift setitem sub truediv xor
    radd rsub rmul rtruediv rfloordiv rmod rpow rand ror rxor rlshift rrshift rmatmul
    iadd isub imul itruediv ifloordiv imod ipow iand ior ixor ilshift irshift imatmul
"""


def _entries(chapter: str) -> Iterator[tuple[str, str]]:
    """Name and signature, as text, of each function of a chapter."""
    for line in filter(None, map(str.strip, STANDARD[chapter].splitlines())):
        if ":" in line:
            parameters, names = line.split(":")
            yield from ((name, f"({', '.join(parameters.split())}, /)") for name in names.split())
        else:
            name, parameters = line.split("(", 1)
            yield name, f"({parameters}"


def functions() -> list[tuple[str, str, Signature]]:
    """Every function of the standard: its namespace, its name, its signature."""
    return [
        (space, name, inspect.signature(eval(f"lambda {text[1:-1]}: None")))
        for chapter in STANDARD
        for space in ["" if chapter not in EXTENSIONS else chapter]
        for name, text in _entries(chapter)
    ]


def names(chapter: str) -> list[str]:
    """The functions of a chapter, those of an extension with its name: ``linalg.inv``."""
    prefix = f"{chapter}." if chapter in EXTENSIONS else ""
    return [prefix + name for name, _ in _entries(chapter)]
