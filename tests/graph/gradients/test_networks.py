"""Gradients of whole networks: those of jax.grad where it is installed, and NumPy's by hand."""

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.graph.text import digest_of

RTOL = 1e-12


def normal(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


def softmax(xp, x):
    e = xp.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def mlp(xp, _, p, x, y):
    hidden = xp.maximum(x @ p["w1"] + p["b1"], 0)
    hidden = xp.tanh(hidden @ p["w2"] + p["b2"])
    return ((hidden @ p["w3"] - y) ** 2).mean()


def cross_entropy(xp, _, p, x, y):
    scores = x @ p["w"] + p["b"]
    return -(xp.log(softmax(xp, scores) + 1e-12) * y).sum(axis=1).mean()


def attention(xp, _, p, x, y):
    batch, length, width = x.shape
    heads, size = 2, width // 2
    centred = x - x.mean(axis=-1, keepdims=True)
    normed = centred / xp.sqrt((centred * centred).mean(axis=-1, keepdims=True) + 1e-5)
    qkv = normed * p["scale"] @ p["qkv"]
    parts = [qkv[..., k * width : (k + 1) * width] for k in range(3)]
    q, k, v = (
        xp.transpose(part.reshape(batch, length, heads, size), (0, 2, 1, 3)) for part in parts
    )
    scores = q @ xp.swapaxes(k, -1, -2) / np.sqrt(size)
    mask = np.tril(np.ones((length, length))) > 0
    weights = softmax(xp, xp.where(xp.asarray(mask), scores, -1e9))
    mixed = xp.transpose(weights @ v, (0, 2, 1, 3)).reshape(batch, length, width)
    x = x + mixed @ p["out"]
    return ((x + xp.tanh(x @ p["up"]) @ p["down"] - y) ** 2).mean()


def cnn(xp, conv, p, x, y):
    x = xp.maximum(conv(x, p["w1"], 1, 1) + p["b1"][:, None, None], 0)
    x = xp.tanh(conv(x, p["w2"], 2, 0))
    pooled = x.reshape(x.shape[0], x.shape[1], -1).mean(axis=2)
    return -(xp.log(softmax(xp, pooled @ p["w3"])) * y).sum(axis=1).mean()


NETWORKS = {
    mlp: (
        {"w1": (6, 8), "b1": (8,), "w2": (8, 5), "b2": (5,), "w3": (5, 2)},
        ((7, 6), (7, 2)),
    ),
    cross_entropy: ({"w": (6, 4), "b": (4,)}, ((9, 6), (9, 4))),
    attention: (
        {"scale": (8,), "qkv": (8, 24), "out": (8, 8), "up": (8, 16), "down": (16, 8)},
        ((2, 5, 8), (2, 5, 8)),
    ),
    cnn: (
        {"w1": (4, 3, 3, 3), "b1": (4,), "w2": (5, 4, 3, 3), "w3": (5, 3)},
        ((2, 3, 7, 7), (2, 3)),
    ),
}


def operands(network):
    shapes, (x, y) = NETWORKS[network]
    parameters = {
        name: normal(k, *shape) / np.sqrt(shape[0])
        for k, (name, shape) in enumerate(shapes.items())
    }
    return parameters, normal(20, *x), np.abs(normal(21, *y))


def of_flow(network):
    parameters, x, y = operands(network)

    def loss(p, x, y):
        return network(flow, flow.conv2d, p, x, y)

    given = {name: flow.tensor(w) for name, w in parameters.items()}
    return flow.value_and_grad(loss)(given, flow.tensor(x), flow.tensor(y))


@pytest.mark.slow
@pytest.mark.parametrize("network", NETWORKS)
def test_as_jax(network):
    jax = pytest.importorskip("jax")
    parameters, x, y = operands(network)

    def conv(x, w, stride, padding):
        return jax.lax.conv_general_dilated(x, w, (stride,) * 2, ((padding,) * 2,) * 2)

    with jax.enable_x64(True):
        value, expected = jax.value_and_grad(lambda p, x, y: network(jax.numpy, conv, p, x, y))(
            {name: jax.numpy.asarray(w) for name, w in parameters.items()},
            jax.numpy.asarray(x),
            jax.numpy.asarray(y),
        )
        expected = {name: np.asarray(g) for name, g in expected.items()}
    found, gradients = of_flow(network)
    assert found.item() == pytest.approx(float(value), rel=RTOL)
    for name, wanted in expected.items():
        assert wanted.dtype == np.float64
        np.testing.assert_allclose(
            gradients[name].numpy(), wanted, rtol=RTOL, atol=RTOL * np.abs(wanted).max()
        )


def by_hand_mlp(p, x, y):
    before = x @ p["w1"] + p["b1"]
    first = np.maximum(before, 0)
    second = np.tanh(first @ p["w2"] + p["b2"])
    g = 2 * (second @ p["w3"] - y) / y.size
    of_second = (g @ p["w3"].T) * (1 - second**2)
    of_first = (of_second @ p["w2"].T) * (before > 0)
    return {
        **{"w1": x.T @ of_first, "b1": of_first.sum(axis=0), "w2": first.T @ of_second},
        **{"b2": of_second.sum(axis=0), "w3": second.T @ g},
    }


def by_hand_cross_entropy(p, x, y):
    s = softmax(np, x @ p["w"] + p["b"])
    of_s = -y / (s + 1e-12) / len(x)
    g = s * (of_s - (of_s * s).sum(axis=1, keepdims=True))
    return {"w": x.T @ g, "b": g.sum(axis=0)}


@pytest.mark.parametrize(
    ("network", "by_hand"), [(mlp, by_hand_mlp), (cross_entropy, by_hand_cross_entropy)]
)
def test_as_by_hand(network, by_hand):
    _, gradients = of_flow(network)
    for name, wanted in by_hand(*operands(network)).items():
        np.testing.assert_allclose(
            gradients[name].numpy(), wanted, rtol=RTOL, atol=RTOL * np.abs(wanted).max()
        )


@pytest.mark.parametrize("network", NETWORKS)
def test_along_a_direction(network):
    """The gradient tells how the loss changes along a random direction."""
    parameters, x, y = operands(network)
    _, gradients = of_flow(network)
    along = {name: normal(30, *w.shape) for name, w in parameters.items()}

    def loss(step):
        moved = {name: flow.tensor(w + step * along[name]) for name, w in parameters.items()}
        return network(flow, flow.conv2d, moved, flow.tensor(x), flow.tensor(y)).item()

    expected = (loss(1e-5) - loss(-1e-5)) / 2e-5
    found = sum((gradients[name].numpy() * w).sum() for name, w in along.items())
    assert found == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("mode", ["inline", "serial", "parallel", "sequential", "naive"])
def test_the_bits_are_the_same_in_each_way_to_run(network, mode):
    parameters, x, y = operands(network)
    names = list(parameters)

    def loss(*args):
        return network(flow, flow.conv2d, dict(zip(names, args, strict=False)), *args[-2:])

    places = tuple(range(len(names)))
    given = [flow.tensor(a) for a in (*parameters.values(), x, y)]

    def flat(*args):
        value, gradients = flow.value_and_grad(loss, places)(*args)
        return value, *gradients

    program = flow.graph.trace(flat, *given).program
    program.verify()
    assert flow.graph.Program.parse(str(program), constants_of(program)) == program
    expected = flow.jit(flat)(*given)
    for level in (0, 3):
        found = flow.graph.compile(program, mode=mode, opt_level=level)(*given)
        for one, other in zip(found, expected, strict=True):
            assert one.numpy().tobytes() == other.numpy().tobytes()


def constants_of(program):
    return {digest_of(x.tensor): x.tensor for x in program.main.constants}
