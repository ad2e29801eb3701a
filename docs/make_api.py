"""Writes docs/api.md from the namespace: ``python docs/make_api.py``. A test keeps it current."""

import functools
import inspect
import operator
import runpy
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import oneflow_lite as flow
from oneflow_lite.ops.creation.scalar_types import ScalarType

TARGET = Path(__file__).parent / "api.md"
# What the array API standard has.
STANDARD = runpy.run_path(str(Path(__file__).with_name("array_api.py")))

HEADER = """# The public names

Written by `python docs/make_api.py`; do not edit. `help(flow.sum)` says more of each, with an
example.

`import oneflow_lite as flow`. Every public name stands here once; other names of the same object
stand beside its first. The chapters are those of the array API standard, then those of functions
that only NumPy has. *Of* says where a name comes from: `standard` is the array API standard
(2025.12, which has the names of the versions before it), `NumPy` has the others too, and what
neither has is `own`. How results differ from NumPy's is in [numpy.md](numpy.md).

Calls return at once. What has to see a value before it can return is marked *looks*: it waits for
the tensors that it was given, and `ONEFLOW_LITE_IMPLICIT_SYNC=error` forbids it. A tensor where
Python's integers are wanted (a shape, an axis) looks wherever it is given. `synchronize` and
`engine.wait` wait because that is what they are for: they are neither marked nor forbidden.
"""

_CENTRE, _OTHERS = "Tensors, devices, flags", "Files and other libraries"
_NUMPYS = "NumPy: its own objects"
# Module -> title of its names. Those of ops are in the chapter that its path says.
TITLES = {
    **dict.fromkeys(("", "_C", "device", "flags"), _CENTRE),
    "dtypes": "Data types",
    **dict.fromkeys(("linalg.fitting", "linalg.polynomials"), "NumPy: polynomials"),
    "vm": "`flow.vm`",
    "distributed.placement": _CENTRE,
    **dict.fromkeys(
        ("engine", "engine.completion", "engine.functions", "engine.variables"), "`flow.engine`"
    ),
    **dict.fromkeys(
        ("graph.jit.function", "graph.gradients.functions", "graph.gradients.pulling"), _CENTRE
    ),
    **dict.fromkeys(
        ("interop.dlpack", "interop.files", "interop.pickling"), "Files and other libraries"
    ),
}
_OWN_CHAPTER = (
    "linalg",
    "fft",
    "random",
    "lib.stride_tricks",
    "testing",
    "vm",
    "engine",
    "cuda",
    "profiler",
    "sbp",
)
ORIGINS = ("standard", "NumPy", "own")
SPACES = (*_OWN_CHAPTER, "interchange")

_COUNT = "how many there are depends on the values"
_ANSWER = "the answer is a `bool` of Python"
_NUMBER = "where a number is given as a tensor"
_PARTS = "where the parts are given as a tensor"
# What has to see a value before it can return, and why.
LOOKS = {
    **dict.fromkeys(("argwhere", "compress", "extract", "flatnonzero", "nonzero"), _COUNT),
    **dict.fromkeys(("intersect1d", "setdiff1d", "union1d", "unique"), _COUNT),
    **dict.fromkeys(("unique_all", "unique_counts", "unique_inverse", "unique_values"), _COUNT),
    **dict.fromkeys(("allclose", "array_equal", "array_equiv"), _ANSWER),
    **dict.fromkeys(("array_split", "dsplit", "hsplit", "split", "vsplit"), _PARTS),
    **dict.fromkeys(("arange", "geomspace", "linspace", "logspace"), _NUMBER),
    **dict.fromkeys(("array2string", "array_repr", "array_str"), "it returns the values as text"),
    "frombuffer": "where the buffer is a tensor",
    "fromiter": "at tensors that the iterator gives",
    "min_scalar_type": "at a tensor without dimensions",
    "bincount": "the greatest value decides the length, and a negative one is an error",
    "digitize": "bins have to be sorted",
    "apply_over_axes": "where the axes are given as a tensor",
    "asarray_chkfinite": "NaN and infinities are an error",
    "mask_indices": _COUNT,
    "real_if_close": "the values of complex numbers decide whether the result is real",
    "trim_zeros": "how many zeros there are depends on the values",
    **dict.fromkeys(("bartlett", "blackman", "hamming", "hanning", "kaiser"), _NUMBER),
    **dict.fromkeys(
        ("histogram", "histogram2d", "histogram_bin_edges", "histogramdd"),
        "the least and the greatest value decide the edges",
    ),
    "linalg.lstsq": "where there are more rows than columns: the rank decides whether there are "
    "residuals",
    **dict.fromkeys(("nanargmax", "nanargmin"), "a lane of NaN only is an error"),
    **dict.fromkeys(
        ("nanpercentile", "nanquantile"), "where q is given as a tensor, or weights are"
    ),
    "setxor1d": _COUNT,
    **dict.fromkeys(("argpartition", "partition"), "where kth is given as a tensor"),
    **dict.fromkeys(("delete", "insert"), "where the places are given as a tensor"),
    "poly": "of complex roots and of a matrix: the values decide whether the result is real",
    "polyfit": "as `linalg.lstsq`",
    "polydiv": "zeros in front of the remainder are left out",
    "polymul": "zeros in front count for nothing",
    "roots": "zeros in front count for nothing, and the values decide whether the result is real",
    "Tensor.as_integer_ratio": "it returns numbers",
    "Tensor.tobytes": "it returns the values",
    "Tensor.tofile": "it writes the values",
    "Tensor.compress": _COUNT,
    **dict.fromkeys(("Tensor.argpartition", "Tensor.partition"), "where kth is a tensor"),
    "ix_": "where a mask is given as a tensor",
    "piecewise": "how many elements a function is given depends on the values",
    "gradient": "where coordinates are given as a tensor",
    "pad": "where widths or values are given as a tensor",
    "percentile": "where q is given as a tensor, or weights are",
    "quantile": "where q is given as a tensor, or weights are",
    "roll": "where the shift is given as a tensor",
    "repeat": "where the repeats are given as a tensor",
    "save": "it writes the values",
    "savetxt": "it writes the values",
    "savez": "it writes the values",
    "savez_compressed": "it writes the values",
    "where": f"with one argument: {_COUNT}",
    "Tensor.item": "it returns a number of Python",
    "Tensor.nonzero": _COUNT,
    "Tensor.numpy": "it returns an array",
    "Tensor.repeat": "where the repeats are given as a tensor",
    "Tensor.tolist": "it returns numbers of Python",
}
# Of flow.random: NumPy draws on the host, and takes these parameters as arrays.
_DISTRIBUTIONS = (
    *("beta", "binomial", "chisquare", "dirichlet", "exponential", "f", "gamma", "geometric"),
    *("gumbel", "hypergeometric", "laplace", "logistic", "lognormal", "logseries"),
    *("multinomial", "multivariate_normal", "negative_binomial", "noncentral_chisquare"),
    *("noncentral_f", "normal", "pareto", "poisson", "power", "randint", "rayleigh"),
    *(
        "standard_gamma",
        "standard_t",
        "triangular",
        "uniform",
        "vonmises",
        "wald",
        "weibull",
        "zipf",
    ),
)
LOOKS |= {f"random.{name}": "where a parameter is a tensor" for name in _DISTRIBUTIONS}
LOOKS["random.choice"] = "where p is given as a tensor"
_INSPECTION = ("__array_api_version__", "__array_namespace_info__", "__version__")


def module_of(space: str) -> Any:
    """Return the package (for "") or one of its modules."""
    return operator.attrgetter(space)(flow) if space else flow


def public_names(space: str) -> list[str]:
    """Return the public names of the package (for "") or of one of its modules, sorted."""
    module = module_of(space)
    names = getattr(module, "__all__", dir(module))
    found = [name for name in names if not name.startswith("_") or name in _INSPECTION]
    return sorted(n for n in found if not isinstance(getattr(module, n), ModuleType))


@functools.cache
def public() -> dict[str, Any]:
    """Return what every public name stands for, without the members of Tensor."""
    found = {name: getattr(flow, name) for name in (*public_names(""), *_INSPECTION)}
    for space in SPACES:
        module = module_of(space)
        found |= {f"{space}.{name}": getattr(module, name) for name in public_names(space)}
    return found


@functools.cache
def grouped() -> dict[str, list[str]]:
    """Return the other names of each function or class, by its first name."""
    same: dict[int, list[str]] = {}
    for name, value in public().items():
        same.setdefault(id(value) if callable(value) else id(name), []).append(name)
    of_standard = _standard_names()
    groups = {}
    for names in same.values():
        value = public()[names[0]]
        known = [name for name in names if name in of_standard]
        own = [name for name in names if name == getattr(value, "__name__", None)]
        first = (known or own or names)[0]
        groups[first] = [name for name in names if name != first]
    return groups


@functools.cache
def _standard_names() -> dict[str, str]:
    """Return the chapter of each function of the standard."""
    names = STANDARD["names"]
    return {name: chapter for chapter in STANDARD["STANDARD"] for name in names(chapter)}


def title_of(name: str, value: Any) -> str:
    """Return the chapter of a public name."""
    space = name.rpartition(".")[0]
    if space in _OWN_CHAPTER:
        return f"`flow.{space}`"
    if name in STANDARD["CONSTANTS"] or isinstance(value, float):
        return "Constants"
    if name in _INSPECTION:
        return "Inspection"
    if name in _standard_names():
        return _standard_names()[name].capitalize()
    if isinstance(value, ScalarType):
        module = "dtypes"
    elif isinstance(value, flow.Op):
        module = "ops.elementwise"
    elif value.__module__.partition(".")[0] == "numpy":
        return _NUMPYS
    else:
        module = value.__module__.removeprefix("oneflow_lite").removeprefix(".")
    title = TITLES.get(module) or _title_of_ops(module)
    if title not in titles():
        raise LookupError(f"{name} of {module} belongs to no chapter: docs/make_api.py wants one")
    return title


def _title_of_ops(module: str) -> str:
    """Return the chapter of a module of ops: a folder or a file of that name."""
    layer, *rooms = module.replace("_", " ").split(".")
    if layer != "ops":
        return ""
    return f"NumPy: {rooms[1]}" if rooms[0] == "numpy" else rooms[0].capitalize()


@functools.cache
def titles() -> tuple[str, ...]:
    """Return the titles, in their order: the standard's chapters, NumPy's, and our own."""
    standard = [chapter.capitalize() for chapter in STANDARD["STANDARD"]]
    files = sorted(Path(flow.__path__[0], "ops", "numpy").glob("[a-z]*"))
    return (
        "Constants",
        *(title for title in standard if title.lower() not in STANDARD["EXTENSIONS"]),
        *(_title_of_ops(f"ops.numpy.{file.stem}") for file in files),
        _NUMPYS,
        "Convolution",
        "Inspection",
        *(f"`flow.{space}`" for space in _OWN_CHAPTER[:5]),
        *(_CENTRE, _OTHERS),
        *(f"`flow.{space}`" for space in _OWN_CHAPTER[5:]),
    )


def origin(name: str, value: Any) -> str:
    """Return where a name comes from."""
    numbers = STANDARD["CONSTANTS"] + _INSPECTION[:2]
    if name in _standard_names() or name in numbers:
        return "standard"
    if isinstance(value, ScalarType) and value.name == name != "float16":
        return "standard"
    space, _, last = name.rpartition(".")
    roots: dict[str, list[Any]] = {
        "": [np],
        "random": [np.random],
        "linalg": [np.linalg],
        "lib.stride_tricks": [np.lib.stride_tricks],
    }
    known = any(hasattr(root, last) for root in roots.get(space, [getattr(np, space, None)]))
    return "NumPy" if known and name != "__version__" else "own"


def summary(value: Any) -> str:
    """Return the first sentences of a docstring, without a signature line."""
    paragraphs = inspect.cleandoc(value.__doc__ or "").split("\n\n")
    has_signature = isinstance(value, flow.Op) and not value.__doc__.startswith("A row")
    first = paragraphs[1] if has_signature else paragraphs[0]
    return " ".join(first.split()).replace("``", "`").replace("|", "\\|")


def signature(name: str, value: Any, bound: int = 0) -> str:
    """Return ``name(parameters)``, without annotations; ``bound`` leading ones are left out.

    A class has its name only.
    """
    if isinstance(value, type):
        return name
    given = inspect.signature(value)
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in given.parameters.values()]
    if isinstance(value, flow.Op):  # the table's text names the others
        bare = [p for p in bare if p.kind is not p.KEYWORD_ONLY]
    text = str(given.replace(parameters=bare[bound:], return_annotation=inspect.Signature.empty))
    return name + text.replace("<class 'numpy.int64'>", "int64")


def described(name: str, value: Any) -> str:
    """Return what a name does, its aliases, and why it looks."""
    text = value if isinstance(value, str) else summary(value)
    if not text.endswith((".", ":", ")")):
        text += "."
    also = grouped().get(name, [])
    if also:
        text += f" Also `{'`, `'.join(also)}`."
    return text + (f" *Looks*: {LOOKS[name]}." if name in LOOKS else "")


_PLAIN = {
    "__array_api_version__": "The version of the standard that the flag `array_api` announces",
    "__version__": "The version of this package",
    "e": "Euler's number",
    "c_": "Joins what is between brackets as columns: `flow.c_[x, y]`",
    "dtype": "The class of dtypes",
    "euler_gamma": "Euler's constant: what the harmonic numbers less the logarithm go to",
    "errstate": "How NumPy treats errors of floats, in a `with` block; tensors have none",
    "flags": "The flags, as attributes; `with flow.flags(sync=True):` sets them for a while",
    "index_exp": "What is between brackets, as a tuple: `flow.index_exp[1:, 2]`",
    "inf": "Positive infinity",
    "mgrid": "The coordinates of slices, as one tensor: `flow.mgrid[:2, :3]`",
    "nan": "Not a number",
    "newaxis": "None: in an index, a new dimension",
    "ogrid": "The coordinates of slices, which broadcast to a grid: `flow.ogrid[:2, :3]`",
    "pi": "The ratio of a circle's circumference to its diameter",
    "r_": "Joins what is between brackets: `flow.r_[1:4, 0, x]`",
    "s_": "What is between brackets: `flow.s_[1:, 2]`",
    "sbp.broadcast": "Each rank has all of the tensor",
    "sbp.partial_sum": "The sum of what the ranks have is the tensor",
}


def row(name: str, value: Any) -> str:
    """Return one row of a table."""
    said = _PLAIN.get(name, value)
    shown = signature(name, value) if callable(value) and name not in _PLAIN else name
    return f"| `{shown}` | {origin(name, value)} | {described(name, said)} |"


def chapters() -> Iterator[tuple[str, list[str]]]:
    """Yield each title with the rows under it."""
    values = public()
    of = {name: title_of(name, values[name]) for name in grouped()}
    for title in titles():
        names = sorted(name for name in of if of[name] == title)
        ordered = sorted(names, key=lambda name: ORIGINS.index(origin(name, values[name])))
        yield title, [row(name, values[name]) for name in ordered]


def tensor_members() -> Iterator[str]:
    """Yield a row for each method and attribute of Tensor."""
    for name in sorted(vars(flow.Tensor)):
        if not name.startswith("_"):
            value = getattr(flow.Tensor, name)
            shown = signature(name, value, bound=1) if callable(value) else name
            text = described(f"Tensor.{name}", summary(value))
            yield f"| `{shown}` | {text} |"


def specials() -> str:
    """Return the special methods of Tensor, as one paragraph."""
    own = {n: v for n, v in vars(flow.Tensor).items() if v is not getattr(object, n, None)}
    newer = ("__buffer__", "__release_buffer__")  # Python 3.12 shows the buffer protocol by these
    names = sorted(n for n, v in own.items() if n[:2] == "__" and callable(v) and n not in newer)
    return f"Special methods: {', '.join(f'`{name}`' for name in names)}."


ROWS = """\
The functions with `out=None` here take `where=`, `dtype=`, `casting=` and `signature=`, too, as
those of NumPy do; what `where` leaves out of a new result is 0. They have the methods and
attributes of NumPy's ufuncs: `flow.add.reduce`, `accumulate`, `outer`, `at`, `reduceat`, `nin`,
`nout`, `nargs` and `identity`."""


def api() -> str:
    """Return the text of docs/api.md."""
    lines = [HEADER]
    for title, rows in chapters():
        said = [ROWS, ""] if title == "Elementwise" else []
        lines += [
            f"## {title}",
            "",
            *said,
            "| name | of | what it does |",
            "|---|---|---|",
            *rows,
            "",
        ]
    lines += ["## `flow.Tensor`", "", "| name | what it does |", "|---|---|"]
    return "\n".join([*lines, *tensor_members(), "", specials(), ""])


if __name__ == "__main__":
    TARGET.write_text(api(), encoding="utf-8")
