"""Files of tensors of many ranks: what fails on one rank fails on all, and leaves the old file."""

import contextlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.distributed import DesyncError, RankError, load, placement, save, sbp
from oneflow_lite.distributed.agreement import together
from oneflow_lite.distributed.files import npy, sets
from tests.support.distributed.files import each_error, tensorstore
from tests.support.distributed.programs import check

Array = np.ndarray[Any, Any]


def poisoned(whole: Array) -> flow.distributed.GlobalTensor:
    """A tensor of which the part of rank 1 has failed."""
    x = flow.tensor(whole, placement=placement.all("cpu"), sbp=sbp.split(0))
    if flow.distributed.rank() == 1:

        def fail(_: Any) -> None:
            raise ValueError("on purpose")

        flow.vm.host_func(fail, writes=[x.to_local()])
    return x


@pytest.mark.parametrize("kind", ["one tensor", "a set"])
@pytest.mark.parametrize("fault", ["value", "write", "create", "rename"])
def test_a_failure_leaves_the_old_file(
    fault: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "a set":
        tensorstore()
    old = np.arange(6.0)
    path = tmp_path / "x.npy"

    def write(whole: Array) -> None:
        x = flow.tensor(whole, placement=placement.all("cpu"), sbp=sbp.split(0))
        x = poisoned(whole) if fault == "value" and whole is not old else x
        save(path, x if kind == "one tensor" else {"x": x})

    flow.distributed.run(write, 3, old)
    bad_rank = 0 if fault in ("create", "rename") else 1

    def fail(*_: Any, **__: Any) -> Any:
        if flow.distributed.rank() == bad_rank:
            raise OSError("on purpose")
        return real(*_, **__)

    if fault == "rename":
        real: Any = os.replace if kind == "one tensor" else os.rename
        monkeypatch.setattr(os, real.__name__, fail)
    elif fault == "create":
        module: Any = npy if kind == "one tensor" else sets
        name = "_create" if kind == "one tensor" else "_write_group"
        real = getattr(module, name)
        monkeypatch.setattr(module, name, fail)
    elif fault == "write":
        module, name = (npy, "_write") if kind == "one tensor" else (sets, "_wait")
        real = getattr(module, name)
        monkeypatch.setattr(module, name, fail)
    errors = each_error(lambda: write(old + 1), 3)
    monkeypatch.undo()
    for rank, error in enumerate(errors):
        assert "on purpose" in str(error)
        if rank == bad_rank:
            assert isinstance(error, ValueError if fault == "value" else OSError)
        else:
            assert isinstance(error, RankError)
            assert str(error).startswith(f"[save] rank {bad_rank}: ")
    assert os.listdir(tmp_path) == ["x.npy"]

    def read() -> None:
        found: Any = load(path, placement=placement.all("cpu"), sbp=sbp.split(0))
        check(found if kind == "one tensor" else found["x"], old)

    flow.distributed.run(read, 2)
    if fault == "value":
        with pytest.raises(ValueError, match="on purpose"):
            flow.synchronize()


def test_the_program_goes_on_after_a_failure(tmp_path: Path) -> None:
    def program() -> None:
        x = flow.ones(4, placement=placement.all("cpu"), sbp=sbp.split(0))
        folder = "nowhere" if flow.distributed.rank() == 1 else "."
        with pytest.raises((RankError, FileNotFoundError), match="there is no folder"):
            save(tmp_path / folder / "x.npy", x)
        save(tmp_path / "x.npy", x)

    flow.distributed.run(program, 3)
    assert np.load(tmp_path / "x.npy").tolist() == 4 * [1.0]


def test_a_failed_look_at_a_file_is_one_on_all_ranks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.save(tmp_path / "x.npy", np.arange(4))
    real = npy.load

    def fail(*args: Any) -> Any:
        if flow.distributed.rank() == 2:
            raise OSError("on purpose")
        return real(*args)

    monkeypatch.setattr(npy, "load", fail)
    errors = each_error(
        lambda: load(tmp_path / "x.npy", placement=placement.all("cpu"), sbp=sbp.split(0)), 3
    )
    assert [type(error) for error in errors] == [RankError, RankError, OSError]
    assert all("on purpose" in str(error) for error in errors)


def ones() -> flow.distributed.GlobalTensor:
    return flow.ones(4, placement=placement.all("cpu"), sbp=sbp.split(0))


def here() -> flow.distributed.Placement:
    return placement.all("cpu")


BAD: dict[str, tuple[Callable[[Path], Any], type[Exception], str]] = {
    "no folder": (lambda p: save(p / "no/x", ones()), FileNotFoundError, "make it first"),
    "a folder": (lambda p: save(p / "folder.npy", ones()), IsADirectoryError, "becomes a file"),
    "a folder by a slash": (lambda p: save(f"{p}/", ones()), IsADirectoryError, "name of a file"),
    "an empty name": (lambda p: save("", ones()), IsADirectoryError, "'' is no name of a file"),
    "a local tensor": (lambda p: save(p / "x", flow.ones(2)), TypeError, "to_global"),
    "a path": (lambda p: save(3, ones()), TypeError, r"\[save\] path"),
    "no placement": (
        lambda p: load(p / "good.npy", placement="cpu", sbp=sbp.broadcast),
        *(TypeError, "expected a Placement, got str"),
    ),
    "no sbp": (
        lambda p: load(p / "good.npy", placement=here(), sbp="split"),
        *(TypeError, "expected an Sbp, got str"),
    ),
    "partial": (
        lambda p: load(p / "good.npy", placement=here(), sbp=sbp.partial_sum),
        *(ValueError, "a file holds no partial values"),
    ),
    "no dimension": (
        lambda p: load(p / "good.npy", placement=here(), sbp=sbp.split(1)),
        *(IndexError, r"split\(1\)"),
    ),
    "two sbps": (
        lambda p: load(p / "good.npy", placement=here(), sbp=[sbp.broadcast] * 2),
        *(ValueError, "expected 1 sbps"),
    ),
    "no rank": (
        lambda p: load(p / "good.npy", placement=placement("cpu", 7), sbp=sbp.broadcast),
        *(ValueError, "rank 7 is not in this world"),
    ),
    "no file": (lambda p: load(p / "x", **where()), FileNotFoundError, "there is no file"),
    "cut off": (lambda p: load(p / "cut.npy", **where()), ValueError, "is cut off: it has"),
    "cut in its head": (lambda p: load(p / "head.npy", **where()), ValueError, "not a .npy file"),
    "a head that does not end": (
        lambda p: load(p / "open.npy", **where()),
        ValueError,
        "not a .npy",
    ),
    "another format": (lambda p: load(p / "text.npy", **where()), ValueError, "not a .npy file"),
    "objects": (lambda p: load(p / "object.npy", **where()), TypeError, "object"),
    "text": (lambda p: load(p / "str.npy", **where()), TypeError, "unsupported dtype str"),
    "records": (lambda p: load(p / "record.npy", **where()), TypeError, r"\[load\]"),
}

BAD_SETS: dict[str, tuple[Callable[[Path], Any], type[Exception], str]] = {
    "a number as a key": (lambda p: save(p / "s", {3: ones()}), TypeError, "expected str, got 3"),
    "a path as a key": (lambda p: save(p / "s", {"a/b": ones()}), ValueError, "without slashes"),
    "the name of the metadata": (
        lambda p: save(p / "s", {"zarr.json": ones()}),
        *(ValueError, r"\[save\] 'zarr.json' is no name of a tensor: the file that describes"),
    ),
    "no name": (lambda p: save(p / "s", {"": ones()}), ValueError, "is no name of a tensor"),
    "a local tensor": (lambda p: save(p / "s", {"a": flow.ones(2)}), TypeError, "'a': expected"),
    "on a file": (lambda p: save(p / "good.npy", {"a": ones()}), NotADirectoryError, "choose"),
    "on a folder": (lambda p: save(p / "folder.npy", {"a": ones()}), NotADirectoryError, "choose"),
    "no set": (lambda p: load(p / "folder.npy", **where()), ValueError, "is no set of tensors"),
    "no tensor": (
        lambda p: load(p / "set", placement=here(), sbp={"c": sbp.broadcast}),
        *(KeyError, "has no tensor 'c'"),
    ),
    "a chunk lost": (lambda p: load(p / "lost", **where()), ValueError, r"\[load\] .*is missing"),
    "a chunk cut off": (lambda p: load(p / "short", **where()), ValueError, r"\[load\] .*data"),
}


def where() -> dict[str, Any]:
    return {"placement": here(), "sbp": sbp.broadcast}


def damaged(folder: Path) -> None:
    """Files that are not as they should be."""
    (folder / "folder.npy").mkdir()
    np.save(folder / "good.npy", np.arange(9))
    whole = (folder / "good.npy").read_bytes()
    (folder / "cut.npy").write_bytes(whole[:-1])
    (folder / "head.npy").write_bytes(whole[:20])
    (folder / "open.npy").write_bytes(whole.replace(b"(9,), }", b"((9,, }"))
    (folder / "text.npy").write_text("some text, and more of it")
    np.save(folder / "object.npy", np.array([None, {}]), allow_pickle=True)
    np.save(folder / "str.npy", np.array(["a"]))
    np.save(folder / "record.npy", np.zeros(2, [("a", "i4")]))


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_an_error_on_each_rank(name: str, tmp_path: Path) -> None:
    damaged(tmp_path)
    _refused(BAD[name], tmp_path)


@pytest.mark.parametrize("name", BAD_SETS)
def test_bad_sets(name: str, tmp_path: Path) -> None:
    tensorstore()
    damaged(tmp_path)

    def program() -> None:
        for each in ("set", "lost", "short"):
            save(tmp_path / each, {"a": ones(), "b": ones()})

    flow.distributed.run(program, 1)
    (tmp_path / "lost/b/c/0").unlink()
    (tmp_path / "short/b/c/0").write_bytes(b"1234")
    _refused(BAD_SETS[name], tmp_path)


def _refused(case: tuple[Callable[[Path], Any], type[Exception], str], folder: Path) -> None:
    call, kind, text = case
    before = sorted(folder.rglob("*"))
    for error in each_error(lambda: call(folder), 2):
        with pytest.raises(kind, match=text):
            raise error
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize("differs", ["path", "shape", "dtype", "layout", "kind", "names"])
def test_ranks_that_differ(differs: str, tmp_path: Path) -> None:
    if differs in ("kind", "names"):
        tensorstore()

    def program() -> None:
        ranks, is_other = placement.all("cpu"), flow.distributed.rank() == 2
        x = ones()
        y = {
            "shape": flow.ones(5, placement=ranks, sbp=sbp.split(0)),
            "dtype": flow.ones(4, dtype="int32", placement=ranks, sbp=sbp.split(0)),
            "layout": flow.ones(4, placement=ranks, sbp=sbp.broadcast),
        }.get(differs, x)
        given: Any = y if is_other else x
        if differs == "kind" and is_other:
            given = {"x": x}
        if differs == "names":
            given = {"y" if is_other else "x": x}
        save(tmp_path / ("a" if is_other and differs == "path" else "b"), given)

    for error in each_error(program, 3):
        with pytest.raises(ValueError, match=r"\[save\] ranks differ in .*rank 0 has.*rank 2 has"):
            raise error
    assert os.listdir(tmp_path) == []


def test_a_rank_that_reads_while_others_write(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(3))

    def program() -> None:
        x = ones()
        if flow.distributed.rank() == 1:
            load(tmp_path / "x.npy", **where())
        save(tmp_path / "x.npy", x)

    for error in each_error(program, 2):
        with pytest.raises(DesyncError, match=r"rank 0: .*, save.* rank 1: .*, load"):
            raise error
    assert np.load(tmp_path / "x.npy").tolist() == [0, 1, 2]


def test_a_tensor_of_another_world_is_refused(tmp_path: Path) -> None:
    """This thread is a rank 0, too, and would write the part that it has as the whole."""

    def program() -> flow.distributed.GlobalTensor:
        return ones()

    x = flow.distributed.run(program, 2)[0]
    with pytest.raises(ValueError, match="belongs to rank 0 of another thread"):
        save(tmp_path / "x", x)
    assert list(tmp_path.iterdir()) == []


def test_the_order_of_a_set_may_differ(tmp_path: Path) -> None:
    tensorstore()

    def program() -> None:
        names = ["a", "b"] if flow.distributed.rank() else ["b", "a"]
        x = ones()
        save(tmp_path / "set", {name: x * (name == "a") for name in names})
        found: Any = load(tmp_path / "set", **where())
        assert (found["a"].tolist(), found["b"].tolist()) == (4 * [1.0], 4 * [0.0])

    flow.distributed.run(program, 2)


def test_a_rank_that_does_not_call_it(tmp_path: Path) -> None:
    def program() -> None:
        x = ones()
        if flow.distributed.rank() != 1:
            save(tmp_path / "x.npy", x)

    errors = each_error(program, 3)
    for rank in (0, 2):
        with pytest.raises(DesyncError, match="rank 1 has ended"):
            raise errors[rank]
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("differs", ["path", "sbp"])
def test_ranks_that_read_differently(differs: str, tmp_path: Path) -> None:
    for name in ("0.npy", "1.npy"):
        np.save(tmp_path / name, np.arange(3))

    def program() -> None:
        rank = flow.distributed.rank()
        name = f"{rank if differs == 'path' else 0}.npy"
        how = sbp.split(0) if rank and differs == "sbp" else sbp.broadcast
        load(tmp_path / name, placement=placement.all("cpu"), sbp=how)

    for error in each_error(program, 2):
        with pytest.raises(ValueError, match=r"\[load\] ranks differ in"):
            raise error


def test_without_tensorstore(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorstore", None)
    (tmp_path / "set").mkdir()
    calls: list[Callable[[], Any]] = [
        lambda: save(tmp_path / "x", {"x": ones()}),
        lambda: load(tmp_path / "set", **where()),
    ]
    for call in calls:
        for error in each_error(call, 2):
            with pytest.raises(ImportError, match=r"pip install 'oneflow_lite\[checkpoint\]'"):
                raise error


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("step", ["_create", "_write"])
def test_an_interrupt_of_one_rank_ends_the_call_on_all(
    step: str, kind: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = getattr(npy, step)

    def interrupted(*args: Any, **names: Any) -> Any:
        if flow.distributed.rank() == 0:
            raise kind
        return real(*args, **names)

    def program() -> BaseException | None:
        x = flow.tensor(np.arange(6.0), placement=placement.all("cpu"), sbp=sbp.split(0))
        raised: BaseException | None = None
        flow.distributed.barrier()
        try:
            save(tmp_path / "x.npy", x)
        except BaseException as error:
            raised = error
        monkeypatch.undo()
        flow.distributed.barrier()
        save(tmp_path / "x.npy", x)
        np.testing.assert_array_equal(x.full().numpy(), np.arange(6.0))
        return raised

    monkeypatch.setattr(npy, step, interrupted)
    first, second = flow.distributed.run(program, 2)
    assert type(first) is kind
    assert isinstance(second, RankError)
    assert str(second).startswith(f"[save] rank 0: {kind.__name__}")
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), np.arange(6.0))


def test_an_interrupt_is_not_lost_where_the_others_are_gone() -> None:
    """The others cannot be told; an error that says so is its cause."""

    def program() -> BaseException | None:
        if flow.distributed.rank() == 1:
            flow.distributed.barrier()
            return None
        try:
            together("step", interrupted)
        except BaseException as error:
            return error
        return None

    def interrupted() -> None:
        raise KeyboardInterrupt

    ended: list[BaseException | None] = []
    with contextlib.suppress(Exception):
        flow.distributed.run(lambda: ended.append(program()), 2)
    found = [error for error in ended if error is not None]
    assert [type(error) for error in found] == [KeyboardInterrupt]
    assert isinstance(found[0].__cause__, DesyncError)
