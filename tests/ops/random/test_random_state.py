"""Random numbers of ``RandomState``, and of the module's functions: those of NumPy's, by seed."""

import inspect
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.random import RandomState, default as module
from tests.support.machine import Gate
from tests.support.oracle import same

NUMPYS = np.random.RandomState
SQUARE = [[2.0, 1.0], [1.0, 2.0]]

# Method -> the parameters of its distribution.
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
    "multivariate_normal": ([0.0, 1.0], SQUARE),
    "negative_binomial": (3, 0.5),
    "noncentral_chisquare": (2.0, 1.0),
    "noncentral_f": (2.0, 3.0, 1.0),
    "normal": (1.0, 2.0),
    "pareto": (3.0,),
    "poisson": (4.0,),
    "power": (3.0,),
    "random": (),
    "random_sample": (),
    "rayleigh": (2.0,),
    "standard_cauchy": (),
    "standard_exponential": (),
    "standard_gamma": (2.0,),
    "standard_normal": (),
    "standard_t": (3.0,),
    "tomaxint": (),
    "triangular": (0.0, 1.0, 3.0),
    "uniform": (-1.0, 2.0),
    "vonmises": (0.0, 4.0),
    "wald": (3.0, 2.0),
    "weibull": (2.0,),
    "zipf": (3.0,),
}
LEFT_OUT = {"random_integers"}  # which NumPy announces to remove


def both(seed: Any = 3) -> tuple[RandomState, Any]:
    return RandomState(seed), NUMPYS(seed)


def at_one_place(ours: Any, numpys: Any) -> None:
    """Also the normal number that is left over."""
    mine, wanted = ours.get_state(), numpys.get_state()
    assert mine[0] == wanted[0]
    same(wanted[1], mine[1])
    assert mine[2:] == wanted[2:]


def outcome(call: Callable[[], Any]) -> Any:
    try:
        made = call()
    except (IndexError, TypeError, ValueError, OverflowError) as error:
        return type(error)
    array = made.numpy() if isinstance(made, flow.Tensor) else np.asarray(made)
    return array.dtype, array.shape, array.tobytes()


def test_all_methods_are_there() -> None:
    numpys = {name for name in dir(NUMPYS) if not name.startswith("_")}
    own = {name for name in dir(RandomState) if not name.startswith("_")}
    assert own == numpys - LEFT_OUT


@pytest.mark.parametrize("name", sorted({*DISTRIBUTIONS, "randint", "choice", "permutation"}))
def test_parameters_are_numpys(name: str) -> None:
    own = inspect.signature(getattr(RandomState, name)).parameters.values()
    numpys = inspect.signature(getattr(NUMPYS, name)).parameters.values()
    shown = [(one.name, one.default) for one in own if one.kind is one.POSITIONAL_OR_KEYWORD]
    assert shown == [(one.name, one.default) for one in numpys]


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_distributions(name: str, device: flow.Device) -> None:
    ours, numpys = both()
    parameters = DISTRIBUTIONS[name]
    for size in (None, 3, (2, 4), (0,), (), 700):
        drawn = getattr(ours, name)(*parameters, size=size, device=device)
        assert drawn.device == device
        same(np.asarray(getattr(numpys, name)(*parameters, size)), drawn)
        same(
            np.asarray(getattr(numpys, name)(*parameters, size)),
            getattr(ours, name)(*parameters, size),
        )
        at_one_place(ours, numpys)
    if parameters:
        first = flow.tensor(parameters[0], device=device)
        drawn = getattr(ours, name)(first, *parameters[1:])
        assert drawn.device == device
        same(np.asarray(getattr(numpys, name)(*parameters)), drawn)
    cast = getattr(ours, name)(*parameters, size=2, dtype="float32")
    same(np.asarray(getattr(numpys, name)(*parameters, 2)).astype("float32"), cast)
    at_one_place(ours, numpys)


WRONG: tuple[tuple[str, tuple[Any, ...], dict[str, Any]], ...] = (
    *(("normal", (0, -1), {}), ("normal", (), {"size": -1}), ("normal", (), {"size": 2.5})),
    *(("uniform", (0, np.inf), {}), ("uniform", ("a",), {}), ("normal", (1, 2, 3, 4), {})),
    *(("random", (3, "f4"), {}), ("standard_normal", (3, "f4"), {}), ("gamma", (-1.0,), {})),
    *(("poisson", (-1,), {}), ("poisson", (1e20,), {}), ("binomial", (-1, 0.5), {})),
    *(("binomial", (3, 1.5), {}), ("zipf", (1.0,), {}), ("geometric", (0.0,), {})),
    *(("dirichlet", ([0.0, 1.0],), {}), ("multinomial", (3, [0.9, 0.9, 0]), {})),
    *(("triangular", (1, 0, 2), {}), ("hypergeometric", (1, 1, 9), {}), ("logseries", (1.0,), {})),
    *(("rand", (-1,), {}), ("rand", ((2, 3),), {}), ("randn", (2.5,), {}), ("randn", ("a",), {})),
    *(("randint", (5, 2), {}), ("randint", (0,), {}), ("randint", (0, 300), {"dtype": "u1"})),
    *(("randint", (5,), {"dtype": float}), ("randint", (), {}), ("randint", (5,), {"size": -1})),
    *(("choice", (0,), {}), ("choice", (-3,), {}), ("choice", ([],), {}), ("choice", (2.5,), {})),
    *(("choice", ([[1, 2], [3, 4]],), {}), ("choice", (3, 4), {"replace": False})),
    *(("choice", (3,), {"p": [0.5, 0.5]}), ("choice", (2,), {"p": [0.5, 0.6]})),
    *(("choice", (2,), {"p": [1.5, -0.5]}), ("choice", ([1, 2], 3, False), {})),
    *(("permutation", (2.5,), {}), ("permutation", ("a",), {}), ("shuffle", (5,), {})),
    *(("permutation", (3, 0), {}), ("tomaxint", (-1,), {}), ("seed", (-1,), {})),
    *(
        ("seed", (2**32,), {}),
        ("seed", ("a",), {}),
        ("seed", (1.5,), {}),
        ("seed", ([[1, 2]],), {}),
    ),
    *(("set_state", (3,), {}), ("set_state", (("PCG64", [1], 2),), {}), ("set_state", ({},), {})),
    *(("multivariate_normal", ([0.0], SQUARE), {}), ("bytes", ("a",), {})),
    ("multivariate_normal", ([0.0, 0.0], [[1.0, 2.0], [2.0, 1.0]]), {"check_valid": "raise"}),
)


@pytest.mark.parametrize(("name", "args", "named"), WRONG)
def test_errors_are_numpys(name: str, args: Any, named: Any) -> None:
    ours, numpys = both()
    wanted = outcome(lambda: getattr(numpys, name)(*args, **named))
    assert isinstance(wanted, type), "NumPy takes it"
    assert issubclass(outcome(lambda: getattr(ours, name)(*args, **named)), wanted)
    same(np.asarray(numpys.normal(size=3)), ours.normal(size=3))


@pytest.mark.parametrize("seed", [0, 42, 2**32 - 1, [1, 2, 3], np.arange(700), np.int64(7), (5,)])
def test_seeds(seed: Any) -> None:
    ours, numpys = both(seed)
    at_one_place(ours, numpys)
    ours.normal()  # which leaves another over
    ours.seed(seed)
    numpys.seed(seed)
    at_one_place(ours, numpys)
    numpys.seed(np.asarray(seed))
    ours.seed(flow.asarray(seed))
    at_one_place(ours, numpys)
    at_one_place(RandomState(flow.asarray(seed)), numpys)


@pytest.mark.parametrize("seed", [-1, 2**32, "a", 1.5, [[1, 2]]])
def test_wrong_seeds(seed: Any) -> None:
    with pytest.raises((TypeError, ValueError)) as wanted:
        NUMPYS(seed)
    with pytest.raises(wanted.type):
        RandomState(seed)


def test_without_a_seed() -> None:
    assert RandomState().random().item() != RandomState().random().item()
    ours = RandomState(3)
    ours.seed()
    assert ours.random().item() != RandomState(3).random().item()


@pytest.mark.parametrize("name", ["PCG64", "Philox", "SFC64"])
def test_other_bits(name: str) -> None:
    make = getattr(np.random, name)
    ours, numpys = RandomState(make(3)), NUMPYS(make(3))
    for method in ("normal", "standard_gamma", "random", "poisson", "tomaxint"):
        args = DISTRIBUTIONS[method]
        same(np.asarray(getattr(numpys, method)(*args, 5)), getattr(ours, method)(*args, 5))
    same(numpys.permutation(9), ours.permutation(9))
    state = ours.get_state(legacy=False)
    first = ours.normal(size=3).numpy()
    ours.set_state(state)
    same(first, ours.normal(size=3))
    with pytest.raises(TypeError, match="MT19937"):
        ours.seed(3)


def test_one_stream_for_both() -> None:
    numpys = NUMPYS(9)
    ours, twin = RandomState(numpys), NUMPYS(9)
    for _ in range(3):
        same(np.asarray(twin.normal()), ours.normal())  # one is left over, for both
        assert numpys.normal() == twin.normal()
        same(twin.randint(5, size=3), ours.randint(5, size=3))
    ours.seed(4)
    assert numpys.random() == NUMPYS(4).random()


def test_states() -> None:
    ours, numpys = both()
    assert ours.normal().item() == numpys.normal()
    state = ours.get_state()
    assert state[3] == 1
    again = NUMPYS()
    again.set_state(state)
    same(again.normal(size=3), RandomState(ours._numpy).normal(size=3))
    numpys.normal(size=3)
    ours.set_state(numpys.get_state())
    at_one_place(ours, numpys)
    ours.set_state(numpys.get_state(legacy=False))
    at_one_place(ours, numpys)
    wanted, seen = numpys.get_state(False), ours.get_state(False)
    assert wanted.keys() == seen.keys()
    ours.set_state((*state[:1], flow.asarray(state[1]), state[2]))
    numpys.set_state(state[:3])
    at_one_place(ours, numpys)


def test_shapes_by_dimensions(device: flow.Device) -> None:
    ours, numpys = both()
    for dims in ((), (3,), (2, 3), (0, 2), (np.int64(2), 1, 2), (40, 30)):
        for name in ("rand", "randn"):
            drawn = getattr(ours, name)(*dims, device=device)
            assert drawn.device == device
            same(np.asarray(getattr(numpys, name)(*dims)), drawn)
            same(np.asarray(getattr(numpys, name)(*dims)), getattr(ours, name)(*dims))
    same(numpys.rand(4).astype("float32"), ours.rand(4, dtype="float32"))
    same(numpys.rand(2), ours.rand(flow.tensor(2)))
    at_one_place(ours, numpys)


def test_integers(device: flow.Device) -> None:
    ours, numpys = both()
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        *(((10,), {}), ((1, 7), {}), ((1, 7, 5), {}), ((1, 7, (2, 3)), {}), ((7,), {"size": (0,)})),
        *(((0, 2, 9, bool), {}), ((0, 2), {"dtype": bool}), ((0, 256, 5, np.uint8), {})),
        *(((-5, 5, 5, "i2"), {}), ((0, 2**64 - 1, 4, "u8"), {}), ((0, 2**40, 4), {})),
        *((([1, 2, 3], [4, 50, 600]), {}), ((0, [5, 6]), {"size": (3, 2)}), ((np.int64(4),), {})),
        *(((3,), {"size": ()}), ((-(2**63), 2**63 - 1, 3), {}), ((5, None, 3, "int32"), {})),
    ]
    for args, named in calls:
        wanted = np.asarray(numpys.randint(*args, **named))
        drawn = ours.randint(*args, **named, device=device)
        assert drawn.device == device
        same(wanted, drawn)
        same(np.asarray(numpys.randint(*args, **named)), ours.randint(*args, **named))
        at_one_place(ours, numpys)
    limits = flow.tensor([4, 9], device=device)
    drawn = ours.randint(limits, dtype="int32")
    assert drawn.device == device
    same(numpys.randint([4, 9], dtype="int32"), drawn)
    same(numpys.randint(5, size=3, dtype="u2"), ours.randint(5, size=3, dtype=flow.uint16))


@pytest.mark.parametrize("shape", [(7,), (6, 3), (2, 5, 3), (0,), (0, 2), (3, 0), (1,), (5000,)])
def test_orders(shape: tuple[int, ...], device: flow.Device) -> None:
    ours, numpys = both()
    x = np.arange(np.prod(shape)).reshape(shape)
    t = flow.tensor(x, device=device)
    same(numpys.permutation(x), ours.permutation(t))
    at_one_place(ours, numpys)
    moved = ours.permutation(t, device="mock:1")
    assert moved.device == "mock:1"
    same(numpys.permutation(x), moved)
    for view in (np.s_[:], np.s_[::-1], np.s_[::2]):
        shuffled, expected = t.copy(), x.copy()
        assert ours.shuffle(shuffled[view]) is None
        numpys.shuffle(expected[view])
        same(expected, shuffled)
        at_one_place(ours, numpys)
    same(numpys.permutation(x.tolist()), ours.permutation(x.tolist(), device=device))
    same(numpys.permutation(shape[0]), ours.permutation(shape[0], device=device))
    same(numpys.permutation(shape[0]), ours.permutation(t.shape[0] + flow.zeros((), "i8")))
    counted = ours.permutation(flow.tensor(shape[0], device=device))
    assert counted.device == device
    same(numpys.permutation(shape[0]), counted)
    at_one_place(ours, numpys)


@pytest.mark.parametrize("make", [lambda: list("abcdefg"), lambda: np.arange(12).reshape(4, 3)])
def test_lists_and_arrays_are_shuffled_by_numpy(make: Callable[[], Any]) -> None:
    ours, numpys = both()
    got, wanted = make(), make()
    ours.shuffle(got)
    numpys.shuffle(wanted)
    assert np.array_equal(got, wanted)
    at_one_place(ours, numpys)


def test_what_is_not_there_is_not_looked_at() -> None:
    ours, numpys = both()
    with Gate(2) as gate, flow.flags(implicit_sync="error"):
        pending = flow.arange(5.0) + gate.tensor[0]
        ours.shuffle(pending)
        order, chosen = ours.permutation(pending), ours.choice(pending, 3)
        one = ours.choice(pending)
        assert not order.is_ready()
        assert not chosen.is_ready()
        assert not one.is_ready()
    wanted = np.arange(5.0) + gate.tensor[0].item()
    numpys.shuffle(wanted)
    same(wanted, pending)
    same(numpys.permutation(wanted), order)
    same(numpys.choice(wanted, 3), chosen)
    same(np.asarray(numpys.choice(wanted)), one)


def test_wrong_operands() -> None:
    ours = RandomState(3)
    with pytest.raises(TypeError, match=r"\[shuffle\] expected a tensor"):
        ours.shuffle((1, 2))
    with pytest.raises(TypeError, match=r"\[shuffle\].*0-d"):
        ours.shuffle(flow.tensor(1))
    with pytest.raises(ValueError, match=r"\[choice\] expected one dimension, got shape \(2, 2\)"):
        ours.choice(flow.ones((2, 2)))
    array = np.arange(5)
    array.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        ours.shuffle(flow.from_dlpack(array))


def test_choice(device: flow.Device) -> None:
    ours, numpys = both()
    x = np.arange(6.0) * 2
    t = flow.tensor(x, device=device)
    p = np.asarray([0.1, 0.2, 0.3, 0.2, 0.1, 0.1])
    for size in (None, 3, (2, 2), (0,), ()):
        for keywords in ({}, {"replace": False}, {"p": p}, {"replace": False, "p": p}):
            chosen = ours.choice(t, size, **keywords)
            assert chosen.device == device
            same(np.asarray(numpys.choice(x, size, **keywords)), chosen)
            same(np.asarray(numpys.choice(6, size, **keywords)), ours.choice(6, size, **keywords))
            at_one_place(ours, numpys)
    same(numpys.choice(x[::-2], 5), ours.choice(t[::-2], 5))
    same(numpys.choice([5, 6, 7], 3), ours.choice([5, 6, 7], 3))
    same(numpys.choice((5.5, 6), 3), ours.choice((5.5, 6), 3, device=device))
    same(numpys.choice([5, 6, 7], 3), ours.choice([5, 6, 7], 3, device=device))
    same(np.asarray(numpys.choice([True, False])), ours.choice([True, False]))
    same(numpys.choice(6, 3, p=p), ours.choice(flow.tensor(6), 3, p=flow.tensor(p, device=device)))
    same(numpys.choice(6, 3, True, p), ours.choice(6, 3, True, p.tolist()))
    same(numpys.choice([], 0), ours.choice(flow.ones(0), 0))
    same(numpys.choice(0, (2, 0)), ours.choice(0, (2, 0)))
    at_one_place(ours, numpys)


def test_the_check_of_a_covariance() -> None:
    ours, numpys = both()
    mean, cov = [0.0, 0.0], [[1.0, 2.0], [2.0, 1.0]]
    with pytest.warns(RuntimeWarning, match="positive-semidefinite"):
        ours.multivariate_normal(mean, cov, 2)
    numpys.multivariate_normal(mean, cov, 2, "ignore")
    wanted = numpys.multivariate_normal(mean, cov, 2, "ignore", 1e-3)
    same(wanted, ours.multivariate_normal(mean, cov, 2, "ignore", 1e-3))


@pytest.mark.parametrize("a", [1025, 2.0**40, np.inf, [3.0, 1e9], flow.tensor(2000.0)])
def test_what_does_not_end_in_numpy_is_refused(a: Any) -> None:
    ours, numpys = both()
    with pytest.raises(ValueError, match=r"\[zipf\] expected a below 1025"):
        ours.zipf(a)
    same(numpys.zipf([1024.5, 2.0], (3, 2)), ours.zipf([1024.5, 2.0], (3, 2)))


@pytest.mark.parametrize("kappa", [2.0**62, 1e300, np.inf, [3.0, 1e19], flow.tensor(1e18)])
def test_angles_that_numpy_never_finds_are_refused(kappa: Any) -> None:
    ours, numpys = both()
    with pytest.raises(ValueError, match=r"\[vonmises\] expected a kappa below"):
        ours.vonmises(0.0, kappa)
    limits = [0.0, 1e-9, 1e-6, 4.0, 1e14]
    same(numpys.vonmises(0.5, limits, (3, 5)), ours.vonmises(0.5, limits, (3, 5)))


def test_threads_share_a_stream() -> None:
    """Every number is drawn once, whoever draws it."""
    rng = RandomState(3)
    drawn: list[list[float]] = [[] for _ in range(4)]

    def draw(numbers: list[float]) -> None:
        for _ in range(200):
            numbers.append(rng.normal().item())

    threads = [threading.Thread(target=draw, args=(numbers,)) for numbers in drawn]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = sorted(number for numbers in drawn for number in numbers)
    assert found == sorted(NUMPYS(3).normal(size=800).tolist())


@pytest.mark.parametrize(
    "change",
    [lambda r: r.seed(4), lambda r: r.set_state(NUMPYS(4).get_state()), lambda r: r.rand()],
)
def test_changes_wait_for_the_lock_of_the_bits(change: Callable[[RandomState], Any]) -> None:
    """A draw of NumPy's holds it, and lets the GIL go."""
    rng = RandomState(3)
    thread = threading.Thread(target=lambda: change(rng))
    with rng._numpy._bit_generator.lock:
        thread.start()
        assert rng._numpy.get_state()[2] == 624  # as it was seeded
    thread.join()
    assert rng.random().item() != NUMPYS(3).random()


# --- the functions of the module


def test_the_names_are_the_methods_of_one_stream() -> None:
    default = module._DEFAULT
    names = {name: x for name, x in vars(module).items() if hasattr(x, "__self__")}
    assert all(x.__self__ is default for x in names.values())
    assert set(module.__all__) == names.keys()
    assert type(default).__mro__[1] is RandomState


def test_the_functions_are_those_that_numpy_has() -> None:
    functions = {
        name
        for name in np.random.__all__
        if not isinstance(getattr(np.random, name), type) and name != "default_rng"
    }
    assert set(module.__all__) == functions - LEFT_OUT


CALLS: dict[str, tuple[Any, ...]] = {
    **{name: (*x, 3) for name, x in DISTRIBUTIONS.items() if name != "tomaxint"},
    **dict.fromkeys(("ranf", "sample"), (3,)),
    **dict.fromkeys(("rand", "randn"), (2, 3)),
    "randint": (1, 9, 5),
    "choice": (9, 4, False),
    "permutation": (7,),
    "bytes": (5,),
}


@pytest.mark.parametrize("name", CALLS)
def test_functions_of_the_module(name: str) -> None:
    numpys = np.random.get_state()
    try:
        for seed in (42, [1, 2]):
            flow.random.seed(seed)
            np.random.seed(seed)
            for _ in range(2):
                wanted = getattr(np.random, name)(*CALLS[name])
                drawn = getattr(flow.random, name)(*CALLS[name])
                assert drawn == wanted if name == "bytes" else same(wanted, drawn) is None
        x, expected = flow.arange(7), np.arange(7)
        flow.random.shuffle(x)
        np.random.shuffle(expected)
        same(expected, x)
        at_one_place(flow.random, np.random)
        flow.random.normal()
        np.random.set_state(flow.random.get_state())
        same(np.random.normal(size=3), flow.random.normal(size=3))
        np.random.normal()
        flow.random.set_state(np.random.get_state())
        same(np.random.normal(size=3), flow.random.normal(size=3))
    finally:
        np.random.set_state(numpys)


def test_numpys_own_stream_is_another() -> None:
    numpys = np.random.get_state()
    flow.random.seed(7)
    try:
        np.random.seed(3)
        assert flow.random.random().item() == NUMPYS(7).random()
        assert np.random.random() == NUMPYS(3).random()
    finally:
        np.random.set_state(numpys)
