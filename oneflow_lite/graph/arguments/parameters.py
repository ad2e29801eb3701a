"""The parameters of a traced function: how its options, errors and programs name its arguments."""

from collections.abc import Callable, Iterable
from inspect import Parameter, signature
from typing import Any

_BY_NAME = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
_BY_PLACE = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


class Parameters:
    """The parameters of a function, as options name them."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = getattr(function, "__name__", type(function).__name__)
        try:
            found = list(signature(function).parameters.values())
        except (TypeError, ValueError):  # of C, without one
            found = [Parameter("args", Parameter.VAR_POSITIONAL)]
            found.append(Parameter("kwargs", Parameter.VAR_KEYWORD))
        self.places = [x.name for x in found if x.kind in _BY_PLACE]
        self.names = [x.name for x in found if x.kind in _BY_NAME]
        self._takes_places = any(x.kind is Parameter.VAR_POSITIONAL for x in found)
        self._takes_names = any(x.kind is Parameter.VAR_KEYWORD for x in found)

    def chosen(self, option: str, given: Any) -> frozenset[int | str]:
        """Return the positions and names of the parameters that an option names.

        Raises
        ------
        TypeError
            What is given is no name, no position and no sequence of them.
        ValueError
            The function has no such parameter.
        """
        if not isinstance(given, str | int | Iterable):
            raise TypeError(
                f"[jit] {option}: expected names and positions of arguments, got {given!r}"
            )
        wanted = (given,) if isinstance(given, str | int) else tuple(given)
        chosen: set[int | str] = set()
        for x in wanted:
            if isinstance(x, bool) or not isinstance(x, str | int):
                raise TypeError(
                    f"[jit] {option}: expected names and positions of arguments, got {x!r}"
                )
            if isinstance(x, int) and 0 <= x < len(self.places):
                x = self.places[x]
            if isinstance(x, int):
                self._require(option, x, self._takes_places and x >= 0)
                chosen.add(x)
                continue
            self._require(option, x, x in self.places or x in self.names or self._takes_names)
            chosen.add(x)
            if x in self.places:
                chosen.add(self.places.index(x))
        return frozenset(chosen)

    def _require(self, option: str, x: int | str, is_there: bool) -> None:
        if not is_there:
            known = ", ".join(dict.fromkeys((*self.places, *self.names))) or "none"
            raise ValueError(
                f"[jit] {option}: {self.function} has no argument {x!r}; its arguments: {known}"
            )

    def path(self, text: str) -> str:
        """Return a path as users write it: by the name of its parameter."""
        head, _, rest = text.removeprefix("args[").partition("]")
        if text.startswith("args[") and head.isdecimal() and int(head) < len(self.places):
            return self.places[int(head)] + rest
        return text
