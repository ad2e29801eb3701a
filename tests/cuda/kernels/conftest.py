"""One simulated device in a process of its own; it is current in the thread of the tests."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from oneflow_lite import _C
from oneflow_lite.cuda import kernels
from tests.support import apart

FOLDER = apart.Folder(
    Path(__file__).parent, ONEFLOW_LITE_CUDA_SIM="devices=1,memory=4GB,lanes=twice"
)
pytest_itemcollected = FOLDER.mark
pytest_runtest_protocol = FOLDER.run
pytest_unconfigure = FOLDER.close


@pytest.fixture(scope="session", autouse=True)
def _every_size_is_compared() -> None:
    """A request of the core states the size of its kernel's argument."""

    def make(*call: Any) -> bytes | None:
        *fields, arch, name = call
        request = kernels.Request(*fields)
        assert request.args_bytes > 0, request
        return kernels.make(request, arch, name)

    _C.set_kernel_maker(make)


@pytest.fixture(scope="session")
def device() -> Any:
    """Kernels are launched on it without the machine."""
    return import_module("tests.support.launching").Device()
