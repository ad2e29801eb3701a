"""A simulated machine with two devices in a process of its own; a test starts with none in use."""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import sim
from tests.support import apart

FOLDER = apart.Folder(Path(__file__).parent)
pytest_itemcollected = FOLDER.mark
pytest_runtest_protocol = FOLDER.run
pytest_unconfigure = FOLDER.close


@pytest.fixture(scope="session")
def calls() -> Any:
    """The module that calls the driver."""
    sim.load()
    sim.configure("devices=2,memory=16MB")
    return import_module("tests.support.gpu")


@pytest.fixture(autouse=True)
def _fresh(calls: Any) -> Iterator[None]:
    """No fault is left for the next test, and nothing that a device had."""
    driver, ok = calls.driver, calls.ok
    ok(driver.cuInit(0))
    yield
    sim.reset_faults()
    sim.configure("jitter=0,launch=0,kernel=0,h2d=0,d2h=0,d2d=0,lanes=random,guess=1")
    sim.configure("foreign=0,module=64KB,pinned=1024GB")
    for index in range(2):
        ok(driver.cuDevicePrimaryCtxReset(index))
    ok(driver.cuCtxSetCurrent(0))
    live = sim.counters()["live"]
    assert not any(live.values()), live


@pytest.fixture
def gpu(calls: Any) -> Any:
    """The first device, its context current."""
    return calls.Gpu(0)


@pytest.fixture
def other(calls: Any) -> Any:
    """The second device; the first stays current."""
    second = calls.Gpu(1)
    calls.Gpu(0)
    return second
