"""How tests run the examples, as a user runs them."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec

import pytest

from tests.support import ROOT

MISSING = [name for name in ("sklearn", "tqdm", "PIL") if find_spec(name) is None]
EXAMPLES = ROOT / "examples"
MARKS = [
    pytest.mark.skipif(MISSING != [], reason=f"the examples need {', '.join(MISSING)}"),
    pytest.mark.slow,
    pytest.mark.process,
    pytest.mark.xdist_group("examples"),  # some share what the naive mode has trained
]


def run(name: str, *arguments: str, **flags: str) -> subprocess.CompletedProcess[str]:
    """Run an example in a fresh Python; keywords are flags (``sync="1"``)."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("ONEFLOW_LITE_")}
    environment |= {f"ONEFLOW_LITE_{flag.upper()}": value for flag, value in flags.items()}
    return subprocess.run(
        [sys.executable, str(EXAMPLES / name), *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def succeed(name: str, *arguments: str, **flags: str) -> str:
    """Run an example that has nothing to complain about; return what it printed."""
    done = run(name, *arguments, **flags)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def number(pattern: str, text: str) -> float:
    found = re.search(pattern, text)
    assert found, f"no {pattern!r} in:\n{text}"
    return float(found[1].replace(",", ""))
