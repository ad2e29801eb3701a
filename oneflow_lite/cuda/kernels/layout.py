"""Constants of the headers that lay out arguments, for the modules that write texts of kernels."""

import re
from pathlib import Path

INCLUDE = Path(__file__).parents[1] / "include"  # headers of the native core: the build copies them


def constants(header: str) -> dict[str, int]:
    """Return the enumerators of a header that are numbers, given or counted from 0 on.

    Examples
    --------
    >>> constants("reduce.h")["kColumns"], constants("fusion.h")["kFusedValues"]
    (2, 12)
    """
    text = (INCLUDE / "ops/cuda/layout" / header).read_text("utf-8")
    found = {}
    for body in re.findall(r"^enum [^{;]*{([^}]*)}", re.sub("//.*", "", text), re.MULTILINE):
        for place, (name, value) in enumerate(re.findall(r"(\w+)(?: = ([^,]+))?", body)):
            if not value or value.strip().isdigit():
                found[name] = int(value or place)
    return found
