"""Random numbers: those of NumPy's generator, on any device."""

import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.machine import Gate
from tests.support.oracle import same


def test_numbers_are_numpys(device: flow.Device) -> None:
    ours, numpys = flow.random.default_rng(7), np.random.default_rng(7)
    for size in (None, 3, (2, 4), (0,), 30_000):
        same(numpys.uniform(-1, 2, size), ours.uniform(-1, 2, size, device=device))
        same(numpys.normal(3, 0.5, size), ours.normal(3, 0.5, size, device=device))
        same(numpys.integers(-5, 9, size), ours.integers(-5, 9, size, device=device))
        same(
            numpys.integers(9, size=size, dtype="uint8"),
            ours.integers(9, size=size, dtype="uint8", device=device),
        )
        same(
            numpys.integers(0, 1, size, endpoint=True),
            ours.integers(0, 1, size, endpoint=True, device=device),
        )
    same(numpys.permutation(20), ours.permutation(20, device=device))
    same(
        numpys.normal(size=4).astype("float32"), ours.normal(size=4, dtype="float32", device=device)
    )


@pytest.mark.parametrize("shape", [(7,), (6, 2), (3, 1, 2), (0,), (0, 3), (1,), (5000,), (300, 4)])
def test_permutation_of_rows(shape: tuple[int, ...], device: flow.Device) -> None:
    x = np.arange(np.prod(shape)).reshape(shape)
    t = flow.tensor(x, device=device)
    result = flow.random.Generator(1).permutation(t)
    assert result.device == device
    expected = np.random.default_rng(1).permutation(x)
    same(expected, result)
    moved = flow.random.Generator(1).permutation(t, device="mock:1")
    assert moved.device == "mock:1"
    same(expected, moved)


def test_seed() -> None:
    rng = flow.random.Generator(5)
    first = rng.normal(size=3).numpy()
    same(np.random.default_rng(5).normal(size=3), first)
    rng.seed(5)
    same(first, rng.normal(size=3))
    assert rng.uniform().item() != rng.uniform().item()


def test_the_default_device_is_used() -> None:
    with flow.device("mock:1"):
        assert flow.random.normal(size=3).device == "mock:1"
    assert flow.random.randint(3).device == "cpu"


def test_threads_share_a_generator() -> None:
    """Every number is drawn once, whoever draws it."""
    rng = flow.random.Generator(3)
    drawn: list[list[float]] = [[] for _ in range(4)]

    def draw(numbers: list[float]) -> None:
        for _ in range(200):
            numbers.append(rng.uniform().item())

    threads = [threading.Thread(target=draw, args=(numbers,)) for numbers in drawn]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(number for numbers in drawn for number in numbers) == sorted(
        np.random.default_rng(3).uniform(size=800).tolist()
    )


@pytest.mark.parametrize(
    "bad",
    [
        lambda r: r.normal(size=-1),
        lambda r: r.integers(5, 2),
        lambda r: r.normal(0, -1),
        lambda r: r.uniform(0, 1, size=2.5),
        lambda r: r.permutation("ab"),
    ],
)
def test_bad_arguments(bad: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        bad(flow.random.Generator(0))


DISTRIBUTIONS: dict[str, tuple[Any, ...]] = {
    "beta": (2.0, 3.0),
    "binomial": (10, 0.4),
    "chisquare": (2.0,),
    "dirichlet": ([1.0, 2.0, 3.0],),
    "exponential": (2.0,),
    "f": (2.0, 3.0),
    "gamma": (2.0, 3.0),
    "geometric": (0.3,),
    "gumbel": (0.5, 2.0),
    "hypergeometric": (5, 6, 4),
    "laplace": (0.5, 2.0),
    "logistic": (0.5, 2.0),
    "lognormal": (0.5, 2.0),
    "logseries": (0.4,),
    "multinomial": (10, [0.3, 0.7]),
    "multivariate_hypergeometric": ([5, 3, 2], 4),
    "multivariate_normal": ([0.0, 1.0], [[2.0, 1.0], [1.0, 2.0]]),
    "negative_binomial": (3, 0.5),
    "noncentral_chisquare": (2.0, 1.0),
    "noncentral_f": (2.0, 3.0, 1.0),
    "pareto": (3.0,),
    "poisson": (4.0,),
    "power": (3.0,),
    "random": (),
    "rayleigh": (2.0,),
    "standard_cauchy": (),
    "standard_exponential": (),
    "standard_gamma": (2.0,),
    "standard_normal": (),
    "standard_t": (3.0,),
    "triangular": (0.0, 1.0, 3.0),
    "vonmises": (0.0, 4.0),
    "wald": (3.0, 2.0),
    "weibull": (2.0,),
    "zipf": (3.0,),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_distributions(name: str, device: flow.Device) -> None:
    ours, numpys = flow.random.default_rng(3), np.random.default_rng(3)
    parameters = DISTRIBUTIONS[name]
    for size in (None, 3, (2, 4), (0,)):
        drawn = getattr(ours, name)(*parameters, size=size, device=device)
        assert drawn.device == device
        same(getattr(numpys, name)(*parameters, size), drawn)
    if parameters:
        first = flow.tensor(parameters[0], device=device)
        drawn = getattr(ours, name)(first, *parameters[1:])
        assert drawn.device == device
        same(getattr(numpys, name)(*parameters), drawn)
    assert getattr(ours, name)(*parameters, dtype="complex64").dtype == "complex64"


@pytest.mark.parametrize(
    ("name", "limits"),
    [
        ("geometric", [(0.0,), (1.0,), (1.5,), (1e-12,), (float("nan"),), (1,), ("a",)]),
        ("logseries", [(0.0,), (1.0,), (-0.1,), (0.999999,), (0,)]),
        ("zipf", [(1.0,), (1.0000001,), (2000.0,), (float("inf"),), (3,)]),
        ("negative_binomial", [(0, 0.5), (0.5, 1), (3, 0.0), (1e9, 1e-9), (1e12, 0.5), (2, 1.5)]),
        ("noncentral_chisquare", [(0.0, 1), (1, 0.0), (1, -1), (0.5, 3), (2, float("inf"))]),
        ("noncentral_f", [(0.0, 1, 1), (1, 2, 0), (1, 0, 1), (1, 2, -1), (3, 2, 1)]),
    ],
)
def test_parameters_at_their_limits(name: str, limits: list[Any]) -> None:
    ours, numpys = flow.random.default_rng(5), np.random.default_rng(5)
    for parameters in limits:
        for size in (None, 4):
            try:
                expected = getattr(numpys, name)(*parameters, size)
            except (TypeError, ValueError) as error:
                with pytest.raises(type(error)):
                    getattr(ours, name)(*parameters, size)
                continue
            same(expected, getattr(ours, name)(*parameters, size))
    assert ours.bit_generator.state == numpys.bit_generator.state


@pytest.mark.parametrize("name", ["random", "standard_normal", "standard_exponential"])
def test_float32_is_drawn_as_such(name: str, device: flow.Device) -> None:
    ours, numpys = flow.random.default_rng(3), np.random.default_rng(3)
    expected = getattr(numpys, name)(5, dtype="float32")
    same(expected, getattr(ours, name)(5, dtype="float32", device=device))


def test_the_dtype_at_its_place(device: flow.Device) -> None:
    """NumPy's generators take it after the size, and so do ours where NumPy's have it."""
    ours, numpys = flow.random.default_rng(3), np.random.default_rng(3)
    for name in ("random", "standard_normal", "standard_exponential"):
        for size in ((2, 3), None, 2000):
            expected = getattr(numpys, name)(size, "f4")
            same(np.asarray(expected), getattr(ours, name)(size, "f4", device=device))
    same(numpys.standard_gamma(2.0, 3, "f4"), ours.standard_gamma(2.0, 3, "f4", device=device))
    same(numpys.integers(0, 10, 5, "u1"), ours.integers(0, 10, 5, "u1", device=device))
    same(numpys.integers(0, 3, 9, "i8", True), ours.integers(0, 3, 9, "i8", True, device=device))
    assert ours.random(2, "f4").dtype == flow.float32
    philox = flow.random.Philox(3)
    assert philox.random(2, "f4").dtype == philox.standard_normal(2, "f4").dtype == flow.float32
    assert philox.integers(0, 3, 9, "u1", True).dtype == flow.uint8
    with pytest.raises(TypeError):
        ours.normal(0.0, 1.0, 3, "f4")


def test_the_dtype_at_its_place_in_a_program() -> None:
    numpys, ours = np.random.default_rng(3), flow.random.default_rng(3)
    program = flow.jit(lambda: (ours.random(3, "f4"), ours.integers(0, 9, 4, "u1", True)))
    for _ in range(3):
        floats, integers = program()
        same(numpys.random(3, "f4"), floats)
        same(numpys.integers(0, 9, 4, "u1", True), integers)


ROWS = ((7,), (6, 3), (2, 5, 3), (0,), (0, 2))


@pytest.mark.parametrize("shape", ROWS, ids=str)
def test_order(shape: tuple[int, ...], device: flow.Device) -> None:
    ours, numpys = flow.random.default_rng(9), np.random.default_rng(9)
    x = np.arange(np.prod(shape)).reshape(shape)
    t = flow.tensor(x, device=device)
    for axis in range(-1, len(shape)):
        same(numpys.permutation(x, axis=axis), ours.permutation(t, axis=axis))
        same(numpys.permuted(x, axis=axis), ours.permuted(t, axis=axis))
        shuffled, expected = t.copy(), x.copy()
        ours.shuffle(shuffled, axis)
        numpys.shuffle(expected, axis)
        same(expected, shuffled)
    same(numpys.permuted(x), ours.permuted(t))
    same(numpys.permuted(x.T), ours.permuted(t.T))
    same(numpys.permuted(x.T), ours.permuted(x.T, device=device))
    backwards, expected = t.copy()[::-1], x.copy()[::-1]
    ours.shuffle(backwards)
    numpys.shuffle(expected)
    same(expected, backwards)
    for name in ("permutation", "shuffle"):
        with pytest.raises(IndexError, match=rf"\[{name}\] axis 3"):
            getattr(ours, name)(t, 3)
    for axis in (0, -1):
        with pytest.raises(IndexError, match=f"axis {axis}"):
            ours.permuted(flow.tensor(4, device=device), axis=axis)


def test_choice(device: flow.Device) -> None:
    ours, numpys = flow.random.default_rng(9), np.random.default_rng(9)
    x = np.arange(12.0).reshape(6, 2)
    t = flow.tensor(x, device=device)
    p = np.asarray([0.1, 0.2, 0.3, 0.2, 0.1, 0.1])
    for size in (None, 3, (2, 2), (0,)):
        for keywords in ({}, {"replace": False}, {"p": p}, {"replace": False, "shuffle": False}):
            chosen = ours.choice(t, size, **keywords)
            assert chosen.device == device
            same(numpys.choice(x, size, **keywords), chosen)
            same(numpys.choice(6, size, **keywords), ours.choice(6, size, **keywords))
    same(numpys.choice(x, 3, axis=1), ours.choice(t, 3, axis=1))
    same(numpys.choice([5, 6, 7], 3), ours.choice([5, 6, 7], 3, device=device))
    same(numpys.choice(6, 3, p=p), ours.choice(flow.tensor(6), 3, p=flow.tensor(p, device=device)))
    for wrong in (
        lambda: ours.choice(0, 1),
        lambda: ours.choice(t, 7, replace=False),
        lambda: ours.choice(t, 1, p=[0.5]),
        lambda: ours.choice(t, axis=5),
    ):
        with pytest.raises((ValueError, IndexError)):
            wrong()


def test_parts_of_numpys_generator() -> None:
    ours, numpys = flow.random.default_rng(9), np.random.default_rng(9)
    assert ours.bytes(5) == numpys.bytes(5)
    for one, other in zip(ours.spawn(2), numpys.spawn(2), strict=True):
        same(other.normal(), one.normal())
    assert ours.bit_generator.state == numpys.bit_generator.state
    with pytest.raises(TypeError, match=r"\[shuffle\]"):
        ours.shuffle((1, 2))
    with pytest.raises(TypeError, match=r"\[shuffle\].*0-d"):
        ours.shuffle(flow.tensor(1))


DRAWS = (("random", ()), ("normal", ()), ("uniform", ()), ("gamma", (2.0,)), ("poisson", ()))


@pytest.mark.parametrize(("name", "args"), DRAWS)
def test_the_native_path_of_draws(name: str, args: tuple[Any, ...]) -> None:
    """Whatever a call is given, the path draws the function's numbers, or fails with its error."""
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = [(args, {}), (args, {"size": 5})]
    calls += [((*args, 2, 3, 4, 5, 6), {}), (args, {"sizes": 1}), ((), {"size": 2}), (("a",), {})]
    calls += [((*args, None), {}), ((flow.tensor(2.0), *args[1:]), {}), (args, {"size": (2, 0)})]
    calls += [(args, {"size": -1}), (args, {"dtype": "float32"}), (args, {"device": "mock:1"})]
    calls += [(args, {"out": np.zeros(3)}), (args, {"size": 3, "dtype": None, "device": None})]
    for given, named in calls:
        seen = []
        for function in (method := getattr(flow.random.Generator, name)), method.__wrapped__:
            rng = flow.random.default_rng(3)
            try:
                made = function(rng, *given, **named)
                seen.append((made.dtype, made.device, made.shape, made.tolist()))
            except (TypeError, ValueError) as error:
                seen.append((type(error), str(error)))
            assert rng._lock.acquire(blocking=False), "the lock is held"
            seen[-1] += (rng.bit_generator.state["state"]["state"],)
        assert seen[0] == seen[1], (given, named)


def test_draws_run_no_python_code() -> None:
    rng = flow.random.default_rng(3)
    called: list[str] = []

    def note(frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            called.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        flow.random.random()
        flow.random.normal(1.0, 2.0, 16)
        rng.random()
        rng.normal(1.0, 2.0, 16)
        rng.poisson(3.0, size=4)
    finally:
        sys.setprofile(None)
    assert called == []


@pytest.mark.parametrize("size", [None, 4, 600])
def test_a_draw_waits_for_the_lock_of_the_bits(size: int | None) -> None:
    """A generator of NumPy that draws from the same bits holds it, and lets the GIL go."""
    rng = flow.random.default_rng(3)
    drawn: list[Any] = []
    thread = threading.Thread(target=lambda: drawn.append(rng.uniform(1.0, 2.0, size).numpy()))
    with rng.bit_generator.lock:
        state = rng.bit_generator.state
        thread.start()
        assert drawn == []
        assert rng.bit_generator.state == state
    thread.join()
    same(np.random.default_rng(3).uniform(1.0, 2.0, size), drawn[0])


SEEDS: dict[str, Any] = {
    name: getattr(np.random, name) for name in ("PCG64", "MT19937", "Philox", "SFC64", "PCG64DXSM")
}
FEW: tuple[tuple[str, tuple[Any, ...]], ...] = (
    *(("random", ()), ("standard_normal", ()), ("standard_exponential", ())),
    *(("uniform", ()), ("uniform", (-1, 3.5)), ("uniform", (2.0, 2.0)), ("uniform", (3, np.inf))),
    *(("uniform", (-1.7e308, 1.7e308)), ("uniform", (1, 0)), ("uniform", (np.float32(1), 2))),
    *(("normal", ()), ("normal", (1, 2)), ("normal", (1.0, 0.0)), ("normal", (0, -0.0))),
    *(
        ("normal", (np.nan, 1)),
        ("normal", (1, np.inf)),
        ("normal", (True, 1)),
        ("normal", (2**70,)),
    ),
    *(("exponential", (2.5,)), ("gamma", (0.5, 2)), ("standard_gamma", (0.3,)), ("beta", (0.5, 2))),
    *(("poisson", ()), ("poisson", (40,)), ("poisson", (0,)), ("poisson", (1e20,))),
    *(("lognormal", ()), ("laplace", (1,)), ("logistic", ()), ("gumbel", (2, 3))),
    *(("chisquare", (2,)), ("f", (2, 3)), ("standard_t", (3,)), ("standard_cauchy", ())),
    *(("pareto", (3,)), ("power", (3,)), ("rayleigh", ()), ("weibull", (2,)), ("wald", (3, 2))),
    *(("vonmises", (0, 4)), ("vonmises", (0, 1e-9)), ("triangular", (0, 1, 3))),
    *(("triangular", (1, 1, 1)), ("integers", (10,)), ("integers", (-5, 5)), ("integers", (7, 8))),
    *(("integers", (-(2**63), 2**63 - 1)), ("integers", (0, 2**32)), ("integers", (0, 2**33))),
    *(("integers", (5, 5)), ("integers", (0, 2**63)), ("integers", (np.int64(3), np.int64(9)))),
    *(("choice", (6,)), ("choice", ([3, 1, 2],)), ("choice", ((1.5, 2.5),)), ("choice", (0,))),
    *(("choice", ([],)), ("choice", (np.arange(3),))),
)


def outcome(generator: Any, name: str, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    try:
        made = getattr(generator, name)(*args, **named)
    except (TypeError, ValueError, OverflowError) as error:
        return type(error)
    array = made.numpy() if isinstance(made, flow.Tensor) else np.asarray(made)
    return array.dtype, array.shape, array.tobytes()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("size", [None, (), 1, 16, (2, 3), (0, 2), 511, 513, -1, 2.5])
def test_few_numbers_are_numpys(seed: str, size: Any) -> None:
    """Also the state afterwards, of 64 bits that were drawn in halves."""
    ours = flow.random.default_rng(np.random.Generator(SEEDS[seed](5)))
    numpys = np.random.Generator(SEEDS[seed](5))
    for name, args in FEW:
        expected = outcome(numpys, name, args, {"size": size})
        assert outcome(ours, name, args, {"size": size}) == expected, (name, args)
        state, wanted = ours.bit_generator.state, numpys.bit_generator.state
        assert repr(state) == repr(wanted), (name, args)


@pytest.mark.parametrize("name", ["random", "standard_normal", "standard_exponential"])
def test_few_float32(name: str) -> None:
    ours, numpys = flow.random.default_rng(5), np.random.default_rng(5)
    for size in (None, 3, 4, (2, 2), 600):
        for dtype in (np.float32, "float32", flow.float64, "int32", "float16"):
            expected = outcome(numpys, name, (size,), {"dtype": dtype})
            seen = outcome(ours, name, (size,), {"dtype": dtype})
            if isinstance(expected, tuple):
                assert seen == expected
            else:  # here the numbers are cast
                numpys.bit_generator.state = ours.bit_generator.state


def test_one_state_for_both() -> None:
    numpys = np.random.default_rng(9)
    ours, twin = flow.random.default_rng(numpys), np.random.default_rng(9)
    for _ in range(3):
        same(twin.random(), ours.random())
        same(twin.integers(5), ours.integers(5))  # half of 64 bits is left over
        assert numpys.integers(5) == twin.integers(5)
        same(twin.normal(size=3), ours.normal(size=3))
    ours.seed(4)
    same(np.random.default_rng(4).random(), ours.random())
    assert numpys.random() == twin.random()


def test_orders_of_views_and_of_what_is_pending(device: flow.Device) -> None:
    ours, numpys = flow.random.default_rng(3), np.random.default_rng(3)
    array = np.arange(24.0).reshape(4, 6)
    for view in (np.s_[:], np.s_[::-1, ::2], np.s_[1], np.s_[:, 2], np.s_[2:2]):
        for axis in range(array[view].ndim):
            x, wanted = flow.tensor(array, device=device), array.copy()
            numpys.shuffle(wanted[view], axis)
            ours.shuffle(x[view], axis)
            same(wanted, x)
            same(numpys.permutation(wanted[view], axis), ours.permutation(x[view], axis))
    with Gate(2) as gate:
        pending = flow.arange(5.0) + gate.tensor[0]
        ours.shuffle(pending)
        order = ours.permutation(pending)
        assert not order.is_ready()
    wanted = np.arange(5.0) + gate.tensor[0].item()
    numpys.shuffle(wanted)
    same(wanted, pending)
    same(numpys.permutation(wanted), order)


@pytest.mark.parametrize("make", [lambda: list("abcdefg"), lambda: np.arange(12).reshape(4, 3)])
def test_lists_and_arrays_are_shuffled_by_numpy(make: Callable[[], Any]) -> None:
    ours, numpys = flow.random.default_rng(3), np.random.default_rng(3)
    got, wanted = make(), make()
    ours.shuffle(got)
    numpys.shuffle(wanted)
    assert np.array_equal(got, wanted)
    assert ours.bit_generator.state == numpys.bit_generator.state


def test_what_is_read_only_is_not_shuffled() -> None:
    array = np.arange(5)
    array.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        flow.random.default_rng(3).shuffle(flow.from_dlpack(array))
    assert array.tolist() == [0, 1, 2, 3, 4]


def test_orders_of_a_number_in_a_tensor(device: flow.Device) -> None:
    ours, numpys = flow.random.default_rng(3), np.random.default_rng(3)
    order = ours.permutation(flow.tensor(5, device=device))
    assert order.device == device
    same(numpys.permutation(5), order)


@pytest.mark.parametrize("name", ["PCG64", "PCG64DXSM", "SFC64", "MT19937"])
def test_numpys_sources_of_bits(name: str) -> None:
    ours = flow.random.Generator(getattr(flow.random, name)(3))
    theirs = np.random.Generator(getattr(np.random, name)(3))
    assert ours.normal(size=4).tolist() == theirs.normal(size=4).tolist()
    assert ours.integers(9, size=4).tolist() == theirs.integers(9, size=4).tolist()


def test_seeds_that_spawn() -> None:
    ours, theirs = flow.random.SeedSequence(1).spawn(2), np.random.SeedSequence(1).spawn(2)
    for one, other in zip(ours, theirs, strict=True):
        drawn = flow.random.default_rng(one).random(3)
        assert drawn.tolist() == np.random.default_rng(other).random(3).tolist()


@pytest.mark.parametrize(
    "name", ["integers", "permuted", "multivariate_hypergeometric", "random_integers"]
)
def test_functions_that_are_not_there_say_what_to_use(name: str) -> None:
    with pytest.raises(AttributeError, match=rf"no {name}: use flow.random\.(default_rng|randint)"):
        getattr(flow.random, name)
    with pytest.raises(AttributeError, match="has no attribute 'dice'"):
        _ = flow.random.dice  # type: ignore[attr-defined]
