"""How values of flags are read: from text, or from what a program gives."""

import difflib
import os
import re
from collections.abc import Callable, Mapping
from typing import Any

_TRUE = ("1", "true", "on", "yes")
_FALSE = ("0", "false", "off", "no")

# What the machine's numbers can be.
MAX_INT32 = 2**31 - 1
MAX_INT64 = 2**63 - 1
_MAX_SECONDS = 10**9

# Suffix -> factor. Powers of 1024 are spelled with an i, as the IEC has it.
BYTES = {"": 1.0, "B": 1.0}
BYTES |= {f"{letter}B": 1000.0**i for i, letter in enumerate("kMGT", 1)}
BYTES |= {f"{letter}iB": 1024.0**i for i, letter in enumerate("KMGT", 1)}
BYTES["KB"] = 1000.0
RATES = {f"{unit}/s": factor for unit, factor in BYTES.items() if unit}
COUNT_RATES = {f"{letter}/s": 1000.0**i for i, letter in enumerate(["", "k", "M", "G", "T"])}
SECONDS = {"": 1.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


def quantity(value: object, units: Mapping[str, float]) -> float:
    """A number of at least 0 with one of the units (a bare number is in the base unit)."""
    return float(_quantity(value, units))


def _quantity(value: object, units: Mapping[str, float]) -> int | float:
    """The same; exact for an integer in the base unit."""
    number: int | float
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        number, unit = value if abs(value) < 2**1000 else float("inf"), ""
    else:
        match = re.fullmatch(r"\s*(-?\d+(?:\.\d*)?(?:e[+-]?\d+)?)\s*([A-Za-z/]*)\s*", str(value))
        if match is None or (match[2] and match[2] not in units):
            known = ", ".join(unit for unit in units if unit)
            raise ValueError(f"expected a number with one of the units {known}")
        is_short = match[1].isdecimal() and len(match[1]) < 300  # one that a float can hold
        number, unit = int(match[1]) if is_short else float(match[1]), match[2]
    factor = units[unit] if unit else 1.0
    number = number if factor == 1 else number * factor
    if not 0 <= number < float("inf"):
        raise ValueError("expected a finite number that is not negative")
    return number


def parse_bool(value: object) -> bool:
    """Return a truth, given as a word or as 1 or 0."""
    text = str(value).strip().lower()
    if text not in _TRUE + _FALSE:
        raise ValueError(f"expected one of {', '.join(_TRUE)} or {', '.join(_FALSE)}")
    return text in _TRUE


def parse_choice(choices: tuple[str, ...]) -> Callable[[object], str]:
    """Return a parser of one of several words."""

    def parse(value: object) -> str:
        text = str(value).strip().lower()
        if text not in choices:
            raise ValueError(f"expected one of {', '.join(choices)}")
        return text

    return parse


def parse_int(minimum: int, maximum: int) -> Callable[[object], int]:
    """Return a parser of an integer within limits."""

    def parse(value: object) -> int:
        text = str(value).strip()
        if not text.isdecimal() or not minimum <= int(text) <= maximum:
            raise ValueError(f"expected an integer of at least {minimum} and at most {maximum}")
        return int(text)

    return parse


def parse_bytes(value: object) -> int:
    """Return a number of bytes."""
    amount = _quantity(value, BYTES)
    count = int(amount)
    if amount and not count:
        raise ValueError("expected whole bytes, or 0")
    if count > MAX_INT64:
        raise ValueError(f"expected at most {MAX_INT64} bytes")
    return count


def parse_seconds(value: object) -> float:
    """Return a time in seconds."""
    seconds = quantity(value, SECONDS)
    if seconds > _MAX_SECONDS:
        raise ValueError(f"expected at most {_MAX_SECONDS} seconds")
    return seconds


def parse_path(value: object) -> str:
    """Return the path of a file, as text."""
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def parse_fusion(value: object) -> str:
    """A truth, or always."""
    text = str(value).strip().lower()
    if text not in ("always", *_TRUE, *_FALSE):
        raise ValueError(f"expected always, one of {', '.join(_TRUE)} or {', '.join(_FALSE)}")
    return text if text == "always" else str(int(text in _TRUE))


def parse_core(value: object) -> str:
    """The name of a core type, auto or numpy."""
    text = str(value).strip()
    if not text.isalnum():
        raise ValueError("expected auto, numpy or the name of a core type, such as SkylakeX")
    return text.lower() if text.lower() in ("auto", "numpy") else text


def parse_knobs(
    keys: Mapping[str, tuple[str, Callable[[object], float]]], separator: str
) -> Callable[[object], dict[str, float]]:
    """Return a function that reads ``a=1,b=2`` (or a mapping) to {knob of a device: number}."""

    def parse(value: object) -> dict[str, float]:
        items: list[tuple[str, object]] = []
        if isinstance(value, Mapping):
            items = list(value.items())
        else:
            for part in filter(None, (part.strip() for part in str(value).split(","))):
                key, found, text = part.partition(separator)
                if not found:
                    raise ValueError(f"expected key{separator}value, got {part!r}")
                items.append((key.strip(), text))
        knobs = {}
        for key, item in items:
            if key not in keys:
                raise ValueError(f"unknown key {key!r}{suggest(str(key), keys)}")
            name, parse_one = keys[key]
            try:
                knobs[name] = parse_one(item)
            except ValueError as error:
                raise ValueError(f"{key}{separator}{item}: {error}") from None
        return knobs

    return parse


def suggest(name: str, known: Mapping[str, Any]) -> str:
    """Return the end of a message about an unknown name: the nearest known one, and all."""
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f"; did you mean {close[0]}?" if close else ""
    return f"{hint} (known: {', '.join(known)})"


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
