"""Native paths of functions that have more parameters than their paths know."""

import inspect
from typing import Any

import pytest

import oneflow_lite as flow
from oneflow_lite import _C
from oneflow_lite.ops.paths import native_unless


def test_a_parameter_beside_the_path() -> None:
    """A call that gives it is the function's; others go down the path."""

    def cumsum(x: Any, /, axis: Any = None, dtype: Any = None, *, out: Any = None) -> Any:
        return ("the function", axis, out)

    seen: Any = native_unless(_C.paths.cumsum, "out")(cumsum)
    assert seen(flow.tensor([1, 2])).tolist() == [1, 3]
    assert seen(flow.tensor([1, 2]), 0, out=None) == ("the function", 0, None)
    assert seen(flow.tensor([1, 2]), out=3) == ("the function", None, 3)
    assert inspect.signature(seen).parameters["out"].default is None
    with pytest.raises(TypeError, match="unexpected keyword argument 'other'"):
        seen(flow.tensor([1, 2]), other=3)
    with pytest.raises(TypeError, match=r"\[native_unless\] expected a parameter out among x, to"):
        native_unless(_C.paths.cumsum, "out")(lambda x, *, to=None: x)

    def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
        return (choices, out, mode)

    seen = native_unless(_C.paths.choose, "out")(choose)
    parts = [flow.tensor([1, 2]), flow.tensor([3, 4])]
    for x in (seen(parts[0] - 1, parts), seen(choices=parts, mode="raise", a=parts[0] - 1)):
        assert isinstance(x, flow.Tensor)
        assert x.tolist() == [1, 4]
    assert seen(parts[0], 2, None, "clip") == (2, None, "clip")
    assert seen(parts[0], 2, 3) == (2, 3, "raise")
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        seen(parts[0])
