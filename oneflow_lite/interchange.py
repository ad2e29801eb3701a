"""Tensors to and from other libraries, other processes and files, as ``flow.interchange``.

The work is done in the modules of ``oneflow_lite.interop``.
"""

from oneflow_lite.interop.dlpack import from_dlpack
from oneflow_lite.interop.files import load, save, savez, savez_compressed
from oneflow_lite.interop.pickling import map_device

__all__ = ["from_dlpack", "load", "map_device", "save", "savez", "savez_compressed"]
