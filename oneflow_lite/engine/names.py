"""The names of functions that are pushed, for errors and traces."""

__all__: list[str] = []


def label(op: str, fn: object, name: str | None = None, default: str | None = None) -> str:
    """Return the name that was given, or the function's own, or the default, or its type's.

    Raises
    ------
    TypeError
        The name that was given is no string.
    """
    if name is not None and not isinstance(name, str):
        raise TypeError(f"[{op}] name: expected a string, got {name!r}")
    own = name or getattr(fn, "__qualname__", None)
    # A proxy answers with an object of its own for any attribute.
    return own if isinstance(own, str) and own else default or type(fn).__name__
