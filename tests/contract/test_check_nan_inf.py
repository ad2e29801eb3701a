"""Flag check_nan_inf: the operation that makes a NaN or an infinity fails, and no other."""

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.machine import here, line_of, run_in_threads
from tests.support.oracle import same

Make = Callable[[flow.Device], Any]


@pytest.fixture(autouse=True)
def checked() -> Iterator[None]:
    with flow.flags(check_nan_inf=True):
        yield


def zeros(device: flow.Device, *shape: int, dtype: str = "float64") -> flow.Tensor:
    return flow.zeros(shape, dtype=dtype, device=device)


def full(device: flow.Device, value: float, *shape: int, dtype: str = "float64") -> flow.Tensor:
    return flow.full(shape, value, dtype=dtype, device=device)


def in_place(device: flow.Device) -> flow.Tensor:
    x = full(device, 2, 3)
    x /= zeros(device, 3)
    return x


def through_a_view(device: flow.Device) -> flow.Tensor:
    x = full(device, 2, 4, 6)
    x[1:3, ::2] /= 0
    return x


# What is made: (NaN, infinite), operation, shape, dtype.
MADE: dict[str, tuple[Make, tuple[int, int], str, tuple[int, ...], str]] = {
    "divide": (lambda d: 1 / zeros(d, 2, 3), (0, 6), "divide", (2, 3), "float64"),
    "a large one": (
        lambda d: full(d, 0, 300, 300) / 0,
        (90000, 0),
        "divide",
        (300, 300),
        "float64",
    ),
    "of integers": (lambda d: 1 / zeros(d, 4, dtype="int32"), (0, 4), "divide", (4,), "float64"),
    "a cast": (
        lambda d: full(d, 1e5, 3, dtype="float32").astype("float16"),
        *((0, 3), "astype", (3,), "float16"),
    ),
    "bfloat16": (
        lambda d: full(d, 3e38, 5, dtype="float32").astype("bfloat16") * 2,
        *((0, 5), "multiply", (5,), "bfloat16"),
    ),
    "complex": (
        lambda d: flow.exp(full(d, 1000, 3, dtype="complex64")),
        *((0, 3), "exp", (3,), "complex64"),
    ),
    "sum": (lambda d: full(d, 1e308, 2, 9).sum(axis=1), (0, 2), "sum", (2,), "float64"),
    "cumsum": (lambda d: flow.cumsum(full(d, 1e308, 3)), (0, 2), "cumsum", (3,), "float64"),
    "matmul": (
        lambda d: full(d, 1e200, 2, 3) @ full(d, 1e200, 3, 4),
        *((0, 8), "matmul", (2, 4), "float64"),
    ),
    "in place": (in_place, (0, 3), "divide", (3,), "float64"),
    "through a view": (through_a_view, (0, 6), "divide", (2, 3), "float64"),
    "0-d": (lambda d: flow.log(zeros(d)), (0, 1), "log", (), "float64"),
}


@pytest.mark.parametrize("case", MADE)
@pytest.mark.parametrize("mode", [{}, {"fusion": "always", "inline": "0"}, {"sync": True}])
def test_the_operation_that_made_some_fails(
    case: str, mode: dict[str, Any], device: flow.Device
) -> None:
    make, (nan, infinite), op, shape, dtype = MADE[case]
    with flow.flags(**mode):
        bad = make(device)
        with pytest.raises(FloatingPointError) as caught:
            bad.numpy()
    text = str(caught.value)
    assert text.startswith(f"[{op}] made {nan} NaN and {infinite} infinite of ")
    shown = f"({shape[0]},)" if len(shape) == 1 else str(shape)
    assert f"result of shape {shown} and dtype {dtype}" in text
    with pytest.raises(FloatingPointError):
        flow.synchronize()


def test_the_error_has_the_line_of_the_program(device: flow.Device) -> None:
    x = zeros(device, 3)
    bad = x / x
    line = here() - 1
    after = flow.tanh(bad) + 1
    with pytest.raises(FloatingPointError, match=r"^\[divide\] made 3 NaN") as caught:
        after.numpy()
    assert line_of(caught.value).endswith(f"{os.path.basename(__file__)}:{line}")
    assert (x + 1).numpy().tolist() == [1, 1, 1]  # everything else goes on


GIVEN: dict[str, Make] = {
    "made of a NaN": lambda d: flow.tensor([np.nan, 1.0], device=d) / 0,
    "made of an infinity": lambda d: flow.tensor([np.inf, 1.0], device=d) * 0,
    "by a number": lambda d: zeros(d, 3) * float("inf"),
    "a number at one place": lambda d: flow.where(zeros(d, 3) == 0, float("nan"), 1.0),
    "filled": lambda d: flow.full(3, np.nan, device=d),
    "moved": lambda d: flow.tensor([np.nan, 1.0], device=d)[flow.tensor([0, 0, 1], device=d)],
    "reduced": lambda d: flow.tensor([np.nan, 1.0], device=d).max(),
    "overwritten": lambda d: flow.tensor([np.inf, 1.0], device=d).__imul__(0),
    "copied": lambda d: flow.tensor([np.nan, 1.0], device=d).cpu(),
}


@pytest.mark.parametrize("case", GIVEN)
def test_one_that_was_there_before_is_nobodys_fault(case: str, device: flow.Device) -> None:
    assert not np.isfinite(GIVEN[case](device).numpy()).all()
    flow.synchronize()


FINITE: dict[str, Make] = {
    "unique, and garbage behind it": lambda d: flow.unique(full(d, 1, 500)),
    "sinc": lambda d: flow.sinc(zeros(d, 3)),
    "least squares without residuals": lambda d: flow.linalg.lstsq(
        full(d, 1, 2, 3), full(d, 1, 2), rcond=None
    )[0],
    "a pseudo-inverse of zeros": lambda d: flow.linalg.pinv(zeros(d, 2, 2)),
    "an inner infinity is none": lambda d: flow.max(full(d, 1, 5), initial=-np.inf),
    "empty": lambda d: zeros(d, 0, 3) / 0,
    "random": lambda d: flow.random.normal(size=(3, 3), device=d),
}


MASKED: dict[str, Callable[[Any], Any]] = {
    "a number by": lambda x: np.divide(1.0, x, where=x != 0),
    "by a number": lambda x: np.divide(x, 0, where=x > 5),
    "integers": lambda x: np.true_divide(1, (x * 2).astype("int64"), where=x != 0),
    "log": lambda x: np.log(x, where=x > 0),
    "arctanh": lambda x: np.arctanh(x, where=abs(x) < 1),
    "narrow": lambda x: np.reciprocal(x.astype("float32"), where=x != 0),
    "a cast": lambda x: np.divide(x, x, where=x != 0, dtype="float32"),
    "two results": lambda x: np.divmod(x, x, where=x != 0)[1],
    "complex": lambda x: np.divide(1j, x, where=x != 0),
    "a comparison": lambda x: np.less(x, 2**70, where=x != 0),
    "a broadcast mask": lambda x: np.log(x, where=np.array([[False, False, True, True]] * 2)),
}


@pytest.mark.parametrize("case", MASKED)
def test_where_leaves_out_what_is_not_looked_at(case: str, device: flow.Device) -> None:
    x = flow.tensor([-1.0, 0, 0.5, 2.0], device=device)
    with flow.flags(check_nan_inf=False):
        expected = MASKED[case](x)
    for seen in (MASKED[case](x), flow.jit(MASKED[case])(x)):
        same(expected.numpy(), seen)
    flow.synchronize()


def test_where_keeps_what_was_there(device: flow.Device) -> None:
    x, out = flow.tensor([2.0, 0.0, 4.0], device=device), full(device, 7, 3)
    assert np.divide(1.0, x, out=out, where=x != 0) is out
    assert out.numpy().tolist() == [0.5, 7, 0.25]
    bad = np.divide(1.0, x, where=x < 3)
    with pytest.raises(FloatingPointError, match=r"\[divide\] made 0 NaN and 1 infinite of 3"):
        bad.numpy()


@pytest.mark.parametrize("case", FINITE)
def test_what_is_finite_passes(case: str, device: flow.Device) -> None:
    assert np.isfinite(FINITE[case](device).numpy()).all()
    flow.synchronize()


def test_members_of_a_group_are_told_apart() -> None:
    with flow.flags(fusion="always", inline="0"):
        x = flow.arange(300_000.0)
        y = x * 2 + 1
        line = here() + 1
        z = flow.tanh(flow.sqrt(y) / x)
        with pytest.raises(FloatingPointError, match=r"\[divide\] made 0 NaN and 1 inf") as caught:
            (z + 1).numpy()
    assert line_of(caught.value).endswith(f":{line}")
    assert (y.numpy() == np.arange(300_000.0) * 2 + 1).all()


def test_the_scope_ends() -> None:
    with flow.flags(check_nan_inf=False):
        assert (flow.ones(3) / 0).numpy().tolist() == [np.inf] * 3
    with pytest.raises(FloatingPointError):
        (flow.ones(3) / 0).numpy()


def test_beside_a_profile() -> None:
    with flow.profiler.profile() as prof:
        (flow.ones(30) + 1).numpy()
        bad = flow.ones(30) / 0
        with pytest.raises(FloatingPointError):
            flow.synchronize()
    names = [r.name for r in prof.records if r.kind == "run"]
    assert {"add", "divide", "check_nan_inf"} <= set(names)
    with pytest.raises(FloatingPointError):
        bad.numpy()
    with pytest.raises(FloatingPointError):  # the profile's end leaves the check
        (flow.ones(30) / 0).numpy()


def test_in_several_threads(device: flow.Device) -> None:
    def work(number: int) -> None:
        for i in range(20):
            with flow.vm.lane(number % 4):
                good = full(device, i, 500) / (number + 1)
                bad = full(device, i + 1, 500 + number) / 0
            assert (good.numpy() == i / (number + 1)).all()
            with pytest.raises(FloatingPointError, match=rf"of shape \({500 + number},\)"):
                bad.numpy()

    run_in_threads(work, 6)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:.*fork.*:RuntimeWarning")
def test_in_a_forked_child() -> None:
    child = os.fork()
    if child == 0:
        try:
            (flow.ones(30_000) / 0).numpy()
        except FloatingPointError:
            os._exit(3)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3


def test_the_variable(run_program: Callable[..., Any]) -> None:
    code = """
import oneflow_lite as flow
x = flow.zeros(3)
y = (x / x) * 2
y.numpy()
"""
    done = run_program(code, check_nan_inf="1")
    assert done.returncode == 1
    assert "FloatingPointError: [divide] made 3 NaN" in done.stderr
    assert "program.py:4" in done.stderr
    assert run_program(code).returncode == 0


def test_what_a_ufunc_refuses_with_a_mask() -> None:
    """The operation says so itself, as without a mask."""
    x, mask = flow.ones(3, dtype="float32"), flow.ones(3, dtype=bool)
    with pytest.raises(TypeError, match=r"\[bitwise_and\] is not defined for float32 and float32"):
        np.bitwise_and(x, x, where=mask)
