"""``python -m oneflow_lite info`` or ``draw``.

``info`` prints version, devices, threads and flags. ``draw EXAMPLE [-o FILE] [ARGUMENTS ...]`` runs
a script and writes pictures of the programs that it makes.
"""

import os
import platform
import sys
import threading

import numpy as np

import oneflow_lite as flow
from oneflow_lite import _C
from oneflow_lite.graph.drawing import command
from oneflow_lite.ops.blas import in_force


def info() -> str:
    """Return what to put into a bug report."""
    stats = flow.vm.stats()
    blas = in_force()
    streams = stats.pop("streams")
    lines = [
        f"oneflow_lite {flow.__version__}",
        f"Python       {platform.python_version()} ({platform.platform()})",
        f"NumPy        {np.__version__}",
        f"BLAS         {blas.name}{f', core type {blas.core}' if blas.core else ''}"
        f"{'; large products by AVX-512 loops of our own' if blas.own_loops else ''}",
        f"vectors      {_C.cpu_isa()} (the processor has {_C.widest_cpu_isa()})",
        *(f"{name:12} {text}" for name, text in sorted(_C.float_functions().items())),
        f"devices      {', '.join(str(device) for device in flow.devices())}",
        f"cores        {os.cpu_count()}",
        f"threads      {threading.active_count()} of Python, {len(streams)} workers "
        "(one for each stream, made at first use)",
        "",
        "flags",
    ]
    rows = [
        (row.variable, "-" if value in (None, {}) else str(value), source, row.doc)
        for row, value, source in flow.flags.rows()
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for variable, value, source, doc in rows:
        lines.append(f"  {variable:{widths[0]}}  {value:{widths[1]}}  {source:{widths[2]}}  {doc}")
    lines += ["", "machine"]
    lines += [f"  {key}: {value}" for key, value in stats.items()]
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Run the command; return the exit status."""
    if arguments[:1] == ["draw"]:
        return command.draw(arguments[1:])
    if arguments != ["info"]:
        print("usage: python -m oneflow_lite info", file=sys.stderr)
        print(command.USAGE, file=sys.stderr)
        return 2
    print(info())
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
