"""Sets of tensors of many ranks: a folder in the format zarr 3, by TensorStore."""

import importlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy.typing as npt

from oneflow_lite import _C
from oneflow_lite._C import GlobalTensor
from oneflow_lite.device import resolve
from oneflow_lite.distributed.agreement import together
from oneflow_lite.distributed.files.boxes import Box, box_to_write, extents
from oneflow_lite.distributed.files.replacement import Replacement, sync_file, sync_folder
from oneflow_lite.distributed.layout import Layout
from oneflow_lite.dtypes import canonical
from oneflow_lite.interop.files import tensor_of
from oneflow_lite.ops.creation.data import empty

# A rank that needs a part of a chunk reads all of it.
MOST_BYTES = 16 << 20

_METADATA = "zarr.json"
_LIST = "oneflow_lite"  # of the names, among the attributes of the group


def tensorstore(name: str) -> Any:
    """Return the module.

    Raises
    ------
    ImportError
        With the line to type.
    """
    try:
        return importlib.import_module("tensorstore")
    except ImportError as error:
        raise ImportError(
            f"[{name}] sets of tensors need TensorStore: pip install 'oneflow_lite[checkpoint]'"
        ) from error


def require_names(x: Mapping[Any, Any]) -> None:
    """Names become folders.

    Raises
    ------
    TypeError
        For a key that is no text.
    ValueError
        For one that is no name of a folder.
    """
    for key in x:
        if not isinstance(key, str):
            raise TypeError(f"[save] names of tensors: expected str, got {key!r}")
        if not key or key[0] in "._" or "/" in key or "\\" in key or not key.isprintable():
            raise ValueError(
                f"[save] {key!r} is no name of a tensor: expected printable text without slashes "
                "that does not begin with a point or an underscore"
            )
        if key.lower() == _METADATA:  # in either case, as some file systems take both for one
            raise ValueError(
                f"[save] {key!r} is no name of a tensor: the file that describes the set has it"
            )


# --- written


def save(tensors: dict[str, GlobalTensor], place: Replacement) -> None:
    """Write tensors without partial values; all ranks of the world call it."""
    rank = _C.current_member().rank
    values: dict[str, tuple[Box, npt.NDArray[Any]]] = {}

    def begin() -> None:
        for name, x in tensors.items():
            if (box := box_to_write(x.layout, rank)) is not None:
                values[name] = box, x.to_local().numpy()
        if rank == 0:
            place.temporary.mkdir()
            _write_group(place.temporary, list(tensors))
            _stores("save", place.temporary, tensors)

    def write() -> None:
        stores = _stores("save", place.temporary, dict.fromkeys(values))
        _wait("save", [stores[name][box].write(value) for name, (box, value) in values.items()])

    def end() -> None:
        if rank == 0:
            for folder in (path for path in place.temporary.rglob("*") if path.is_dir()):
                sync_folder(folder)
            sync_folder(place.temporary)
            place.put_in_place()

    for step in (begin, write, end):
        together("save", step)


def _wait(function: str, futures: list[Any]) -> list[Any]:
    """What futures of TensorStore give; all of them run at the same time."""
    for each in futures:
        each.exception()  # waits: after an error, too, nothing goes on writing
    try:
        return [each.result() for each in futures]
    except ValueError as error:  # TensorStore has this one for all that fails
        kind = OSError if function == "save" else ValueError
        raise kind(f"[{function}] TensorStore: {error}") from error


def _write_group(folder: Path, names: list[str]) -> None:
    described = {
        "zarr_format": 3,
        "node_type": "group",
        "attributes": {_LIST: {"tensors": names}},
    }
    path = folder / _METADATA
    path.write_text(json.dumps(described, indent=2), encoding="utf-8")
    sync_file(path)


def _stores(
    function: str, folder: Path, tensors: Mapping[str, GlobalTensor | None]
) -> dict[str, Any]:
    """The arrays in a folder by name; new ones where tensors are given."""
    opened = [_opened(function, folder / name, new) for name, new in tensors.items()]
    return dict(zip(tensors, _wait(function, opened), strict=True))


def _opened(function: str, folder: Path, new: GlobalTensor | None) -> Any:
    """A future of the array in a folder; of a new one, for a tensor, if one is given."""
    spec: dict[str, Any] = {
        "driver": "zarr3",
        "kvstore": {"driver": "file", "path": f"{folder}/"},
        # A chunk that is not there is an error, and no zeros.
        "fill_missing_data_reads": False,
        "store_data_equal_to_fill_value": True,
    }
    if new is not None:
        order = {"configuration": {"endian": "little"}} if new.dtype.itemsize > 1 else {}
        chunk = {"chunk_shape": chunk_shape(new.layout, new.dtype.itemsize)}
        spec["metadata"] = {
            "shape": list(new.shape),
            "data_type": new.dtype.name,
            "chunk_grid": {"name": "regular", "configuration": chunk},
            "codecs": [{"name": "bytes", **order}],
        }
    return tensorstore(function).open(spec, open=new is None, create=new is not None)


def chunk_shape(layout: Layout, itemsize: int, most: int = MOST_BYTES) -> list[int]:
    """The shape of the chunks that a tensor is stored in.

    They are cut where the parts of ranks are, if these are of one size; else several ranks write to
    a chunk, which TensorStore allows and which takes longer. Large parts are several chunks.
    """
    placement = layout.placement
    boxes = [layout.box(placement.rank_at(place)) for place in range(placement.size)]
    shapes = [extents(box) for box in boxes if box is not None]
    chunk = [max(1, *(shape[d] for shape in shapes)) for d in range(len(layout.shape))]
    for d, extent in enumerate(chunk):
        if (size := math.prod(chunk) * itemsize) <= most:
            break
        chunk[d] = _divided(extent, math.ceil(size / most))
    return chunk


def _divided(extent: int, count: int) -> int:
    """An extent over a number, or a little more, that divides it; else not quite evenly."""
    if count >= extent:
        return 1
    even = (n for n in range(count, min(8 * count, extent) + 1) if extent % n == 0)
    return -(-extent // next(even, count))


# --- read


def layouts_of(folder: Path) -> dict[str, tuple[str, list[int]]]:
    """The names of the tensors in a folder, with the dtype and the shape of each.

    Raises
    ------
    ValueError
        For a folder that ``save`` has not written, or that is not whole.
    """
    group = folder / _METADATA
    try:
        names = json.loads(group.read_text(encoding="utf-8"))["attributes"][_LIST]["tensors"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"[load] {folder} is no set of tensors that flow.distributed.save has written"
        ) from error
    stores = _stores("load", folder, dict.fromkeys(names))
    found = {name: (str(x.dtype.name), list(x.shape)) for name, x in stores.items()}
    for dtype, _ in found.values():
        canonical(dtype, "load")
    return found


def load(
    folder: Path, dtypes: dict[str, str], layouts: dict[str, Layout]
) -> dict[str, GlobalTensor]:
    """Read this rank's boxes; no rank waits for another one."""
    rank = _C.current_member().rank
    boxes = {name: layout.box(rank) for name, layout in layouts.items()}
    full = {n: box for n, box in boxes.items() if box is not None and 0 not in extents(box)}
    stores = _stores("load", folder, dict.fromkeys(full))
    values = _wait("load", [stores[name][box].read() for name, box in full.items()])
    found = dict(zip(full, values, strict=True))
    cpu = resolve("cpu")
    made = {}
    for name, layout in layouts.items():
        box = boxes[name]
        if name in found:
            # DLPack of NumPy has no bfloat16, and .npy files have it as two bytes without a type.
            is_bfloat16 = dtypes[name] == "bfloat16"
            bits = found[name].view("V2") if is_bfloat16 else found[name]
            part = tensor_of(bits, cpu, mapped=True)
        else:
            part = empty((0,) if box is None else extents(box), dtype=dtypes[name], device=cpu)
        made[name] = _C.of_new_part(part, layout)
    return made
