"""Gradients in programs whose extents are not known when they are built."""

import numpy as np
import pytest

import oneflow_lite as flow

W = np.eye(3) / 2 + 0.1


def softmax(x):
    e = flow.exp(x - flow.stop_gradient(x.max(axis=-1, keepdims=True)))
    return e / e.sum(axis=-1, keepdims=True)


def writes(x, w):
    z = x @ w
    z[:, 0] = z[:, 1] * 2
    z *= z
    return z.sum()


BLOCKS = {
    "softmax": lambda x, w: -flow.log(softmax(x @ w)[:, 0]).mean(),
    "largest": lambda x, w: (x @ w).max(axis=1).sum() + (x @ w).max(),
    "broadcast": lambda x, w: ((x @ w) + w[0]).sum(),
    "deviation": lambda x, w: (x @ w - (x @ w).mean(axis=0)).std(),
    "reshaped": lambda x, w: (flow.reshape(x @ w, (-1,)) ** 2).sum(),
    "slices": lambda x, w: ((x @ w)[1:] ** 2).sum() + ((x @ w)[:, 1:] ** 3).sum(),
    "turned": lambda x, w: ((x @ w).T ** 2).sum(),
    "joined": lambda x, w: (flow.concat([x @ w, x]) ** 2).sum(),
    "writes": writes,
    "running sums": lambda x, w: (flow.cumsum(x @ w, axis=0) ** 2).sum(),
    "rows of weights": lambda x, w: (w[flow.tensor([0, 0, 2])] * x[:, :, None]).sum(),
}
OF_THREE = {
    "rows": lambda x, w: ((x @ w) ** 2).sum(),
    "attention": lambda x, w: (softmax(x @ w @ flow.swapaxes(x, 1, 2)) @ x).sum(),
}
CASES = [(block, (None, 3)) for block in BLOCKS.values()]
CASES += [(block, (None, 2, 3)) for block in OF_THREE.values()]


@pytest.mark.parametrize(("block", "shape"), CASES, ids=[*BLOCKS, *OF_THREE])
def test_they_are_those_of_known_extents(block, shape):
    main, startup = flow.graph.Program("main"), flow.graph.Program("startup")
    with flow.graph.building(main, startup):
        x = flow.graph.data("x", shape)
        w = flow.graph.parameter("w", (3, 3), init=W)
        loss = block(x, w)
        gradients = flow.graph.gradients(loss, [w, x])
    exe, scope = flow.graph.Executor(), flow.graph.Scope()
    exe.run(startup, scope=scope)
    for n in (2, 5):
        array = np.random.default_rng(n).normal(size=(n, *shape[1:]))
        found = exe.run(main, {"x": array}, gradients, scope=scope)
        expected = flow.grad(lambda w, x: block(x, w), (0, 1))(flow.tensor(W), flow.tensor(array))
        for g, wanted in zip(found, expected, strict=True):
            np.testing.assert_allclose(g.numpy(), wanted.numpy(), rtol=1e-12, atol=1e-14)


def written(x, k):
    z = flow.zeros_like(x)
    z[k] = x * 2
    return z


ROWS = np.arange(15.0).reshape(5, 3)
INDEXED = {
    "rows from the end": (lambda x, k: x[k], (None, 3), ROWS, [0, 1, 2, 3, -1]),
    "elements from the end": (lambda x, k: x[k], (None,), ROWS[0], [0, -1, -1]),
    "clipped": (lambda x, k: flow.take(x, k, axis=0, mode="clip"), (None,), ROWS[0], [1, 9, -9]),
    "clipped rows": (lambda x, k: flow.take(x, k, axis=0, mode="clip"), (None, 3), ROWS, [9] * 5),
    "around": (lambda x, k: flow.take(x, k, axis=0, mode="wrap"), (None,), ROWS[0], [1, 9, -9]),
    "rows around": (lambda x, k: flow.take(x, k, axis=0, mode="wrap"), (None, 3), ROWS, [9] * 5),
    "along an axis": (
        lambda x, k: flow.take_along_axis(x, flow.argsort(-x, axis=1), axis=1) * x,
        (2, None),
        ROWS[:2],
        [0, 0],
    ),
    "writes": (written, (None,), ROWS[0] + 1, [0, 1, 1]),
    "no rows": (lambda x, k: x[k], (None, 3), ROWS[:0], []),
}


@pytest.mark.parametrize(("block", "shape", "array", "places"), INDEXED.values(), ids=INDEXED)
def test_those_of_reads_by_index_know_the_extents(block, shape, array, places):
    main = flow.graph.Program("main")
    with flow.graph.building(main):
        x, k = flow.graph.data("x", shape), flow.graph.data("k", shape[:1], "int64")
        g = flow.graph.gradients((block(x, k) ** 2).sum(), x)
    (found,) = flow.graph.Executor().run(main, {"x": array, "k": places}, [g])
    indices = flow.tensor(places, dtype="int64")
    expected = flow.grad(lambda x: (block(x, indices) ** 2).sum())(flow.tensor(array))
    assert found.tolist() == expected.tolist()
