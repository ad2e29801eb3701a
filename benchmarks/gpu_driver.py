"""What calls of the driver cost from C++, and a captured graph of 100 small kernels beside plain
launches: a part of gpu_check.py that needs no extension, so it comes before the build.
"""

import importlib
import os
import shlex
import subprocess
import sys
from pathlib import Path

from gpu_rows import FAILED, Rows, run_part
from timing import Summary

FOLDER = Path(__file__).resolve().parent
SIMULATION = "ONEFLOW_LITE_CUDA_SIM"
DRIVER = "driver"
# The driver compiles it itself: no NVRTC is needed.
PTX = """\
.version 6.4
.target sm_75
.address_size 64
.visible .entry increment(.param .u64 pointer) {
  .reg .b32 %value;
  .reg .b64 %address;
  ld.param.u64 %address, [pointer];
  cvta.to.global.u64 %address, %address;
  ld.global.u32 %value, [%address];
  add.u32 %value, %value, 1;
  st.global.u32 [%address], %value;
  ret;
}
"""
CUDA = 'extern "C" __global__ void increment(unsigned* pointer) { *pointer += 1; }'


def check(rows: Rows, folder: Path) -> None:
    """Compile and run the program; a row for each of its lines."""
    program, image = folder / "driver_costs", folder / "increment.image"
    compiler = shlex.split(os.environ.get("CXX", "g++"))
    source = str(FOLDER / "driver_costs.cpp")
    command = [*compiler, "-std=c++17", "-O2", source, "-o", str(program), "-ldl"]
    subprocess.run(command, check=True, timeout=60)
    library = "libcuda.so.1"
    if os.environ.get(SIMULATION):
        sys.path.insert(0, str(FOLDER.parent))
        sim = importlib.import_module("sim")
        library = str(importlib.import_module("sim.build").build() / library)
        image.write_bytes(sim.compile(CUDA, "sm_90"))
    else:
        image.write_text(PTX + "\0", encoding="ascii")
    run = [str(program), library, str(image)]
    with subprocess.Popen(run, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:  # as they come: it may hang later
            add(rows, *line.rstrip("\n").split("\t"))
    if process.returncode < 0:
        rows.add("the program", DRIVER, status=FAILED, note=f"ended with {process.returncode}")


def add(rows: Rows, name: str, *columns: str) -> None:
    """Add what one line says."""
    if columns[0] == "failed":
        rows.add(name, DRIVER, status=FAILED, note=columns[1])
    else:
        rows.summary(name, DRIVER, Summary.of([float(ns) for ns in columns]), 1e-3, unit="us")


if __name__ == "__main__":
    run_part(__doc__, DRIVER, check)
