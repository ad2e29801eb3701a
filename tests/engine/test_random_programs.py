"""Random programs of functions that are pushed give what their serial runs give, in all modes.

``OFL_TEST_PROGRAMS=10000`` runs more of them. The command line says more:
``python -m tests.support.engine --help``.
"""

import os
import subprocess
from collections.abc import Callable

import pytest

from tests.support.engine.__main__ import MODES
from tests.support.engine.generator import program
from tests.support.engine.program import FLAVOURS
from tests.support.engine.tensors import OPERATIONS

PROGRAMS = int(os.environ.get("OFL_TEST_PROGRAMS", "400"))
CODE = "import runpy; runpy.run_module('tests.support.engine', run_name='__main__')"

RunProgram = Callable[..., subprocess.CompletedProcess[str]]


@pytest.mark.parametrize("mode", MODES)
def test_programs_equal_their_serial_runs(run_program: RunProgram, mode: str) -> None:
    done = run_program(CODE, "--mode", mode, "--programs", "40")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.simulated
def test_programs_on_a_gpu(run_program: RunProgram, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OFL_TEST_DEVICES", "cuda:0,cuda:1")
    done = run_program(CODE, "--programs", "60", cuda_sim="devices=2,jitter=100us")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_many_programs(run_program: RunProgram, mode: str) -> None:
    arguments = ["--mode", mode, "--seed", "1000", "--programs", str(PROGRAMS)]
    done = run_program(CODE, *arguments, timeout=300 + PROGRAMS)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("threads", ["1", "2", "5"])
def test_threads_of_the_environment(run_program: RunProgram, threads: str) -> None:
    """Long programs."""
    arguments = ["--mode", "default", "--seed", "2000", "--functions", "200"]
    arguments += ["--programs", str(-(-PROGRAMS // 10))]
    done = run_program(CODE, *arguments, timeout=300 + PROGRAMS, engine_threads=threads)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("broken", ["reads", "writes"])
def test_what_is_not_declared_is_found(run_program: RunProgram, broken: str) -> None:
    done = run_program(CODE, "--mode", "five", "--programs", "1000", "--broken", broken)
    assert done.returncode == 1, done.stdout + done.stderr
    for words in ("FAILED: python -m tests.support.engine --seed", "expected", "thread 0\n"):
        assert words in done.stdout


@pytest.mark.slow
def test_one_that_does_not_end_is_reported(run_program: RunProgram) -> None:
    arguments = ["--mode", "default", "--programs", "1000", "--broken", "ends", "--timeout", "1"]
    done = run_program(CODE, *arguments)
    assert done.returncode == 3, done.stdout + done.stderr
    for words in ("DOES NOT END: python -m", "thread 0\n", "not completed", "most recent call"):
        assert words in done.stdout


def test_a_seed_gives_one_program() -> None:
    assert program(3) == program(3)
    assert str(program(3)) == str(program(3))
    assert program(3) != program(4)


def test_programs_do_what_they_are_for() -> None:
    programs = [program(seed) for seed in range(300)]
    steps = [step for one in programs for _, step in one.steps()]
    functions = [step.function for step in steps if step.function]
    kinds = {step.kind for step in steps}
    assert {"push", "hold", "make", "again", "tensor", "delete", "renew", "clear"} <= kinds
    assert {"cancel", "result", "wait", "wait_all", "look"} <= kinds
    assert {each.flavour for each in functions} == set(FLAVOURS)
    assert {each.fails for each in functions if each.fails} == {
        way for row in FLAVOURS.values() for way in row.fails
    }
    assert {step.how for step in steps if step.kind == "tensor"} == set(OPERATIONS)
    assert {len(one.threads) for one in programs} >= {1, 2, 8}
    assert any(len(each.inner) > 1 for each in functions)
    assert {each.blocking for each in functions} == {False, True}
    assert {each.priority for each in functions} == set(range(-5, 6))
