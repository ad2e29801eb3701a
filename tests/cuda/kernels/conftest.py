"""One simulated device, asked for by ONEFLOW_LITE_CUDA_SIM, current in this thread."""

import pytest

from tests.support.launching import Device


@pytest.fixture(scope="session")
def device() -> Device:
    return Device()
