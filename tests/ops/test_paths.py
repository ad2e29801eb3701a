"""Native paths of functions that have more parameters than their paths know."""

import inspect
from typing import Any

import pytest

import oneflow_lite as flow
from oneflow_lite import _C


def test_a_parameter_beside_the_path() -> None:
    """A call that gives it is the function's; others go down the path."""

    def cumsum(x: Any, /, axis: Any = None, dtype: Any = None, *, out: Any = None) -> Any:
        return ("the function", axis, out)

    seen: Any = _C.native(_C.paths.cumsum, "out")(cumsum)
    assert seen(flow.tensor([1, 2])).tolist() == [1, 3]
    assert seen(flow.tensor([1, 2]), 0, out=None) == ("the function", 0, None)
    assert seen(flow.tensor([1, 2]), out=3) == ("the function", None, 3)
    assert inspect.signature(seen).parameters["out"].default is None
    with pytest.raises(TypeError, match="unexpected keyword argument 'other'"):
        seen(flow.tensor([1, 2]), other=3)


def test_a_parameter_between_others() -> None:
    def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
        return (choices, out, mode)

    seen: Any = _C.native(_C.paths.choose, "out")(choose)
    parts = [flow.tensor([1, 2]), flow.tensor([3, 4])]
    for x in (seen(parts[0] - 1, parts), seen(choices=parts, mode="raise", a=parts[0] - 1)):
        assert isinstance(x, flow.Tensor)
        assert x.tolist() == [1, 4]
    assert seen(parts[0], 2, None, "clip") == (2, None, "clip")
    assert seen(parts[0], 2, 3) == (2, 3, "raise")
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        seen(parts[0])


def test_several_parameters_beside_the_path() -> None:
    def empty(
        shape: Any,
        order: str = "C",
        dtype: Any = None,
        *,
        out: Any = 1,
        device: Any = None,
        pin_memory: bool = False,
    ) -> Any:
        return (order, dtype, out)

    seen: Any = _C.native(_C.paths.empty, "order", "out")(empty)
    assert seen((2, 3), dtype="int8", device="mock").dtype == "int8"
    assert seen((2, 3), "C") == ("C", None, 1)
    assert seen((2, 3), "C", "int8") == ("C", "int8", 1)
    assert seen((2, 3), out=4) == ("C", None, 4)


def test_wrong_names() -> None:
    def cumsum(x: Any, /, axis: Any = None, dtype: Any = None, *, to: Any = None) -> Any:
        return x

    with pytest.raises(TypeError, match=r"\[native\] expected a parameter with a default, got out"):
        _C.native(_C.paths.cumsum, "out")(cumsum)
    with pytest.raises(TypeError, match=r"\[native\] expected a parameter with a default, got x"):
        _C.native(_C.paths.cumsum, "x")(cumsum)
    with pytest.raises(TypeError):
        _C.native(_C.paths.cumsum, 3)(cumsum)  # type: ignore[arg-type]
    for wrong in ((), ("out",), (3, "out")):
        with pytest.raises(TypeError, match=r"\[native\] expected a path of _C.paths"):
            _C.native(*wrong)  # type: ignore[arg-type]
