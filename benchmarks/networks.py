"""Parts of networks that run on every library: a step of training with its backward pass by hand,
a transformer block, and a residual block of convolutions.
"""

from itertools import pairwise
from typing import Any

import numpy as np

PIXELS, HIDDEN, CLASSES = 784, 512, 10
TOKENS, WIDTH, HEADS = 128, 512, 8
CHANNELS, EXTENT, WINDOW = 64, 56, 3
RATE = 0.01


def _uniform(rng: np.random.Generator, *shape: int) -> np.ndarray:
    bound = (3 / shape[0]) ** 0.5
    return rng.uniform(-bound, bound, shape).astype(np.float32)


def perceptron_arrays(batch: int) -> tuple[np.ndarray, ...]:
    """Return images, one-hot labels, then weights and biases of three layers."""
    rng = np.random.default_rng(7)
    images = rng.random((batch, PIXELS), np.float32)
    labels = np.eye(CLASSES, dtype=np.float32)[rng.integers(0, CLASSES, batch)]
    widths = (PIXELS, HIDDEN, HIDDEN, CLASSES)
    weights = [_uniform(rng, *shape) for shape in pairwise(widths)]
    return images, labels, *weights, *(np.zeros(n, np.float32) for n in widths[1:])


def perceptron_backward(
    xp: Any, x: Any, labels: Any, w1: Any, w2: Any, w3: Any, b1: Any, b2: Any, b3: Any, of: Any
) -> tuple[Any, tuple[Any, ...]]:
    """Return the probabilities of classes, and ``of(w, g)`` of each weight and bias and its
    gradient of the mean cross-entropy.
    """
    z1 = x @ w1 + b1
    h1 = xp.where(z1 > 0, z1, 0)
    z2 = h1 @ w2 + b2
    h2 = xp.where(z2 > 0, z2, 0)
    z3 = h2 @ w3 + b3
    e = xp.exp(z3 - xp.max(z3, axis=-1, keepdims=True))
    p = e / xp.sum(e, axis=-1, keepdims=True)
    d3 = (p - labels) * (1 / x.shape[0])
    d2 = xp.where(z2 > 0, d3 @ w3.T, 0)
    d1 = xp.where(z1 > 0, d2 @ w2.T, 0)
    return p, (
        of(w1, x.T @ d1),
        of(w2, h1.T @ d2),
        of(w3, h2.T @ d3),
        of(b1, xp.sum(d1, axis=0)),
        of(b2, xp.sum(d2, axis=0)),
        of(b3, xp.sum(d3, axis=0)),
    )


def perceptron_step(xp: Any, *arrays: Any) -> Any:
    """Return the weights after a step of descent along the cross-entropy's gradient."""
    return perceptron_backward(xp, *arrays, of=lambda w, g: w - RATE * g)[1]


def perceptron_products(xp: Any, *arrays: Any) -> Any:
    """Return the eight products of a step's shapes, and nothing else of it."""
    x, _, w1, w2, w3 = arrays[:5]
    h1 = x @ w1
    h2 = h1 @ w2
    d3 = h2 @ w3
    d2 = d3 @ w3.T
    return x.T @ (d2 @ w2.T), h1.T @ d2, h2.T @ d3


def transformer_arrays(batch: int) -> tuple[np.ndarray, ...]:
    """Return embedded tokens, then the weights of attention and of two layers."""
    rng = np.random.default_rng(7)
    shapes = ((WIDTH, 3 * WIDTH), (WIDTH, WIDTH), (WIDTH, 4 * WIDTH), (4 * WIDTH, WIDTH))
    x = rng.uniform(-1, 1, (batch, TOKENS, WIDTH)).astype(np.float32)
    return x, *(_uniform(rng, *shape) for shape in shapes)


def _normalized(xp: Any, x: Any) -> Any:
    centred = x - xp.mean(x, axis=-1, keepdims=True)
    return centred / xp.sqrt(xp.mean(centred * centred, axis=-1, keepdims=True) + 1e-5)


def transformer_block(xp: Any, x: Any, qkv: Any, out: Any, up: Any, down: Any) -> Any:
    """Attention with HEADS heads, then two layers; each behind a layer norm, beside its input."""
    batch, tokens, width = x.shape
    heads = (_normalized(xp, x) @ qkv).reshape(batch, tokens, 3, HEADS, width // HEADS)
    heads = xp.permute_dims(heads, (2, 0, 3, 1, 4))
    scores = heads[0] @ xp.permute_dims(heads[1], (0, 1, 3, 2)) * (width // HEADS) ** -0.5
    e = xp.exp(scores - xp.max(scores, axis=-1, keepdims=True))
    mixed = (e / xp.sum(e, axis=-1, keepdims=True)) @ heads[2]
    x = x + xp.permute_dims(mixed, (0, 2, 1, 3)).reshape(batch, tokens, width) @ out
    h = _normalized(xp, x) @ up
    gelu = 0.5 * h * (1 + xp.tanh(0.7978845608 * (h + 0.044715 * h * h * h)))
    return x + gelu @ down


def resnet_arrays(batch: int) -> tuple[np.ndarray, ...]:
    """Return images; then weights, scales and shifts of two convolutions."""
    rng = np.random.default_rng(7)
    x = rng.uniform(-1, 1, (batch, CHANNELS, EXTENT, EXTENT)).astype(np.float32)
    bound = (3 / (CHANNELS * WINDOW * WINDOW)) ** 0.5
    layers = []
    for _ in range(2):
        w = rng.uniform(-bound, bound, (CHANNELS, CHANNELS, WINDOW, WINDOW))
        scale, shift = rng.uniform(0.5, 1.5, (2, CHANNELS, 1, 1))
        layers += [array.astype(np.float32) for array in (w, scale, shift)]
    return x, *layers


def resnet_block(
    xp: Any, x: Any, w1: Any, scale1: Any, shift1: Any, w2: Any, scale2: Any, shift2: Any
) -> Any:
    """Two convolutions, each normalized over the batch, beside their input."""

    def normalized(h: Any, scale: Any, shift: Any) -> Any:
        centred = h - xp.mean(h, axis=(0, 2, 3), keepdims=True)
        variance = xp.mean(centred * centred, axis=(0, 2, 3), keepdims=True)
        return centred / xp.sqrt(variance + 1e-5) * scale + shift

    edge = WINDOW // 2
    h = xp.maximum(normalized(xp.conv2d(x, w1, 1, edge), scale1, shift1), 0)
    return xp.maximum(normalized(xp.conv2d(h, w2, 1, edge), scale2, shift2) + x, 0)
