"""Casts of floats, integers and truths: NumPy's bits, out of range, too, by each instruction set.

On processors other than x86, NumPy's own values out of range depend on the place in an array, and
on its compiler. There they are those of a single element.
"""

from collections.abc import Callable

import pytest

from oneflow_lite import _C
from tests.support import ON_X86

OF_EACH_SET = """
import warnings
import numpy as np, oneflow_lite as flow
warnings.simplefilter("ignore")
np.seterr(all="ignore")
rng = np.random.default_rng(0)
INTEGERS = "int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()
FLOATS = ["float32", "float64"]
SPECIAL = np.array(
    [np.nan, -np.nan, np.inf, -np.inf, -0.0, -0.5, 1e300, 2.0**31, 2.0**31 - 1, -(2.0**31), -129]
    + [-(2.0**31) - 1, 2.0**32, 2.0**32 - 1, 2.0**63, -(2.0**63), 2.0**64, 127, 128, 255, 65536]
)
for source in FLOATS + INTEGERS:
    for target in INTEGERS + FLOATS if source in FLOATS else FLOATS:
        for n in (*range(20), 31, 33, 63, 65, 1000, 70_001):
            if source in FLOATS:
                x = (rng.normal(size=n) * 10.0 ** rng.integers(-3, 22, n)).astype(source)
                special = SPECIAL[rng.integers(0, len(SPECIAL), n)].astype(source)
                x = np.where(rng.random(n) < 0.3, special, x)
                if not ON_X86 and n > 1 and target in INTEGERS:
                    ends = np.iinfo(target)
                    x = np.where((x > ends.min - 1.0) & (x < ends.max + 1.0), x, 7)
            else:
                ends = np.iinfo(source)
                x = rng.integers(ends.min, ends.max, n, source, endpoint=True)
                x >>= rng.integers(0, ends.bits, n).astype(source)  # of all lengths: some are ties
            arrays = [x]
            if source in FLOATS and (ON_X86 or n == 1 or target not in INTEGERS):
                arrays.append(np.where(np.abs(x) < 2.0**31, x, np.asarray(-7.5, source)))
                arrays.append(np.concatenate([arrays[1], x]))
            for y in arrays:
                t = flow.tensor(y)
                for a, b in ((y, t), (y[::2], t[::2]), (y[::-1], t[::-1])):
                    seen = flow.astype(b, target).numpy()
                    assert a.astype(target).tobytes() == seen.tobytes(), (source, target, n)
    if source in FLOATS:
        for target in INTEGERS:
            for x in SPECIAL.astype(source)[:, None]:
                seen = flow.tensor(x).astype(target).numpy()
                assert x.astype(target).tobytes() == seen.tobytes(), (source, target, x)
for target in INTEGERS + FLOATS + ["float16", "complex64", "complex128"]:
    for n in (*range(20), 31, 33, 63, 65, 1000, 70_001):
        x = rng.random(n) < 0.5
        t = flow.tensor(x)
        for a, b in ((x, t), (x[::2], t[::2]), (x[::-1], t[::-1])):
            seen = flow.astype(b, target).numpy()
            assert a.astype(target).tobytes() == seen.tobytes(), (target, n)
"""


@pytest.mark.parametrize("limit", _C.CPU_ISAS[: _C.CPU_ISAS.index(_C.widest_cpu_isa()) + 1])
def test_every_instruction_set(limit: str, run_program: Callable) -> None:
    done = run_program(f"ON_X86 = {ON_X86}\n{OF_EACH_SET}", cpu_isa=limit)
    assert done.returncode == 0, done.stderr
