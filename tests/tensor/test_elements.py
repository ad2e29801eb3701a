"""An element is a copy, as in NumPy: what integers for all axes name, when it was named."""

import collections.abc
import itertools
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.machine import Gate, run_in_threads
from tests.support.oracle import DTYPES, same, values

HELD = 512  # bytes of a cpu tensor that are behind its storage
ARRAYS = (
    *(np.arange(24.0), np.arange(24).reshape(4, 6), np.arange(24.0).reshape(2, 3, 4)),
    *(np.arange(200.0)[::-2], np.asarray(np.float32(3)), np.arange(6, dtype="int8").reshape(1, 6)),
)
ITEMS: tuple[Any, ...] = (0, -1, slice(None), slice(1), None, ..., np.int64(0), np.array(0), True)
KEYS = [
    *ITEMS,
    (),
    (...,),
    *itertools.product(ITEMS, ITEMS),
    *((0, 0, 0), (0, -1, 0, None), (..., 0, 0, 0), (0, 0, ..., 0), (np.int8(0), 0, 0)),
]


def held(size: int, device: flow.Device) -> flow.Tensor:
    """Zeros on a device, so many that they are in memory of the allocator where size is large."""
    return flow.zeros(size, device=device)


# --- which keys copy


@pytest.mark.parametrize("array", ARRAYS, ids=lambda a: f"{a.dtype}{a.shape}")
def test_keys_copy_where_numpy_copies(array: np.ndarray, device: flow.Device) -> None:
    for key in KEYS:
        x = np.array(array)
        t = flow.tensor(x, device=device)
        try:
            expected = x[key]
        except IndexError:
            with pytest.raises(IndexError, match=r"\[getitem\]"):
                t[key]
            continue
        item = t[key]
        same(expected, item)
        is_copy = expected.size > 0 and not np.may_share_memory(expected, x)
        if expected.size > 0:
            assert item.shares_storage(t) != is_copy, key
        before = np.array(expected)
        x[...] = 77
        t[...] = 77
        same(before if is_copy else expected, item)


def test_what_is_written_to_an_element_stays_there(device: flow.Device) -> None:
    t = flow.arange(6, device=device)
    rows = t.reshape(2, 3)
    element = t[1]
    element += 10
    element[()] *= 2
    t[2][...] = 50
    rows[1, 2].fill(50)
    rows[1][1][()] = 50
    t[3].real[...] = 50
    assert element.item() == 22
    assert t.tolist() == [0, 1, 2, 3, 4, 5]
    t[3, ...] = 30
    view = t[4, ...]
    view += 10
    assert t.tolist() == [0, 1, 2, 30, 14, 5]


def test_elements_are_swapped(device: flow.Device, naive: bool) -> None:
    a = flow.tensor([1.0, 2.0, 3.0], device=device)
    a[0], a[1] = a[1], a[0]
    a[0], a[1], a[2] = a[2], a[0], a[1]
    assert a.tolist() == [3.0, 2.0, 1.0]
    m = flow.tensor([[1, 2], [3, 4]], device=device)
    m[0, 0], m[1, 1] = m[1, 1], m[0, 0]
    assert m.tolist() == [[4, 2], [3, 1]]


@pytest.mark.parametrize("size", [3, HELD])
def test_elements_of_a_loop_are_those_of_their_time(
    size: int, device: flow.Device, naive: bool
) -> None:
    w = held(size, device)
    kept = []
    for _ in range(50):
        w += 1
        kept.append(w[0])
    assert [x.item() for x in kept] == list(range(1, 51))


def test_iteration_gives_copies(device: flow.Device) -> None:
    t = flow.arange(4, device=device)
    taken = list(t)
    first, *_ = t
    t += 10
    assert [x.item() for x in (*taken, first)] == [0, 1, 2, 3, 0]
    for place, x in enumerate(t):  # each is taken in its turn
        assert x.item() == 10 + place * 2
        t += 1
    for row in t.reshape(2, 2):
        row[:] = 0
    assert t.tolist() == [0] * 4
    assert list(flow.zeros(0, device=device)) == []


def test_iteration_ends_and_bad_places_are_errors() -> None:
    t = flow.arange(3)
    again = iter(t)
    assert [x.item() for x in again] == [0, 1, 2]
    assert list(again) == []
    reverse = [x.item() for x in reversed(t)]
    assert reverse == [2, 1, 0]
    for wrong in (3, -4, (0, 0), (3, ...)):
        with pytest.raises(IndexError, match=r"\[getitem\]"):
            t[wrong]


def test_take_of_a_place_is_a_copy(device: flow.Device) -> None:
    t = flow.arange(4, device=device)
    taken = [flow.take(t, 2), t.take(2), flow.take(t, flow.tensor(2, device=device))]
    t[2] = 9
    assert [x.item() for x in taken] == [2, 2, 2]
    assert t.item(2) == t.item(-2) == 9


def test_an_element_of_a_broadcast_view_is_a_copy(device: flow.Device) -> None:
    wide = flow.broadcast_to(flow.tensor([1.0], device=device), (3,))
    element = wide[1]
    wide[2] = 5
    assert element.item() == 1
    element += 1
    assert wide.tolist() == [5.0, 5.0, 5.0]


@pytest.mark.parametrize("dtype", [*DTYPES, "bfloat16"])
def test_elements_of_all_dtypes(dtype: str, device: flow.Device) -> None:
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
        t = flow.tensor(values((50,), "float32", 1), device=device).astype(flow.bfloat16)
    else:
        t = flow.tensor(values((50,), dtype, 1), device=device)
    expected = t.numpy()
    elements = [t[i] for i in range(50)]
    t[...] = 0
    for i, element in enumerate(elements):
        assert element.numpy().tobytes() == expected[i].tobytes()
        assert element.dtype == t.dtype
        assert element.shape == element.strides == ()
        assert element.device == device


# --- elements of what is not there yet


@pytest.mark.parametrize("size", [4, HELD])
def test_an_element_of_a_pending_tensor(size: int, device: flow.Device) -> None:
    with Gate(size) as gate:
        x = gate.on(device) + flow.arange(size, device=device)
        taken = []
        for _ in range(3):
            taken += [x[1], x[-2, ...].copy(), x.reshape(2, -1)[0, 1], next(iter(x[1:]))]
            x[1], x[2] = x[2], x[1]
            x += 1
        last = x[1] * 10 + x[2]
        if device == "cpu":
            assert not taken[0].is_ready()
    numbers = np.arange(float(size))
    expected: list[Any] = []
    for _ in range(3):
        expected += [numbers[1], numbers[-2], numbers[1], numbers[1]]
        numbers[1], numbers[2] = numbers[2], numbers[1]
        numbers += 1
    assert [t.item() for t in taken] == expected
    assert last.item() == numbers[1] * 10 + numbers[2]
    same(numbers, x)


def test_an_element_is_taken_before_a_later_write_that_waits() -> None:
    x, y = flow.ones(4), flow.ones(4)
    with Gate() as gate:
        z = gate.tensor + y  # a reader in flight
        first = y[0]
        y += gate.tensor + 5
        second = y[0]
        x[2] = y[1]
        third = x[2]
        assert first.is_ready()
        assert first.item() == 1
        assert not second.is_ready()
        assert not third.is_ready()
    assert (second.item(), third.item(), z.item(0)) == (6, 6, 1)
    assert x.tolist() == [1, 1, 6, 1]


def fail(*_: object) -> None:
    raise KeyError("on purpose")


def test_elements_of_a_failed_tensor_fail(device: flow.Device) -> None:
    x = flow.ones(4, device=device)
    sound = x[1]
    if device == "cpu":
        call = flow.vm.host_func(fail, writes=[x])
        with pytest.raises(KeyError):
            call.wait()
        error: type[Exception] = KeyError
    else:
        x[flow.tensor([9], device=device)] = 1.0
        error = IndexError
    poisoned = x[1]
    other = flow.zeros(3, device=device)
    other[0], below = poisoned, poisoned + sound
    for failed in (poisoned, below, other, other[1], -other[0]):
        for _ in range(2):
            with pytest.raises(error):
                failed.numpy()
    assert (sound + sound[()]).item() == 2
    with pytest.raises(error):
        flow.synchronize()


def test_objects_of_failed_elements_are_not_used_again() -> None:
    x = flow.ones(2)
    with pytest.raises(KeyError):
        flow.vm.host_func(fail, writes=[x]).wait()
    for _ in range(300):
        failed = x[0]
    del failed
    y = flow.arange(3.0)
    assert [float(y[i % 3]) for i in range(300)] == [0.0, 1.0, 2.0] * 100
    with pytest.raises(KeyError):
        flow.synchronize()


def test_an_element_keeps_nothing_alive_and_has_no_past() -> None:
    large = flow.zeros(1_000_000) + 0
    large.numpy()
    before = flow.memory_stats("cpu")["in_use"]
    element = large[5]
    del large
    assert flow.memory_stats("cpu")["in_use"] <= before - 8_000_000
    assert element.item() == 0
    shared = np.asarray(element)
    gone: list[Any] = []
    other = shared + element
    weakref.finalize(other, gone.append, 1)
    del element, other
    assert gone == [1]
    others = [flow.arange(9)[i] for i in range(9)]
    assert shared == 0  # its memory is not that of another one
    assert [x.item() for x in others] == list(range(9))
    view = others[3][None, None]
    del others
    again = [flow.arange(9)[i] for i in range(9)]
    assert view.tolist() == [[3]]
    del view
    made = [flow.arange(9.0)[i] for i in range(9)]
    assert {(x.shape, x.strides, x.item()) for x in made} == {((), (), float(i)) for i in range(9)}
    del again


# --- memory that others see, too


def test_elements_of_shared_memory() -> None:
    x = flow.arange(4.0)
    seen = np.asarray(x)
    element = x[1]
    seen[1] = 50
    assert (element.item(), x[1].item()) == (1, 50)
    x[1] += 1
    x[0], x[3] = x[3], x[0]
    assert seen.tolist() == [3, 51, 2, 0]
    back = flow.from_dlpack(seen)
    taken = x[2], back[2]
    back[2] = 7
    x[3] = back[2]
    assert [t.item() for t in taken] == [2, 2]
    assert seen.tolist() == [3, 51, 7, 7]
    one = x[0]
    shown = np.asarray(one)
    one += 1
    assert (shown, x.item(0)) == (4, 3)


# --- elements as values


@pytest.mark.parametrize("target", DTYPES)
def test_an_element_is_assigned_as_in_numpy(target: str, device: flow.Device) -> None:
    for source in DTYPES:
        numbers = values((40,), source, 2)
        x, y = np.zeros(40, target), np.zeros((40, 2), target)
        if x.dtype.kind not in "bc" and numbers.dtype.kind == "c":
            with pytest.raises(TypeError):
                flow.tensor(x, device=device)[0] = flow.tensor(numbers, device=device)[0]
            continue
        if x.dtype.kind in "iu" and numbers.dtype.kind != "b":
            numbers = np.arange(40).astype(source)  # what all of them hold
        t, u, given = (flow.tensor(a, device=device) for a in (x, y, numbers))
        with np.errstate(all="ignore"):
            for i in range(40):
                x[i], y[-i, 1] = numbers[i], numbers[i]
                t[i], u[-i, 1] = given[i], given[i]
        same(x, t)
        same(y, u)


def test_wrong_assignments_are_errors_and_write_nothing(device: flow.Device) -> None:
    x = flow.zeros(3, device=device)
    y = flow.broadcast_to(x, (2, 3))
    fixed = flow.zeros(3)
    fixed.numpy()
    with pytest.raises(ValueError, match="different devices"):
        x[0] = flow.ones((), device="mock:1" if device != "mock:1" else "cpu")
    for place in (3, -4, (0, 0)):
        with pytest.raises(IndexError):
            x[place] = x[0]
    assert y.tolist() == [[0.0] * 3] * 2
    array = np.zeros(3)
    array.flags.writeable = False
    read_only = flow.from_dlpack(array)
    with pytest.raises(ValueError, match="read-only"):
        read_only[0] = fixed[0]
    assert read_only.tolist() == [0.0] * 3


def test_an_element_is_updated_in_place(device: flow.Device, naive: bool) -> None:
    x, y = np.arange(6.0), np.arange(6).reshape(2, 3)
    t, u = flow.tensor(x, device=device), flow.tensor(y, device=device)
    for a, b in ((x, y), (t, u)):
        a[1] += 1
        a[2] *= a[1]
        a[-1] -= 0.5
        a[3] **= 2
        a[0] /= a[4]
        b[1, 2] += 5
        b[0, 1] -= b[1, 2]
        b[1, 0] //= 2
        b[0, 0] |= 6
    same(x, t)
    same(y, u)


# --- threads


def test_threads_have_elements_of_their_own() -> None:
    shared = flow.arange(8.0)

    def work(place: int) -> None:
        own = flow.arange(8.0) + place
        for turn in range(300):
            own[0], own[7] = own[7], own[0]
            taken = [own[0], own[7], shared[place], shared[turn % 8] * 2]
            own[3] += shared[3]
            first, last = (place, place + 7) if turn % 2 else (place + 7, place)
            assert [x.item() for x in taken] == [first, last, place, turn % 8 * 2]
        assert own[3].item() == place + 3 + 300 * 3

    run_in_threads(work, 4)


# --- functions that write to views of single elements


@pytest.mark.parametrize("order", [1, 2])
def test_functions_whose_results_are_written_element_by_element(
    order: int, device: flow.Device
) -> None:
    x = np.random.default_rng(1).normal(size=9)
    t = flow.tensor(x, device=device)
    places = np.sort(np.random.default_rng(2).normal(size=9))
    for spacing in ((), (0.5,), (places,)):
        expected = np.gradient(x, *spacing, edge_order=order)
        np.testing.assert_array_equal(
            flow.gradient(t, *spacing, edge_order=order).numpy(), expected
        )
    number = flow.tensor(3.5, device=device)
    for made in (flow.pad(number, 0), flow.roll(number, 0), flow.roll(number, 0, axis=())):
        assert made.item() == 3.5
        assert made.shape == ()
        assert not made.shares_storage(number)


# --- no hash


def test_tensors_are_unhashable() -> None:
    for x in (flow.ones(3), flow.tensor(1), flow.ones(3)[0]):
        with pytest.raises(TypeError, match="unhashable type: .*Tensor"):
            hash(x)
        with pytest.raises(TypeError, match="unhashable"):
            {x}  # noqa: B018
        with pytest.raises(TypeError, match="unhashable"):
            {x: 1}  # noqa: B018
        with pytest.raises(TypeError, match="unhashable"):
            weakref.WeakKeyDictionary()[x] = 1
        assert not isinstance(x, collections.abc.Hashable)
    assert flow.Tensor.__hash__ is None
    assert isinstance(np.ones(3), collections.abc.Hashable) is False


def test_what_needs_no_hash_works() -> None:
    x = flow.arange(3)
    assert weakref.ref(x)() is x
    by_identity = {id(t): t for t in (x, x, flow.ones(1))}
    assert len(by_identity) == 2
    assert sorted({t.item() for t in x}) == [0, 1, 2]


@pytest.fixture(autouse=True)
def at_rest() -> Iterator[None]:
    """No test leaves a failure to the next one."""
    yield
    flow.synchronize()


class Place(np.int64):
    pass


def places(i: int, device: flow.Device) -> list[Any]:
    """The same integer in the types that programs have it in."""
    return [
        *(i, np.int64(i), np.int32(i), Place(i), np.array(i)),
        *(flow.tensor(i, device=device), flow.tensor(np.int32(i), device=device)),
    ]


def test_whatever_holds_an_integer_is_an_index(device: flow.Device) -> None:
    array = np.arange(12.0).reshape(3, 4)
    x = flow.tensor(array, device=device)
    for i, j in ((0, 0), (2, 3), (-1, -4)):
        for one, other in itertools.product(places(i, device), places(j, device)):
            same(array[i, j], x[one, other])
            same(array.T[::-1][j, i], x.T[::-1][other, one])
            x[one, other] = np.float64(7)
            array[i, j] = 7
        for one in places(i, device):
            same(array[i], x[one])
            same(array[:, 1][i], x[:, 1][one])
            x[:, 2][one] = flow.tensor(5.0, device=device)
            array[i, 2] = 5
    same(array, x)
    for wrong in (places(3, device), places(-4, device)):
        for one in wrong:
            for read in (lambda one=one: x[one, 0], lambda one=one: x[:, 1][one]):
                with pytest.raises(IndexError, match="out of bounds"):
                    read().numpy()
    with pytest.raises(IndexError):  # of indices that are tensors
        flow.synchronize()
    for wrong in (np.float64(1), np.bool_(True), flow.tensor(1.0)):
        try:
            array[wrong, 1]
        except IndexError:
            with pytest.raises(IndexError):
                x[wrong, 1]
        else:
            same(array[wrong, 1], x[wrong, 1])


def test_an_index_that_is_pending() -> None:
    x = flow.arange(4.0)
    with Gate(2) as gate:
        place = gate.tensor[0].astype("int64") + 1
        found = x[place]
        x[place] = 9
        assert not found.is_ready()
    expected = int(gate.tensor[0]) + 1
    assert found.item() == expected
    assert x[expected].item() == 9


def test_an_index_is_taken_when_it_is_used(device: flow.Device) -> None:
    x, place = flow.arange(4, device=device), flow.tensor(1, device=device)
    found = x[place]
    place += 2
    found += 10
    assert (found.item(), x.tolist(), x[place].item()) == (11, [0, 1, 2, 3], 3)
