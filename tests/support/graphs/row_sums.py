"""Sums of rows by index are those of ``numpy.add.at``, bit for bit, in any layout."""

import numpy as np

import oneflow_lite as flow
from oneflow_lite.graph.gradients.scattering import add_rows

# size, width, rows: more and fewer rows than places, and none
SIZES = [
    (7, 5, 20),
    (3, 64, 1000),
    (1000, 130, 5000),
    (5, 2, 0),
    (4, 0, 6),
    (1, 33, 7),
    (300, 2, 9),
]


def check(size: int, width: int, count: int, dtype: str, device: flow.Device | str) -> None:
    rng = np.random.default_rng(count)
    places = rng.integers(0, max(size, 1), count)
    rows = rng.normal(size=(count, width)).astype(dtype)
    there = flow.tensor(places, device=device)
    given = flow.tensor(rows, device=device)
    wide = flow.tensor(np.repeat(rows, 2, axis=1), device=device)
    layouts = [
        (rows, given),
        (rows, flow.tensor(rows.T.copy(), device=device).T),
        (rows[:, ::-1], given[:, ::-1]),
        (rows, wide[:, ::2]),
        (rows[::-1], given[::-1]),
    ]
    for values, tensor in layouts:
        expected = np.zeros((size, width), dtype)
        np.add.at(expected, places, values)
        found = add_rows(size, there, tensor)
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        assert found.numpy().tobytes() == expected.tobytes()
        every_other = flow.tensor(np.repeat(places, 2), device=device)[::2]
        assert add_rows(size, every_other, tensor).numpy().tobytes() == expected.tobytes()
