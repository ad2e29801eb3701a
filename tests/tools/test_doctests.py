"""Every example in a public docstring says what happens."""

import doctest
import inspect
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.graph.passes import alter_layout, device_rules

REGISTRIES = (alter_layout, device_rules)


def is_numpys(value: Any) -> bool:
    return str(getattr(value, "__module__", "")).partition(".")[0] == "numpy"


def documented() -> dict[str, Any]:
    """The public objects by name: of the namespace, its modules, and the methods of its classes."""
    found: dict[str, Any] = {"oneflow_lite": flow}
    spaces = (
        flow.fft,
        flow.linalg,
        flow.random,
        flow.vm,
        flow.engine,
        flow.profiler,
        flow.interchange,
        flow.distributed,
        flow.distributed.sbp,
    )
    for space in (flow, *spaces, flow.graph.analyses, flow.graph.passes):
        names = getattr(space, "__all__", dir(space))
        for name in names:
            value = getattr(space, name)
            is_own = not isinstance(value, ModuleType) and not is_numpys(value)
            if not name.startswith("_") and is_own:
                found[f"{space.__name__}.{name}"] = value
                if inspect.isclass(value):
                    for method, function in vars(value).items():
                        found[f"{space.__name__}.{name}.{method}"] = function
    found["flow.flags"] = type(flow.flags)
    return found


EXAMPLES = [
    example
    for name, value in sorted(documented().items())
    if isinstance(text := getattr(value, "__doc__", None), str)
    for example in [doctest.DocTestParser().get_doctest(text, {}, name, None, None)]
    if example.examples
]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.name)
def test_example(example: doctest.DocTest, monkeypatch: pytest.MonkeyPatch) -> None:
    example.globs = {"flow": flow, "np": np}
    report: list[str] = []
    for registry in REGISTRIES:  # what an example registers is for it alone
        monkeypatch.setattr(registry, "_RULES", {k: [*x] for k, x in registry._RULES.items()})
    runner = doctest.DocTestRunner(verbose=False)
    with np.errstate(all="ignore"):
        runner.run(example, out=report.append)
    assert runner.failures == 0, "".join(report)


def test_there_are_examples_to_run() -> None:
    assert len(EXAMPLES) > 100


@pytest.mark.parametrize("name", [n for n in dir(flow) if isinstance(getattr(flow, n), flow.Op)])
def test_every_op_has_an_example(name: str) -> None:
    assert ">>>" in getattr(flow, name).__doc__


def test_every_public_function_is_documented() -> None:
    missing = [
        name
        for name, value in documented().items()
        if callable(value) and not name.rpartition(".")[2].startswith("_") and not value.__doc__
    ]
    assert missing == []
