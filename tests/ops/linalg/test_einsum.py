"""Einstein's notation: NumPy's results; integers exactly."""

import sys
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite import _C
from oneflow_lite.ops.numpy.einsum import _plan
from tests.support.oracle import same

SUBSCRIPTS = [
    *("ij,jk->ik", "ij,jk", "ii", "ii->i", "iij->j", "ij->ji", "ij->", "ij,ij", "ij,ij->ij"),
    *("i,j->ij", "...i,...i", "...ij,...jk->...ik", "i...->...", "...i->i...", "bij,bjk->bik"),
    *("ij,jk,kl->il", "ij,jk,kl", "a,ab,abc->abc", "ab,ab,ab->a", "ij,kj,j->", "i,i,i->"),
    *("ea,fb,abcd,gc,hd->efgh", "ijk,jil->kl", "...,...->...", "...a,a...->...", "->", ",", "ba"),
    *("iii->i", "ij,ij,jk->k", "abab->ba", "aab,b->a", "ij,i->j", "ij,k->ijk", "ij,k->ik"),
    *("i...,i...->...i", " i j , jk -> ik ", "Ab,bA", "a...b->b", "ij->..."),
]
BAD = [
    ("ij", ((2,),)),
    ("i", ((2, 3),)),
    ("ij,jk", ((2, 3),)),
    ("i", ((2,), (2,))),
    ("i,i", ((2,), (3,))),
    ("ii", ((1, 3),)),
    ("ij->k", ((2, 3),)),
    ("ij->ii", ((2, 3),)),
    ("i...->i", ((2, 3),)),
    ("i..j", ((2, 3),)),
    ("i-j", ((2, 3),)),
    ("1j", ((2, 3),)),
    ("i...,i...", ((2, 3), (2, 4))),
    ("...->...i", ((2,),)),
    ("......", ((2,),)),
]


def operands(subscripts: str, seed: int, dtype: str) -> list[np.ndarray]:
    """Small numbers; seed 1 and 2: one and two dimensions for the ellipsis, 3: sizes of 1."""
    rng = np.random.default_rng(seed)
    sizes = {letter: int(rng.integers(2, 5)) for letter in "abcdefghijklmA"}
    made = []
    for term in subscripts.replace(" ", "").split("->")[0].split(","):
        before, ellipsis, after = term.partition("...")
        spread = [2, 3][2 - seed % 3 :] if ellipsis else []
        shape = [*(sizes[c] for c in before), *spread, *(sizes[c] for c in after)]
        if seed == 3 and len(set(term)) == len(term):
            shape = [1 if rng.random() < 0.4 else n for n in shape]
        made.append(rng.integers(0, 3, shape).astype(dtype))
    return made


@pytest.mark.parametrize("subscripts", SUBSCRIPTS)
def test_small_integers_are_exact(subscripts: str, device: flow.Device) -> None:
    for seed in range(4):
        for dtype in ("int64", "int8", "uint16", "bool", "float16", "float64", "complex64"):
            arrays = operands(subscripts, seed, dtype)
            given = [flow.tensor(x, device=device) for x in arrays]
            try:
                expected = np.einsum(subscripts, *arrays)
            except ValueError:
                with pytest.raises(ValueError, match=r"\[einsum\]"):
                    flow.einsum(subscripts, *given)
            else:
                same(expected, flow.einsum(subscripts, *given))


@pytest.mark.parametrize(("subscripts", "shapes"), BAD, ids=str)
def test_bad_subscripts(subscripts: str, shapes: Any) -> None:
    with pytest.raises(ValueError, match="."):
        np.einsum(subscripts, *(np.ones(shape) for shape in shapes))
    with pytest.raises(ValueError, match=r"\[einsum\]"):
        flow.einsum(subscripts, *(flow.ones(shape) for shape in shapes))


def test_empty(device: flow.Device) -> None:
    for subscripts, shapes in (
        ("i,ij->j", ((0,), (0, 3))),
        ("i,j->", ((0,), (2,))),
        ("ij->i", ((3, 0),)),
    ):
        arrays = [np.ones(shape) for shape in shapes]
        given = [flow.tensor(x, device=device) for x in arrays]
        same(np.einsum(subscripts, *arrays), flow.einsum(subscripts, *given))


@pytest.mark.parametrize("optimize", [True, False, "greedy", "optimal"])
def test_order_of_the_pairs(optimize: Any, device: flow.Device) -> None:
    arrays = operands("ij,jk,kl,l,im->m", 0, "int64")
    given = [flow.tensor(x, device=device) for x in arrays]
    seen = flow.einsum("ij,jk,kl,l,im->m", *given, optimize=optimize)
    same(np.einsum("ij,jk,kl,l,im->m", *arrays), seen)


def test_floats_are_close(device: flow.Device) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(5, 40, 30)), rng.normal(size=(30, 5, 20))
    for subscripts in ("bij,jbk->bik", "bij,jbk->ik", "bij,jbk->", "bij,jbk->bijk"):
        seen = flow.einsum(subscripts, flow.tensor(x, device=device), flow.tensor(y, device=device))
        assert np.allclose(seen.numpy(), np.einsum(subscripts, x, y))


def test_lists_instead_of_letters() -> None:
    x, y = np.arange(6).reshape(2, 3), np.arange(12).reshape(3, 4)
    same(x @ y, flow.einsum(flow.tensor(x), [0, 1], flow.tensor(y), [1, 2], [0, 2]))
    same(x @ y, flow.einsum(x, [0, 1], y, [1, 2]))
    same(x.T, flow.einsum(x, [..., 0], [0, ...]))
    with pytest.raises(TypeError, match=r"\[einsum\]"):
        flow.einsum(x, y)


LISTS: dict[str, tuple[Any, ...]] = {
    "beyond 25": ([0, 26],),
    "around 25": ([26, 25],),
    "both ends": ([51, 0],),
    "with a sum": ([1, 30], [30, 27]),
    "with a result": ([3, 40], [40, 26], [26, 3]),
    "arrays": (np.array([0, 1]), np.array([1, 2], "uint8"), np.array([2, 0])),
    "tuples": ((0, np.int16(1)), (1, 2)),
    "ranges": (range(2), range(1, 3)),
    "ellipsis": ([..., 26],),
}
WRONG_LISTS: dict[str, Any] = {
    "negative": [0, -1],
    "beyond 51": [0, 52],
    "float": [0, 1.0],
    "bool": [0, True],
    "letter": [0, "j"],
    "letters": "ij",
    "none": None,
    "one": 0,
    "0-d array": np.array(0),
    "2-d array": np.array([[0, 1]]),
    "floats": np.array([0.0, 1.0]),
}


@pytest.mark.parametrize("name", LISTS)
def test_the_order_of_numbers_is_that_of_dimensions(name: str, device: flow.Device) -> None:
    x, y = np.arange(6).reshape(2, 3), np.arange(12).reshape(3, 4)
    lists = LISTS[name]
    arrays = (x, lists[0], y, *lists[1:]) if len(lists) > 1 else (x, lists[0])
    given = [
        flow.tensor(part, device=device) if part is x or part is y else part for part in arrays
    ]
    same(np.einsum(*arrays), flow.einsum(*given))


def test_numbers_may_be_tensors() -> None:
    x = np.arange(6).reshape(2, 3)
    same(x.T, flow.einsum(x, flow.tensor([0, 1]), flow.tensor([1, 0])))


@pytest.mark.parametrize("name", WRONG_LISTS)
def test_wrong_lists(name: str) -> None:
    x = np.arange(6).reshape(2, 3)
    with pytest.raises((ValueError, TypeError)) as expected:
        np.einsum(x, WRONG_LISTS[name])
    with pytest.raises(expected.type, match=r"^\[einsum\] expected .*, got "):
        flow.einsum(x, WRONG_LISTS[name])


@pytest.mark.parametrize("casting", ["zz", "SAFE", "", None, 3])
def test_rules_of_casts(casting: Any) -> None:
    x = np.ones((2, 3))
    for subscripts, arrays in (("ij", (x,)), ("ij,jk", (x, x.T))):
        with pytest.raises((ValueError, TypeError)) as expected:
            np.einsum(subscripts, *arrays, casting=casting)
        with pytest.raises(expected.type, match=r"\[einsum\]"):
            flow.einsum(subscripts, *arrays, casting=casting)
        for rule in ("no", "equiv", "safe", "same_kind", "unsafe"):
            seen = flow.einsum(subscripts, *arrays, casting=rule)
            same(np.einsum(subscripts, *arrays), seen)


def test_dtypes(device: flow.Device) -> None:
    x, y = np.arange(3, dtype="int8"), np.arange(3, dtype="float32")
    t, u = flow.tensor(x, device=device), flow.tensor(y, device=device)
    same(np.einsum("i,i", x, y), flow.einsum("i,i", t, u))
    same(np.einsum("i,i", x, x, dtype="int64"), flow.einsum("i,i", t, t, dtype="int64"))
    large = np.full(200, 100, "int8")  # wraps around
    same(np.einsum("i->", large), flow.einsum("i->", flow.tensor(large, device=device)))


def test_views(device: flow.Device) -> None:
    x = np.arange(9).reshape(3, 3)
    t = flow.tensor(x, device=device)
    flow.einsum("ii->i", t)[...] = 0
    flow.einsum("ij->ji", t)[0, 1] = 7
    x[np.arange(3), np.arange(3)] = 0
    x[1, 0] = 7
    same(x, t)


def test_a_plan_serves_operands_of_its_layout_only(device: flow.Device) -> None:
    rng = np.random.default_rng(1)
    shapes = ((3, 4), (4, 5), (5, 3))
    for _ in range(2):
        for dtypes in (("int64",) * 3, ("int8", "int16", "int8"), ("bool",) * 3):
            for order in ("C", "F"):
                arrays = [
                    np.asarray(rng.integers(0, 3, shape), dtype, order=order)
                    for shape, dtype in zip(shapes, dtypes, strict=True)
                ]
                given = [flow.tensor(x.T.copy(), device=device).T for x in arrays]
                if order == "C":
                    given = [flow.tensor(x, device=device) for x in arrays]
                for subscripts in ("ij,jk,kl->il", "ij,jk,kl->li", "ij,jk,kl"):
                    same(np.einsum(subscripts, *arrays), flow.einsum(subscripts, *given))
                same(
                    np.einsum("ij->i", arrays[0], dtype="int64"),
                    flow.einsum("ij->i", given[0], dtype="int64"),
                )
    x = flow.ones((2, 2), device=device)
    for _ in range(2):
        view = flow.einsum("ij->ij", x)
        assert view is not x
        assert view.shares_storage(x)


@pytest.mark.parametrize("subscripts", SUBSCRIPTS)
def test_what_is_not_needed_again_is_let_go(subscripts: str) -> None:
    arrays = operands(subscripts, 0, "int64")
    layouts = _C.layouts([flow.tensor(x) for x in arrays])
    assert layouts is not None
    steps = _plan(subscripts, layouts, None, "safe", True)
    gone = [place for _, _, _, _, done in steps for place in done]
    assert sorted(gone) == list(range(len(arrays), len(arrays) + len(steps) - 1))
    for i, (_, _, _, _, done) in enumerate(steps):
        later = {place for _, *places, _, _ in steps[i + 1 :] for place in places}
        assert later.isdisjoint(done)


def test_a_key_tells_operands_of_other_layouts_apart() -> None:
    x = flow.zeros((2, 3, 1), dtype="float32")
    others = [x, x.T, x[:, :2], x[:, ::2], x.astype("float64"), x[0], flow.tensor(3), x[:0]]
    keys = [_C.layouts([x, other]) for other in others]
    assert len(set(keys)) == len(others)
    for key, other in zip(keys, others, strict=True):
        assert key is not None
        parts = _C.parts_of_layouts(key)
        assert parts == [(y.shape, y.strides, y.dtype) for y in (x, other)]
    assert _C.layouts([x, 3]) is None
    assert _C.parts_of_layouts(b"") == []


@pytest.mark.parametrize("words", [(0, 1), (0, -1), (-1, 0), (99, 0), (0, 40, *[1] * 80)])
def test_bytes_that_are_no_key_are_refused(words: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"\[parts_of_layouts\] expected bytes of layouts"):
        _C.parts_of_layouts(np.array(words, np.int64).tobytes())


def test_small_calls_are_planned_once(device: flow.Device) -> None:
    called: list[str] = []

    def note(frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            called.append(frame.f_code.co_name)

    x, y = flow.ones((2, 3), device=device), flow.ones((3, 2), device=device)
    calls = (("ij,jk->ik", x, y), ("ij,ji->", x, y), ("ij->ji", x), ("ij->", x))
    for call in calls:
        flow.einsum(*call)
    sys.setprofile(note)
    try:
        for call in calls:
            flow.einsum(*call)
    finally:
        sys.setprofile(None)
    assert called == ["einsum"] * len(calls)
