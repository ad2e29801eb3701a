"""docs/api.md is what its generator writes, and every public name says what it does."""

import contextlib
import doctest
import inspect
import itertools
import re
import runpy
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from docs.array_api import CONSTANTS, STANDARD, names
from tests.support import ROOT
from tests.support.machine import Gate

MAKER = runpy.run_path(str(ROOT / "docs/make_api.py"))
PUBLIC: dict[str, Any] = MAKER["public"]()
LOOKS: dict[str, str] = MAKER["LOOKS"]

# These look as the program says, or need what the test below does not give them.
BESIDES = {
    *("linalg.lstsq", "dsplit", "broadcast_shapes", "gradient", "piecewise"),
    *("polyfit", "mask_indices", "real_if_close"),
    *("save", "savez", "savez_compressed", "savetxt"),
    *("printoptions", "set_printoptions", "seterr"),
}


def test_the_page_is_what_the_generator_writes() -> None:
    assert MAKER["TARGET"].read_text(encoding="utf-8") == MAKER["api"](), (
        "run python docs/make_api.py"
    )


def test_every_public_name_stands_there_once() -> None:
    page = MAKER["api"]()
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    rows = rows[: next(i for i, row in enumerate(rows) if row.startswith("| `T`"))]
    first = [row.split("`")[1].split("(")[0] for row in rows]
    also = [name for row in rows if " Also `" in row for name in _also(row)]
    assert sorted([*first, *also]) == sorted(PUBLIC)


def _also(row: str) -> list[str]:
    return row.split(" Also `")[1].split("`.")[0].split("`, `")


def test_the_standard_has_its_place() -> None:
    known = {name for chapter in STANDARD for name in names(chapter)}
    assert known | set(CONSTANTS) <= set(PUBLIC)
    origin = MAKER["origin"]
    assert {name for name in known if origin(name, PUBLIC[name]) != "standard"} == set()


def test_a_name_of_a_new_module_is_an_error() -> None:
    def stray() -> None:
        """Belong nowhere."""

    with pytest.raises(LookupError, match="stray of .* belongs to no chapter"):
        MAKER["title_of"]("stray", stray)


def needs_an_example(value: Any) -> bool:
    """What functions return, and errors, are shown where they come from."""
    if not isinstance(value, type):
        return callable(value)
    kinds = (tuple, Exception, flow.engine.Completion, flow.Device, np.generic)
    kinds += (np.random.BitGenerator,)
    return not issubclass(value, kinds)


def test_every_public_name_is_documented() -> None:
    said = {name: value for name, value in PUBLIC.items() if callable(value)}
    assert [name for name, value in said.items() if not inspect.getdoc(value)] == []
    members = {n: v for n, v in vars(flow.Tensor).items() if not n.startswith("_")}
    assert [name for name, value in members.items() if not inspect.getdoc(value)] == []


def test_every_public_name_has_an_example() -> None:
    said = {name: value for name, value in PUBLIC.items() if needs_an_example(value)}
    said |= {
        name: v for name, v in vars(flow.Tensor).items() if inspect.isfunction(inspect.unwrap(v))
    }
    without = {name for name, value in said.items() if ">>>" not in (inspect.getdoc(value) or "")}
    no_device = {"cuda"}
    assert {name for name in without if not name.startswith("__")} - no_device == set()


# --- what looks


def given(function: Any) -> Iterator[tuple[flow.Tensor, ...]]:
    """Tensors whose values are not there yet, as many as the function needs."""
    try:
        wanted = list(inspect.signature(function).parameters.values())
    except ValueError:  # a native method
        wanted = []
    needed = [p for p in wanted if p.default is p.empty and p.kind <= p.POSITIONAL_OR_KEYWORD]
    count = max(len(needed), 1)
    # A new gate for each choice of many operands: what waits behind one gate is bounded.
    firsts = list(itertools.product(range(5), repeat=count if count > 2 else 0))
    for first in firsts:
        with Gate(4) as gate:
            x = gate.tensor
            pending = (x, flow.reshape(x, (2, 2)), x.astype("int64"), x.astype("bool"), x[0])
            if first:
                yield tuple(pending[i] for i in first)
            else:
                yield from itertools.product(pending, repeat=count)


def looks(function: Any) -> bool:
    """Whether it waits for the values of its operands."""
    with flow.flags(implicit_sync="error"):
        for operands in given(function):
            try:
                function(*operands)
            except (TypeError, ValueError, IndexError, LookupError, AttributeError):
                continue  # not for these operands
            except RuntimeError as error:
                if "not ready" not in str(error):
                    raise
                if "[index]" not in str(error):  # a tensor in the place of Python's integers
                    return True
    return False


FUNCTIONS = {
    name: value
    for name, value in PUBLIC.items()
    if callable(value) and not isinstance(value, type) and name not in BESIDES
    if name.rpartition(".")[0] in ("", "linalg", "fft") and value is not flow.from_dlpack
} | {
    f"Tensor.{name}": value
    for name, value in vars(flow.Tensor).items()
    if callable(value) and not name.startswith("_")
}


@pytest.fixture
def drained() -> Iterator[None]:
    """Some operations fail on these operands; nothing of it is left to later tests."""
    yield
    with contextlib.suppress(ValueError):  # LinAlgError among them
        flow.synchronize()
    flow.synchronize()


@pytest.mark.slow
@pytest.mark.usefixtures("drained")
def test_what_looks_is_marked() -> None:
    marked = {name for name in LOOKS if not name.startswith("random.")}
    assert {name for name, value in FUNCTIONS.items() if looks(value)} == marked - BESIDES


@pytest.mark.usefixtures("drained")
def test_distributions_look_at_their_parameters() -> None:
    others = {"device", "dims", "dtype", "legacy", "length", "seed", "size", "state", "x"}
    for name in MAKER["public_names"]("random"):
        value = getattr(flow.random, name)
        is_marked = f"random.{name}" in LOOKS
        if isinstance(value, type) or name == "choice":
            continue
        parameters = set(inspect.signature(value).parameters)
        assert is_marked == bool(parameters - others), name
        assert not is_marked or looks(value), name


def test_what_looks_only_sometimes() -> None:
    with Gate(8) as gate, flow.flags(implicit_sync="error"):
        cube = flow.reshape(gate.tensor, (2, 2, 2))
        for call in (
            lambda: flow.linalg.lstsq(cube[0], cube[0]),
            lambda: flow.split(cube, 2),
            lambda: flow.dsplit(cube, 2),
            lambda: flow.repeat(cube, 2),
            lambda: flow.quantile(cube, 0.5),
            lambda: flow.pad(cube, 1),
            lambda: flow.random.permutation(cube),
            lambda: flow.random.choice(flow.ravel(cube), 3),
            lambda: flow.random.shuffle(cube),
        ):
            call()
        tall = flow.reshape(gate.tensor, (4, 2))
        for call in (
            lambda: flow.linalg.lstsq(tall, tall),
            lambda: flow.where(cube),
            lambda: flow.dsplit(cube, flow.astype(cube[0, 0], flow.int64)),
            lambda: flow.random.choice(4, p=cube[0, 0]),
        ):
            with pytest.raises(RuntimeError, match="not ready"):
                call()


# --- docs/numpy.md, docs/engine.md


def examples(page: str) -> list[str]:
    """The blocks of Python of a page."""
    text = MAKER["TARGET"].with_name(page).read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


EXAMPLES = [(page, text) for page in ("numpy.md", "engine.md") for text in examples(page)]


@pytest.mark.usefixtures("drained")
@pytest.mark.parametrize(
    ("page", "text"), EXAMPLES, ids=[f"{page} {text[4:30].strip()}" for page, text in EXAMPLES]
)
def test_what_is_said_in_pages(page: str, text: str) -> None:
    globs = {"flow": flow, "np": np, "engine": flow.engine}
    example = doctest.DocTestParser().get_doctest(text, globs, page, None, None)
    report: list[str] = []
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(example, out=report.append)
    assert runner.failures == 0, "".join(report)


@pytest.mark.parametrize("page", ["numpy.md", "engine.md"])
def test_pages_have_examples(page: str) -> None:
    assert len(examples(page)) > 5
