"""Values that share memory, and who uses it."""

import random

import pytest

from oneflow_lite.graph.analyses import SHAPE, Access, alias_classes, class_users


@pytest.mark.parametrize("seed", range(40))
def test_classes_are_the_parts_that_pairs_join(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.randint(0, 12)
    pairs = [tuple(rng.choices(range(count), k=2)) for _ in range(rng.randint(0, 10) * (count > 0))]
    parts = [{value} for value in range(count)]
    for a, b in pairs:
        joined = parts[a] | parts[b]
        for value in joined:
            parts[value] = joined
    first = [min(part) for part in parts]
    numbers = sorted(set(first))
    assert alias_classes(count, pairs) == [numbers.index(member) for member in first]


@pytest.mark.parametrize("seed", range(20))
def test_users_are_those_of_the_data_of_any_member(seed: int) -> None:
    rng = random.Random(seed)
    classes = [rng.randrange(4) for _ in range(8)]
    rows = [
        [(rng.randrange(8), rng.choice(list(Access))) for _ in range(rng.randint(0, 3))]
        for _ in range(15)
    ]
    assert class_users(rows, classes) == [
        [i for i, row in enumerate(rows) if any(classes[v] == c and how != SHAPE for v, how in row)]
        for c in range(max(classes) + 1)
    ]
