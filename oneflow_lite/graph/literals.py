"""Numbers and lists in the text of programs.

Python's own reader takes more than programs write, and warns of some of it: numerals are looked at
before it is asked.
"""

import re
from ast import literal_eval
from collections.abc import Sequence
from math import copysign
from typing import Any

import numpy as np

from oneflow_lite.dtypes import computed_in

_QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")
_WORD = re.compile(r"[\w.]+")
_NUMERAL = re.compile(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][0-9]*)?j?")
_BITS = 63


def literal(number: Any) -> str:
    """Return a number as number_of() reads it: with the signs of zeros and of NaN.

    NumPy's numbers have texts of their own, with the same signs.
    """
    if isinstance(number, complex | np.complexfloating):
        real, imag = literal(number.real), literal(number.imag)
        return f"({real}{'' if imag.startswith('-') else '+'}{imag}j)"
    is_nan = _is_real(number) and number != number
    return "-nan" if is_nan and copysign(1, number) < 0 else repr(number)


def _is_real(number: Any) -> bool:
    if isinstance(number, np.generic):
        return computed_in(number.dtype).kind == "f"
    return isinstance(number, float)


def without_quotes(text: str) -> str:
    """Return the text with spaces in the place of strings, so that all else stays in its place."""
    return _QUOTED.sub(lambda found: " " * len(found[0]), text)


def check_numerals(text: str) -> None:
    """Raise ValueError where a word outside of quotes begins like a number, and is none."""
    for word in _WORD.findall(without_quotes(text)):
        if (word[0].isnumeric() or word[0] == ".") and not _NUMERAL.fullmatch(word):
            raise ValueError(f"expected a number, got {word}")


def number_of(text: str) -> Any:
    """Return a number from its text.

    Raises
    ------
    ValueError
        It is none.
    """
    text = text.strip()
    try:
        if text in ("inf", "-inf", "nan", "-nan"):
            return float(text)
        if "j" in text:
            return complex(text)
        check_numerals(text)
        number = literal_eval(text)
    except (ValueError, SyntaxError):
        number = None
    if not isinstance(number, bool | int | float | complex):
        raise ValueError(f"expected a number, got {text}")
    return number


def integer(number: Any, what: str, bits: int = _BITS) -> int:
    """Return an integer, or that of a text, of so many bits besides the sign.

    Raises
    ------
    ValueError
        It is none, or does not fit; says what was expected.
    """
    if isinstance(number, str) and re.fullmatch(r"-?[0-9]{1,40}", number):
        number = int(number)
    if type(number) is not int or not -(1 << bits) <= number < 1 << bits:
        raise ValueError(f"expected {what}, an integer of {bits + 1} bits, got {number}")
    return number


def fitting(numbers: Sequence[Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return numbers of a text in a dtype, rounded where it has no such fractions.

    Raises
    ------
    ValueError, OverflowError
        One is not of the dtype's kind, or too large for it.
    """
    kind = computed_in(dtype).kind
    for x in numbers:
        is_fit = x in (0, 1) if kind == "b" else kind == "c" or not isinstance(x, complex)
        if not is_fit or (kind in "biu" and not isinstance(x, int)):
            raise ValueError(f"expected a number of {dtype.name}, got {literal(x)}")
    with np.errstate(all="ignore"):
        made = np.array(numbers, computed_in(dtype)).astype(dtype)
        if kind in "biu":
            return made
        given, held = np.array(numbers, complex), made.astype(complex)
    large = np.isfinite(given.real) & ~np.isfinite(held.real)
    large |= np.isfinite(given.imag) & ~np.isfinite(held.imag)
    if large.any():
        number = literal(numbers[int(large.argmax())])
        raise ValueError(f"{number} is out of bounds of {dtype.name}")
    return made


def split(text: str) -> list[str]:
    """Split at the commas that stand in no parentheses, brackets or quotes."""
    parts, depth, start = [], 0, 0
    for i, letter in enumerate(without_quotes(text)):
        if letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        elif letter == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    last = text[start:].strip()
    return [*parts, last] if last else parts
