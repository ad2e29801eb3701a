"""What the launchers of several processes say in the environment of each."""

import os
from typing import NamedTuple


class Launcher(NamedTuple):
    """Who starts several processes, and the variables that it sets."""

    name: str
    size: str  # how many it has started
    rank: str  # which one this is


# Slurm sets its variables in the processes of a step alone.
LAUNCHERS = (
    Launcher("Open MPI's mpiexec", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
    Launcher("mpiexec of MPICH or Intel MPI", "PMI_SIZE", "PMI_RANK"),
    Launcher("srun", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID"),
)
TORCHRUN = Launcher("torchrun", "WORLD_SIZE", "RANK")

# What a rank leaves in its environment, which the processes that it starts inherit: they have the
# launcher's variables, too, and are no ranks.
_OWNER = "_ONEFLOW_LITE_RANK"
_JOBS = ("PMIX_NAMESPACE", "PMI_FD", "PMI_PORT", "SLURM_STEP_ID")  # each differs from job to job


def _mark(process: int) -> str:
    return ":".join([str(process), *(os.environ.get(name, "") for name in _JOBS)])


def own_environment() -> None:
    """Note that this process is a rank."""
    os.environ[_OWNER] = _mark(os.getpid())


def _is_of_a_rank() -> bool:
    """A rank has started this process, and the launcher has not."""
    owner = os.environ.get(_OWNER)
    if owner is None:
        return False
    process = int(owner.split(":")[0])
    return process != os.getpid() and owner == _mark(process)


def meant_size() -> tuple[Launcher, int] | None:
    """Return who has started this process among several, and how many; None: it is the only one."""
    if _is_of_a_rank():
        return None
    torchrun = (TORCHRUN,) if "TORCHELASTIC_RUN_ID" in os.environ else ()
    for launcher in (*LAUNCHERS, *torchrun):
        if (size := int(os.environ.get(launcher.size, "1"))) > 1:
            return launcher, size
    return None


def meant_rank() -> int | None:
    """Return which of several processes this is, by its launcher; None: it is the only one."""
    meant = meant_size()
    if meant is None:
        return None
    launcher, size = meant
    if launcher.rank not in os.environ:
        raise RuntimeError(
            f"[launchers] {launcher.size} says that this process is one of {size}, and "
            f"{launcher.rank}, which would say which one, is not set"
        )
    return int(os.environ[launcher.rank])
