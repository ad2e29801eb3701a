"""What the typed programs call legal runs, too; mypy checks that it is legal, and the rest not."""

from collections.abc import Callable

import pytest

from tests.support import ROOT
from tests.support.typed import calls, parts, tensors

LEGAL: list[Callable[[], None]] = [
    function
    for module in (tensors, parts, calls)
    for name, function in vars(module).items()
    if name.startswith("legal_")
]


@pytest.mark.parametrize("program", LEGAL, ids=lambda program: program.__name__)
def test_legal_programs_run(program: Callable[[], None]) -> None:
    program()


def test_mypy_checks_them() -> None:
    settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert 'files = ["oneflow_lite", "tests/support/typed"]\nstrict = true' in settings
