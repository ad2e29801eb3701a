"""Many random numbers, which threads of ours draw: NumPy's bits, and its state afterwards."""

import gc
import threading
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite import _C

Call = tuple[str, tuple[Any, ...], dict[str, Any]]

# Some rows reject half of what they look at, or have numbers that take many words.
CALLS: tuple[Call, ...] = (
    *((name, (), {"dtype": dtype}) for name in ("random", "standard_normal", "standard_exponential")
      for dtype in ("float64", "float32")),
    ("uniform", (), {}),
    ("uniform", (-1.5, 2.5), {}),
    ("normal", (), {}),
    ("normal", (0.5, 3), {}),
    ("exponential", (), {}),
    ("exponential", (1.7,), {}),
    ("integers", (1000,), {}),
    ("integers", (-5, -4), {}),
    ("integers", (-(2**31), 2**31), {}),
    ("integers", (2**31 + 1,), {}),
    ("integers", (-5, 2**40), {}),
    ("integers", (-(2**62), 2**62 + 1), {}),
    ("integers", (-(2**63), 2**63 - 1), {"endpoint": True}),
    ("integers", (-7, 2**31 - 1), {"dtype": "int32", "endpoint": True}),
    ("integers", (2**31 + 1,), {"dtype": "uint32"}),
    ("integers", (0, 2**32), {"dtype": "uint32"}),
    ("integers", (2**40,), {"dtype": "uint64"}),
)  # fmt: skip
# Around the limits from which on threads draw, and those of their pieces.
SIZES = (4095, 4096, 4097, 8191, 8193, 16383, 16384, 16385, (5, 4099), 50_001)


def shown(call: Call) -> str:
    name, args, named = call
    return f"{name}{args}{named}"


def both(seed: int) -> tuple[flow.random.Generator, np.random.Generator]:
    return flow.random.default_rng(seed), np.random.default_rng(seed)


def of_numpy(generator: np.random.Generator, call: Call, size: Any) -> np.ndarray[Any, Any]:
    name, args, named = call
    kinds = {key: np.dtype(x) if key == "dtype" else x for key, x in named.items()}
    drawn: np.ndarray[Any, Any] = getattr(generator, name)(*args, size=size, **kinds)
    return drawn


def check(ours: flow.random.Generator, numpys: np.random.Generator, call: Call, size: Any) -> None:
    name, args, named = call
    got = getattr(ours, name)(*args, size=size, **named).numpy()
    wanted = of_numpy(numpys, call, size)
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
    assert got.tobytes() == wanted.tobytes()
    assert repr(ours.bit_generator.state) == repr(numpys.bit_generator.state)


def test_the_installed_numpy_draws_as_is_known() -> None:
    kinds = _C.own_numbers()
    assert len(kinds) == 7
    assert all(kinds.values()), kinds


@pytest.mark.parametrize("call", CALLS, ids=shown)
def test_numpys_methods_are_not_called(call: Call) -> None:
    class Refuses:
        def __getattr__(self, name: str) -> Any:
            raise AssertionError(name)

    name, args, named = call
    ours = flow.random.default_rng(1)
    _, bits = ours._source
    ours._source = Refuses(), bits
    drawn = getattr(ours, name)(*args, size=20_000, **named)
    assert drawn.numpy().tobytes() == of_numpy(np.random.default_rng(1), call, 20_000).tobytes()


@pytest.mark.parametrize("call", CALLS, ids=shown)
@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_bits_and_state(call: Call, threads: int) -> None:
    """A half word is left before every other draw."""
    with flow.flags(num_threads=str(threads)):
        ours, numpys = both(threads)
        for size in SIZES:
            check(ours, numpys, call, size)
            check(ours, numpys, ("integers", (5,), {}), None)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_random_calls(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ours, numpys = both(seed)
    for _ in range(20):
        check(ours, numpys, CALLS[rng.integers(len(CALLS))], int(rng.integers(1, 60_000)))


@pytest.mark.parametrize("device", ["cpu", "mock:0"])
def test_devices(device: str) -> None:
    ours, numpys = both(3)
    drawn = ours.normal(1.0, 2.0, 20_000, device=device)
    assert drawn.device == device
    assert drawn.numpy().tobytes() == numpys.normal(1.0, 2.0, 20_000).tobytes()


@pytest.mark.parametrize("kind", ["MT19937", "Philox", "SFC64", "PCG64DXSM"])
def test_other_bits_are_drawn_by_numpy(kind: str) -> None:
    make = getattr(np.random, kind)
    ours = flow.random.default_rng(np.random.Generator(make(2)))
    numpys = np.random.Generator(make(2))
    for call in CALLS[:9]:
        name, args, named = call
        got = getattr(ours, name)(*args, size=20_000, **named).numpy()
        assert got.tobytes() == of_numpy(numpys, call, 20_000).tobytes()


def test_a_class_of_other_words_is_drawn_by_numpy() -> None:
    class Own(np.random.PCG64):
        pass

    ours = flow.random.default_rng(np.random.Generator(Own(2)))
    wanted = np.random.default_rng(2).random(20_000)
    assert ours.random(20_000).numpy().tobytes() == wanted.tobytes()


def test_threads_share_a_generator() -> None:
    """Each draw is a piece of the stream, and no piece is drawn twice."""
    ours, numpys = both(8)
    drawn: list[Any] = []
    threads = [
        threading.Thread(target=lambda: drawn.append(ours.random(20_000).numpy())) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    pieces = sorted(piece.tobytes() for piece in drawn)
    assert pieces == sorted(numpys.random(20_000).tobytes() for _ in range(8))


@pytest.mark.parametrize("call", CALLS[:12], ids=shown)
def test_recorded_draws(call: Call) -> None:
    name, args, named = call
    ours, numpys = both(4)
    drawn = flow.jit(lambda: getattr(ours, name)(*args, size=20_000, **named) * 2)
    for _ in range(3):
        wanted = of_numpy(numpys, call, 20_000)
        assert drawn().numpy().tobytes() == (wanted * wanted.dtype.type(2)).tobytes()


def test_recorded_draws_of_a_derived_class() -> None:
    """What its method does with the numbers is in the program."""

    class Doubled(flow.random.Generator):
        def normal(self, *args: Any, **named: Any) -> flow.Tensor:
            return super().normal(*args, **named) * 2

        def integers(self, *args: Any, **named: Any) -> flow.Tensor:
            return super().integers(*args, **named) * 2

    for size in (5, 20_000):
        ours, numpys = Doubled(4), np.random.default_rng(4)
        drawn = flow.jit(lambda rng=ours, n=size: (rng.normal(0, 1, n), rng.integers(9, size=n)))
        for _ in range(3):
            wanted = numpys.normal(0, 1, size) * 2, numpys.integers(9, size=size) * 2
            for x, y in zip(drawn(), wanted, strict=True):
                assert x.numpy().tobytes() == y.tobytes()


@pytest.mark.parametrize("size", [(1 << 40, 1 << 40), 1 << 62, (1 << 32, 1 << 32)])
def test_too_many_leave_the_state(size: Any) -> None:
    ours, numpys = both(6)
    for call in (("random", (), {}), ("normal", (), {}), ("integers", (9,), {})):
        name, args, named = call
        with pytest.raises((MemoryError, ValueError)):
            getattr(ours, name)(*args, size=size, **named)
    check(ours, numpys, ("random", (), {}), 5)


def test_there_is_no_room() -> None:
    ours, numpys = both(6)
    with flow.flags(memory_limit="1MB"), pytest.raises(MemoryError):
        ours.random(1_000_000)
    check(ours, numpys, ("random", (), {}), 20_000)


def test_a_finalizer_draws_numbers_of_its_own() -> None:
    """The garbage collector may run it in the middle of a draw, with the generator's lock."""
    rng, inner = flow.random.default_rng(0), []

    class Draws:
        def __del__(self) -> None:
            inner.append(float(rng.random()))

    thresholds = gc.get_threshold()
    try:
        for k in range(200):
            cycle = Draws()
            cycle.me = cycle  # type: ignore[attr-defined]
            gc.disable()
            del cycle
            gc.set_threshold(1 + k % 40)
            gc.enable()
            drawn = rng.random(20_000)
            gc.disable()
            gc.collect()
            after = rng.random(20_000)
            assert inner[-1] not in drawn.numpy()
            assert inner[-1] not in after.numpy()
    finally:
        gc.set_threshold(*thresholds)
        gc.enable()
    assert len(inner) == 200
