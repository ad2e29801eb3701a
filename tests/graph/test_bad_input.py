"""Wrong input: the error names the analysis, the argument, what was given, and what was wanted."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from oneflow_lite.graph.analyses import (
    READ,
    WRITE,
    BlockProgram,
    Values,
    addto,
    alias_classes,
    assign,
    class_users,
    colours,
    dependences,
    in_place,
    last_users,
    lower_bound,
    order_by_priority,
    plan_blocks,
    plan_offsets,
    reduction,
    reuse_across_lanes,
    spread,
    starts,
    successors,
    successors_by_thread,
    waits,
)

WITH_EDGES: dict[str, Callable[[Any], Any]] = {
    "reduction": lambda edges: reduction(3, edges),
    "successors": lambda edges: successors(3, edges),
    "successors_by_thread": lambda edges: successors_by_thread([0, 0, 0], edges),
    "last_users": lambda edges: last_users(3, edges, []),
    "waits": lambda edges: waits([0, 1, 0], edges),
    "starts": lambda edges: starts([0, 0, 0], edges, [0]),
    "reuse_across_lanes": lambda edges: reuse_across_lanes([0, 1, 0], edges, [], []),
    "colours": lambda edges: colours([1, 1, 1], edges, 2),
    "spread": lambda edges: spread([0] * 3, [0] * 3, edges, 2, 1),
    "plan_offsets": lambda edges: plan_offsets([8], [[0]], lanes=[0, 1, 0], edges=edges),
}


@pytest.mark.parametrize("op", WITH_EDGES)
@pytest.mark.parametrize(
    ("edges", "error", "text"),
    [
        ([(0, 3)], IndexError, "edges: operation 3: expected 0 to 2"),
        ([(-1, 2)], IndexError, "edges: operation -1: expected 0 to 2"),
        ([(2, 1)], ValueError, r"edge \(2, 1\) makes a cycle: edges follow the order"),
        ([(0, 1), (1, 1)], ValueError, r"edge \(1, 1\) makes a cycle"),
        ([(0, 1), (0, 1, 2)], ValueError, r"edges\[1\]: expected \(before, after\), got 3 items"),
        ([(0,)], ValueError, r"edges\[0\]: expected \(before, after\), got 1 items"),
        ([0, 1], TypeError, r"edges\[0\]: expected a sequence of integers, got int"),
        ([(0, 1.5)], TypeError, r"edges\[0\]: expected an integer, got float"),
        ("ab", TypeError, "edges: expected a sequence of integers, got str"),
        (7, TypeError, "edges: expected a sequence of integers, got int"),
        ([(0, 1 << 63)], OverflowError, r"edges\[0\]: expected an integer of 64 bits"),
    ],
)
def test_edges(op: str, edges: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=rf"^\[{op}\] {text}"):
        WITH_EDGES[op](edges)
    WITH_EDGES[op]([(0, 1)])  # the next call works


def over(accesses: Any = None, pairs: Any = None, lanes: Any = None, **change: Any) -> Any:
    rows = [[(0, WRITE)], [(0, READ), (1, WRITE)]]
    values = Values([0, 1], [0, 0], [0, 0], [1, 1], [4, 4])._replace(**change)
    return in_place(accesses or rows, pairs or [(1, 0, 1)], values, lanes=lanes)


def assigned(accesses: Any = None, assignments: Any = None, **change: Any) -> Any:
    rows = [[(1, WRITE)], [(1, READ), (0, WRITE)]]
    values = Values([0, 1], [2, 0], [0, 0], [1, 1], [4, 4])._replace(**change)
    return assign(accesses or rows, assignments or [(1, 0, 1)], values)


def added(additions: Any = None) -> Any:
    rows = [[(0, WRITE)], [(1, WRITE)], [(0, READ), (1, READ), (2, WRITE)]]
    values = Values([0, 1, 2], [0] * 3, [0] * 3, [1] * 3, [4] * 3)
    return addto(rows, additions or [(2, 0, 1, 2)], values)


def blocks(match_range: int = 16, **change: Any) -> Any:
    program = BlockProgram([[0], [1]], [[1], [2]], elements=[8] * 3, item_sizes=[4] * 3)
    return plan_blocks(program._replace(**change), match_range)


CASES: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (
        lambda: dependences([[(0, 4)]]),
        ValueError,
        r"^\[dependences\] accesses\[0\]\[0\]: expected 0 to 3, got 4",
    ),
    (lambda: dependences([[(-1, 0)]]), IndexError, r"\[dependences\] negative number -1"),
    (lambda: dependences([[(0, 0, 0)]]), ValueError, r"expected \(value, access\), got 3 items"),
    (lambda: dependences([[]], tokens=[[], []]), ValueError, "tokens: expected 1 items, got 2"),
    (lambda: dependences([[]], tokens=[[-4]]), IndexError, "negative number -4"),
    (lambda: dependences([[], 3]), TypeError, r"accesses\[1\]: expected a sequence"),
    (lambda: reduction(-1, [(0, 1)]), ValueError, "negative number of operations -1"),
    (lambda: reduction(0, [(0, 1)]), IndexError, "operation 0: there are none"),
    (lambda: last_users(2, [], [[0, 2]]), IndexError, "users: operation 2: expected 0 to 1"),
    (lambda: last_users(2, [], [[0.5]]), TypeError, r"users\[0\]\[0\]: expected an integer"),
    (lambda: order_by_priority([0, 0], [(0, 2)]), IndexError, "operation 2: expected 0 to 1"),
    (lambda: order_by_priority([0, 0], [(0, 1), (1, 0)]), ValueError, "cycle through operation"),
    (lambda: waits([0, 256], []), IndexError, "lane 256: expected 0 to 255"),
    (lambda: waits([-1], []), IndexError, "lane -1: expected 0 to 255"),
    (lambda: spread([1], [0, 0], [], 2, 1), ValueError, "devices: expected 1 items, got 2"),
    (lambda: spread([-1], [0], [], 2, 1), ValueError, "cost -1: expected at least 0"),
    (lambda: spread([1], [-2], [], 2, 1), ValueError, "device -2: expected -1 .no lanes. or more"),
    (lambda: spread([1], [0], [], 2, -1), ValueError, "wait -1: expected at least 0"),
    (lambda: spread([1], [0], [], 0, 1), ValueError, "most 0: expected 1 to 256"),
    (lambda: spread([2**62] * 2, [0, 0], [], 1, 0), OverflowError, "too large to be added"),
    (lambda: starts([0, 1], [], [0]), IndexError, "lane 1: expected 0 to 0"),
    (lambda: starts([0], [], [-2]), ValueError, r"device -2: expected -1 \(the host\) or more"),
    (lambda: reuse_across_lanes([0], [], [[1]], []), IndexError, "users: operation 1"),
    (lambda: reuse_across_lanes([0], [], [[0]], [(1, 0)]), IndexError, "pairs: value 1"),
    (lambda: reuse_across_lanes([0], [], [[0]], [(0, 1)]), IndexError, "pairs: operation 1"),
    (lambda: colours([-1], [], 1), ValueError, "negative weight -1"),
    (lambda: colours([1], [], 0), ValueError, "expected at least 1 colour, got 0"),
    (lambda: colours([1 << 62, 1 << 62], [], 2), OverflowError, "too big to be added"),
    (lambda: alias_classes(-1, []), ValueError, "negative number of values -1"),
    (lambda: alias_classes(2, [(0, 2)]), IndexError, "pairs: value 2: expected 0 to 1"),
    (lambda: alias_classes(2, [(0,)]), ValueError, r"expected \(value, other\), got 1 items"),
    (lambda: class_users([[(1, 0)]], [0]), IndexError, "accesses: value 1: expected 0 to 0"),
    (lambda: class_users([], [0, 2]), IndexError, "class 2: expected 0 to 1"),
    (lambda: over(classes=[0, 2]), IndexError, "class 2: expected 0 to 1"),
    (lambda: in_place([], [], 3), TypeError, r"\[in_place\] values: expected Values, got int"),
    (lambda: assign([], [], (1, 2)), TypeError, r"\[assign\] values: expected Values, got tuple"),
    (lambda: addto([], [], None), TypeError, r"\[addto\] values: expected Values, got NoneType"),
    (lambda: over(classes=[0, 1, 2]), ValueError, "kinds: expected 3 items, got 2"),
    (lambda: over(kinds=[0, 3]), ValueError, "kinds: expected 0 to 2, got 3"),
    (lambda: over(places=[0]), ValueError, "places: expected 2 items, got 1"),
    (lambda: over(elements=[0, -1]), ValueError, "negative number of elements -1"),
    (lambda: over(item_sizes=[0, -4]), ValueError, "negative item size -4"),
    (lambda: over(elements=[1]), ValueError, "elements: expected 2 items, got 1"),
    (lambda: over(lanes=[0]), ValueError, "lanes: expected 2 items, got 1"),
    (lambda: over(pairs=[(2, 0, 1)]), IndexError, "pairs: operation 2: expected 0 to 1"),
    (lambda: over(pairs=[(1, 5, 1)]), IndexError, "pairs: value 5"),
    (lambda: over(pairs=[(1, 0, 0)]), ValueError, "operation 1 does not write value 0"),
    (lambda: over(pairs=[(1, 0, 1), (0, 0, 0)]), ValueError, "in the order of the program"),
    (lambda: over(pairs=[(1, 0)]), ValueError, r"expected \(operation, operand, result\)"),
    (lambda: assigned(assignments=[(0, 0, 1)]), ValueError, "operation 0 does not read value 1"),
    (lambda: assigned(assignments=[(1, 1, 1)]), ValueError, "operation 1 does not write value 1"),
    (lambda: assigned(kinds=[0, 0]), ValueError, "value 0 is no variable"),
    (
        lambda: assigned(accesses=[[], [(1, READ), (0, WRITE)]]),
        ValueError,
        "nobody makes value 1 before operation 1",
    ),
    (lambda: added(additions=[(1, 0, 1, 2)]), ValueError, "operation 1 does not read value 0"),
    (lambda: added(additions=[(2, 0, 1, 1)]), ValueError, "operation 2 does not write value 1"),
    (lambda: added(additions=[(3, 0, 1, 2)]), IndexError, r"\[addto\] operation 3"),
    (lambda: added(additions=[(2, 0, 1, 7)]), IndexError, r"\[addto\] value 7"),
    (lambda: blocks(elements=[8, -1, 8]), ValueError, "value 1 has a negative size"),
    (lambda: blocks(item_sizes=[4]), ValueError, "item_sizes: expected 3 items, got 1"),
    (lambda: blocks(elements=[1 << 61] * 3), OverflowError, "too big"),
    (lambda: blocks(outputs=[[1]]), ValueError, "outputs: expected 2 items, got 1"),
    (lambda: blocks(outputs=[[1], [1]]), ValueError, "operations 0 and 1 both make value 1"),
    (lambda: blocks(inputs=[[2], [1]]), ValueError, "operation 0 uses value 2, which operation 1"),
    (lambda: blocks(inputs=[[0], [3]]), IndexError, "inputs: value 3: expected 0 to 2"),
    (lambda: blocks(results=[3]), IndexError, "results: value 3"),
    (lambda: blocks(ignored=[[1], []]), IndexError, "ignored: input 1: expected 0 to 0"),
    (lambda: blocks(pairs=[[(0, 1, 0)], []]), IndexError, "pairs: output 1: expected 0 to 0"),
    (lambda: blocks(pairs=[[(0, 0)], []]), ValueError, r"expected \(input, output, identity\)"),
    (lambda: blocks(colours=[0]), ValueError, "colours: expected 2 items, got 1"),
    (lambda: blocks(devices=[0, 0, 0]), ValueError, "devices: expected 2 items, got 3"),
    (lambda: blocks(match_range=-1), ValueError, "negative match_range -1"),
    (lambda: plan_offsets([-8], [[0]]), ValueError, r"\[plan_offsets\] negative size -8"),
    (lambda: plan_offsets([8], []), ValueError, "users: expected 1 items, got 0"),
    (lambda: plan_offsets([8], [[-1]]), IndexError, "users: operation -1"),
    (lambda: plan_offsets([8], [[2]], lanes=[0, 0]), IndexError, "operation 2: expected 0 to 1"),
    (lambda: plan_offsets([8], [[0]], alignment=48), ValueError, "power of two, got 48"),
    (lambda: plan_offsets([8], [[0]], alignment=0), ValueError, "power of two, got 0"),
    (lambda: plan_offsets([8], [[0]], results=[1]), IndexError, "results: class 1"),
    (lambda: plan_offsets([1 << 62] * 2, [[0], [0]]), OverflowError, "too big to be added"),
    (
        lambda: plan_offsets([8], [[0, 1]], lanes=[0, 1]),
        ValueError,
        "class 0: operation 1 does not run after operation 0",
    ),
    (lambda: lower_bound([-8], [[0]]), ValueError, r"\[lower_bound\] negative size -8"),
]


@pytest.mark.parametrize(("call", "error", "text"), CASES, ids=[text for _, _, text in CASES])
def test_wrong_input(call: Callable[[], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_what_is_right_works() -> None:
    for call in (over, assigned, added, blocks):
        call()


def test_arrays_of_numpy() -> None:
    edges = np.array([[0, 1], [1, 2], [0, 2]])
    assert reduction(np.int32(3), edges) == [(0, 1), (1, 2)]
    assert waits(np.array([0, 1, 0], dtype=np.uint8), edges) == [(0, 1), (1, 2)]
    users = np.array([[0, 1], [1, 2]])
    assert plan_offsets(np.array([64, 64]), users) == plan_offsets([64, 64], [[0, 1], [1, 2]])


def test_code_that_changes_what_is_read() -> None:
    """The list is held while its items are converted."""

    class Trap:
        def __index__(self) -> int:
            rows.clear()
            return 0

    rows: list[Any] = [[Trap(), 1] for _ in range(5)]
    assert successors(2, rows) == [[1], []]
