"""Variables of types: wrappers have the parameters and the result of the function."""

from typing import ParamSpec, TypeVar

P = ParamSpec("P")
Q = ParamSpec("Q")  # of a method, without self
R = TypeVar("R")
