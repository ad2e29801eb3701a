"""``python -m oneflow_lite draw``: pictures of what a script makes."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.graphs.pictures import boxes_of, dot_tokens, root_of

pytestmark = pytest.mark.process

SCRIPT = """
import sys
import oneflow_lite as flow
from beside import FACTOR

step = flow.jit(lambda x: flow.tanh(x) * FACTOR)
for size in map(int, sys.argv[1:]):
    step(flow.ones(size))
    step(flow.ones(size))
print("ran", __name__)
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    (tmp_path / "beside.py").write_text("FACTOR = 3")
    path = tmp_path / "net.py"
    path.write_text(SCRIPT)
    return path


def draw(*arguments: object, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "oneflow_lite", "draw", *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_programs_of_a_script_are_on_one_page(script: Path, tmp_path: Path) -> None:
    done = draw(script, 3, 5, folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "ran __main__" in done.stdout
    assert "net.html: 2 programs" in done.stdout
    boxes = boxes_of(root_of(tmp_path / "net.html"))
    texts = "\n".join(line for box in boxes for line in box.texts)
    assert "f64[3]" in texts
    assert "f64[5]" in texts


@pytest.mark.parametrize("suffix", ["svg", "dot"])
def test_the_file_is_chosen(suffix: str, script: Path, tmp_path: Path) -> None:
    path = tmp_path / f"picture.{suffix}"
    done = draw(script, "-o", path, 3, 5, folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    if suffix == "svg":
        assert len([box for box in boxes_of(root_of(path)) if "op" in box.data]) == 6
    else:
        assert dot_tokens(path.read_text()).count("digraph") == 2


def test_what_cannot_be_drawn_is_said(script: Path, tmp_path: Path) -> None:
    for arguments, message in (
        ([], "usage: python -m oneflow_lite draw"),
        (["nothing.py"], "there is no file 'nothing.py'"),
        ([script, "-o"], "-o: expected a file"),
        ([script, "-o", "p.png"], "expected a file that ends in .html, .svg, .dot, got 'p.png'"),
        ([script, "-o", "no/p.svg"], "there is no folder 'no'"),
        ([script], "made no executable: nothing to draw"),
    ):
        done = draw(*arguments, folder=tmp_path)
        assert done.returncode == 2
        assert message in done.stderr
        assert "Traceback" not in done.stderr


def test_a_script_that_exits_keeps_its_status(tmp_path: Path) -> None:
    path = tmp_path / "exits.py"
    path.write_text("import oneflow_lite as f\nf.jit(lambda x: x + 1)(f.ones(2))\nexit(3)\n")
    done = draw(path, folder=tmp_path)
    assert done.returncode == 3
    assert (tmp_path / "exits.html").exists()
