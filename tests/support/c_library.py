"""Which roundings the C library's functions have: glibc's releases differ."""

import math

# What functions give where their products and sums are fused, as in glibc from 2.39 on and in
# updates of earlier releases. Elsewhere each of these is the number before or after.
OF_FUSED = {
    "log2 float64": {
        "0x1.a9620103e60b3p-1": "-0x1.11cc9747ad9f1p-2",
        "0x1.c7be84dd694c3p-1": "-0x1.57e6295f3399bp-3",
        "0x1.7f6288173c742p+0": "0x1.2a510e8ecad4bp-1",
    },
    "log1p float64": {
        "0x1.1fb04d1bb22f3p-1": "0x1.c89973b0de02bp-2",
        "0x1.8dbcc1f57d286p-2": "0x1.5009fafbae7e4p-2",
        "0x1.ff70ab36bdf4dp-3": "0x1.c88ccf092ee24p-3",
    },
    "expm1 float64": {
        "0x1.12ac62d938506p-2": "0x1.3b0a012b7bee7p-2",
        "0x1.68a48bcd91be6p-2": "0x1.b04fb03e32446p-2",
        "0x1.0f155b1c81a82p+0": "0x1.e21cf3def7587p+0",
    },
}


def is_as_fused(name: str) -> bool:
    """Whether the C library's function of this name and dtype is the fused one, if there are two."""
    function = getattr(math, name.split()[0], None)
    return function is None or all(
        function(float.fromhex(x)) == float.fromhex(y) for x, y in OF_FUSED.get(name, {}).items()
    )
