"""Files in NumPy's formats: what NumPy writes is read, and what is written NumPy reads."""

import inspect
import io
import threading
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.oracle import DTYPES, laid_out, same, values

SHAPES = [(), (0,), (0, 3), (7,), (3, 4), (2, 3, 4)]


@pytest.mark.parametrize("dtype", DTYPES)
def test_npy_both_ways(dtype: str, tmp_path: Path, device: flow.Device) -> None:
    for i, shape in enumerate(SHAPES):
        for layout in ("plain", "fortran", "strided", "swapped"):
            x = laid_out(values(shape, dtype, 1), layout)
            native = x.astype(dtype, copy=False)
            path = tmp_path / f"{i}{layout}.npy"
            np.save(path, x)
            t = flow.load(path, device=device)
            assert isinstance(t, flow.Tensor)
            assert t.device == device
            assert t.is_contiguous() is not np.load(path).flags.fnc
            assert t.size == 0 or t.strides == np.load(path).strides
            same(native, t)
            for given in (t, native):
                flow.save(path, given)
                same(native, np.load(path))
                assert path.read_bytes() == _npy(native)


def _npy(x: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, x)
    return file.getvalue()


def test_names_and_files(tmp_path: Path) -> None:
    flow.save(str(tmp_path / "a"), flow.arange(3))
    assert flow.load(tmp_path / "a.npy").tolist() == [0, 1, 2]
    with open(tmp_path / "two", "wb") as file:
        flow.save(file, flow.arange(3).T)
        flow.save(file, [[1.5]])
    with open(tmp_path / "two", "rb") as file:
        assert [flow.load(file).tolist(), flow.load(file).tolist()] == [[0, 1, 2], [[1.5]]]
    with flow.device("mock:1"):
        assert flow.load(tmp_path / "a.npy").device == "mock:1"


def test_calls_are_those_of_numpy(tmp_path: Path) -> None:
    """Parameters are at NumPy's places, and have its names and defaults."""
    for name in ("save", "savez", "savez_compressed", "load"):
        theirs = inspect.signature(getattr(np, name)).parameters.values()
        ours = inspect.signature(getattr(flow, name)).parameters.values()
        for one, other in zip(ours, theirs, strict=False):
            assert one.kind == other.kind
            if one.kind is one.POSITIONAL_OR_KEYWORD:
                assert (one.name, one.default) == (other.name, other.default)
    flow.save(file=tmp_path / "a.npy", arr=[1, 2])
    same(np.asarray([1, 2]), flow.load(tmp_path / "a.npy", None, False, True, "latin1"))
    with pytest.raises(ValueError, match="encoding"):
        flow.load(tmp_path / "a.npy", encoding="utf-8")  # type: ignore[arg-type]
    for write in (flow.savez, flow.savez_compressed):
        write(file=tmp_path / "b.npz", one=flow.ones(2))
        assert flow.load(tmp_path / "b.npz", encoding="bytes")["one"].tolist() == [1, 1]


@pytest.mark.parametrize("write", [flow.savez, flow.savez_compressed])
def test_npz_both_ways(write: Any, tmp_path: Path, device: flow.Device) -> None:
    tensors = {d: flow.tensor(values((2, 3), d, 2), device=device) for d in DTYPES}
    write(tmp_path / "a", tensors["int8"], 3.5, **tensors)
    with np.load(tmp_path / "a.npz") as theirs:
        assert set(theirs.files) == {*DTYPES, "arr_0", "arr_1"}
        same(tensors["int8"].numpy(), theirs["arr_0"])
        for name in DTYPES:
            same(tensors[name].numpy(), theirs[name])
    ours = flow.load(tmp_path / "a.npz", device=device)
    assert set(ours) == {*DTYPES, "arr_0", "arr_1"}
    for name in DTYPES:
        assert ours[name].device == device
        same(tensors[name].numpy(), ours[name])


def test_the_order_in_memory_is_kept(tmp_path: Path, device: flow.Device) -> None:
    """What is column-major and not row-major is kept so; all else is written row-major."""
    for shape in ((3, 4), (2, 3, 4), (3, 1), (1, 4), (0, 3)):
        x = values(shape, "float32", 3)
        t = flow.tensor(x, device=device)
        pairs = [(x, t), (x.T, flow.transpose(t)), (x[::-1].T, flow.transpose(t[::-1]))]
        pairs.append((np.moveaxis(x, 0, -1), flow.moveaxis(t, 0, -1)))
        for theirs, ours in pairs:
            flow.save(tmp_path / "a.npy", ours)
            assert (tmp_path / "a.npy").read_bytes() == _npy(theirs)
            np.save(tmp_path / "b.npy", ours)
            assert (tmp_path / "b.npy").read_bytes() == _npy(theirs)
            flow.savez(tmp_path / "a.npz", one=ours)
            for back in (
                flow.load(tmp_path / "a.npy", device=device),
                flow.load(tmp_path / "a.npz", device=device)["one"],
            ):
                assert isinstance(back, flow.Tensor)
                same(theirs, back)
                assert back.strides == np.load(tmp_path / "a.npy").strides


def test_a_turned_file_of_bfloat16(tmp_path: Path, device: flow.Device) -> None:
    t = flow.arange(12, dtype=flow.bfloat16, device=device).reshape(3, 4).T
    flow.save(tmp_path / "a.npy", t)
    back = flow.load(tmp_path / "a.npy", device=device)
    assert isinstance(back, flow.Tensor)
    assert (back.dtype, back.device, back.strides) == (t.dtype, device, t.strides)
    assert back.tolist() == t.tolist()


def test_saving_waits_for_the_tensor() -> None:
    gate = threading.Event()
    t = flow.zeros(100_000)

    def fill(target: np.ndarray) -> None:
        gate.wait(60)
        target[:] = 4

    flow.vm.host_func(fill, writes=[t])
    file = io.BytesIO()
    with flow.flags(implicit_sync="error"), pytest.raises(RuntimeError, match="not ready"):
        flow.save(file, t)
    gate.set()
    flow.save(file, t)
    file.seek(0)
    assert (np.load(file) == 4).all()


def test_memory_maps(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.arange(12.0).reshape(3, 4, order="F"))
    t = flow.load(path, mmap_mode="r")
    assert isinstance(t, flow.Tensor)
    same(np.load(path), t)
    with pytest.raises(ValueError, match="read-only"):
        t += 1
    written = flow.load(path, mmap_mode="r+")
    written += 1
    del written
    same(np.load(path), t)
    assert t[0, 0].item() == 1
    private = flow.load(path, mmap_mode="c")
    private[...] = 0
    assert t[0, 0].item() == 1
    same(np.load(path), flow.load(path, mmap_mode="r", device="mock:0"))


@pytest.mark.parametrize("mode", ["r", "r+", "c"])
def test_what_is_not_mapped(mode: str, tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    for swapped in (np.arange(4, dtype=">i4"), np.eye(3, dtype=">c8", order="F")):
        np.save(path, swapped)
        with pytest.raises(ValueError, match="without mmap_mode"):
            flow.load(path, mode)
        same(swapped.astype(swapped.dtype.newbyteorder("=")), flow.load(path))
    for other in (np.asarray(["text"]), np.zeros(2, "V3"), np.zeros(2, "M8[s]")):
        np.save(path, other)
        with pytest.raises(TypeError, match=r"\[load\] unsupported dtype"):
            flow.load(path, mode)


def test_what_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.asarray([{}], object), allow_pickle=True)
    with pytest.raises(ValueError, match="allow_pickle=False"):
        flow.load(path)
    np.save(path, np.asarray(["text"]))
    with pytest.raises(TypeError, match="unsupported dtype"):
        flow.load(path)
    path.write_bytes(b"no such format")
    with pytest.raises(ValueError, match="pickle"):
        flow.load(path)
    with pytest.raises(FileNotFoundError):
        flow.load(tmp_path / "missing.npy")
    with pytest.raises(TypeError, match="unsupported dtype"):
        flow.save(path, ["text"])
    np.save(path, np.arange(3))
    with pytest.raises(ValueError, match="mock:77"):
        flow.load(path, device="mock:77")
    assert not (tmp_path / "a.npz").exists()


@pytest.mark.parametrize("allow", [True, False])
def test_pickles_are_no_matter_to_what_is_written(allow: bool, tmp_path: Path) -> None:
    x = flow.arange(3)
    flow.save(tmp_path / "a.npy", x, allow)
    same(np.arange(3), flow.load(tmp_path / "a.npy", None, False))
    for write in (flow.savez, flow.savez_compressed):
        write(tmp_path / "b.npz", x, other=x + 1, allow_pickle=allow)
        found = flow.load(tmp_path / "b.npz", allow_pickle=False)
        assert isinstance(found, dict)
        assert sorted(found) == ["arr_0", "other"]
    with pytest.raises(TypeError, match="unsupported dtype"):
        flow.save(tmp_path / "a.npy", ["text"], allow_pickle=allow)


def test_pickles_are_not_read(tmp_path: Path) -> None:
    path, objects = tmp_path / "a.npy", tmp_path / "objects.npy"
    flow.save(path, flow.arange(3))
    assert flow.load(path, allow_pickle=True).tolist() == [0, 1, 2]  # type: ignore[union-attr]
    np.save(objects, np.array([None, {}]), allow_pickle=True)
    with pytest.raises(ValueError, match="Object arrays cannot be loaded"):
        flow.load(objects, allow_pickle=True)
    with pytest.raises(ValueError, match="max_header_size"):
        flow.load(path, max_header_size=5)
    with pytest.raises(ValueError, match="mode"):
        flow.load(path, "x")


def test_archives_are_used_as_numpys(tmp_path: Path) -> None:
    flow.savez(tmp_path / "a.npz", flow.arange(2), other=flow.arange(3))
    with flow.load(tmp_path / "a.npz") as archive:
        assert isinstance(archive, dict)
        assert sorted(archive.files) == ["arr_0", "other"]
        assert archive["other"].tolist() == [0, 1, 2]
    archive.close()
    with zipfile.ZipFile(tmp_path / "a.npz", "a") as file:
        file.writestr("notes.txt", "no array")
    with pytest.raises(TypeError, match=r"\[load\] 'notes.txt' in the archive: expected an array"):
        flow.load(tmp_path / "a.npz")


@pytest.mark.parametrize("sep", ["", ", "])
def test_tofile(tmp_path: Path, sep: str, device: flow.Device) -> None:
    x = np.arange(6.0).reshape(2, 3).T / 3
    flow.tensor(x, device=device).tofile(tmp_path / "ours", sep)
    x.tofile(tmp_path / "numpys", sep)
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "numpys").read_bytes()
