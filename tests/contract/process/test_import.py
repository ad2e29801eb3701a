"""What ``import oneflow_lite`` loads, and what it loads at the first use of a name."""

from collections.abc import Callable
from typing import Any

import pytest

Run = Callable[..., Any]

LATER = {  # the name that is used, and what it loads
    "jit": "graph",
    "graph": "graph",
    "sbp": "distributed",
    "random": "random",
}


def succeeds(run_program: Run, code: str) -> str:
    done = run_program(code)
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


def test_what_takes_long_is_loaded_at_its_first_use(run_program: Run) -> None:
    code = f"""
import sys
import oneflow_lite as flow
def loaded(part):
    return f"oneflow_lite.{{part}}" in sys.modules
assert (flow.ones(3) + 1).sum() == 6 and flow.sort([2, 1]).tolist() == [1, 2]
assert not any(map(loaded, {sorted(set(LATER.values()))})) and "numpy.random" not in sys.modules
name = sys.argv[1]
assert name in dir(flow)
first = getattr(flow, name)
assert loaded({LATER}[name]) and getattr(flow, name) is first and vars(flow)[name] is first
"""
    for name in LATER:
        done = run_program(code, name)
        assert done.returncode == 0, done.stderr


def test_all_names_are_imported_by_a_star(run_program: Run) -> None:
    code = """
from oneflow_lite import *
import oneflow_lite as flow
names = {name for name in dir(flow) if not name.startswith("_")}
assert names == set(flow.__all__) and names <= set(globals())
assert jit(lambda x: x + 1)(ones(2)).tolist() == [2, 2] and random is flow.random
"""
    succeeds(run_program, code)


@pytest.mark.parametrize("name", ["jit", "distributed"])
def test_several_threads_use_a_name_at_once(run_program: Run, name: str) -> None:
    code = f"""
import threading
import oneflow_lite as flow
start, found = threading.Barrier(8), []
def use():
    start.wait()
    found.append(flow.{name})
threads = [threading.Thread(target=use) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert len(found) == 8 and len(set(map(id, found))) == 1
"""
    succeeds(run_program, code)


def test_a_placement_that_is_none_is_refused_before_anything_of_many_ranks(
    run_program: Run,
) -> None:
    code = """
import oneflow_lite as flow
try:
    flow.zeros(3, placement=5)
except TypeError as error:
    print(error)
"""
    assert succeeds(run_program, code) == "[zeros] placement: expected one, got int\n"


def test_the_docstring_of_an_operation_is_made_once(run_program: Run) -> None:
    code = """
import oneflow_lite as flow
assert isinstance(flow.Op.__doc__, str) and flow.exp.__doc__ is flow.exp.__doc__
assert flow.exp.__doc__.startswith("exp(x, /, out=None") and "flow.exp(" in flow.exp.__doc__
flow.exp.__doc__ = "another"
assert flow.exp.__doc__ == "another"
"""
    succeeds(run_program, code)
