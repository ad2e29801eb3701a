"""What a program found where it was traced, and whether it is still there."""

from dataclasses import dataclass
from typing import Any, Literal

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.graph.jit.steps import MISSING, Call, Step

PLAIN = 0  # what _C.sort_of() returns of a value that leads to no tensor


@dataclass(frozen=True)
class Watch:
    """What was somewhere, and the steps that lead there from a call.

    "same"      this object
    "function"  this one, or an object, held weakly; a method that is made anew is the same one
    "sort"      a plain value or nothing, a tensor, or an object that leads to one or to a function
    "contents"  a container, with items of these sorts
    """

    text: str
    steps: tuple[Step, ...]
    what: Literal["same", "function", "sort", "contents"]
    x: Any
    is_captured: bool = False
    noun: str = "function"  # what is held weakly

    def is_there(self, call: Call) -> bool:
        """Return whether the steps still lead to the same."""
        found: Any = call
        last = len(self.steps) - 1
        for place, step in enumerate(self.steps):
            found = step(found)
            if found is MISSING:
                return place == last and self.what == "sort" and self.x == PLAIN
        return _C.is_as_seen(self.what, self.x, found)

    def change(self) -> str:
        """Return what is said where it is not there any more."""
        if self.what == "contents":
            return "has other items"
        if self.is_captured:
            return f"is another {'tensor' if isinstance(self.x, Tensor) else 'generator'}"
        if self.what == "function":
            return f"is another {self.noun}"
        return "is of another kind"
