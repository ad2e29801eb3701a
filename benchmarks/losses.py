"""Losses of parts of networks, for every library, and their gradients written by hand."""

from typing import Any

import numpy as np

from networks import HEADS, perceptron_backward, transformer_arrays, transformer_block

CLASSES = 1000
GELU, CUBIC = 0.7978845608, 0.044715


# --- the perceptron of networks.py


def perceptron_loss(
    xp: Any, x: Any, labels: Any, w1: Any, w2: Any, w3: Any, b1: Any, b2: Any, b3: Any
) -> Any:
    """Return the mean cross-entropy."""
    z1 = x @ w1 + b1
    z2 = xp.where(z1 > 0, z1, 0) @ w2 + b2
    return cross_entropy(xp, xp.where(z2 > 0, z2, 0) @ w3 + b3, labels)


def perceptron_gradients(xp: Any, x: Any, labels: Any, *weights: Any) -> Any:
    """Return the mean cross-entropy, and its gradients by the weights and biases."""
    p, gradients = perceptron_backward(xp, x, labels, *weights, of=lambda w, g: g)
    return -xp.mean(xp.log(xp.sum(p * labels, axis=-1))), *gradients


# --- cross-entropy


def cross_entropy_arrays(rows: int) -> tuple[np.ndarray, ...]:
    """Return scores of classes, and one-hot labels."""
    rng = np.random.default_rng(7)
    scores = rng.uniform(-4, 4, (rows, CLASSES)).astype(np.float32)
    return scores, np.eye(CLASSES, dtype=np.float32)[rng.integers(0, CLASSES, rows)]


def cross_entropy(xp: Any, scores: Any, labels: Any) -> Any:
    """Return the mean cross-entropy of the softmax."""
    shifted = scores - xp.stop_gradient(xp.max(scores, axis=-1, keepdims=True))
    logarithms = xp.log(xp.sum(xp.exp(shifted), axis=-1))
    return xp.mean(logarithms - xp.sum(shifted * labels, axis=-1))


def cross_entropy_gradients(xp: Any, scores: Any, labels: Any) -> Any:
    """Return the mean cross-entropy of the softmax, and its gradient by the scores."""
    shifted = scores - xp.max(scores, axis=-1, keepdims=True)
    exponents = xp.exp(shifted)
    total = xp.sum(exponents, axis=-1, keepdims=True)
    loss = xp.mean(xp.log(total) - xp.sum(shifted * labels, axis=-1, keepdims=True))
    return loss, (exponents / total - labels) * (1 / scores.shape[0])


# --- the transformer block of networks.py


def transformer_loss_arrays(batch: int) -> tuple[np.ndarray, ...]:
    """Return tokens and weights, and what the block should make of them."""
    arrays = transformer_arrays(batch)
    wanted = np.random.default_rng(8).uniform(-1, 1, arrays[0].shape)
    return *arrays, wanted.astype(np.float32)


def transformer_loss(xp: Any, x: Any, qkv: Any, out: Any, up: Any, down: Any, wanted: Any) -> Any:
    """Return the mean squared error of the block."""
    error = transformer_block(xp, x, qkv, out, up, down) - wanted
    return xp.mean(error * error)


def _normalized(xp: Any, x: Any) -> tuple[Any, Any]:
    """Return rows with mean 0 and deviation 1, and the deviation."""
    centred = x - xp.mean(x, axis=-1, keepdims=True)
    deviation = xp.sqrt(xp.mean(centred * centred, axis=-1, keepdims=True) + 1e-5)
    return centred / deviation, deviation


def _through_norm(xp: Any, g: Any, normal: Any, deviation: Any) -> Any:
    """Return the gradient by what was normalized, from that by the normal rows."""
    along = xp.mean(g * normal, axis=-1, keepdims=True)
    return (g - xp.mean(g, axis=-1, keepdims=True) - normal * along) / deviation


def _rows(x: Any) -> Any:
    return x.reshape(-1, x.shape[-1])


def transformer_gradients(
    xp: Any, x: Any, qkv: Any, out: Any, up: Any, down: Any, wanted: Any
) -> Any:
    """Return the mean squared error of the block, and its gradients by tokens and weights."""
    batch, tokens, width = x.shape
    split, scale = (batch, tokens, HEADS, width // HEADS), (width // HEADS) ** -0.5
    first, first_deviation = _normalized(xp, x)
    heads = (first @ qkv).reshape(batch, tokens, 3, HEADS, width // HEADS)
    q, k, v = xp.permute_dims(heads, (2, 0, 3, 1, 4))
    scores = q @ xp.permute_dims(k, (0, 1, 3, 2)) * scale
    exponents = xp.exp(scores - xp.max(scores, axis=-1, keepdims=True))
    p = exponents / xp.sum(exponents, axis=-1, keepdims=True)
    mixed = xp.permute_dims(p @ v, (0, 2, 1, 3)).reshape(batch, tokens, width)
    attended = x + mixed @ out
    second, second_deviation = _normalized(xp, attended)
    h = second @ up
    bent = xp.tanh(GELU * (h + CUBIC * h * h * h))
    gelu = 0.5 * h * (1 + bent)
    error = attended + gelu @ down - wanted

    g = error * (2 / (batch * tokens * width))
    of_down = _rows(gelu).T @ _rows(g)
    slope = 0.5 * (1 + bent) + 0.5 * h * (1 - bent * bent) * (GELU * (1 + 3 * CUBIC * h * h))
    of_h = (g @ down.T) * slope
    of_up = _rows(second).T @ _rows(of_h)
    g = g + _through_norm(xp, of_h @ up.T, second, second_deviation)
    of_out = _rows(mixed).T @ _rows(g)
    of_mixed = xp.permute_dims((g @ out.T).reshape(split), (0, 2, 1, 3))
    of_p = of_mixed @ xp.permute_dims(v, (0, 1, 3, 2))
    of_scores = p * (of_p - xp.sum(of_p * p, axis=-1, keepdims=True)) * scale
    of_heads = xp.stack(
        [
            of_scores @ k,
            xp.permute_dims(of_scores, (0, 1, 3, 2)) @ q,
            xp.permute_dims(p, (0, 1, 3, 2)) @ of_mixed,
        ]
    )
    of_heads = xp.permute_dims(of_heads, (1, 3, 0, 2, 4)).reshape(batch, tokens, 3 * width)
    of_qkv = _rows(first).T @ _rows(of_heads)
    g = g + _through_norm(xp, of_heads @ qkv.T, first, first_deviation)
    return xp.mean(error * error), g, of_qkv, of_out, of_up, of_down
