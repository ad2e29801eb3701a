"""What takes one element, or gives one, does so as NumPy's arrays and scalars do."""

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow

ERRORS = (TypeError, ValueError, IndexError, OverflowError)


def kind_of_error(call: Callable[[], Any]) -> tuple[Any, type[Exception] | None]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return call(), None
    except ERRORS as error:
        return None, next(kind for kind in ERRORS if isinstance(error, kind))


@pytest.mark.parametrize("shape", [(), (1,), (2,), (2, 3), (1, 1), (0,), (2, 0)], ids=str)
def test_item_counts_in_row_major_order(shape: tuple[int, ...], device: flow.Device) -> None:
    array = np.arange(math.prod(shape)).reshape(shape).T
    x = flow.tensor(np.ascontiguousarray(array.T), device=device).T
    single = (0, 1, -1, 5, -6, -7, 6, np.int64(1), np.array(1), True, 1.0, None, "a", [0], ...)
    keys: list[tuple[Any, ...]] = [(), ((),), (slice(None),), (np.ones(1),)]
    keys += [(i,) for i in single]
    keys += [(0, 0), (1, 1), (-1, -2), (2, 0), (0, 3), (0, 0, 0), ((1, 1),), ((0,),)]
    for key in keys:
        expected = kind_of_error(lambda key=key: array.item(*key))
        assert kind_of_error(lambda key=key: x.item(*key)) == expected, key


@pytest.mark.parametrize("convert", [int, float, complex, bool, range, [1, 2].__getitem__])
def test_only_0d_tensors_are_numbers(convert: Any, device: flow.Device) -> None:
    for shape in ((), (1,), (1, 1), (2,), (0,)):
        array = np.ones(shape, int)
        value, error = kind_of_error(lambda array=array: convert(array))
        x = flow.tensor(array, device=device)
        assert kind_of_error(lambda x=x: convert(x)) == (value, error), shape
    with pytest.raises(TypeError, match=r"\[int\] expected a 0-d tensor, got shape \(1,\)"):
        int(flow.ones(1, device=device))


KEYS: list[Any] = [0, (0,), (1, 1), (0, ...), ..., (..., 0, 0), (), slice(1), (0, slice(1)), None]


@pytest.mark.parametrize("dtype", ["bool", "int8", "float32", "complex128"])
@pytest.mark.parametrize("shape", [(), (2,), (2, 2)], ids=str)
def test_an_element_is_set_by_a_number(
    shape: tuple[int, ...], dtype: str, device: flow.Device
) -> None:
    values = [5, 1.5, np.float32(2), np.array(3), np.array([3]), np.array([[3]]), [3], (3,), []]
    for key in KEYS:
        for value in (*values, [3, 4], [[3]], range(1)):
            array, x = np.zeros(shape, dtype), flow.zeros(shape, dtype=dtype, device=device)
            expected = kind_of_error(lambda key=key, a=array, v=value: a.__setitem__(key, v))
            forms = [value]
            if isinstance(value, np.ndarray):
                forms.append(flow.tensor(value, device=device))
            for form in forms:
                seen = kind_of_error(lambda key=key, x=x, v=form: x.__setitem__(key, v))
                what = (key, value, expected, seen)
                if expected[1] is IndexError:
                    assert seen[1] is IndexError, what
                elif isinstance(value, (list, tuple, range)) and np.ndim(value) > array[key].ndim:
                    broadcasts = isinstance(array[key], np.ndarray)  # leading sizes of 1, here
                    assert broadcasts or seen == expected, what
                elif dtype != "bool" and form is not value and value.ndim and not array[key].ndim:
                    broadcasts = isinstance(array[key], np.ndarray)
                    assert broadcasts or seen[1] is ValueError, what
                else:
                    assert seen == expected, what
                    assert x.numpy().tobytes() == array.tobytes(), what


@pytest.mark.parametrize("dtype", ["bool", "int8", "float32", "complex128"])
def test_fill_takes_a_number(dtype: str, device: flow.Device) -> None:
    numbers = [5, 300, 1.5, True, np.float64(2.5), np.int64(300), np.array(2.5)]
    for value in (*numbers, [1], (1,), [], np.array([1]), np.array([1, 2]), "a"):
        array, x = np.zeros(3, dtype), flow.zeros(3, dtype=dtype, device=device)
        expected = kind_of_error(lambda a=array, v=value: a.fill(v))
        assert kind_of_error(lambda x=x, v=value: x.fill(v)) == expected, value
        assert x.numpy().tobytes() == array.tobytes(), value
        if isinstance(value, np.ndarray):
            x, t = flow.zeros(3, dtype=dtype, device=device), flow.tensor(value, device=device)
            if value.ndim:
                assert kind_of_error(lambda x=x, t=t: x.fill(t))[1] is ValueError
                continue
            x.fill(t)
            assert x.numpy().tobytes() == array.tobytes(), value
