"""Indexing by arrays and masks: NumPy's values and shapes; what waits, and what is refused."""

import itertools
import random
import threading
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.machine import Gate, here, line_of
from tests.support.oracle import DTYPES, same, values


def given(key: Any, device: flow.Device, form: str = "tensor") -> Any:
    """A key of NumPy with its arrays as tensors, lists, or as they are."""
    if isinstance(key, tuple):
        return tuple(given(item, device, form) for item in key)
    if not isinstance(key, np.ndarray) or form == "array":
        return key
    return flow.tensor(key, device=device) if form == "tensor" else key.tolist()


FORMS = ["tensor", "array", "list"]
FULL = slice(None)
MASK = values((3, 4, 5), "bool", 1)
ROWS, TABLE = np.array([2, 0, -1, 2]), np.array([[0, -2], [1, 1]])
KEYS: list[Any] = [
    *(ROWS, TABLE, np.array(1), np.array([], "int64"), ROWS.astype("uint8"), TABLE.astype("int16")),
    *((FULL, ROWS), (FULL, FULL, TABLE), (..., ROWS), (ROWS, ...), (ROWS, None), (None, ROWS)),
    *((ROWS, ROWS), (ROWS, FULL, ROWS), (0, FULL, ROWS), (FULL, 0, ROWS), (ROWS, 1, ROWS)),
    *((ROWS[:, None], TABLE[0]), (TABLE, FULL, TABLE), (np.array(1), FULL, ROWS), (ROWS, ..., 0)),
    *((slice(None, None, -1), ROWS), (slice(1, 1), ROWS), (ROWS, slice(3, 0, -2), None, ROWS)),
    *((FULL, ROWS, ..., ROWS), (ROWS, None, ROWS), (None, ROWS, 1, ROWS, None), (1, ROWS, 1)),
    *(MASK, MASK[0, 0, :3], MASK[..., 0], (FULL, MASK[0]), (FULL, FULL, MASK[0, 0])),
    *((MASK[:, 0, 0], 1), (0, FULL, MASK[0, 0]), (MASK[:, :, 0], ROWS[:1]), (MASK[:, 0, 0], None)),
    *((MASK[:, 0, 0], FULL, MASK[0, 0]), (ROWS[:2], MASK[0]), (..., MASK[0], None)),
    *(np.zeros((3, 4, 5), bool), np.ones((3, 4), bool), np.zeros((3, 0), bool)),
    *(True, False, np.True_, np.array(False), (True, FULL), (0, True), (FULL, True), (True, False)),
    *((True, ROWS), (True, FULL, ROWS), (False, None), (True, True), (..., True), (ROWS, False)),
]


@pytest.fixture
def x() -> np.ndarray:
    return np.arange(60.0).reshape(3, 4, 5)


@pytest.mark.parametrize("form", FORMS)
def test_get(x: np.ndarray, device: flow.Device, form: str) -> None:
    t = flow.tensor(x, device=device)
    for key in KEYS:
        try:
            expected = x[given(key, device, form) if form == "list" else key]
        except IndexError:
            with pytest.raises(IndexError, match=r"\[getitem\]"):
                t[given(key, device, form)].numpy()
        else:
            result = t[given(key, device, form)]
            same(expected, result)
            assert form == "list" or not result.shares_storage(t)


@pytest.mark.parametrize("form", FORMS)
def test_set(x: np.ndarray, device: flow.Device, form: str) -> None:
    """One tensor, written again and again, while copies of it are under way."""
    t = flow.tensor(x, device=device)
    seen = []
    for i, key in enumerate(KEYS):
        key = given(key, device, form) if form == "list" else key
        try:
            selected = x[key]
        except IndexError:
            continue
        for value in (-i, np.arange(selected.size).reshape(selected.shape) + 100 * i):
            x[key] = value
            is_tensor = form == "tensor" and isinstance(value, np.ndarray)
            t[given(key, device, form)] = flow.tensor(value, device=device) if is_tensor else value
            seen.append((x.copy(), t.to("cpu", copy=True)))
    for expected, result in seen:
        same(expected, result)


def random_key(rng: random.Random, shape: tuple[int, ...]) -> Any:
    parts: list[Any] = []
    common = rng.choice([(3,), (2, 3), (), (1,)])
    axis = 0
    while axis < len(shape) and rng.random() < 0.85:
        size, kind = shape[axis], rng.random()
        if kind < 0.25 or (not size and kind > 0.6):
            parts.append(rng.choice([FULL, slice(1, None), slice(None, None, -1), slice(0, 2)]))
        elif kind < 0.35:
            parts.append(None)
            continue
        elif kind < 0.45 and ... not in [part for part in parts if part is ...]:
            parts.append(...)
            axis += rng.randrange(len(shape) - axis + 1)
            continue
        elif kind < 0.55:
            parts.append(rng.randrange(-size, size) if size else 0)
        elif kind < 0.6:
            parts.append(rng.choice([True, False]))
            continue
        elif kind < 0.82:
            flat = [rng.randrange(-size, size) for _ in range(int(np.prod(common)))]
            parts.append(np.array(flat, rng.choice(["int64", "int32", "int8"])).reshape(common))
        else:
            dims = rng.randrange(1, min(3, len(shape) - axis) + 1)
            masked = shape[axis : axis + dims]
            flat = [rng.random() < 0.6 for _ in range(int(np.prod(masked)))]
            parts.append(np.array(flat, bool).reshape(masked))
            axis += dims - 1
        axis += 1
    return tuple(parts) if len(parts) != 1 or rng.random() < 0.5 else parts[0]


@pytest.mark.parametrize("seed", range(4))
def test_random_keys(seed: int, device: flow.Device) -> None:
    rng = random.Random(seed)
    for step in range(250):
        shape = rng.choice([(4,), (3, 4), (2, 3, 4), (2, 3, 2, 3), (0, 3), (3, 0, 2), (5, 1), ()])
        array = values(shape, rng.choice(DTYPES), step)
        t = flow.tensor(array, device=device)
        if rng.random() < 0.4:
            array, t = array.T, t.T
        elif array.ndim and rng.random() < 0.4:
            array, t = array[::-1], t[::-1]
        key = random_key(rng, array.shape)
        form = rng.choice(["tensor", "array"])
        try:
            expected = array[key]
        except IndexError:
            with pytest.raises(IndexError):
                t[given(key, device, form)].numpy()
            continue
        same(expected, t[given(key, device, form)])
        tail = expected.shape[rng.randrange(expected.ndim + 1) :]
        value = values(rng.choice([expected.shape, tail, ()]), array.dtype.name, step + 1)
        array[key] = value
        t[given(key, device, form)] = flow.tensor(value, device=device)
        same(array, t)


VIEWS = [
    *(lambda a: a, lambda a: a.T, lambda a: a[:, ::2], lambda a: a[:, ::-1]),
    *(lambda a: a[:, :1], lambda a: a[:, :2], lambda a: a[3:, 5]),
]


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_and_layouts(dtype: str, device: flow.Device) -> None:
    """Elements of all sizes, and all paths of the kernels."""
    x = values((40, 1500), dtype, 3)
    for view, place in itertools.product(VIEWS, (0, -1)):
        size = view(x).shape[place]
        index = np.arange(-size, size, max(size // 13, 1))
        keys: list[Any] = [index, np.arange(size) % 3 == 1]
        if place:
            keys = [(..., key) for key in keys]
        if not place and view(x).ndim == 2:
            keys += [(index[:, None], np.arange(view(x).shape[1])), view(x) == view(x)[0, 0]]
        for key in keys:
            array, t = x.copy(), flow.tensor(x, device=device)
            same(view(array)[key], view(t)[given(key, device)])
            other = values(view(array)[key].shape, dtype, 4)
            view(array)[key] = other
            view(t)[given(key, device)] = flow.tensor(other, device=device)
            same(array, t)
            view(array)[key] = array[0, 1]
            view(t)[given(key, device)] = array[0, 1]
            same(array, t)


@pytest.mark.parametrize("shape", [(5000,), (50, 100), (7, 11, 13)])
@pytest.mark.parametrize("share", [0.0, 0.001, 0.5, 1.0])
def test_masks(shape: tuple[int, ...], share: float, device: flow.Device) -> None:
    rng = np.random.default_rng(5)
    x, mask = rng.normal(size=shape), rng.random(shape) < share
    for view in (FULL, (slice(None, None, -1),), (..., slice(1, None, 2))):
        t = flow.tensor(x, device=device)
        m = flow.tensor(mask, device=device)[view]
        same(x[view][mask[view]], t[view][m])
        same(np.argwhere(mask[view]), flow.argwhere(m))
        expected = x.copy()
        expected[view][mask[view]] = 7
        t[view][m] = 7
        same(expected, t)
        count = int(mask[view].sum())
        expected[view][mask[view]] = np.arange(count)
        t[view][m] = flow.arange(count, device=device)
        same(expected, t)
        expected[view][mask[view]] += 0.5
        t[view][m] += 0.5
        same(expected, t)


def test_the_last_of_repeated_indices_stays(device: flow.Device) -> None:
    for index in (np.array([1, 0, 1, 0, 0]), np.array([[1, 0], [0, 1]]), np.zeros(5000, int)):
        x, value = np.zeros(3), np.arange(1.0, index.size + 1).reshape(index.shape)
        for form in ("C", "F"):
            key = np.asarray(index, order=form)
            t = flow.zeros(3, device=device)
            t[flow.tensor(key, device=device)] = flow.tensor(value, device=device)
            x[index] = value
            same(x, t)


def test_writing_what_is_read(device: flow.Device, naive: bool) -> None:
    for statement in [
        *("x[k] = x[::-1]", "x[k] = x", "x[k] += x[k]", "x[k] = x[k[::-1]]", "x[x] = x"),
        *("x[x] = 3", "x[x[::-1]] += 1", "x[x > 4] = x[x > 4][::-1]", "x[1:][k[:-1] - 1] = x[:-1]"),
        *("x[m[x % 2]] = 7", "x[x[2:5]] = x[1:4]", "x.reshape(5, 2)[k[:5] % 5] = x[:2]"),
    ]:
        names: dict[str, Any] = {"x": np.arange(10), "k": np.array([3, 1, 4, 0, 5, 9, 2, 6, 8, 7])}
        names["m"] = np.array([True, False])
        tensors = {name: flow.tensor(value, device=device) for name, value in names.items()}
        exec(statement, names)
        exec(statement, tensors)
        same(names["x"], tensors["x"])
    flags = np.array([True, False, True])
    t = flow.tensor(flags, device=device)
    t[t] = False
    assert t.tolist() == [False] * 3


def test_values_are_broadcast_and_cast(device: flow.Device) -> None:
    x = np.zeros((4, 3), "int16")
    t = flow.tensor(x, device=device)
    key, mask = np.array([3, 1]), np.array([True, False, True, True])
    for value in (
        1.5,
        np.arange(3.0),
        np.ones((2, 1), bool),
        np.full((1, 1, 1), 4),
        np.float32(6.5),
    ):
        x[key] = value
        t[given(key, device)] = value
        same(x, t)
    for value in (8, np.arange(3.0), np.arange(9).reshape(3, 3), np.array([[1], [2], [3]]), [[5]]):
        x[mask] = value
        t[given(mask, device)] = value
        same(x, t)
    with pytest.raises(TypeError, match=r"\[setitem\] cannot cast complex128 to int16"):
        t[given(key, device)] = flow.tensor([1j], device=device)
    with pytest.raises(OverflowError):
        t[given(key, device)] = 70000
    same(x, t)


# --- what waits


def test_integer_arrays_are_not_looked_at(device: flow.Device) -> None:
    x = np.arange(40.0).reshape(10, 4)
    with Gate() as gate, flow.flags(implicit_sync="error"):
        late = gate.on(device).astype("int64") + 2
        mask = gate.on(device) == 0
        t = flow.tensor(x, device=device)
        rows, one, both = t[late], t[late[0]], t[late[:, None], late - 2]
        t[late] = 5
        t[:, mask] = 7
        t[:, mask] = flow.arange(4, device=device)
        t[late[1]] += 1
        host = t[[True, False] * 5], t[np.array([1, 2])]
        assert not rows.is_ready()
        gate.open()
    same(x[[2] * 4], rows)
    same(x[2], one)
    same(x[[[2]] * 4, [0] * 4], both)
    x[2], x[:] = 5, np.arange(4)
    x[2] += 1
    same(x, t)
    same(x[::2], host[0])
    same(x[1:3], host[1])


def test_counting_a_mask_is_a_look(device: flow.Device) -> None:
    t = flow.arange(4, device=device)
    with Gate() as gate, flow.flags(implicit_sync="error"):
        mask = gate.on(device) == 0
        for name, look in [
            ("getitem", lambda: t[mask]),
            ("nonzero", lambda: flow.nonzero(mask)),
            ("argwhere", lambda: flow.argwhere(mask)),
        ]:
            with pytest.raises(RuntimeError, match=rf"\[{name}\] waits"):
                look()
        pair = flow.zeros((4, 4), device=device)
        with pytest.raises(RuntimeError, match=r"\[setitem\] waits"):
            pair[mask, flow.arange(4, device=device)] = 1
    assert t[mask].tolist() == [0, 1, 2, 3]


# --- what is refused


def raised_at_the_look(work: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match) as caught:
        work()
    assert f"{__file__}:" in line_of(caught.value)
    with pytest.raises(error, match=match):
        flow.synchronize()
    flow.synchronize()


def test_an_index_out_of_range(x: np.ndarray, device: flow.Device) -> None:
    """Of host data at the call, and nothing is written; of tensors at the look."""
    t = flow.tensor(x, device=device)
    for key in ([0, 3], np.array([-4]), (FULL, [4]), ([0], FULL, [5, 1])):
        with pytest.raises(
            IndexError, match=r"\[getitem\] index -?\d is out of bounds for axis \d"
        ):
            t[key]
        with pytest.raises(IndexError, match=r"\[setitem\] index"):
            t[key] = 0
    same(x, t)
    for bad in ([0, 3], [-4], 3, [2**62], [-(2**63)]):
        key = flow.tensor(bad, device=device)
        result = t[key] + 1
        line = here() - 1
        with pytest.raises(IndexError, match="out of bounds for axis 0 with size 3") as caught:
            result.numpy()
        assert line_of(caught.value).endswith(f"{__file__}:{line}")
        same(x, t)
    with pytest.raises(IndexError):
        flow.synchronize()
    t[flow.tensor([1, 7], device=device)] = 0
    raised_at_the_look(t.numpy, IndexError, r"\[setitem\] index 7 is out of bounds for axis 0")
    empty = flow.zeros((0, 3), device=device)
    for work in (lambda: empty[flow.tensor([0], device=device)], lambda: empty[0:, [3]]):
        with pytest.raises(IndexError):
            work()
    assert empty[flow.zeros((2, 0), dtype="int64", device=device)].shape == (2, 0, 3)


def test_a_wrong_number_of_values_for_a_mask(device: flow.Device) -> None:
    t, mask = flow.zeros(4, device=device), np.array([True, False, True, True])
    for value in ([1, 2], [1, 2, 3, 4], []):
        with pytest.raises(ValueError, match="does not broadcast"):
            t[mask] = value
        same(np.zeros(4), t)
        broken = t.copy()
        broken[flow.tensor(mask, device=device)] = value
        text = rf"\[setitem\] cannot assign {len(value)} values where the mask has 3 true elements"
        raised_at_the_look(broken.numpy, ValueError, text)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ([1.5], "integers"),
        (1.5, "integers, slices"),
        ("a", "got str"),
        ({}, "got dict"),
        (np.array(["a"]), "got numpy.ndarray"),
        (np.zeros(0), "got numpy.ndarray"),
        (([0, 1], [0, 1, 2]), r"shapes \(2,\) and \(3,\) do not broadcast"),
        (np.ones(4, bool), "the mask has size 4 along axis 0, where the tensor has 3"),
        (np.ones((3, 3), bool), "the mask has size 3 along axis 1, where the tensor has 4"),
        (np.ones((3, 4, 5, 1), bool), "4 indices for 3 dimensions"),
        (([0], [0], [0], [0]), "4 indices for 3 dimensions"),
        (np.zeros((1,) * 31, int), "at most 32 dimensions"),
    ],
)
def test_bad_arrays(x: np.ndarray, key: Any, text: str, device: flow.Device) -> None:
    t = flow.tensor(x, device=device)
    with pytest.raises(IndexError, match=rf"\[getitem\] .*{text}"):
        t[key]
    with pytest.raises(IndexError, match=rf"\[setitem\] .*{text}"):
        t[key] = 1
    with pytest.raises(ValueError, match="inhomogeneous"):
        t[[[1], [1, 2]]]
    same(x, t)


def test_bad_writes(x: np.ndarray, device: flow.Device) -> None:
    t = flow.tensor(x, device=device)
    for key in ([0, 1], flow.tensor([0, 1], device=device)):
        with pytest.raises(ValueError, match=r"\[setitem\] shape \(3,\) does not broadcast"):
            t[key] = [1, 2, 3]
        with pytest.raises(ValueError, match="broadcast view"):
            flow.broadcast_to(t[0, 0], (4, 5))[key] = 1
    other = "cpu" if device.type == "mock" else "mock:0"
    with pytest.raises(ValueError, match="different devices"):
        t[[0, 1]] = flow.zeros(5, device=other)
    same(x, t)
    same(x[[0, 1]], t[flow.tensor([0, 1], device=other)])  # indices come to the tensor
    same(x[MASK], t[flow.tensor(MASK, device=other)])


def test_values_of_a_mask_have_at_most_one_dimension(device: flow.Device) -> None:
    array = np.array([True, False, True, True])
    for mask in (array, flow.tensor(array, device=device)):
        for shape in ((1, 3), (3, 1), (1, 1), (1, 0)):
            values_of = flow.zeros(shape, device=device)
            for key in (mask, (mask,)):
                t = flow.ones(4, device=device)
                with pytest.raises(TypeError, match="values of at most one dimension"):
                    t[key] = values_of
                assert t.tolist() == [1, 1, 1, 1]
        t = flow.ones(4, device=device)
        t[mask, ...] = flow.zeros((1, 3), device=device)
        assert t.tolist() == [0, 1, 0, 0]
        with pytest.raises(ValueError, match=r"shape \(3, 1\)"):
            t[mask, ...] = flow.zeros((3, 1), device=device)


def test_values_of_a_mask_beside_an_integer(device: flow.Device) -> None:
    array = np.zeros((7, 1), "float32")
    t = flow.tensor(array, device=device)
    for mask in (np.array([True]), [True]):
        with pytest.raises(ValueError, match="shape mismatch"):
            array[-6, mask] = array
        with pytest.raises(ValueError, match=r"\[setitem\] shape \(7, 1\).*\(1,\)"):
            t[-6, mask] = t
        array[-6, mask] = array[:1] + 2
        t[-6, mask] = t[:1] + 2
    same(array, t)


def test_a_bool_takes_the_truth_of_one_element(device: flow.Device) -> None:
    t = flow.zeros(3, dtype=bool, device=device)
    t[0] = flow.tensor([5.0], device=device)
    t[2] = flow.tensor([[0.5]], device=device)
    assert t.tolist() == [True, False, True]
    for wrong in (flow.zeros(2, device=device), flow.zeros(0, device=device)):
        with pytest.raises(ValueError, match="expected a number for one element"):
            t[0] = wrong


def test_a_number_of_a_tensor_along_an_empty_axis(device: flow.Device) -> None:
    t = flow.zeros((0, 1), device=device)
    number, nothing = flow.tensor(0, device=device), np.array([False])
    with pytest.raises(IndexError, match="out of bounds for axis 0 with size 0"):
        t[number, nothing]
    same(np.zeros((0, 1))[[0], nothing], t[flow.tensor([0], device=device), nothing])


def test_threads_share_what_they_index(device: flow.Device) -> None:
    x, key = values((300, 40), "float64", 8), np.arange(299, -1, -3)
    t, k = flow.tensor(x, device=device), flow.tensor(key, device=device)
    results: list[Any] = []

    def work(number: int) -> None:
        mine = t.copy()
        for i in range(20):
            mine[k] = t[k] + i
            mine[t > 1] = number
        results.append((number, mine))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    for number, mine in results:
        expected = x.copy()
        expected[key] = x[key] + 19
        expected[x > 1] = number
        same(expected, mine)


def test_a_mask_without_elements_takes_values_of_any_dimensions(device: flow.Device) -> None:
    t = flow.ones((3, 4), device=device)
    for shape in ((0, 4), (3, 0), (0, 0)):
        t[np.zeros(shape, bool)] = [[1.0]]
    assert t.tolist() == [[1.0] * 4] * 3
