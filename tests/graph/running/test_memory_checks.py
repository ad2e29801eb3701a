"""That memories lie apart is checked in a time in proportion to their number."""

import sys
from typing import Any

import oneflow_lite as flow
from oneflow_lite.graph import plain_run, spec, trace


def test_checks_of_memory_take_a_time_in_proportion_to_the_arguments() -> None:
    def calls_for(count: int) -> int:
        def write(*given: Any) -> None:
            for x in given:
                x += 1

        main = trace(write, *[spec(2) for _ in range(count)]).program.main
        given = [flow.zeros(2) for _ in range(count)]
        calls = 0

        def count_calls(frame: Any, event: str, argument: Any) -> None:
            nonlocal calls
            calls += event in ("call", "c_call")

        sys.setprofile(count_calls)
        try:
            plain_run.run(main, given)
        finally:
            sys.setprofile(None)
        assert all(x.tolist() == [1.0, 1.0] for x in given)
        return calls

    assert calls_for(400) < 5 * calls_for(100)
