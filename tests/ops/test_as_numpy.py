"""Parameters, edges and errors of functions that NumPy has, too, against NumPy's own."""

import inspect
import math
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow

ERRORS = (TypeError, ValueError, IndexError)


def outcome(call: Callable[[], Any]) -> Any:
    """The result as arrays, or what kind of error it is."""
    try:
        result = call()
        many = result if isinstance(result, (tuple, list)) else [result]
        return [x.numpy() if isinstance(x, flow.Tensor) else np.asarray(x) for x in many]
    except ERRORS as error:
        return next(kind for kind in ERRORS if isinstance(error, kind))


def same(call: Callable[[Any, Callable[[Any], Any]], Any], device: flow.Device, what: Any) -> None:
    """``call(xp, to)`` does the same for NumPy and for the package."""
    expected = outcome(lambda: call(np, np.asarray))
    seen = outcome(lambda: call(flow, lambda x: flow.tensor(x, device=device)))
    if isinstance(expected, type):
        assert seen is expected, what
        return
    assert not isinstance(seen, type), what
    for a, b in zip(seen, expected, strict=True):
        assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes()), what


# --- parameters

# A name of the first operand that differs (the standard's x, NumPy's a, m or ary) stays.
HIDDEN = {"savez", "savez_compressed"}  # any other keyword is the name of an array


def test_parameters_of_the_same_name_are_keywords() -> None:
    hidden = {}
    for name in sorted(set(dir(flow)) & set(dir(np)) - HIDDEN):
        ours, theirs = getattr(flow, name), getattr(np, name)
        if name.startswith("_") or not inspect.isfunction(inspect.unwrap(theirs)):
            continue
        parameters = inspect.signature(theirs).parameters
        hidden[name] = [
            parameter.name
            for parameter in inspect.signature(ours).parameters.values()
            if parameter.kind is parameter.POSITIONAL_ONLY
            and parameter.name in parameters
            and parameters[parameter.name].kind is not parameter.POSITIONAL_ONLY
        ]
    assert len(hidden) > 100
    assert {name: names for name, names in hidden.items() if names} == {}


MOVED = {"clip": {"a_min", "a_max"}}  # by position they are min and max
POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def moved_parameters(ours: Callable[..., Any], theirs: Callable[..., Any]) -> set[str]:
    """Those that NumPy takes by position and we by keyword alone, or at another position. Behind
    one that we do not have none can be at its place.
    """
    own = list(inspect.signature(ours).parameters.values())
    places = {p.name: i for i, p in enumerate(own) if p.kind in POSITIONAL}
    moved = set()
    for i, parameter in enumerate(inspect.signature(theirs).parameters.values()):
        if parameter.kind not in POSITIONAL or own[0].kind is inspect.Parameter.VAR_POSITIONAL:
            break
        if any(p.name == parameter.name for p in own):
            if places.get(parameter.name) != i:
                moved.add(parameter.name)
        elif i >= len(own) or own[i].kind is not inspect.Parameter.POSITIONAL_ONLY:
            break
    return moved


def test_parameters_are_at_numpys_positions() -> None:
    moved = {}
    for name in sorted(set(dir(flow)) & set(dir(np))):
        ours, theirs = getattr(flow, name), getattr(np, name)
        if not name.startswith("_") and inspect.isfunction(inspect.unwrap(theirs)):
            moved[name] = moved_parameters(ours, theirs)
    assert len(moved) > 100
    assert {name: names for name, names in moved.items() if names} == MOVED


REDUCTIONS = ["amax", "amin", "max", "min", "prod", "sum", "all", "any", "mean", "ptp"]
REDUCTIONS += ["nansum", "nanprod", "nanmax", "nanmin", "nanmean"]


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_by_position(name: str, device: flow.Device) -> None:
    place = list(inspect.signature(getattr(np, name)).parameters).index("out")

    def reduced(xp: Any, to: Callable[[Any], Any]) -> Any:
        x = to(np.array([[1.0, 2, 3], [4, 0, 6]]))
        out = to(np.zeros((1, 3)))
        made = getattr(xp, name)(x, 0, *[None] * (place - 2), out, True)
        assert made is out
        return out

    same(reduced, device, name)
    with pytest.raises(TypeError, match="keepdims comes behind it"):
        getattr(flow, name)(flow.ones((2, 3), device=device), 0, *[None] * (place - 2), True)


def test_keywords(device: flow.Device) -> None:
    y, x = [1.0, 3.0, 2.0], [0.0, 1.0, 4.0]
    calls: dict[str, Callable[[Any, Any], Any]] = {
        "trapezoid": lambda xp, to: xp.trapezoid(to(y), x=to(x)),
        "trapezoid y": lambda xp, to: xp.trapezoid(y=to(y), dx=2.0),
        "arange": lambda xp, to: xp.arange(start=1, stop=4),
        "arange step": lambda xp, to: xp.arange(stop=4, step=2),
        "arange none": lambda xp, to: xp.arange(),
        "linspace": lambda xp, to: xp.linspace(start=0, stop=1, num=3),
        "logspace": lambda xp, to: xp.logspace(start=0, stop=1, num=3),
        "interp": lambda xp, to: xp.interp(x=to([0.5]), xp=to(x), fp=to(y)),
        "repeat": lambda xp, to: xp.repeat(to(x), repeats=2),
        "take": lambda xp, to: xp.take(to(x), indices=[2]),
        "convolve": lambda xp, to: xp.convolve(a=to(x), v=to(y)),
        "append": lambda xp, to: xp.append(to(x), values=to(y)),
        "sort": lambda xp, to: xp.sort(to([y, x]), 0, "stable"),
        "argsort": lambda xp, to: xp.argsort(to([y, x]), 0, "stable"),
        "tensordot": lambda xp, to: xp.tensordot(to([y, x]), to(x), 1),
        "count_nonzero": lambda xp, to: xp.count_nonzero(to([y, x]), 0),
    }
    for name, call in calls.items():
        same(call, device, name)


def test_gradient_by_numpy(device: flow.Device) -> None:
    values = np.array([[1.0, 2, 4], [3, 7, 9], [0, 1, 5]])
    x = flow.tensor(values, device=device)
    places = np.array([0.0, 1.0, 3.0])
    for spacing in ((), (2.0,), (2.0, 0.5), (places, 2.0), (places, places)):
        for keywords in ({}, {"edge_order": 2}):
            expected = np.gradient(values, *spacing, **keywords)
            seen = np.gradient(x, *spacing, **keywords)
            for a, b in zip(seen, expected, strict=True):
                assert a.numpy().tobytes() == b.tobytes()
    expected = np.gradient(values, 2.0, axis=0)
    assert np.gradient(x, 2.0, axis=0).numpy().tobytes() == expected.tobytes()
    seen = np.gradient(x[0], flow.tensor(places, device=device))
    assert seen.numpy().tobytes() == np.gradient(values[0], places).tobytes()


# --- tensors of no dimension

ALONG: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("sum", "prod", "max", "min", "any", "all", "argmax", "argmin", "ptp"), ()),
    **dict.fromkeys(("argsort", "sort", "cumsum", "cumprod", "mean", "std", "var", "flip"), ()),
    **dict.fromkeys(("nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanargmax"), ()),
    **dict.fromkeys(("count_nonzero", "squeeze", "median", "average", "diff", "unique"), ()),
    **{"argpartition": (0,), "partition": (0,), "repeat": (2,), "take": (0,), "roll": (1,)},
    **{"quantile": (0.5,), "delete": (0,), "insert": (0, 5), "append": (5,)},
}


@pytest.mark.parametrize("name", ALONG)
def test_axes_of_one_number(name: str, device: flow.Device) -> None:
    rest = ALONG[name]
    for value in (3.5, 7):
        same(lambda xp, to, v=value: getattr(xp, name)(to(v), *rest), device, (name, value))
        for axis in (0, -1, 1, -2, None):
            same(
                lambda xp, to, v=value, axis=axis: getattr(xp, name)(to(v), *rest, axis=axis),
                device,
                (name, value, axis),
            )


def test_axes_of_one_number_in_compress(device: flow.Device) -> None:
    for axis in (0, -1, None):
        same(lambda xp, to, axis=axis: xp.compress([True], to(5), axis), device, axis)


# --- values


NAN = math.nan
BINS = ([0.0, 1, NAN], [NAN, 2, 1], [NAN], [NAN, NAN], [0, NAN, NAN], [NAN, NAN, 3])
OTHER_BINS = ([1.0, 1, 2], [2.0, 2, 1], [], [1.0], [NAN, 2, 3], [1.0, 2, 1], [math.inf, 0])


@pytest.mark.parametrize("bins", [*BINS, *OTHER_BINS], ids=str)
def test_digitize_by_bins_with_nan(bins: list[float], device: flow.Device) -> None:
    x = np.array([0.5, 1, NAN, -1, 5, math.inf])
    for right in (False, True):
        same(
            lambda xp, to, right=right: xp.digitize(to(x), to(np.array(bins, float)), right),
            device,
            (bins, right),
        )


@pytest.mark.parametrize(("x", "bins"), [(0.5, [2.0, NAN]), (2.5, [0.0, 1, 2, NAN, 3])])
def test_a_number_among_bins_with_nan(x: float, bins: list[float], device: flow.Device) -> None:
    same(lambda xp, to: xp.digitize(to(x), to(np.array(bins))), device, (x, bins))


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip", "any"])
def test_numbers_without_a_choice(mode: str, device: flow.Device) -> None:
    for numbers in ([0, 5, 1], [0, -1, 1], [[0], [1]], [0, 1, 1], 2, 0):
        same(
            lambda xp, to, n=numbers: xp.choose(to(n), [to([1, 2, 3]), to([4, 5, 6])], mode=mode),
            device,
            numbers,
        )


def test_places_out_of_range(device: flow.Device) -> None:
    for places in (22, -1, [0, 6], [0, -1], [[0, 5], [1, 2]], 1.0, [True], 5):
        for shape in ((2, 3), 6, (0,), (2, 0)):
            for order in ("C", "F"):
                same(
                    lambda xp, to, p=places, s=shape, o=order: xp.unravel_index(to(p), s, o),
                    device,
                    (places, shape, order),
                )
    for rows, columns in (([0, 1], [0, 3]), ([0, -1], [0, 1]), ([2], [0]), ([1], [2])):
        same(
            lambda xp, to, a=rows, b=columns: xp.ravel_multi_index((to(a), to(b)), (2, 3)),
            device,
            (rows, columns),
        )
    with pytest.raises(ValueError, match=r"\[choose\] index 5 is out of bounds"):
        flow.choose(flow.tensor([5], device=device), [[1], [2]]).numpy()
    with pytest.raises(IndexError, match=r"\[take_along_axis\]"):
        flow.take_along_axis(flow.tensor([1]), flow.tensor([5]), axis=0).numpy()


def test_roll_by_arrays(device: flow.Device) -> None:
    x = np.arange(6).reshape(2, 3)
    for shift in (
        1,
        np.array(1),
        np.array([1, 2]),
        np.array([[1], [2]]),
        (1, 2),
        np.array([1, 2, 3]),
    ):
        for axis in (None, 0, 1, (0, 1), np.array([0, 1]), (0, 0)):
            same(lambda xp, to, s=shift, a=axis: xp.roll(to(x), s, a), device, (shift, axis))
    t = flow.tensor(x, device=device)
    shift = flow.tensor([1, 2], device=device)
    assert flow.roll(t, shift, (0, 1)).tolist() == np.roll(x, (1, 2), (0, 1)).tolist()


def test_place_of_nothing(device: flow.Device) -> None:
    for n, mask, values in ((3, [0, 0, 0], []), (3, [0, 1, 0], []), (0, [], []), (0, [], [1.0])):

        def placed(xp: Any, to: Any, n: Any = n, mask: Any = mask, values: Any = values) -> Any:
            x = to(np.arange(float(n)))
            xp.place(x, to(np.array(mask, bool)), values)
            return x

        same(placed, device, (n, mask, values))


@pytest.mark.parametrize("dtype", "?bhiqBHIQefdFD")
def test_conjugates(dtype: str, device: flow.Device) -> None:
    x = np.array([1 + 2j, 0]).astype(dtype) if dtype in "FD" else np.array([1, 0], dtype)
    same(lambda xp, to: xp.conj(to(x)), device, dtype)
    same(lambda xp, to: to(x).conj(), device, dtype)
    same(lambda xp, to: to(x).conjugate(), device, dtype)


def test_sequences_of_no_dimension(device: flow.Device) -> None:
    for a, b in ((1.0, 2.0), ([1.0], 2.0), (2.0, [1.0]), ([], [1.0]), ([[1.0]], [1.0])):
        for mode in ("full", "same", "valid"):
            for name in ("correlate", "convolve"):
                same(
                    lambda xp, to, a=a, b=b, m=mode, name=name: getattr(xp, name)(to(a), to(b), m),
                    device,
                    (name, a, b, mode),
                )


# --- numbers

ROUNDED = (3.5, 2.5, -2.5, 2.675, 7, -7, 2**60 + 1, math.nan, math.inf, 1e300)


@pytest.mark.parametrize("value", ROUNDED, ids=repr)
def test_rounding_as_of_scalars(value: Any, device: flow.Device) -> None:
    scalar = np.asarray(value)[()]
    t = flow.tensor(value, device=device)
    number = scalar.item()
    for convert in (round, math.floor, math.ceil, math.trunc):
        try:
            expected: Any = convert(number)
        except (ValueError, OverflowError) as error:
            with pytest.raises(type(error)):
                convert(t)
        else:
            assert type(convert(t)) is int
            assert convert(t) == expected
    for digits in (0, 1, 2, -1):
        seen = round(t, digits)
        assert isinstance(seen, flow.Tensor)
        assert seen.dtype == scalar.dtype
        assert seen.numpy().tobytes() == np.round(np.asarray(value), digits).tobytes()
    for convert in (round, math.trunc, math.floor, math.ceil):
        with pytest.raises(TypeError):
            convert(flow.ones(1, device=device))
        with pytest.raises(TypeError):
            convert(flow.tensor(1j, device=device))


@pytest.mark.parametrize("dtype", ["int8", "int64", "float32", "float64"])
def test_statistics_of_the_standard_library(dtype: str, device: flow.Device) -> None:
    values = np.array([1, 2, 4, 4], dtype)
    t = flow.tensor(values, device=device)
    assert t[2].as_integer_ratio() == (4, 1)
    assert flow.tensor(0.75, device=device).as_integer_ratio() == (3, 4)
    numbers = values.tolist()
    for function in (statistics.mean, statistics.fmean, statistics.median, statistics.pstdev):
        assert float(function(t)) == float(function(numbers))
    for wrong in ((), (1j,), ("1",), (1, 2), ([1],)):
        with pytest.raises(TypeError):
            flow.Tensor(*wrong)
