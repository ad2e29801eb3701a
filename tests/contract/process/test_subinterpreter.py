"""A subinterpreter gets an ImportError: the machine is one for the process."""

from collections.abc import Callable
from typing import Any

import pytest


@pytest.mark.parametrize("imported", ["", "import oneflow_lite"])
def test_a_subinterpreter_gets_an_import_error(
    run_program: Callable[..., Any], imported: str
) -> None:
    pytest.importorskip("_testcapi")
    code = f"""
{imported}
import _testcapi
_testcapi.run_in_subinterp('''
try:
    import oneflow_lite
except ImportError as error:
    print(error)
''')
"""
    done = run_program(code, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert "cannot be imported in a subinterpreter" in done.stdout
