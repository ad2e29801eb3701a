"""One simulated device in a process of its own; it is current in the thread of the tests."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.support import apart

FOLDER = apart.Folder(
    Path(__file__).parent, ONEFLOW_LITE_CUDA_SIM="devices=1,memory=4GB,lanes=twice"
)
pytest_itemcollected = FOLDER.mark
pytest_runtest_protocol = FOLDER.run
pytest_unconfigure = FOLDER.close


@pytest.fixture(scope="session")
def device() -> Any:
    """Kernels are launched on it without the machine."""
    return import_module("tests.support.launching").Device()
