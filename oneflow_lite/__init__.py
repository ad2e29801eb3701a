"""oneflow_lite: an eager tensor runtime on a virtual machine that overlaps copies and compute.

>>> import oneflow_lite as flow
>>> x = flow.tensor([1.0, 2.0, 3.0]).mock()
>>> (x * 2 + 1).numpy()
array([3., 5., 7.])
"""

import importlib as _importlib
import typing as _typing

try:
    from oneflow_lite import main_interpreter as _main_interpreter

    _main_interpreter.require()  # NumPy and the extension would wait for ever
    import numpy as _numpy

    if _numpy.lib.NumpyVersion(_numpy.__version__) < "2.3.0":
        raise ImportError(
            f"oneflow_lite needs NumPy 2.3 or later, and this is {_numpy.__version__}: "
            "run `pip install 'numpy>=2.3'`"
        )

    from oneflow_lite import _C as _C
except ImportError as error:
    if error.name == "numpy":
        raise ImportError("oneflow_lite needs NumPy: run `pip install 'numpy>=2.3'`") from error
    if error.name != "oneflow_lite":  # which has no such name
        raise
    raise ImportError(
        "the native extension of oneflow_lite is not built for this Python: "
        "run `pip install -e .` in the checkout"
    ) from error

from oneflow_lite import (
    cuda as cuda,
    engine as engine,
    fft as fft,
    interchange as interchange,
    lib as lib,
    lifecycle as lifecycle,
    linalg as linalg,
    profiler as profiler,
    vm as vm,
)
from oneflow_lite._C import Op as Op, OutOfMemoryError as OutOfMemoryError
from oneflow_lite.device import (
    Device as Device,
    device as device,
    devices as devices,
    empty_cache as empty_cache,
    memory_stats as memory_stats,
)
from oneflow_lite.dtypes import *
from oneflow_lite.flags import flags as flags
from oneflow_lite.inspection import (
    __array_namespace_info__ as __array_namespace_info__,
    array_api_version as _array_api_version,
)
from oneflow_lite.interop.dlpack import from_dlpack as from_dlpack
from oneflow_lite.interop.files import (
    load as load,
    save as save,
    savetxt as savetxt,
    savez as savez,
    savez_compressed as savez_compressed,
)
from oneflow_lite.interop.numpy_names import *
from oneflow_lite.linalg.fitting import polyfit as polyfit
from oneflow_lite.linalg.polynomials import *
from oneflow_lite.ops.convolution import *
from oneflow_lite.ops.creation.calls import *
from oneflow_lite.ops.creation.data import *
from oneflow_lite.ops.creation.host_data import *
from oneflow_lite.ops.creation.index_objects import *
from oneflow_lite.ops.creation.matrices import *
from oneflow_lite.ops.creation.ranges import *
from oneflow_lite.ops.creation.scalar_types import *
from oneflow_lite.ops.data_types import *
from oneflow_lite.ops.elementwise import *
from oneflow_lite.ops.indexing import *
from oneflow_lite.ops.linear_algebra import *
from oneflow_lite.ops.manipulation.joining import *
from oneflow_lite.ops.manipulation.rearranging import *
from oneflow_lite.ops.manipulation.shapes import *
from oneflow_lite.ops.manipulation.tiling import *
from oneflow_lite.ops.numpy.adding_and_removing import *
from oneflow_lite.ops.numpy.along_axes import *
from oneflow_lite.ops.numpy.bits import *
from oneflow_lite.ops.numpy.calculus import *
from oneflow_lite.ops.numpy.comparison import *
from oneflow_lite.ops.numpy.convolution import *
from oneflow_lite.ops.numpy.einsum import *
from oneflow_lite.ops.numpy.elementwise import *
from oneflow_lite.ops.numpy.index_arrays import *
from oneflow_lite.ops.numpy.interpolation import *
from oneflow_lite.ops.numpy.joining import *
from oneflow_lite.ops.numpy.memory import *
from oneflow_lite.ops.numpy.padding import *
from oneflow_lite.ops.numpy.parts import *
from oneflow_lite.ops.numpy.polynomials import *
from oneflow_lite.ops.numpy.selection import *
from oneflow_lite.ops.numpy.shapes import *
from oneflow_lite.ops.numpy.sorting import *
from oneflow_lite.ops.numpy.splitting import *
from oneflow_lite.ops.numpy.statistics.covariance import *
from oneflow_lite.ops.numpy.statistics.edges import *
from oneflow_lite.ops.numpy.statistics.histograms import *
from oneflow_lite.ops.numpy.statistics.many_histograms import *
from oneflow_lite.ops.numpy.statistics.nan_statistics import *
from oneflow_lite.ops.numpy.statistics.quantiles import *
from oneflow_lite.ops.numpy.windows import *
from oneflow_lite.ops.searching import *
from oneflow_lite.ops.served import serve as _serve
from oneflow_lite.ops.sets import *
from oneflow_lite.ops.sorting import *
from oneflow_lite.ops.statistics.averages import *
from oneflow_lite.ops.statistics.nan_reduction import *
from oneflow_lite.ops.statistics.reduction import *
from oneflow_lite.ops.statistics.scan import *
from oneflow_lite.ops.utility import *
from oneflow_lite.tensor import Tensor as Tensor, ndarray as ndarray, tensor as tensor
from oneflow_lite.vm import synchronize as synchronize

__version__ = "0.1.0"


__array_api_version__: str

if _typing.TYPE_CHECKING:
    from oneflow_lite import (
        distributed as distributed,
        graph as graph,
        random as random,
        testing as testing,
    )
    from oneflow_lite.distributed import sbp as sbp
    from oneflow_lite.distributed.placement import placement as placement
    from oneflow_lite.graph.gradients import (
        grad as grad,
        stop_gradient as stop_gradient,
        value_and_grad as value_and_grad,
        vjp as vjp,
    )
    from oneflow_lite.graph.jit.function import jit as jit
else:  # for type checkers it would be any name
    # Names whose modules take long to import, and that many programs do without: where they are.
    _AT_FIRST_USE = {
        **dict.fromkeys(("distributed", "graph", "random", "testing")),
        **{"jit": "graph.jit.function", "sbp": "distributed", "placement": "distributed.placement"},
        **dict.fromkeys(("grad", "stop_gradient", "value_and_grad", "vjp"), "graph.gradients"),
    }

    def __getattr__(name: str) -> _typing.Any:
        if name in _AT_FIRST_USE:
            home = _AT_FIRST_USE[name]
            if home is None:
                return _importlib.import_module(f"oneflow_lite.{name}")
            value = getattr(_importlib.import_module(f"oneflow_lite.{home}"), name)
            return globals().setdefault(name, value)
        if name == "__array_api_version__":  # a flag decides
            return _array_api_version()
        if name == "bfloat16":
            raise AttributeError(_C.NO_BFLOAT16)
        raise AttributeError(f"module 'oneflow_lite' has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *_AT_FIRST_USE} - {"testing"})

    __all__ = [name for name in __dir__() if not name.startswith("_")]


_serve(globals(), vars(linalg), vars(fft))
lifecycle.start()
