"""Tensors without elements: an extent of 0 at any axis, in each way to make and run a program."""

from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow

SHAPES = [(0,), (0, 3), (2, 0), (0, 0), (2, 0, 3), (0, 2, 3), (2, 3, 0), (2, 0, 3, 0)]


def _like(x: Any, y: Any) -> bool:
    return (x.dtype, x.shape, x.strides) == (y.dtype, y.shape, y.strides)


def _function(x: Any) -> Any:
    return x + 1, x.T * 2, x.sum(), x.sum(axis=-1), flow.concat([x, x], axis=-1), x[..., :1]


@pytest.mark.parametrize("shape", SHAPES)
def test_programs(shape: tuple[int, ...]) -> None:
    wanted = _function(flow.zeros(shape))
    for given in (np.zeros(shape), flow.zeros(shape), flow.zeros(shape[::-1]).T):
        run = flow.jit(_function)
        for _ in range(3):
            assert all(map(_like, run(given), _function(flow.asarray(given))))
        assert run.report()["traces"] == 1
    traced = flow.graph.trace(_function, flow.graph.spec(shape))
    traced.program.verify()
    again = flow.graph.Program.parse(str(traced.program))
    assert again == traced.program
    assert all(map(_like, flow.graph.compile(again)(flow.zeros(shape)), wanted))


@pytest.mark.parametrize("shape", SHAPES)
def test_gradients(shape: tuple[int, ...]) -> None:
    gradient = flow.grad(lambda x: (x * flow.exp(x)).sum())
    assert _like(gradient(np.zeros(shape)), flow.zeros(shape))
    value, pull = flow.vjp(lambda x: x * 2, flow.zeros(shape))
    (found,) = pull(value)
    assert _like(found, value)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("is_known", [True, False])
def test_feeds(shape: tuple[int, ...], is_known: bool) -> None:
    main = flow.graph.Program("main")
    with flow.graph.building(main):
        x = flow.graph.data("x", shape if is_known else tuple(n or None for n in shape))
        y = x * 2
    for given in (np.zeros(shape), flow.zeros(shape), np.zeros(shape).tolist()):
        if np.shape(given) != shape:
            continue  # a list has no axes behind one of 0
        (found,) = flow.graph.Executor().run(main, {"x": given}, [y])
        assert _like(found, flow.zeros(shape))


@pytest.mark.parametrize("shape", [(0,), (0, 3)])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_transforms_of_no_points_are_zeros(name: str, shape: tuple[int, ...]) -> None:
    def function(x: Any) -> Any:
        return getattr(flow.fft, name)(x, 7, axis=0)

    for dtype in ("float16", "float32", "float64", "complex64"):
        if dtype[0] == "c" and name in ("rfft", "ihfft"):
            continue
        x = flow.zeros(shape, dtype=dtype)
        eager, run = function(x), flow.jit(function)
        for _ in range(3):
            found = run(x)
            assert (found.dtype, found.shape) == (eager.dtype, eager.shape)
            assert not found.numpy().any()
        assert not eager.numpy().any()


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "ihfft", "irfft", "hfft"])
def test_transforms_of_no_points_have_the_bits_of_one_zero(name: str) -> None:
    for n in (7, 8, 16):
        found = getattr(flow.fft, name)(flow.zeros(0), n)
        expected = getattr(np.fft, name)(np.zeros(1), n)
        assert found.numpy().tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    ("shape", "mask"),
    [((3,), (0,)), ((3, 2), (0,)), ((3, 0), (0,)), ((3, 2), (3, 0)), ((3, 2), (0, 2))],
)
def test_masks_of_no_elements(shape: tuple[int, ...], mask: tuple[int, ...]) -> None:
    chosen = np.zeros(mask, bool)

    def put(x: Any, where: Any) -> Any:
        y = flow.copy(x)
        y[where] = 1
        return y

    x = flow.zeros(shape)
    found = flow.jit(lambda x: x[chosen])(x)
    assert found.shape == x[chosen].shape == np.zeros(shape)[chosen].shape
    assert flow.jit(put)(x, flow.asarray(chosen)).tolist() == np.zeros(shape).tolist()


def test_masks_of_no_dimensions() -> None:
    def put(x: Any, where: Any, value: float) -> Any:
        y = flow.copy(x)
        y[where] = value
        return y

    run = flow.jit(put)
    for x in (flow.full((), np.nan), flow.arange(3.0), flow.zeros((2, 2))):
        for is_true in (True, False):
            where = flow.tensor(is_true)
            for _ in range(3):
                assert run(x, where, 5.0).numpy().tobytes() == put(x, where, 5.0).numpy().tobytes()
    guarded = flow.jit(lambda loss: put(loss, flow.isnan(loss), 0.0))
    assert [guarded(flow.tensor(x)).item() for x in (np.nan, 3.0)] == [0, 3]
