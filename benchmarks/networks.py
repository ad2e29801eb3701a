"""Parts of networks that run on every library: a step of training with its backward pass by hand,
and a transformer block.
"""

from itertools import pairwise
from typing import Any

import numpy as np

PIXELS, HIDDEN, CLASSES = 784, 512, 10
TOKENS, WIDTH, HEADS = 128, 512, 8
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


def perceptron_step(
    xp: Any, x: Any, labels: Any, w1: Any, w2: Any, w3: Any, b1: Any, b2: Any, b3: Any
) -> Any:
    """Return the weights after a step of descent along the cross-entropy's gradient."""
    z1 = x @ w1 + b1
    h1 = xp.where(z1 > 0, z1, 0)
    z2 = h1 @ w2 + b2
    h2 = xp.where(z2 > 0, z2, 0)
    z3 = h2 @ w3 + b3
    e = xp.exp(z3 - xp.max(z3, axis=-1, keepdims=True))
    d3 = (e / xp.sum(e, axis=-1, keepdims=True) - labels) * (1 / x.shape[0])
    d2 = xp.where(z2 > 0, d3 @ w3.T, 0)
    d1 = xp.where(z1 > 0, d2 @ w2.T, 0)
    return (
        w1 - RATE * (x.T @ d1),
        w2 - RATE * (h1.T @ d2),
        w3 - RATE * (h2.T @ d3),
        b1 - RATE * xp.sum(d1, axis=0),
        b2 - RATE * xp.sum(d2, axis=0),
        b3 - RATE * xp.sum(d3, axis=0),
    )


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
