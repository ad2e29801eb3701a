"""Elements of SVG and HTML as text, with everything escaped, and how wide text is."""

import unicodedata
from html import escape

LINE = 15  # from one line of text to the next
_CHARACTER = 67  # tenths of a pixel: of a monospaced font of 11 pixels
_MARGIN = 8


def clean(text: object) -> str:
    """Return a text without what no XML may have, such as control characters and surrogates."""
    return "".join(x if _is_shown(x) else "\N{REPLACEMENT CHARACTER}" for x in str(text))


def _is_shown(character: str) -> bool:
    return unicodedata.category(character) not in ("Cc", "Cs", "Cn", "Co", "Zl", "Zp")


def element(name: str, inside: str = "", **attributes: object) -> str:
    """Return an element; ``inside`` is markup, and ``class_`` is the attribute class."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(clean(value))}"'
        for key, value in attributes.items()
    )
    return f"<{name}{given}>{inside}</{name}>" if inside else f"<{name}{given}/>"


def plain(text: object) -> str:
    """Return a text as it stands between tags."""
    return escape(clean(text))


def label(x: float, y: float, text: object, class_: str = "", **attributes: object) -> str:
    """Return a line of text in a picture; (x, y) is where its base line begins."""
    return element("text", plain(text), x=x, y=y, class_=class_ or "t", **attributes)


def cells(text: str) -> int:
    """Return how many columns a text takes: wide letters of East Asia take two."""
    return sum(2 if unicodedata.east_asian_width(x) in "WF" else 1 for x in text)


def text_width(text: str) -> int:
    """Return how many pixels a text takes at most."""
    return -(-cells(text) * _CHARACTER // 10)


def box_size(lines: tuple[str, ...]) -> tuple[int, int]:
    """Return the width and the height of a box around lines of text."""
    return max(map(text_width, lines), default=0) + 2 * _MARGIN, len(lines) * LINE + 8


def shortened(text: str, most: int) -> str:
    """Return as much of a text as ``most`` columns show."""
    text = clean(text)
    if cells(text) <= most:
        return text
    kept, used = [], 1
    for character in text:
        used += cells(character)
        if used > most:
            break
        kept.append(character)
    return "".join(kept) + "\N{HORIZONTAL ELLIPSIS}"


def fitting(text: str, width: int) -> str:
    """Return as much of a text as a width shows; nothing where that is hardly a word."""
    columns = width * 10 // _CHARACTER
    return shortened(text, columns) if columns >= 2 else ""
