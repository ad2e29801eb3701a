"""A simulated machine with two devices in this process; each test starts with none in use."""

from collections.abc import Iterator

import pytest
from cuda.bindings import driver

import sim
from tests.support.gpu import Gpu, ok

sim.load()
sim.configure("devices=2,memory=16MB")


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    """No fault is left for the next test, and nothing that a device had."""
    ok(driver.cuInit(0))
    yield
    sim.reset_faults()
    sim.configure("jitter=0,launch=0,kernel=0,h2d=0,d2h=0,d2d=0,lanes=random,guess=0")
    sim.configure("foreign=0,module=64KB,pinned=1024GB")
    for index in range(2):
        ok(driver.cuDevicePrimaryCtxReset(index))
    ok(driver.cuCtxSetCurrent(0))
    live = sim.counters()["live"]
    assert not any(live.values()), live


@pytest.fixture
def gpu() -> Gpu:
    return Gpu(0)


@pytest.fixture
def other() -> Gpu:
    """The second device; the first stays current."""
    second = Gpu(1)
    Gpu(0)
    return second
