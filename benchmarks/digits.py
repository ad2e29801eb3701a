"""The networks of examples/train_digits.py and train_cnn.py, as functions of arrays that run on
every library. Gradients are written by hand; steps return new weights and velocities.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

SIDE, HIDDEN, CLASSES = 8, 128, 10
CHANNELS = (16, 32)
RATE, MOMENTUM = 0.1, 0.9
Arrays = tuple[np.ndarray, ...]


def _batch(rng: np.random.Generator, size: int) -> Arrays:
    labels = np.eye(CLASSES, dtype=np.float32)[rng.integers(0, CLASSES, size)]
    return rng.random((size, 1, SIDE, SIDE), np.float32), labels


def _weights(rng: np.random.Generator, *shapes: tuple[int, ...]) -> Arrays:
    """Return weights of these shapes; those with one extent besides ones are biases, and zeros."""
    found = []
    for shape in shapes:
        inputs = shape[0] if len(shape) == 2 else int(np.prod(shape[1:]))
        is_bias = np.prod(shape) == shape[0]
        scale = 0.0 if is_bias else (2 / inputs) ** 0.5
        found.append((rng.normal(size=shape) * scale).astype(np.float32))
    return tuple(found)


def _softmax(xp: Any, scores: Any) -> tuple[Any, Any]:
    """Return the scores less the largest, less the logarithm of their sum; and that exponential."""
    shifted = scores - xp.max(scores, axis=1, keepdims=True)
    exponents = xp.exp(shifted)
    total = xp.sum(exponents, axis=1, keepdims=True)
    return shifted - xp.log(total), exponents / total


def _descended(
    weights: Sequence[Any], velocities: Sequence[Any], gradients: Sequence[Any]
) -> tuple[Any, ...]:
    """Return weights and velocities after a step of descent with momentum."""
    pairs = zip(velocities, gradients, strict=True)
    moved = [v * MOMENTUM - RATE * g for v, g in pairs]
    return *(w + v for w, v in zip(weights, moved, strict=True)), *moved


# --- train_digits.py


def perceptron_arrays(size: int) -> Arrays:
    """Return images and one-hot labels; then the weights of two layers, and their velocities."""
    rng = np.random.default_rng(7)
    images, labels = _batch(rng, size)
    weights = _weights(rng, (SIDE * SIDE, HIDDEN), (HIDDEN,), (HIDDEN, CLASSES), (CLASSES,))
    return images.reshape(size, -1), labels, *weights, *map(np.zeros_like, weights)


def perceptron_step(
    xp: Any, x: Any, labels: Any, w1: Any, b1: Any, w2: Any, b2: Any, *velocities: Any
) -> Any:
    """Return the cross-entropy, and the weights and velocities after a step."""
    hidden = xp.maximum(x @ w1 + b1, 0)
    scores = hidden @ w2 + b2
    exponents = xp.exp(scores - xp.max(scores, axis=1, keepdims=True))
    softmax = exponents / xp.sum(exponents, axis=1, keepdims=True)
    loss = -xp.mean(xp.log(xp.sum(softmax * labels, axis=1) + 1e-12))
    d_scores = (softmax - labels) / x.shape[0]
    d_hidden = (d_scores @ w2.T) * (hidden > 0)
    gradients = (
        x.T @ d_hidden,
        xp.sum(d_hidden, axis=0),
        hidden.T @ d_scores,
        xp.sum(d_scores, axis=0),
    )
    return loss, *_descended((w1, b1, w2, b2), velocities, gradients)


# --- train_cnn.py


def cnn_arrays(size: int) -> Arrays:
    """Return images and one-hot labels; then the weights of two convolutions and a matrix."""
    rng = np.random.default_rng(7)
    one, two = CHANNELS
    kernels = ((one, 1, 3, 3), (one, 1, 1), (two, one, 3, 3), (two, 1, 1))
    matrix = ((two * (SIDE // 2) ** 2, CLASSES), (CLASSES,))
    return *_batch(rng, size), *_weights(rng, *kernels, *matrix)


def cnn_step_arrays(size: int) -> Arrays:
    """Return what ``cnn_arrays`` does, and the velocities of the weights."""
    arrays = cnn_arrays(size)
    return *arrays, *map(np.zeros_like, arrays[2:])


def cnn_loss(
    xp: Any, x: Any, labels: Any, k1: Any, b1: Any, k2: Any, b2: Any, w: Any, b: Any
) -> Any:
    """Return the mean cross-entropy."""
    one = xp.maximum(xp.conv2d(x, k1, 1, 1) + b1, 0)
    two = xp.maximum(xp.conv2d(one, k2, 2, 1) + b2, 0)
    logarithms, _ = _softmax(xp, two.reshape(x.shape[0], -1) @ w + b)
    return -xp.mean(xp.sum(logarithms * labels, axis=1))


def cnn_gradients(
    xp: Any, x: Any, labels: Any, k1: Any, b1: Any, k2: Any, b2: Any, w: Any, b: Any
) -> Any:
    """Return the mean cross-entropy, and its gradients by the weights."""
    one = xp.maximum(xp.conv2d(x, k1, 1, 1) + b1, 0)
    two = xp.maximum(xp.conv2d(one, k2, 2, 1) + b2, 0)
    flat = two.reshape(x.shape[0], -1)
    logarithms, softmax = _softmax(xp, flat @ w + b)
    loss = -xp.mean(xp.sum(logarithms * labels, axis=1))
    d_scores = (softmax - labels) * (1 / x.shape[0])
    d_two = (d_scores @ w.T).reshape(two.shape) * (two > 0)
    d_one = xp.conv2d_input_gradient(one.shape, k2, d_two, 2, 1) * (one > 0)
    return (
        loss,
        xp.conv2d_weight_gradient(x, k1.shape, d_one, 1, 1),
        xp.sum(d_one, axis=(0, 2, 3)).reshape(b1.shape),
        xp.conv2d_weight_gradient(one, k2.shape, d_two, 2, 1),
        xp.sum(d_two, axis=(0, 2, 3)).reshape(b2.shape),
        flat.T @ d_scores,
        xp.sum(d_scores, axis=0),
    )


def cnn_step(xp: Any, x: Any, labels: Any, *state: Any) -> Any:
    """Return the cross-entropy, and the weights and velocities after a step."""
    weights, velocities = state[: len(state) // 2], state[len(state) // 2 :]
    loss, *gradients = cnn_gradients(xp, x, labels, *weights)
    return loss, *_descended(weights, velocities, gradients)
