"""Convolutions on a device: kernels of each form, edges of tiles, layouts; nothing leaves it."""

from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support import convolution
from tests.support.convolution import CASES, Case, blocked, fractions, numbers

CUDA = "cuda:0"
EVERY = (
    *CASES,
    Case((3, 70, 20, 20), (130, 70, 3, 3), padding=((1, 1), (1, 1))),  # some large tiles
    Case((1, 3, 30, 31), (40, 3, 5, 4), stride=(3, 2), padding=((2, 4), (0, 3)), dilation=(2, 1)),
)


def there(x: np.ndarray) -> flow.Tensor:
    return flow.tensor(x, device=CUDA)


@pytest.fixture(autouse=True)
def _nothing_through_the_host() -> Any:
    before = set(flow.cuda.host_operations())
    yield
    assert set(flow.cuda.host_operations()) == before


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("case", EVERY, ids=str)
def test_exact_sums(case: Case, dtype: str) -> None:
    x, w, y = (
        numbers(shape, dtype, i) % 3 for i, shape in enumerate((case.x, case.w, case.result))
    )
    seen = flow.conv2d(there(x), there(w), **case.keywords)
    assert str(seen.device) == CUDA
    np.testing.assert_array_equal(seen.numpy(), convolution.conv2d(x, w, case).astype(dtype))
    seen = flow.conv2d_input_gradient(case.x, there(w), there(y), **case.keywords)
    wanted = convolution.input_gradient(w, y, case).astype(dtype)
    np.testing.assert_array_equal(seen.numpy(), wanted)
    seen = flow.conv2d_weight_gradient(there(x), case.w, there(y), **case.keywords)
    wanted = convolution.weight_gradient(x, y, case).astype(dtype)
    np.testing.assert_array_equal(seen.numpy(), wanted)


@pytest.mark.parametrize("case", [case for case in EVERY if case.is_blocked], ids=str)
def test_the_layout_changes_no_bit(case: Case) -> None:
    x, w, y = (fractions(s, "float32", i) for i, s in enumerate((case.x, case.w, case.result)))
    layout = {"data_layout": "NCHW16c"} | case.keywords
    one = flow.conv2d(there(x), there(w), **case.keywords).numpy()
    other = flow.conv2d(there(blocked(x)), there(w), **layout).numpy()
    assert other.tobytes() == blocked(one).tobytes()
    one = flow.conv2d_input_gradient(case.x, there(w), there(y), **case.keywords).numpy()
    shape = blocked(x).shape
    other = flow.conv2d_input_gradient(shape, there(w), there(blocked(y)), **layout).numpy()
    assert other.tobytes() == blocked(one).tobytes()
    one = flow.conv2d_weight_gradient(there(x), case.w, there(y), **case.keywords).numpy()
    other = flow.conv2d_weight_gradient(
        there(blocked(x)), case.w, there(blocked(y)), **layout
    ).numpy()
    assert other.tobytes() == one.tobytes()


def test_layouts() -> None:
    x = fractions((2, 48, 5, 7), "float32", 0)
    made = flow.layout_transform(there(x), "NCHW", "NCHW16c")
    assert made.numpy().tobytes() == blocked(x).tobytes()
    assert flow.layout_transform(made, "NCHW16c", "NCHW").numpy().tobytes() == x.tobytes()


def test_views() -> None:
    x, w = numbers((2, 6, 9, 8), "float32", 0), numbers((5, 6, 3, 3), "float32", 1)
    case = Case((2, 6, 9, 8), (5, 6, 3, 3))
    turned = there(np.ascontiguousarray(x.transpose(3, 1, 0, 2))).permute_dims((2, 1, 3, 0))
    seen = flow.conv2d(turned, flow.flip(there(w[::-1].copy()), axis=0))
    np.testing.assert_array_equal(seen.numpy(), convolution.conv2d(x, w, case))
