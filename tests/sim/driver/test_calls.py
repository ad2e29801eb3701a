"""What calls cost, and how they are counted."""

import time

import pytest

import sim
from tests.support.gpu import Gpu, driver, ok


def seconds_of(calls: int) -> float:
    begin = time.perf_counter()
    for _ in range(calls):
        ok(driver.cuMemGetInfo())
    return time.perf_counter() - begin


def test_a_call_takes_the_time_that_it_was_given(gpu: Gpu) -> None:
    sim.configure("call=cuMemGetInfo:3ms")
    assert seconds_of(5) >= 15e-3
    sim.configure("call=cuMemGetInfo:0")
    assert min(seconds_of(1) for _ in range(10)) < 3e-3


@pytest.mark.parametrize("bad", ["cuMemGetInfo", "cuMemGetInfo:3", "cuNone:3ms", ":3ms", "3ms"])
def test_a_cost_that_cannot_be_is_refused(bad: str) -> None:
    with pytest.raises(ValueError, match="not a value of this knob"):
        sim.configure(f"call={bad}")


def test_calls_are_counted_by_name(gpu: Gpu) -> None:
    with sim.counted() as outer:
        ok(driver.cuMemGetInfo())
        with sim.counted() as calls:
            ok(driver.cuMemGetInfo())
            ok(driver.cuMemFree(ok(driver.cuMemAlloc(16))))
        driver.cuMemAlloc(0)  # a call that fails is one
    assert calls == {"cuMemGetInfo": 1, "cuMemAlloc": 1, "cuMemFree": 1}
    assert outer == {"cuMemGetInfo": 2, "cuMemAlloc": 2, "cuMemFree": 1}
    assert calls["cuMemcpy"] == 0
