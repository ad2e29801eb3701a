"""What assign_layouts refuses: each error names the argument and what was given."""

from typing import Any

import pytest

from oneflow_lite.graph.analyses import STAYS, assign_layouts

RIGHT: dict[str, Any] = {
    "wanted": [0, 0, STAYS, 0],
    "takes": [[0], [1], [], [3]],
    "reads": [[], [], [2], []],
    "makes": [[1], [2], [3], [4]],
    "kept": [4],
    "costs": [1] * 5,
    "gains": [1.5, 1.5, 0, 1.5],
}
WRONG = [
    ("wanted", 3, TypeError, "wanted: expected a sequence, got 3"),
    ("wanted", "abcd", TypeError, "wanted: expected a sequence, got 'abcd'"),
    ("wanted", ["a"], TypeError, r"wanted\[0\]: expected a number, got 'a'"),
    ("wanted", [0, 0, -2, 0], ValueError, r"wanted\[2\]: expected -1 or more, got -2"),
    ("takes", None, TypeError, "takes: expected a sequence, got None"),
    ("takes", [], ValueError, "takes: expected 4 items, got 0"),
    ("takes", [[9], [], [], []], IndexError, r"takes\[0\]: value 9, expected 0 to 4"),
    ("reads", [9] * 4, TypeError, r"reads\[0\]: expected a sequence, got 9"),
    ("makes", [[0.5], [], [], []], TypeError, r"makes\[0\]\[0\]: expected a number, got 0.5"),
    ("kept", [-1], IndexError, "kept: value -1, expected 0 to 4"),
    ("costs", ["a"], TypeError, r"costs\[0\]: expected a number, got 'a'"),
    ("costs", [], IndexError, "kept: value 4, expected 0 to -1"),
    ("gains", [1], ValueError, "gains: expected 4 items, got 1"),
]


@pytest.mark.parametrize(("name", "given", "error", "words"), WRONG)
def test_wrong_layouts(name: str, given: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=rf"^\[assign_layouts\] {words}"):
        assign_layouts(**{**RIGHT, name: given})
    assert assign_layouts(**RIGHT) == [0, 0, STAYS, STAYS]


def test_values_are_in_sets_too() -> None:
    rows = {name: [set(row) for row in RIGHT[name]] for name in ("takes", "reads", "makes")}
    assert assign_layouts(**{**RIGHT, **rows, "kept": {4}}) == assign_layouts(**RIGHT)
    with pytest.raises(
        TypeError, match=r"^\[assign_layouts\] wanted: expected a sequence, got \{0\}"
    ):
        assign_layouts(**{**RIGHT, "wanted": {0}})
