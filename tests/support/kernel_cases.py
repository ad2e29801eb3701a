"""Every kernel that the op table has CUDA text for, and the values that they are tried on."""

from dataclasses import replace
from itertools import product

import numpy as np

import oneflow_lite as flow
from oneflow_lite import _C
from oneflow_lite.cuda.kernels import Request
from oneflow_lite.cuda.kernels.elementwise.elementwise import ROWS_OF_VECTORS, TILES, expression
from oneflow_lite.dtypes import SUPPORTED
from oneflow_lite.ops.table import PARTS, ROWS, Row

DTYPES = [dtype.name for dtype in SUPPORTED]
HAS_BFLOAT16 = "bfloat16" in DTYPES
FLOATS = ("float16", "float32", "float64")
assert flow.add.__name__ in ROWS  # importing the package fills the table


def loops(row: Row) -> list[tuple[str, ...]]:
    """The dtypes of each of the ufunc's loops, inputs then the output."""
    found = {}
    for signature in row.ufunc.types:
        kinds = signature.replace("->", "")
        if not set(kinds) & set("gGOMm"):
            places = [*range(row.ufunc.nin), row.ufunc.nin + row.result]
            found[tuple(np.dtype(kinds[place]).name for place in places)] = None
    if HAS_BFLOAT16 and _C.properties_of(row.op)["bfloat16"]:  # others compute in float32
        found[("bfloat16",) * (row.ufunc.nin + 1)] = None
    return list(found)


def elementwise(op: str, loop: tuple[str, ...], **changes: object) -> Request:
    """On contiguous operands of the loop's dtypes, in vectors of 16 bytes of the widest."""
    given = {"dtypes": loop, "scalars": (False,) * (len(loop) - 1), "flat": True, "wide": False}
    given |= changes
    dtypes = given["dtypes"]
    assert isinstance(dtypes, tuple)
    given.setdefault("options", (16 // max(np.dtype(dtype).itemsize for dtype in dtypes),))
    return Request("elementwise", op, loop=loop, **given)  # type: ignore[arg-type]


def served(row: Row) -> list[Request]:
    """One request for each of its loops that has a text."""
    requests = [elementwise(row.name, loop) for loop in loops(row)]
    return [request for request in requests if expression(request) is not None]


def in_bfloat16(row: Row) -> list[Request]:
    """Those that compute in float32, on memory of bfloat16."""
    narrow = {"float32": "bfloat16"}
    return [
        replace(request, dtypes=tuple(narrow.get(dtype, dtype) for dtype in request.dtypes))
        for request in served(row)
        if HAS_BFLOAT16 and set(request.loop) <= {"float32", "bool"} and "float32" in request.loop
    ]


def copies() -> list[Request]:
    """Every cast."""
    return [
        Request("copy", "", (given, wanted), (given, wanted), (False,), True, False)
        for given, wanted in product(DTYPES, DTYPES)
    ]


def where(dtype: str, scalars: tuple[bool, ...] = (False,) * 3) -> Request:
    dtypes = ("bool", dtype, dtype, dtype)
    return Request("where", "", dtypes, dtypes, scalars, True, False)


def fill(dtype: str) -> Request:
    return Request("fill", "", (dtype, dtype), (dtype, dtype), (True,), True, False)


def special(name: str) -> np.ndarray:
    """Values of a dtype that functions are wrong for first."""
    dtype = np.dtype(name)
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        near = [0, 1, 2, 3, 5, 7, 8, 12, 31, 32, 63, 64, 100]
        below = [-value for value in near if value and limits.min < 0]
        ends = [limits.max, limits.max - 1, limits.max // 2 + 1, limits.min, limits.min + 1]
        return np.array([*near, *below, *ends], dtype)
    if dtype.kind == "c":
        parts = [0.0, -0.0, 1.0, -2.5, 0.3, np.inf, -np.inf, np.nan, 60.0, 1e-3]
        return np.array([complex(x, y) for x, y in product(parts, parts)], dtype)
    limits = flow.finfo(dtype)
    plain = [0.0, 0.1, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 7.25, 11.0, 100.0, 710.0, 60000.0]
    ends = [limits.max, limits.tiny, limits.smallest_subnormal, limits.eps, np.inf]
    with np.errstate(over="ignore"):
        half = np.array([*plain, *ends], dtype)
    return np.concatenate([half, -half, np.array([np.nan], dtype)])


def operands(loop: tuple[str, ...]) -> list[np.ndarray]:
    """Arrays of one length: every combination of special values, some of very many."""
    values = [special(name) for name in loop[:-1]]
    size = int(np.prod([len(v) for v in values]))
    places = np.arange(size)
    if size > 3000:
        places = np.random.default_rng(7).choice(places, 3000, replace=False)
    grid = np.unravel_index(places, [len(v) for v in values])
    return [v[index] for v, index in zip(values, grid, strict=True)]


def forms() -> list[Request]:
    """Rows of vectors, with operands that stand still and with arguments of many rows; tiles."""
    rows = [
        elementwise("add", (dtype,) * 3, flat=False, options=(4, ROWS_OF_VECTORS, spread, rows))
        for dtype in ("int8", "float32", "complex64")
        for spread, rows in ((0, 8), (1, 8), (2, 32))
    ]
    pairs = [("bool",) * 2, ("float16",) * 2, ("float32", "float16"), ("complex128",) * 2]
    tiles = [
        Request("copy", "", pair, pair, (False,), False, wide, (1, TILES, 0, rows))
        for pair in pairs
        for wide, rows in ((False, 8), (True, 32))
    ]
    return rows + tiles


def standard() -> list[Request]:
    """What has other special values in the array API standard."""
    return [
        elementwise(row.name, request.loop, options=(1, 0, 0, 1, 1))
        for row in ROWS.values()
        if row.cuda.standard
        for request in served(row)
    ]


def templates() -> list[Request]:
    """Every form of the loops, on operands of equal and of different sizes."""
    mixed = (
        *(("float32",) * 3, ("int8",) * 3, ("complex128",) * 3),
        ("float16", "int64", "float64"),
        *([("bfloat16", "int8", "float32")] if HAS_BFLOAT16 else []),
    )
    return [
        elementwise("add", (dtypes[-1],) * 3, dtypes=dtypes, scalars=s, flat=flat, wide=wide)
        for dtypes in mixed
        for s in product((False, True), repeat=2)
        for flat, wide in product((False, True), repeat=2)
    ]


def indexing() -> list[Request]:
    """Gather, scatter and masks: each word, each number of index arrays, each kind of element."""

    def request(kind: str, op: str = "", *options: int, **changes: object) -> Request:
        given = {"dtypes": (), "loop": (), "scalars": (), "flat": True, "wide": False}
        return Request(kind, op, options=options, **(given | changes))  # type: ignore[arg-type]

    requests = [request("scatter", "clear"), request("mask", "sum")]
    for word in (1, 2, 4, 8, 16):
        requests += [request("gather", "", word, 1), request("scatter", "write", word, 1)]
        requests += [request("mask", op, word) for op in ("gather", "scatter")]
    for arrays in (2, 3, 5, 8, 32):
        requests += [request("gather", "", 4, arrays), request("scatter", "write", 4, arrays)]
        requests.append(request("scatter", "claim", arrays))
    steps = ("count", "nonzero")
    requests += [request("mask", op, dtypes=(dtype,)) for op in steps for dtype in DTYPES]
    for flat, wide in ((False, False), (False, True), (True, True)):
        requests += [request("mask", op, dtypes=("bool",), flat=flat, wide=wide) for op in steps]
        requests.append(request("mask", "gather", 4, flat=flat, wide=wide))
    requests += [
        request("gather", "", 4, 2, wide=True),
        request("scatter", "write", 4, 2, wide=True),
    ]
    return requests


def product_of(form: str, dtype: str, *options: int) -> Request:
    return Request("matmul", form, (dtype,) * 3, (dtype,) * 3, (), False, True, options)


def products_of_matrices() -> list[Request]:
    """Every form, dtype and tile; every way in which operands lie."""
    tiles = {4: (128, 128, 16, 8, 8), 8: (128, 64, 8, 8, 4), 16: (64, 64, 8, 4, 4)}
    small = {4: (32, 32, 32, 4, 2), 8: (32, 32, 16, 4, 2), 16: (32, 32, 8, 4, 2)}
    lying = list(product((0, 1), repeat=2))
    requests = []
    for i, dtype in enumerate(DTYPES):
        factor = max(4, np.dtype(dtype).itemsize)
        requests.append(product_of("tiled", dtype, *tiles[factor], *lying[i % 4]))
        requests.append(product_of("tiled", dtype, *small[factor], *lying[(i + 1) % 4]))
        if i % 3 == 1:  # bool and all kinds of numbers among them
            requests += [product_of(form, dtype) for form in ("rows", "columns", "merge")]
    tensor = ((2, 4, 64, 32), (2, 2, 32, 32))
    return requests + [
        product_of("tensor", dtype, *tile, *lies)
        for tile, dtype in zip(tensor, ("float16", "bfloat16"), strict=True)
        for lies in lying
    ]


def draw(name: str, dtype: str) -> Request:
    return Request("random", name, (dtype,), (dtype,), (), True, True)


def draws() -> list[Request]:
    """Every draw, into a dtype of each size."""
    floats = [(f"{name}Float", dtype) for name in ("Normal", "Exponential") for dtype in FLOATS[:2]]
    doubles = [(f"{name}Double", "float64") for name in ("Uniform", "Normal", "Exponential")]
    integers = [("SmallRange", dtype) for dtype in ("int8", "uint16", "int32", "uint64")]
    others = [("Words32", "uint32"), ("Words64", "uint64"), ("UniformHalf", "float16")]
    others += [("UniformFloat", "float32"), ("Bernoulli", "bool"), ("LargeRange", "int64")]
    return [draw(*each) for each in (*floats, *doubles, *integers, *others)]


def fused() -> list[Request]:
    """Groups of operations: casts between, values that are stored and that are not, scalars."""
    names = "elementwise:multiply elementwise:add elementwise:tanh copy: elementwise:less where:"
    single, double = "float32", "float64"
    dtypes = (
        *(single, single, single, single, single, single, single, single),
        *(single, double, double, double, "bool", "bool", double, double, double),
    )
    operands = (3, 0, 12, 1, 3, 1, 2, 3, 2, 3, 4, 2, 4, 5, 3, 5, 13, 6, 4, 6, 5, 14, 7)
    values = ((True, False), (False, False), (True, True), (False, False))
    values += ((False, True), (False, False), (False, True), (False, True))

    def lie(flat: bool) -> tuple[bool, ...]:
        flags = [(*value, not flat and value == (True, False), True) for value in values]
        return tuple(flag for each in flags for flag in each)

    return [
        Request("fused", names, dtypes, dtypes, lie(flat), flat, wide, (lanes, 0, 0, *operands))
        for flat, wide, lanes in (
            *((True, False, 2), (True, True, 2), (False, False, 1), (False, True, 1)),
            *((False, False, 2), (False, True, 2)),
        )
    ]


def fused_rows() -> list[Request]:
    """Softmax of rows with a scale for each, in vectors and not, and a sum of squares in chunks."""
    names = (
        "reduction:max elementwise:subtract elementwise:exp reduction:sum elementwise:divide"
        " elementwise:multiply"
    )
    counts = (2, 3, 2, 3, 3, 3)
    operands = ((0, 1), (0, 1, 2), (2, 3), (3, 12, 4), (3, 4, 3), (3, 5, 6))
    flags = (
        *(True, False, False, True, False, False, True, False, False, False, False, True),
        *(False, True, False, True, False, True, True, False, True, False, True, False),
        *(False, True, False, False),
    )
    fields = [field for pair in zip(counts, operands, strict=True) for field in (pair[0], *pair[1])]
    softmax = [
        Request("fused_rows", names, dtypes, dtypes, flags, False, wide, (lanes, 0, 0, *fields))
        for dtype, lanes, wide in (
            ("float32", 4, False),
            ("float32", 1, True),
            ("float16", 8, False),
        )
        for dtypes in [(dtype,) * sum(counts)]
    ]
    flags = (True, False, False, True, False, False, False, True, False, True, True, False)
    dtypes = ("float32", "float64", "float64", "float64", "float64")
    squares = Request(
        *("fused_rows", "elementwise:square reduction:sum", dtypes, dtypes, flags, False, False),
        (2, 1, 0, 2, 0, 1, 3, 1, 12, 2),
    )
    return [*softmax, squares]


def fused_columns() -> list[Request]:
    """A column less its mean, squared: the difference is stored, and there are weights of rows."""
    names = "elementwise:subtract elementwise:square elementwise:multiply reduction:sum"
    dtypes = ("float32",) * 11
    flags = (
        *(True, False, False, True, True, False, False, True, False, True, False, True),
        *(False, False, False, True, True, False, True, False, False, False, False, True),
        *(False, True, False, True),
    )
    operands = (3, 0, 1, 2, 2, 2, 3, 3, 3, 4, 5, 3, 5, 12, 6)
    return [
        Request(
            "fused_columns", names, dtypes, dtypes, flags, False, wide, (lanes, 1, 4, *operands)
        )
        for lanes, wide in ((4, False), (1, False), (4, True))
    ]


def array_kernels() -> list[Request]:
    """Of sorts, searches and runs: every operation, of every kind of dtype that it has."""

    def requests(kind: str, ops: str, dtypes: list[str], wide: bool = False) -> list[Request]:
        return [
            Request(kind, op, (dtype,), (), (), True, wide)
            for op, dtype in product(ops.split(), dtypes)
        ]

    one, wide = ["uint8"], ["float32", "complex128"]
    keys = ["bool", "float16", "int32", "float64", "complex64", "complex128"]
    moved = ["uint8", "uint16", "uint32", "uint64", "complex64", "complex128"]
    return [
        *requests("sort", "lanes", DTYPES),
        *requests("sort", "counts elements places", keys),
        *requests("sort", "counts elements places", wide, wide=True),
        *requests("sort", "scan", one),
        *requests("sort", "scan", one, wide=True),
        *requests("search", "search_sorted contains", DTYPES),
        *requests("search", "reorder", moved),
        *requests("runs", "starts", DTYPES),
        *requests("runs", "flagged", moved),
        *requests("runs", "scan numbers count count_few weigh settle", one),
        *requests("runs", "add_rows", ["float32", "float64"]),
    ]


def everything() -> list[Request]:
    """One request for each text, dtype and template.

    Strided where the template does not matter: its code is short, no vectors.
    """
    rows = [*ROWS.values(), *PARTS.values()]
    elements = [make for row in rows for make in (*served(row), *in_bfloat16(row))]
    choices = [make(dtype) for dtype in DTYPES for make in (fill, where)]
    strided = [replace(request, flat=False) for request in [*elements, *copies(), *choices]]
    return [
        *(*strided, *templates(), *forms(), *standard(), *fused(), *fused_rows(), *fused_columns()),
        *(*array_kernels(), *reductions(), *scans(), *indexing()),
        *(*products_of_matrices(), *draws()),
    ]


SUMS = {name: ("uint64" if name[0] == "u" else "int64") for name in DTYPES[:9]}


def reduction(
    op: str,
    dtype: str,
    loop: str,
    form: int,
    lanes: int = 1,
    of_values: int = 0,
    wide: bool = False,
) -> Request:
    options = (form, lanes, of_values)
    return Request("reduction", op, (dtype, loop), (loop, loop), (), form == 1, wide, options)


def reductions() -> list[Request]:
    """Every ufunc that reduces, sums of every dtype, and every form of the loops on some."""
    kinds = ("bool", "int32", "uint64", "float16", "float64", "complex64")
    truths = [reduction(op, dtype, "bool", 1) for op in ("any", "all") for dtype in kinds]
    sums = [reduction("sum", dtype, SUMS.get(dtype, dtype), 1) for dtype in DTYPES]
    numbers = [
        reduction(op, dtype, dtype, 1)
        for op in ("prod", "max", "min", "nanmax", "nanmin")
        for dtype in kinds
    ]
    rows = [
        reduction(op, dtype, dtype, 1)
        for op in ("add", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor")
        for dtype in ("bool", "int8", "uint64")
        if op != "logical_xor" or dtype == "bool"
    ]
    mixed = (("float32", "float32"), ("int8", "int64"), ("float16", "float16"))
    forms = [
        reduction("sum", dtype, loop, form, lanes, of_values, wide)
        for dtype, loop in mixed
        for form in range(3)
        for lanes, of_values, wide in ((4, 0, False), (1, 0, True), (1, 1, False))
    ]
    return [*truths, *sums, *numbers, *rows, *forms, *searches()]


def searches() -> list[Request]:
    best = [
        Request("arg_reduce", op, (dtype, "int64"), (dtype, "int64"), (), False, wide, options)
        for op, wide, options in (("largest", False, (0, 1, 0)), ("smallest", True, (2, 1, 1)))
        for dtype in DTYPES
    ]
    loop, options = ("int64", "int64"), (1, 1, 0)
    counts = [
        Request("count", "", (dtype, "int64"), loop, (), True, False, options) for dtype in DTYPES
    ]
    return [*best, *counts]


def scans() -> list[Request]:
    """Every operation on one dtype and sums of all, in every form."""
    ufuncs = ("multiply", "maximum", "minimum", "fmax", "fmin", "logical_or", "subtract", "divide")
    given = [(name, "float32") for name in ufuncs] + [("add", dtype) for dtype in DTYPES]
    return [
        Request("scan", op, (dtype, dtype), (dtype, dtype), (), False, wide, (form, 1, 0))
        for op, dtype in given
        for form, wide in ((0, False), (1, True))
    ]
