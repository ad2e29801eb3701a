"""How the package starts with its process, forks with it and leaves with it."""

import atexit
import gc
import os
import sys

from oneflow_lite import _C, failures, profiler, vm
from oneflow_lite.cuda import host, kernels, libraries, simulation
from oneflow_lite.flags import LOG, flags
from oneflow_lite.ops import blas
from oneflow_lite.ops.creation import conversion
from oneflow_lite.profiler import trace

_started = False


def start() -> None:
    """Read the flags and register the hooks, once for each process."""
    global _started
    if _started:
        return
    _C.set_package_dir(failures.FOLDER)
    flags.load(
        os.environ,
        {"cpu_isa": _limit_isa, "blas_core": blas.check_core, "cuda_sim": simulation.load},
    )
    if flags.profile is not None:
        profiler.start_file(flags.profile)
    _C.set_exception_maker(failures.again)
    _C.set_converter(conversion.converted)
    _C.set_host_operation_hook(host.tell)
    _C.set_kernel_maker(kernels.make_for)
    _C.set_cublas_finder(libraries.find_cublas)
    _C.set_nccl_finder(libraries.find_nccl)
    _C.set_kernel_failure_hook(host.tell_failure)
    gc.callbacks.append(_C.note_collection)
    os.register_at_fork(before=_C.before_fork, after_in_child=_after_fork_in_child)
    atexit.register(_leave)
    _started = True


def _limit_isa() -> None:
    if flags.cpu_isa != "auto":
        _C.limit_cpu_isa(_C.CPU_ISAS.index(flags.cpu_isa))


def _after_fork_in_child() -> None:
    _C.after_fork_in_child()
    _C.forget_process_member()
    _C.benchmark_clear()
    trace.forget_in_child()


def _leave() -> None:
    """Runs while Python is whole: nothing native outlives the interpreter.

    Ctrl-C ends the wait for what is in flight; the trace and the table of what ran until then are
    written.
    """
    try:
        _C.shutdown()
    finally:
        _write_trace()
        if flags.benchmark:
            print(vm.benchmark_report(), end="", file=sys.stderr)


def _write_trace() -> None:
    try:
        profiler.write_file()
    except OSError as error:
        LOG.error("the trace is lost: %s", error)
