"""Names that somebody may have meant, for errors."""

import difflib
from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str:
    """Return ``; did you mean x? (there are: x, y)``."""
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"; did you mean {close[0]}?" if close else ""
    return f"{hint} (there are: {', '.join(names) or 'none'})"
