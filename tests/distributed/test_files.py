"""Files of tensors of many ranks: what numpy reads of them, and other ranks."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.distributed import (
    agreement,
    layout,
    load,
    placement,
    save,
    sbp,
)
from oneflow_lite.distributed.files import boxes, sets
from tests.support.distributed.files import tensorstore
from tests.support.distributed.programs import (
    OPS,
    SHAPES,
    check,
    made,
    on_ranks,
    random_layout,
)

Array = np.ndarray[Any, Any]

DTYPES = ["float64", "float32", "int16", "uint8", "int64", "complex64"]


def shared(folder: Path) -> Path:
    """A folder of all ranks, in a program that they run; of processes each has its own."""
    return Path(agreement.told("test", str(folder))[0])


def random_tensor(
    rng: np.random.Generator, device: str, world: int, seed: int
) -> tuple[flow.distributed.GlobalTensor, Array]:
    """A tensor in a random layout, and all of it."""
    shape, dtype = SHAPES[rng.integers(len(SHAPES))], DTYPES[rng.integers(len(DTYPES))]
    whole = np.asarray(rng.integers(0, 100, size=shape))
    x = made(whole, random_layout(rng, device, world, shape, OPS), seed)
    return x if dtype == "int64" else x.astype(dtype), whole.astype(dtype)


def bytes_of(whole: Array) -> bytes:
    file = io.BytesIO()
    np.save(file, whole)
    return file.getvalue()


# --- what is written, and read


@pytest.mark.parametrize("device", ["cpu", "mock"])
@pytest.mark.parametrize("world", [1, 2, 3, 4])
def test_one_tensor(world: int, device: str, tmp_path: Path) -> None:
    """The file has the bytes of numpy's, and each rank reads its part in any layout."""

    def program() -> None:
        folder = shared(tmp_path)
        for seed in range(12):
            rng = np.random.default_rng((seed, world))
            x, whole = random_tensor(rng, device, world, seed)
            save(folder / f"{seed}", x)
            assert (folder / f"{seed}.npy").read_bytes() == bytes_of(whole)
            target = random_layout(rng, device, world, whole.shape)
            y = load(folder / f"{seed}.npy", placement=target.placement, sbp=target.sbp)
            assert isinstance(y, flow.distributed.GlobalTensor)
            assert (y.layout, y.dtype) == (target, whole.dtype)
            check(y, whole)

    on_ranks(program, world)


@pytest.mark.parametrize("world", [1, 2, 3, 4])
def test_a_set(world: int, tmp_path: Path) -> None:
    tensorstore()

    def program() -> None:
        folder = shared(tmp_path)
        rng = np.random.default_rng(world)
        for number in range(3):
            both = {f"{n}th": random_tensor(rng, "cpu", world, number) for n in range(6)}
            save(folder / "set", {name: x for name, (x, _) in both.items()})
            wholes = {name: whole for name, (_, whole) in both.items()}
            names = list(wholes)[number:]
            targets = {n: random_layout(rng, "cpu", world, wholes[n].shape) for n in names}
            for name, target in targets.items():
                found = load(folder / "set", placement=target.placement, sbp={name: target.sbp})
                assert isinstance(found, dict)
                assert list(found) == [name]
                assert found[name].dtype == wholes[name].dtype
                check(found[name], wholes[name])
        assert not [path for path in folder.iterdir() if path.name.startswith(".")]

    on_ranks(program, world)


@pytest.mark.parametrize("kind", ["one tensor", "a set"])
@pytest.mark.parametrize(("first", "second"), [(1, 3), (4, 2), (3, 4), (2, 1)])
def test_another_number_of_ranks(first: int, second: int, kind: str, tmp_path: Path) -> None:
    if kind == "a set":
        tensorstore()
    whole = np.arange(13.0 * 6).reshape(13, 6)
    path = tmp_path / "x.npy"

    def write() -> None:
        x = flow.tensor(whole, placement=placement.all("cpu"), sbp=sbp.split(0))
        save(path, x if kind == "one tensor" else {"x": x, "y": x.T})

    def read() -> None:
        found: Any = load(path, placement=placement.all("cpu"), sbp=sbp.split(1))
        if isinstance(found, dict):
            check(found["y"], whole.T)
            found = found["x"]
        check(found, whole)

    flow.distributed.run(write, first)
    flow.distributed.run(read, second)


def test_many_ranks_write_to_one_chunk(tmp_path: Path) -> None:
    tensorstore()
    whole = np.arange(11.0 * 7).reshape(11, 7)

    def program() -> None:
        ranks = placement("cpu", [[0, 1], [2, 3]])
        for number in range(5):
            x = flow.tensor(whole + number, placement=ranks, sbp=[sbp.split(0), sbp.split(1)])
            save(tmp_path / "set", {"x": x})
            found: Any = load(tmp_path / "set", placement=ranks, sbp=sbp.broadcast)
            check(found["x"], whole + number)

    flow.distributed.run(program, 4)


@pytest.mark.parametrize("kind", ["one tensor", "a set"])
def test_bfloat16(kind: str, tmp_path: Path) -> None:
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    if kind == "a set":
        tensorstore()
    whole = np.arange(10).astype(bfloat16)

    def program() -> None:
        ranks = placement.all("cpu")
        x = flow.tensor(whole, placement=ranks, sbp=sbp.split(0))
        save(tmp_path / "x.npy", x if kind == "one tensor" else {"x": x})
        found: Any = load(tmp_path / "x.npy", placement=ranks, sbp=sbp.split(0))
        y = found if kind == "one tensor" else found["x"]
        assert y.dtype == flow.bfloat16
        np.testing.assert_array_equal(y.full().numpy(), whole)

    flow.distributed.run(program, 3)
    if kind == "one tensor":  # as flow.save has it
        np.testing.assert_array_equal(np.load(tmp_path / "x.npy").view(bfloat16), whole)
        flow.save(tmp_path / "y.npy", flow.tensor(whole))
        assert (tmp_path / "x.npy").read_bytes() == (tmp_path / "y.npy").read_bytes()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [">f8", "<i4", ">c16", "?"])
def test_files_of_numpy(order: Any, dtype: str, tmp_path: Path) -> None:
    whole = np.asarray(np.arange(5 * 3 * 4).reshape(5, 3, 4) % 7, dtype, order=order)
    np.save(tmp_path / "x.npy", whole)

    def program() -> None:
        for dim in range(3):
            x = load(tmp_path / "x.npy", placement=placement.all("cpu"), sbp=sbp.split(dim))
            check(x, whole)  # type: ignore[arg-type]

    flow.distributed.run(program, 3)


def test_a_set_is_zarr(tmp_path: Path) -> None:
    tensorstore()

    def program() -> None:
        x = flow.arange(8, placement=placement.all("cpu"), sbp=sbp.split(0))
        save(tmp_path / "set", {"x": x, "a name": x})

    flow.distributed.run(program, 2)
    group = json.loads((tmp_path / "set/zarr.json").read_text())
    assert (group["zarr_format"], group["node_type"]) == (3, "group")
    described = json.loads((tmp_path / "set/x/zarr.json").read_text())
    assert described["chunk_grid"]["configuration"]["chunk_shape"] == [4]
    chunks = [(tmp_path / f"set/a name/c/{n}").read_bytes() for n in (0, 1)]
    assert b"".join(chunks) == np.arange(8).tobytes()


def test_an_empty_set(tmp_path: Path) -> None:
    tensorstore()

    def program() -> None:
        save(tmp_path / "set", {})
        assert load(tmp_path / "set", placement=placement.all("cpu"), sbp=sbp.split(0)) == {}

    flow.distributed.run(program, 2)


# --- pure functions


def test_pieces_tile_a_box() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        shape = rng.integers(1, 6, size=rng.integers(0, 4))
        seen = np.zeros(shape, int)
        most = int(rng.integers(8, 200))
        for piece in boxes.pieces(tuple(slice(0, int(n)) for n in shape), 8, most):
            seen[piece] += 1
            assert seen[piece].size * 8 <= most
        assert (seen == 1).all()


def test_who_writes() -> None:
    """Each element of a tensor is written once."""
    rng = np.random.default_rng(1)
    for _ in range(200):
        shape = SHAPES[rng.integers(len(SHAPES))]
        where = random_layout(rng, "cpu", 6, shape)
        seen = np.zeros(shape, int)
        for rank in range(6):
            if (box := boxes.box_to_write(where, rank)) is not None:
                seen[box] += 1
        assert (seen == 1).all()


@pytest.mark.parametrize(
    ("shape", "ranks", "most", "expected"),
    [
        ((8, 6), 4, 1 << 20, [2, 6]),
        ((5, 6), 4, 1 << 20, [2, 6]),
        ((0, 6), 2, 1 << 20, [1, 6]),
        ((16, 6), 2, 96, [2, 6]),
        ((14, 6), 2, 200, [1, 6]),
        ((2, 60), 2, 96, [1, 12]),
    ],
)
def test_chunks(shape: tuple[int, ...], ranks: int, most: int, expected: list[int]) -> None:
    where = layout(shape, placement("cpu", list(range(ranks))), sbp.split(0))
    assert sets.chunk_shape(where, 8, most) == expected
