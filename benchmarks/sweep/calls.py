"""How each public function is called: by the op table, by its parameters' names, or as listed here.

An operation of the op table is called with as many operands as it takes, in the dtypes that its
loops have. Another function is called by the names of the parameters that it needs. Where these do
not tell enough, LISTED has the call. A function that none of this can call is a SweepError.
"""

import ast
import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from inspect import Parameter
from typing import Any

import numpy as np

import oneflow_lite as flow
from oneflow_lite.ops.table import ROWS
from sweep import names
from sweep.names import SweepError
from sweep.operands import AXES, CONTIGUOUS, LARGEST, LETTERS, Setting, layouts

SIZES = (1, 16, 1_000, 100_000, LARGEST)
FLOATS = ("float32", "float64")
FIELDS = (*FLOATS, "complex128")
NUMBERS = (*FLOATS, "int64", "uint8", "bool", "complex64")
EVERY = (
    *("float32", "float64", "int64", "int32", "uint8", "int8", "bool"),
    *("complex64", "complex128", "float16"),
)
REDUCING = ("float32", "float64", "int64", "int32", "uint8", "bool", "complex64", "float16")
# Elementwise operations of these end at 10^5: there are many, and the sweep is to end in time.
NOT_AT_LARGEST = ("int32", "uint8", "int8", "bool", "complex64", "float16")
OPERATORS = "operators"
VIEW_SIZES = (1, 1_000, LARGEST)
_ELEMENTWISE: dict[str, Any] = {"low": 0.05, "high": 0.95, "largest": 6}
_DOMAINS = {"acosh": {"low": 1.05, "high": 3.0}}  # by row: elsewhere most results were NaN


@dataclass(frozen=True)
class Case:
    """A call in one dtype and layout, over sizes.

    Attributes
    ----------
    function : str
        Dotted name of the function; "" where ``text`` is a statement of its own.
    text : str
        Arguments, or the statement.
    is_main : bool
        The first of its call: other libraries than NumPy take part.
    call : str
        The text of the main one, which has no axis.
    is_view : bool
        No element is moved, in no layout: there is nothing to wait for.
    """

    function: str
    text: str
    chapter: str
    dtype: str
    layout: str
    sizes: tuple[int, ...]
    is_main: bool
    call: str
    values: tuple[tuple[str, float], ...] = ()
    is_view: bool = False

    @property
    def name(self) -> str:
        return f"{self.function}({self.text})" if self.function else self.text

    @property
    def letters(self) -> frozenset[str]:
        return letters_of(self.name)

    def setting(self, size: int) -> Setting:
        return Setting(
            self.dtype or "float64", self.layout, size, two="y" in self.letters, **dict(self.values)
        )


@dataclass(frozen=True)
class Call:
    """A way to call a function, before dtypes and layouts are chosen."""

    text: str
    dtypes: tuple[str, ...] = NUMBERS
    most: int = SIZES[-1]
    sizes: tuple[int, ...] = SIZES
    values: tuple[tuple[str, float], ...] = ()
    is_view: bool = False


def letters_of(text: str) -> frozenset[str]:
    """Return the operands that a call names."""
    found = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    return frozenset(found & set(LETTERS))


def _split(text: str) -> list[str]:
    """Return ``["f(x, 1)", "g(x)"]`` of ``"f(x, 1) g(x)"``."""
    return re.findall(r"[\w.]+\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)", text)


def _listed(groups: Iterable[tuple[str, dict[str, Any]]]) -> dict[str, list[Call]]:
    found: dict[str, list[Call]] = {}
    for text, how in groups:
        for call in _split(text):
            name, _, arguments = call.partition("(")
            found.setdefault(name, []).append(Call(" ".join(arguments[:-1].split()), **how))
    return found


_VIEWS: dict[str, Any] = {"dtypes": ("float32",), "sizes": VIEW_SIZES, "is_view": True}
_INTEGERS: dict[str, Any] = {"dtypes": ("int64",)}
_MADE: dict[str, Any] = {"dtypes": ("float64",)}
_FEW: dict[str, Any] = {"dtypes": (*FLOATS, "int64")}
_CUBIC: dict[str, Any] = {"most": 100_000}  # a matrix of 316 x 316
# Calls that the names of the parameters do not tell.
LISTED = _listed(
    (
        (
            """
            append(x, y) block([x, y]) choose(k, [v, v, v, v]) clip(x, 1, 2) clip(x, y, None)
            column_stack([x, y]) compress(b, x) concat([x, y]) concatenate([m, m], axis=1)
            stack([x, y]) stack([x, y], axis=-1) hstack([x, y]) vstack([x, y]) dstack([x, y])
            delete(v, 0) diag(r) extract(b, x) fill_diagonal(q, 1) full_like(x, 1)
            insert(v, 0, 1) ix_(r, w) pad(x, 1) pad(x, 1, mode='edge') pad(x, 1, mode='mean')
            pad(x, 1, mode='linear_ramp') pad(x, 1, mode='median') piecewise(x, [b], [1, 2])
            place(x, b, v) put(v, i, s) put_along_axis(v, i, s, 0) putmask(x, b, y) repeat(x, 2)
            resize(v, (2 * n,)) roll(x, 3) select([b], [x], 0) take(x, i) take_along_axis(v, i, 0)
            tile(x, 2) tril(m) triu(m) where(b, x, y) outer(w, r) kron(w, r) meshgrid(r, w)
            astype(x, 'float32') astype(x, 'int64') astype(x, 'bool') tensor(x)
            dot(v, v) inner(v, v) vdot(v, v) matmul(q, q) matvec(m, r) vecmat(w, m)
            tensordot(q, q, axes=1) einsum('ij,jk->ik', q, q) einsum('ij->j', m)
            einsum('i,i->', v, v) cross(t, t) trace(m) linalg.outer(w, r) linalg.trace(m)
            copyto(x, y) nonzero(x) argwhere(x) flatnonzero(x) count_nonzero(x) where(x)
            diagflat(r) sort_complex(x)
            """,
            {},
        ),
        (
            """
            all(x) any(x) sum(x) prod(x) max(x) min(x) mean(x) std(x) var(x) argmax(x) argmin(x)
            sort(x) argsort(x, stable=True) cumsum(x) copy(x) ascontiguousarray(c.T)
            ravel(c.T) reshape(c.T, -1)
            """,
            {"dtypes": REDUCING},
        ),
        (
            """
            array_split(m, [1]) split(x, [1]) vsplit(m, [1]) hsplit(m, [1]) dsplit(c, [1])
            broadcast_to(r, (rows, cols)) broadcast_arrays(m, r) diagonal(m)
            expand_dims(x, 0) fliplr(m) flipud(m) flip(x) matrix_transpose(m) moveaxis(m, 0, 1)
            permute_dims(m, (1, 0)) rollaxis(m, 1) rot90(m) squeeze(x)
            swapaxes(m, 0, 1) transpose(m) unstack(m) atleast_1d(x) atleast_2d(x) atleast_3d(x)
            ndim(x) shape(x) size(x) from_dlpack(x) asarray(x) asanyarray(x) real(x)
            require(x) linalg.diagonal(m) ascontiguousarray(v) ravel(v) reshape(v, (1, n))
            """,
            _VIEWS,
        ),
        ("diag(m) imag(x)", {"dtypes": ("float32",), "sizes": VIEW_SIZES}),
        (
            """
            quantile(x, 0.3) percentile(x, 30) nanquantile(x, 0.3) nanpercentile(x, 30)
            argsort(x) partition(x, n // 2) argpartition(x, n // 2) lexsort((x, y)) isin(v, r)
            searchsorted(s, v) digitize(v, e) histogram(x) histogram(x, e)
            histogram(x, 10, (0.0, 2.0)) histogram_bin_edges(x) histogram2d(v, v)
            histogram2d(v, v, 10, ((0.0, 2.0), (0.0, 2.0))) histogramdd((v, v, v))
            convolve(v, e) correlate(v, e) vander(v, 4)
            interp(v, s, v) polyval(p, v) polyfit(s, v, 2)
            polyadd(v, p) polysub(v, p) polymul(v, p) polydiv(e, p) polyder(v) polyint(v)
            poly(p) roots(p) ediff1d(x) unwrap(x) trim_zeros(v) around(x, 1) round(x, 1)
            cov(m) corrcoef(m) divmod(x, y) modf(x) frexp(x) ldexp(x, k)
            """,
            _FEW,
        ),
        ("unpackbits(x)", {"dtypes": ("uint8",)}),
        (
            """
            bincount(k) ravel_multi_index((k, k), (4, 4)) unravel_index(i, (rows + 1, cols + 1))
            packbits(k) diag_indices_from(q) tril_indices_from(q) triu_indices_from(q)
            """,
            _INTEGERS,
        ),
        (
            """
            arange(n) empty(n) zeros(n) ones(n) full(n, 1.5) linspace(0.0, 1.0, n)
            geomspace(1.0, 100.0, n) logspace(0.0, 2.0, n) eye(side) identity(side) tri(side)
            indices((rows, cols)) diag_indices(side) tril_indices(side) triu_indices(side)
            fft.fftfreq(n) fft.rfftfreq(n)
            bartlett(n) blackman(n) hamming(n) hanning(n) kaiser(n, 14.0)
            """,
            _MADE,
        ),
        (
            """
            broadcast_shapes((2, 1), (1, 3)) can_cast('int8', 'int16') finfo('float32')
            iinfo('int8') result_type('int8', 'float32') isdtype(dtype, 'integral')
            """,
            {"dtypes": ("",), "sizes": (1,)},
        ),
        (
            """
            linalg.cholesky(h) linalg.eigh(h) linalg.eigvalsh(h) linalg.eig(q) linalg.eigvals(q)
            linalg.cond(q) linalg.det(q) linalg.slogdet(q) linalg.inv(q) linalg.pinv(q)
            linalg.qr(q) linalg.svd(q) linalg.svdvals(q) linalg.solve(q, w) linalg.lstsq(q, w)
            linalg.matrix_power(q, 3) linalg.matrix_rank(q) linalg.multi_dot([q, q, q])
            linalg.tensorinv(q, ind=1) linalg.tensorsolve(q, w) linalg.matrix_norm(q, ord=2)
            """,
            {"dtypes": FIELDS, **_CUBIC},
        ),
        (
            "linalg.norm(x) linalg.norm(m, 1) linalg.matrix_norm(m) linalg.vector_norm(x)",
            {"dtypes": FIELDS},
        ),
        (
            """
            fft.fft(x) fft.ifft(x) fft.fft2(m) fft.ifft2(m) fft.fftn(m) fft.ifftn(m)
            """,
            {"dtypes": ("complex64", "complex128")},
        ),
        (
            "fft.hfft(x) fft.irfft(x) fft.irfft2(m) fft.irfftn(m)",
            {"dtypes": ("complex64", "complex128"), "sizes": SIZES[1:]},
        ),
        ("gradient(x)", {**_FEW, "sizes": SIZES[1:]}),
        (
            "fft.rfft(x) fft.ihfft(x) fft.rfft2(m) fft.rfftn(m) fft.fftshift(x) fft.ifftshift(x)",
            {"dtypes": FLOATS},
        ),
        (
            """
            random.beta(1.0, 2.0, n) random.binomial(20, 0.5, n) random.chisquare(2.0, n)
            random.dirichlet([1.0, 1.0], n) random.exponential(1.0, n) random.f(1.0, 2.0, n)
            random.gamma(2.0, 1.0, n) random.geometric(0.5, n) random.hypergeometric(30, 30, 20, n)
            random.logseries(0.5, n) random.multinomial(20, [0.5, 0.5], n)
            random.multivariate_normal([0.0, 0.0], [[1.0, 0.0], [0.0, 1.0]], n)
            random.negative_binomial(3, 0.5, n) random.noncentral_chisquare(2.0, 1.0, n)
            random.noncentral_f(1.0, 1.0, 1.0, n) random.pareto(1.0, n) random.poisson(3.0, n)
            random.power(1.0, n) random.standard_gamma(2.0, n) random.standard_t(2.0, n)
            random.triangular(0.0, 1.0, 2.0, n) random.vonmises(0.0, 1.0, n)
            random.wald(1.0, 1.0, n) random.weibull(1.0, n) random.zipf(2.0, n)
            random.rand(n) random.randn(n) random.randint(0, 1000, n) random.bytes(n)
            random.choice(v, n) random.permutation(v) random.shuffle(v)
            """,
            _MADE,
        ),
    )
)
# Operators, indexing and methods, which are no functions.
STATEMENTS = (
    *("x + y", "x * 2", "-x", "x < y", "x ** 2", "q @ q", "m[:, ::-1] + m", "x += y"),
    *("v[i]", "v[b]", "v[i] = s", "v[b] = 0", "v[1:] = 0"),
    *("x.sum()", "x.tolist()", "float(x.sum())"),
)
VIEW_STATEMENTS = ("x[1:]", "x[::-1]", "m[0]", "m[:, 0]", "m.T", "x[None]", "v.reshape(1, n)")
# Parameter -> the operand of it.
_OPERANDS = {
    **dict.fromkeys(("x", "x1", "a", "z", "f", "obj", "data", "condition"), "x"),
    **dict.fromkeys(("m",), "m"),
    **dict.fromkeys(("x2", "b", "values"), "y"),
    **dict.fromkeys(("arrays", "operands", "primals"), "[x, y]"),
    "y": "x",
    "shape": "n",
    "axis": "0",
}


def _by_parameters(name: str, function: Callable[..., Any]) -> Call:
    """Return the call that the names of the needed parameters tell."""
    given = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind == Parameter.VAR_POSITIONAL and not given:
            given = ["x", "y"]
        needed = parameter.default is Parameter.empty and parameter.kind in (
            Parameter.POSITIONAL_ONLY,
            Parameter.POSITIONAL_OR_KEYWORD,
        )
        if not needed:
            continue
        if parameter.name not in _OPERANDS:
            raise SweepError(
                f"[sweep] cannot call {name}{inspect.signature(function)}: nothing is known of its "
                f"parameter {parameter.name!r}; add a call to LISTED in benchmarks/sweep/calls.py, "
                "or a reason to EXCLUDED in benchmarks/sweep/names.py"
            )
        given.append(_OPERANDS[parameter.name])
    return Call(", ".join(given))


def _random(name: str, function: Callable[..., Any]) -> Call | None:
    """Return the call of a distribution whose parameters have defaults."""
    parameters = inspect.signature(function).parameters
    if not name.startswith("random.") or "size" not in parameters:
        return None
    needs = [p for p in parameters.values() if p.default is Parameter.empty]
    return None if needs else Call("size=n", ("float64",))


def _of_row(function: flow.Op) -> Call:
    """Return the call of an operation of the op table, in the dtypes of its own loops."""
    row = next(row for row in ROWS.values() if row.op is function)
    count = row.ufunc.nin
    loops = {signature.partition("->")[0] for signature in row.ufunc.types}
    dtypes = [dtype for dtype in EVERY if np.dtype(dtype).char * count in loops]
    if "l" * count in loops and "int64" not in dtypes:  # two names of one dtype
        dtypes.append("int64")
    values = _ELEMENTWISE | _DOMAINS.get(row.name, {})
    return Call(", ".join("xyy"[:count]), tuple(dtypes), values=tuple(values.items()))


def calls(name: str, function: Callable[..., Any]) -> list[Call]:
    """Return the ways in which a public function is called."""
    if name in LISTED:
        return LISTED[name]
    if isinstance(function, flow.Op):
        return [_of_row(function)]
    return [_random(name, function) or _by_parameters(name, function)]


def _cases(name: str, chapter: str, call: Call, has_axis: bool) -> Iterator[Case]:
    letters = letters_of(f"{name}({call.text})" if name else call.text)
    sizes = tuple(size for size in call.sizes if size <= call.most)
    first = Case(
        name,
        call.text,
        chapter,
        call.dtypes[0],
        CONTIGUOUS,
        sizes,
        True,
        call.text,
        call.values,
        call.is_view,
    )
    yield first
    others = replace(first, is_main=False, sizes=sizes[1:] or sizes)
    for dtype in call.dtypes[1:]:
        is_short = chapter == names.ELEMENTWISE and dtype in NOT_AT_LARGEST
        yield replace(others, dtype=dtype, sizes=others.sizes[: -1 if is_short else None])
    others = replace(others, sizes=sizes[2:] or sizes)
    for layout in layouts(letters)[1:]:
        yield replace(others, layout=layout)
    if has_axis and letters & {"x", "m"} and "axis=" not in call.text and letters <= set("xyn"):
        for layout, axis in AXES.items():
            yield replace(others, layout=layout, text=f"{call.text}, axis={axis}")


def all_cases() -> list[Case]:
    """Return every case of every public function.

    Raises
    ------
    SweepError
        Of a function that nothing tells how to call; of a listed name that is none.
    """
    functions = names.public()
    unknown = sorted((set(LISTED) | set(names.EXCLUDED)) - set(functions) - set(names.aliases()))
    if unknown:
        raise SweepError(f"[sweep] no public functions, but listed: {', '.join(unknown)}")
    found = []
    for name, function in functions.items():
        if name in names.EXCLUDED:
            continue
        chapter = names.chapter(name, function)
        has_axis = not isinstance(function, flow.Op) and (
            "axis" in inspect.signature(function).parameters
        )
        for call in calls(name, function):
            found += _cases(name, chapter, call, has_axis)
    for text in STATEMENTS:
        found += _cases("", OPERATORS, Call(text, ("float32", "int64")), False)
    for text in VIEW_STATEMENTS:
        found += _cases("", OPERATORS, Call(text, **_VIEWS), False)
    return found
