"""Files of tensors of many ranks: each rank writes and reads the part that it holds."""

import os
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from oneflow_lite import _C
from oneflow_lite._C import GlobalTensor
from oneflow_lite.distributed.agreement import require_same, together, told
from oneflow_lite.distributed.files import npy, sets
from oneflow_lite.distributed.files.replacement import Replacement, require_parent
from oneflow_lite.distributed.layout import Layout
from oneflow_lite.distributed.placement import Placement
from oneflow_lite.distributed.sbp import Sbp, broadcast, split

__all__ = ["load", "save"]

File = str | os.PathLike[str]
Sbps = Sbp | Sequence[Sbp]


def save(path: File, x: GlobalTensor | Mapping[str, GlobalTensor]) -> None:
    """Write a tensor of many ranks, or a set of them; all ranks of the world call it, and wait.

    Each rank writes what it holds; of ranks that hold the same, the first one does. It is written
    under another name in the same folder, and gets its own name when all ranks have written. An
    error on a rank is one on all, and leaves what had the name before.

    Parameters
    ----------
    path : str or path
        The same on all ranks, in a folder that all of them see. The name of one tensor gets the
        suffix ``.npy`` unless it has it; that of a set is a folder.
    x : GlobalTensor, or dict of str to GlobalTensor
        Any layouts; partial values are made whole. One tensor becomes a .npy file with the bytes
        that ``numpy.save`` writes of all of it, so bfloat16 is as ``flow.save`` has it. A set
        becomes a folder in the format zarr 3, and needs TensorStore: the extra ``checkpoint``.

    Raises
    ------
    FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError
        For a folder that is not there or cannot be written to, and for a name that something else
        has.
    ImportError
        For a set, without TensorStore.
    OSError
        Where the disk is full.
    RankError
        Where another rank has failed; it has the rank and its error.
    TypeError
        For a tensor of one rank alone, and for names that are no text.
    ValueError
        On all ranks, where they differ in path, shapes, dtypes or layouts; for names that are not
        those of a folder.

    Notes
    -----
    A split along a later dimension is many short pieces of the file. A large tensor of short rows
    is written faster after ``x.to_global(sbp=flow.distributed.sbp.split(0))``.

    Examples
    --------
    >>> import tempfile
    >>> ranks = flow.distributed.placement("cpu", ranks=[0])
    >>> x = flow.arange(4).to_global(ranks, flow.distributed.sbp.split(0))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     flow.distributed.save(f"{folder}/x.npy", x)
    ...     print(np.load(f"{folder}/x.npy"))
    [0 1 2 3]
    """
    facts: dict[str, str] = {}
    together("save", lambda: facts.update(_facts_of(path, x)))
    require_same("save", facts)
    _write(x, Replacement(Path(facts["path"]), told("save", secrets.token_hex(4))[0]))


def _write(x: GlobalTensor | Mapping[str, GlobalTensor], place: Replacement) -> None:
    tensors = _tensors(x)
    try:
        whole = {name: _without_partial(tensors[name]) for name in sorted(tensors)}
        if isinstance(x, GlobalTensor):
            npy.save(whole[""], place)
        else:
            sets.save(whole, place)
    except BaseException:
        place.discard()
        raise


def _absolute(name: str, path: Any) -> Path:
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"[{name}] path: expected str or a path, got {type(path).__name__}")
    return Path(os.path.abspath(path))


def _tensors(x: Any) -> dict[str, GlobalTensor]:
    """The tensors by name; one alone has none."""
    return {"": x} if isinstance(x, GlobalTensor) else dict(x)


def _facts_of(path: File, x: Any) -> dict[str, str]:
    """What all ranks have in common when they save; wrong arguments raise."""
    target = _absolute("save", path)
    require_parent("save", target)
    if isinstance(x, GlobalTensor):
        if not os.path.basename(path):
            raise IsADirectoryError(f"[save] {os.fspath(path)!r} is no name of a file")
        if not target.name.endswith(".npy"):
            target = target.with_name(f"{target.name}.npy")
        if target.is_dir():
            raise IsADirectoryError(f"[save] {target} is a folder; one tensor becomes a file")
    elif isinstance(x, Mapping):
        sets.tensorstore("save")
        sets.require_names(x)
        if target.exists() and not (target / "zarr.json").is_file():
            raise NotADirectoryError(
                f"[save] {target} is there, and is no folder of tensors; choose another name"
            )
    else:
        raise TypeError(
            f"[save] expected a GlobalTensor or a dict of them, got {type(x).__name__}; "
            "to_global() makes one"
        )
    kind = "one tensor" if isinstance(x, GlobalTensor) else "a set"
    facts = {"function": "save", "path": str(target), "kind": kind}
    for name, each in _tensors(x).items():
        if not isinstance(each, GlobalTensor):
            raise TypeError(
                f"[save] {name!r}: expected a GlobalTensor, got {type(each).__name__}; "
                "to_global() makes one"
            )
        if not _C.is_of_this_rank(each):
            raise ValueError(
                f"[save] the tensor {name!r} belongs to rank {_C.rank_of(each)} of another thread"
            )
        facts[f"tensor {name}".strip()] = f"{each.dtype.name} {each.layout}"
    return facts


def _without_partial(x: GlobalTensor) -> GlobalTensor:
    """The same tensor, whose partial values are added, each rank along an axis a part of them."""
    if all(each.op is None for each in x.sbp):
        return x
    widest = max(range(x.ndim), key=lambda d: x.shape[d], default=None)
    whole = broadcast if widest is None else split(widest)
    return x.to_global(sbp=[each if each.op is None else whole for each in x.sbp])


def load(
    path: File, *, placement: Placement, sbp: Sbps | Mapping[str, Sbps]
) -> GlobalTensor | dict[str, GlobalTensor]:
    """Read a tensor of many ranks, or a set of them; all ranks of the world call it, and wait.

    Each rank reads what it is to hold, and no more. The number of ranks, the placement and the
    layout may be others than those of the ranks that have written it.

    Parameters
    ----------
    path : str or path
        The same on all ranks: a .npy file, written by ``save`` or by NumPy, of any order and byte
        order; or the folder of a set that ``save`` has written.
    placement : Placement
        The ranks that hold the result.
    sbp : Sbp or sequence of Sbp, or dict of str to such
        One for each axis of the grid; not partial. For a set it is that of each tensor, or a dict
        of the names that are to be read.

    Returns
    -------
    GlobalTensor, or dict of str to GlobalTensor
        Of bfloat16 where the file has elements of two bytes without a type.

    Raises
    ------
    FileNotFoundError
    ImportError
        For a set, without TensorStore.
    IndexError
        For a split of a dimension that is not there.
    KeyError
        For a name that is not in the set.
    RankError
        Where another rank has failed; it has the rank and its error.
    TypeError
        For another placement or sbp, and for elements that tensors do not have.
    ValueError
        For partial values; for a file of another format, or that is cut off; on all ranks, where
        they differ in path, placement or sbp.

    Examples
    --------
    >>> import tempfile
    >>> ranks = flow.distributed.placement("cpu", ranks=[0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = f"{folder}/x.npy"
    ...     np.save(file, np.eye(2))
    ...     flow.distributed.load(file, placement=ranks, sbp=flow.distributed.sbp.split(0))
    GlobalTensor((2, 2) split(0) on cpu [0]; rank 0: tensor([[1., 0.],
            [0., 1.]], dtype=float64, device='cpu'))
    """
    found: list[GlobalTensor | dict[str, GlobalTensor]] = []
    source = _Source()
    together("load", lambda: source.open(path, placement, sbp))
    require_same("load", source.facts)
    together("load", lambda: found.append(source.read()))
    return found[0]


class _Source:
    """What is read, once it is open."""

    def open(self, path: Any, placement: Any, sbp: Any) -> None:
        """Look at it, and note what all ranks have in common; wrong arguments raise."""
        self._path = _absolute("load", path)
        if not isinstance(placement, Placement):
            raise TypeError(
                f"[load] placement: expected a Placement, got {type(placement).__name__}"
            )
        if self._path.is_dir():
            sets.tensorstore("load")
            stored = sets.layouts_of(self._path)
            wanted = sbp if isinstance(sbp, Mapping) else dict.fromkeys(stored, sbp)
            for name in wanted:
                if name not in stored:
                    raise KeyError(f"[load] {self._path} has no tensor {name!r}")
        else:
            self._header = npy.header_of(self._path)
            stored = {"": (self._header.dtype.str, list(self._header.shape))}
            wanted = {"": sbp}
        self._dtypes = {name: dtype for name, (dtype, _) in stored.items()}
        self._layouts = {
            name: Layout(stored[name][1], placement, _sbps(each, placement))
            for name, each in wanted.items()
        }
        self.facts = {"function": "load", "path": str(self._path)}
        for name, layout in self._layouts.items():
            self.facts[f"tensor {name}".strip()] = f"{self._dtypes[name]} {layout}"

    def read(self) -> GlobalTensor | dict[str, GlobalTensor]:
        """Read this rank's parts."""
        if "" in self._layouts:
            return npy.load(self._path, self._header, self._layouts[""])
        return sets.load(self._path, self._dtypes, self._layouts)


def _sbps(given: Any, placement: Placement) -> list[Sbp]:
    sbps = list(given) if isinstance(given, (list, tuple)) else [given] * len(placement.grid)
    for each in sbps:
        if not isinstance(each, Sbp):
            raise TypeError(f"[load] sbp: expected an Sbp, got {type(each).__name__}")
        if each.op is not None:
            raise ValueError(
                f"[load] sbp: a file holds no partial values, so {each} cannot be read; load it as "
                "broadcast or split, and call to_global(sbp=...)"
            )
    return sbps
