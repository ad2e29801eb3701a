"""``flow.testing``: NumPy's assertions see the values of tensors."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support import ROOT

PAIRS: list[tuple[str, tuple[Any, ...], tuple[Any, ...]]] = [
    ("assert_allclose", ([1.0, 2.0],), ([1.0, 2.1],)),
    ("assert_array_equal", ([1.0, 2.0],), ([2.0, 1.0],)),
    ("assert_equal", ([1.0, 2.0],), ([1.0, 3.0],)),
    ("assert_almost_equal", ([1.0, 2.0], 7), ([1.0, 2.5], 7)),
    ("assert_array_almost_equal", ([1.0, 2.0],), ([1.0, 2.5],)),
    ("assert_array_less", ([2.0, 3.0],), ([1.0, 3.0],)),
    ("assert_array_almost_equal_nulp", ([1.0, 2.0],), ([1.0, 2.5],)),
    ("assert_array_max_ulp", ([1.0, 2.0],), ([1.0, 2.5],)),
]


@pytest.mark.parametrize(("name", "right", "wrong"), PAIRS)
def test_what_holds_and_what_does_not(
    device: flow.Device, name: str, right: tuple[Any, ...], wrong: tuple[Any, ...]
) -> None:
    x = flow.tensor([1.0, 2.0], device=device)
    ours, theirs = getattr(flow.testing, name), getattr(np.testing, name)
    for (values, *others), holds in ((right, True), (wrong, False)):
        for given in (values, np.array(values), flow.tensor(values, device=device)):
            if holds:
                ours(x, given, *others)
                continue
            with pytest.raises(AssertionError) as said:
                ours(x, given, *others)
            with pytest.raises(AssertionError) as expected:
                theirs(np.array([1.0, 2.0]), np.array(values), *others)
            if isinstance(given, flow.Tensor):
                assert str(said.value) == str(expected.value)


def test_numbers_and_containers(device: flow.Device) -> None:
    x = flow.tensor([1, 2], device=device)
    flow.testing.assert_equal({"a": [x, (x.sum(),)]}, {"a": [np.array([1, 2]), (3,)]})
    flow.testing.assert_approx_equal(x.sum() / 3, 1.0)
    with pytest.raises(AssertionError, match="Items are not equal"):
        flow.testing.assert_equal([x], [x, x])
    with pytest.raises(AssertionError):
        flow.testing.assert_allclose(actual=x, desired=x + 1)
    with flow.testing.assert_raises(ValueError):
        flow.zeros((2, 2)).reshape(3)


def test_it_is_imported_when_it_is_asked_for() -> None:
    code = "import sys, oneflow_lite as flow; assert 'numpy.testing' not in sys.modules"
    code += "; flow.testing"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
