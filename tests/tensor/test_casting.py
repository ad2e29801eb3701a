"""Casts of everything that writes: allowed, refused and made as by NumPy."""

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow

DTYPES = [np.dtype(c) for c in "?bhiqBHIQefdFD"]
RULES = ("no", "equiv", "safe", "same_kind", "unsafe")
VALUES = [1.75, 2.5, 3]  # their sums, products and halves are exact in each dtype
MASK = np.array([True, False, True])

# xp is NumPy or the package, x the source, y a target of zeros, as the function `to` makes them.
Write = Callable[[Any, Any, Any, Any], Any]


def put_along(xp: Any, x: Any, y: Any, to: Any) -> None:
    xp.put_along_axis(y, to(np.array([0, 1, 2])), x, 0)


WRITES: dict[str, tuple[Any, Write]] = {  # the shape of the target first
    "concatenate out": ((3,), lambda xp, x, y, to: xp.concatenate([x], out=y)),
    "stack out": ((1, 3), lambda xp, x, y, to: xp.stack([x], out=y)),
    "copyto": ((3,), lambda xp, x, y, to: np.copyto(y, x)),
    "copyto wide": ((2, 3), lambda xp, x, y, to: np.copyto(y, x)),
    "copyto narrow": ((3,), lambda xp, x, y, to: np.copyto(y, x.reshape(1, 3))),
    "copyto 0-d": ((3,), lambda xp, x, y, to: np.copyto(y, x[:1].reshape(()))),
    "copyto where": ((3,), lambda xp, x, y, to: np.copyto(y, x, where=to(MASK))),
    "putmask": ((3,), lambda xp, x, y, to: xp.putmask(y, MASK, x)),
    "putmask 0-d": ((3,), lambda xp, x, y, to: xp.putmask(y, MASK, x[:1].reshape(()))),
    "place": ((3,), lambda xp, x, y, to: xp.place(y, to(MASK), x)),
    "put": ((3,), lambda xp, x, y, to: xp.put(y, [0, 2], x[:2])),
    "put_along_axis": ((3,), put_along),
    "fill": ((3,), lambda xp, x, y, to: y.fill(x[:1].reshape(()))),
    "fill_diagonal": ((3, 3), lambda xp, x, y, to: xp.fill_diagonal(y, x)),
    "setitem": ((3,), lambda xp, x, y, to: y.__setitem__(slice(2), x[:2])),
    "setitem mask": ((3,), lambda xp, x, y, to: y.__setitem__(to(MASK), x[:2])),
    "setitem list": ((3,), lambda xp, x, y, to: y.__setitem__([0, 2], x[:2])),
    "in place": ((3,), lambda xp, x, y, to: y.__iadd__(x)),
    "in place product": ((1, 1), lambda xp, x, y, to: y.__imatmul__(x[:1].reshape(1, 1))),
    "add out": ((3,), lambda xp, x, y, to: xp.add(x, x, out=y)),
    "divide out": ((3,), lambda xp, x, y, to: xp.divide(x, x, out=y)),
    "add out where": ((3,), lambda xp, x, y, to: np.add(x, x, out=y, where=to(MASK))),
    "matmul out": ((), lambda xp, x, y, to: np.matmul(x, x, out=y)),
    "clip out": ((3,), lambda xp, x, y, to: xp.clip(x, 0, 1, out=y)),
    "round out": ((3,), lambda xp, x, y, to: xp.round(x, out=y)),
    "einsum out": ((3,), lambda xp, x, y, to: xp.einsum("i,i->i", x, x, out=y)),
    "sum out": ((), lambda xp, x, y, to: xp.sum(x, out=y)),
    "sum axis out": ((1, 3), lambda xp, x, y, to: xp.sum(x[None], 0, keepdims=True, out=y)),
    "sum dtype out": ((), lambda xp, x, y, to: xp.sum(x.real, dtype="float64", out=y)),
    "prod out": ((), lambda xp, x, y, to: xp.prod(x, out=y)),
    "max out": ((), lambda xp, x, y, to: xp.max(x, out=y)),
    "min out": ((), lambda xp, x, y, to: xp.min(x, out=y)),
    "any out": ((), lambda xp, x, y, to: xp.any(x, out=y)),
    "all out": ((), lambda xp, x, y, to: xp.all(x, out=y)),
    "reduce out": ((), lambda xp, x, y, to: np.multiply.reduce(x, out=y)),
    "accumulate out": ((3,), lambda xp, x, y, to: np.add.accumulate(x, out=y)),
    "cumsum out": ((3,), lambda xp, x, y, to: xp.cumsum(x, out=y)),
    "cumprod out": ((3,), lambda xp, x, y, to: x.cumprod(out=y)),
    "cumsum dtype out": ((3,), lambda xp, x, y, to: xp.cumsum(x.real, dtype="float64", out=y)),
    "cumulative_sum out": ((3,), lambda xp, x, y, to: xp.cumulative_sum(x, out=y)),
    "cumulative_prod out": (
        (4,),
        lambda xp, x, y, to: xp.cumulative_prod(x, include_initial=True, out=y),
    ),
    "nancumsum out": ((3,), lambda xp, x, y, to: xp.nancumsum(x, out=y)),
    "nancumprod out": ((3,), lambda xp, x, y, to: xp.nancumprod(x, out=y)),
    "mean out": ((), lambda xp, x, y, to: np.mean(x[1:2], out=y)),
    "var out": ((), lambda xp, x, y, to: np.var(x[1:2], out=y)),
    "std out": ((), lambda xp, x, y, to: np.std(x[1:2], out=y)),
    "median out": ((), lambda xp, x, y, to: np.median(x, out=y)),
    "nansum out": ((), lambda xp, x, y, to: np.nansum(x[1:2], out=y)),
    "nanmax out": ((), lambda xp, x, y, to: np.nanmax(x, out=y)),
    "trace out": ((), lambda xp, x, y, to: xp.trace(x[:1].reshape(1, 1), out=y)),
    "choose out": ((3,), lambda xp, x, y, to: xp.choose(to(np.array([0, 0, 0])), [x], out=y)),
    "take out": ((3,), lambda xp, x, y, to: xp.take(x, [2, 0, 1], out=y)),
    "take by np out": ((3,), lambda xp, x, y, to: np.take(x, [2, 0, 1], out=y)),
    "compress out": ((2,), lambda xp, x, y, to: xp.compress(MASK, x, out=y)),
    "argmax out": ((), lambda xp, x, y, to: xp.argmax(x, out=y)),
    "nanargmin out": ((), lambda xp, x, y, to: xp.nanargmin(x, out=y)),
    "dot out": ((), lambda xp, x, y, to: xp.dot(x, x, out=y)),
    "dot by np out": ((), lambda xp, x, y, to: np.dot(x, x, out=y)),
    "matmul own out": ((), lambda xp, x, y, to: xp.matmul(x, x, out=y)),
    "vecdot out": ((2,), lambda xp, x, y, to: xp.vecdot(x, x, out=y)),
    "matvec out": ((1,), lambda xp, x, y, to: xp.matvec(x[None], x, out=y)),
    "vecmat out": ((1,), lambda xp, x, y, to: xp.vecmat(x, x[:, None], out=y)),
    "outer out": ((3, 3), lambda xp, x, y, to: xp.outer(x, x, out=y)),
    "multi_dot out": ((), lambda xp, x, y, to: xp.linalg.multi_dot([x, x], out=y)),
    **{
        f"copyto {rule}": ((3,), lambda xp, x, y, to, rule=rule: np.copyto(y, x, casting=rule))
        for rule in RULES
    },
    **{
        f"add {rule}": ((3,), lambda xp, x, y, to, rule=rule: np.add(x, x, out=y, casting=rule))
        for rule in RULES
    },
    **{
        f"matmul {rule}": ((), lambda xp, x, y, to, r=rule: xp.matmul(x, x, out=y, casting=r))
        for rule in RULES
    },
}
MAKERS: dict[str, Write] = {  # y is the dtype of what is made
    "concatenate": lambda xp, x, y, to: xp.concatenate([x, x], dtype=y),
    "concat flat": lambda xp, x, y, to: xp.concat([x, x], axis=None, dtype=y),
    "stack": lambda xp, x, y, to: xp.stack([x], dtype=y),
    "vstack": lambda xp, x, y, to: xp.vstack([x], dtype=y),
    "hstack": lambda xp, x, y, to: xp.hstack([x], dtype=y),
    "insert": lambda xp, x, y, to: xp.insert(to(np.zeros(3, y)), 1, x),
    "append": lambda xp, x, y, to: xp.append(to(np.zeros(3, y)), x),
    "full": lambda xp, x, y, to: xp.full(3, x, y),
    "full_like": lambda xp, x, y, to: xp.full_like(to(np.zeros(3, y)), x),
    "asarray": lambda xp, x, y, to: xp.asarray(x, dtype=y),
    "astype": lambda xp, x, y, to: x.astype(y),
    "add": lambda xp, x, y, to: np.add(x, x, dtype=y),
    "einsum": lambda xp, x, y, to: xp.einsum("i,i", x, x, dtype=y),
    "matmul": lambda xp, x, y, to: xp.matmul(x, x, dtype=y),
    "vecdot": lambda xp, x, y, to: xp.vecdot(x, x, dtype=y),
    "matvec": lambda xp, x, y, to: xp.matvec(x[None], x, dtype=y),
    "vecmat": lambda xp, x, y, to: xp.vecmat(x, x[:, None], dtype=y),
    "vecdot unsafe": lambda xp, x, y, to: xp.vecdot(x, x, dtype=y, casting="unsafe"),
    "sum": lambda xp, x, y, to: xp.sum(x, dtype=y),
    "cumsum": lambda xp, x, y, to: xp.cumsum(x, dtype=y),
    "mean": lambda xp, x, y, to: xp.mean(x[1:2], dtype=y),
    "nanmean": lambda xp, x, y, to: xp.nanmean(x[1:2], dtype=y),
    "cov": lambda xp, x, y, to: xp.cov(x[1:2], bias=True, dtype=y),
    **{
        f"concatenate {rule}": lambda xp, x, y, to, rule=rule: xp.concatenate(
            [x], dtype=y, casting=rule
        )
        for rule in RULES
    },
    **{
        f"stack {rule}": lambda xp, x, y, to, rule=rule: xp.stack([x], dtype=y, casting=rule)
        for rule in RULES
    },
    **{
        f"hstack {rule}": lambda xp, x, y, to, rule=rule: xp.hstack([x], dtype=y, casting=rule)
        for rule in RULES
    },
    **{
        f"einsum {rule}": lambda xp, x, y, to, rule=rule: xp.einsum("i->", x, dtype=y, casting=rule)
        for rule in RULES
    },
}


def outcome(call: Callable[[], Any]) -> Any:
    """The result, or the error."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            result = call()
            return result.numpy() if isinstance(result, flow.Tensor) else np.asarray(result)
    except (TypeError, ValueError) as error:
        return error


def pairs() -> Iterator[tuple[np.dtype[Any], np.dtype[Any]]]:
    return ((a, b) for a in DTYPES for b in DTYPES)


def same(expected: Any, seen: Any, what: tuple[Any, ...]) -> None:
    loses = what[0].kind == "c" and what[1].kind not in "cb"
    if isinstance(expected, Exception) or (loses and isinstance(seen, Exception)):
        assert isinstance(seen, TypeError), (what, expected, seen)
        return
    assert not isinstance(seen, Exception), (what, expected, seen)
    assert (seen.dtype, seen.shape) == (expected.dtype, expected.shape), what
    assert seen.tobytes() == expected.tobytes(), (what, expected, seen)


@pytest.mark.parametrize("name", WRITES)
def test_writes_cast_as_numpy(name: str, device: flow.Device) -> None:
    shape, write = WRITES[name]

    def written(xp: Any, to: Any, source: Any, target: Any) -> Any:
        y = to(np.zeros(shape, target))
        write(xp, to(np.array(VALUES).astype(source)), y, to)
        return y

    def tensor(array: Any) -> flow.Tensor:
        return flow.tensor(array, device=device)

    for pair in pairs():
        expected = outcome(lambda pair=pair: written(np, lambda x: x, *pair))
        same(expected, outcome(lambda pair=pair: written(flow, tensor, *pair)), pair)


@pytest.mark.parametrize("name", MAKERS)
def test_results_cast_as_numpy(name: str, device: flow.Device) -> None:
    make = MAKERS[name]

    def tensor(array: Any) -> flow.Tensor:
        return flow.tensor(array, device=device)

    for source, target in pairs():
        x = np.array(VALUES).astype(source)
        expected = outcome(lambda x=x, target=target: make(np, x, target, lambda x: x))
        seen = outcome(lambda x=x, target=target: make(flow, tensor(x), target, tensor))
        same(expected, seen, (source, target))


NUMBERS = (3.7, 3, 300, -1, 2**40, 1j, True, np.float64(3.7), np.int64(300), np.array(3.7))
SEQUENCES = ([3.7, 1], (3, 1), [300, 1], [-1, 1], [1j, 1], range(2), [[3, 1]], [np.int64(300), 1])


def copied(y: Any, value: Any) -> None:
    np.copyto(y, value)


@pytest.mark.parametrize("value", [*NUMBERS, *SEQUENCES], ids=repr)
def test_numbers_of_the_host_are_weak(value: Any, device: flow.Device) -> None:
    """Python's numbers, alone and in sequences, become the dtype one by one."""
    writes: dict[str, Callable[[Any, Any], Any]] = {
        "copyto": copied,
        "putmask": lambda y, v: flow_or_np(y).putmask(y, MASK[:2], v),
        "place": lambda y, v: flow_or_np(y).place(y, MASK[:2], v),
        "put": lambda y, v: flow_or_np(y).put(y, [0, 1], v),
        "setitem": lambda y, v: y.__setitem__(slice(None), v),
        "setitem list": lambda y, v: y.__setitem__([0, 1], v),
        "insert": lambda y, v: y.__setitem__(slice(None), flow_or_np(y).insert(y, 0, v)[:2]),
    }

    def flow_or_np(y: Any) -> Any:
        return flow if isinstance(y, flow.Tensor) else np

    for name, write in writes.items():
        for target in DTYPES:
            array = np.zeros(2, target)
            y = flow.zeros(2, dtype=target, device=device)
            kinds: list[type[Exception] | None] = []
            for one in (array, y):
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        write(one, value)
                    kinds.append(None)
                except (TypeError, OverflowError, ValueError) as error:
                    kinds.append(type(error))
            what = (name, target, value, kinds)
            if target.kind != "c" and np.iscomplexobj(value):
                assert target.kind == "b" or kinds[1] is TypeError, what
            elif (name, repr(value)) in OTHERWISE:
                continue
            else:
                assert (kinds[0] is None) == (kinds[1] is None), what
                assert kinds[0] in (kinds[1], OverflowError), what
            if kinds == [None, None]:
                assert y.numpy().tobytes() == array.tobytes(), what


OTHERWISE = {
    ("setitem", "[[3, 1]]"),  # leading dimensions of size 1 are left out here
    ("setitem list", "[[3, 1]]"),
    ("setitem list", "np.int64(300)"),  # NumPy wraps it, but not in other writes
}


def test_a_join_has_one_target(device: flow.Device) -> None:
    x, out = flow.zeros(2, device=device), flow.zeros(2, device=device)
    for join in (flow.concatenate, flow.stack):
        with pytest.raises(TypeError, match="got both"):
            join([x], out=out, dtype="float32")
        with pytest.raises(ValueError, match="casting"):
            join([x], dtype="float32", casting="any")
        with pytest.raises(TypeError, match=r"out.*list"):
            join([x], out=[0, 0])
        with pytest.raises(ValueError, match="shape"):
            join([x], out=flow.zeros(3, device=device))
    joined = np.concatenate([np.zeros(2, "int8"), 3, 300], axis=None)
    seen = flow.concatenate([flow.zeros(2, dtype="int8", device=device), 3, 300], axis=None)
    assert seen.dtype == joined.dtype
    assert seen.tolist() == joined.tolist()


def test_an_out_has_the_shape_of_the_result(device: flow.Device) -> None:
    x = flow.ones((2, 3), device=device)
    for call in (flow.sum, flow.max, np.mean, flow.cumsum, flow.trace, np.add.reduce):
        with pytest.raises(ValueError, match="shape"):
            call(x, out=flow.zeros((5, 4), device=device))
    out = flow.zeros((2, 3), device=device)
    assert np.add(x[0], 1, out=out) is out  # of elementwise functions, one to broadcast to
    assert out.tolist() == [[2, 2, 2]] * 2
    with pytest.raises(ValueError, match="shape"):
        flow.sum(x, 0, out=out)


@pytest.mark.parametrize("order", ["K", "C", "A", "c", None])
def test_astype_takes_an_order(order: Any, device: flow.Device) -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    for turn in (lambda a: a, lambda a: a.T, lambda a: a.swapaxes(0, 1)):
        theirs, ours = turn(x), turn(flow.tensor(x, device=device))
        for dtype, copy in (("float64", True), ("float64", False), ("int8", False)):
            expected = theirs.astype(dtype, order, "unsafe", True, copy)
            made = ours.astype(dtype, order, "unsafe", True, copy)
            assert made.strides == expected.strides
            assert made.tolist() == expected.tolist()
            assert (made is ours) == (expected is theirs)
    with pytest.raises(TypeError, match=r"\[astype\] order: .* got 'F'"):
        flow.tensor(x, device=device).astype("int8", order="F")


@pytest.mark.parametrize("rule", RULES)
def test_astype_takes_a_rule(rule: Any) -> None:
    for source in DTYPES:
        for target in DTYPES:
            t = flow.zeros(2, dtype=source)
            if np.can_cast(source, target, rule) and (source.kind != "c" or target.kind in "bc"):
                assert t.astype(target, casting=rule).dtype == target
            else:
                with pytest.raises(TypeError, match=r"\[astype\] cannot cast"):
                    t.astype(target, casting=rule)
    with pytest.raises(ValueError, match=r"\[astype\] expected casting"):
        flow.zeros(2).astype("int8", casting="any")
