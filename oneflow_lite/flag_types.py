"""What type checkers know of the flags; a test compares it with the rows of the registry."""

from typing import TypedDict


class FlagTypes:
    """The flags as attributes, with the types of their values."""

    __slots__ = ()

    profile: str | None
    sync: bool
    check_nan_inf: bool
    benchmark: bool
    fusion: str
    inline: float
    num_threads: int
    engine_threads: int
    cpu_isa: str
    blas_core: str
    log: str
    memory_limit: int
    max_in_flight: int
    mock: dict[str, float]
    cuda_sim: str | None
    cuda_kernels: bool
    cuda_blas: bool
    cuda_nccl: bool
    cuda_tf32: bool
    cuda_graphs: bool
    fail: dict[str, float]
    device: str
    ccl_timeout: float
    ccl_shared_memory: bool
    hang_timeout: float
    implicit_sync: str
    implicit_boxing: str
    array_api: str


class Changes(TypedDict, total=False):
    """The flags that a scope may set, to values or to the text of the environment variable."""

    sync: object
    check_nan_inf: object
    benchmark: object
    fusion: object
    inline: object
    num_threads: object
    engine_threads: object
    log: object
    memory_limit: object
    max_in_flight: object
    mock: object
    cuda_kernels: object
    cuda_blas: object
    cuda_nccl: object
    cuda_tf32: object
    cuda_graphs: object
    fail: object
    device: object
    ccl_timeout: object
    hang_timeout: object
    implicit_sync: object
    implicit_boxing: object
    array_api: object
