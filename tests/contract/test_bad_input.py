"""Bad input gets the right exception, naming the function, or the right answer: never a crash."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite import _C
from tests.support import ROOT

Run = Callable[..., Any]
FUZZ = ROOT / "tests/support/fuzz_program.py"
OVERLONG = 65  # dimensions: one more than NumPy has


def x() -> flow.Tensor:
    return flow.ones((2, 3))


MESSAGES: list[tuple[Callable[[], Any], Any, str]] = [
    # shapes
    (lambda: x() + flow.ones((2, 4)), ValueError, r"\[add\].*\(2, 3\).*\(2, 4\)"),
    (lambda: flow.where(x() > 0, flow.ones(4), 0.0), ValueError, r"\[where\].*\(2, 3\).*\(4,\)"),
    (lambda: flow.where(x() > 0, 1), ValueError, r"\[where\].*both x1 and x2 or neither"),
    (lambda: x() @ x(), ValueError, r"\[matmul\].*\(2, 3\)"),
    (lambda: flow.matmul(x(), flow.tensor(1.0)), ValueError, r"\[matmul\].*dimension"),
    (lambda: flow.clip(x(), flow.ones(2), 3), ValueError, r"\[clip\].*\(2, 3\).*\(2,\)"),
    # dtypes
    (lambda: flow.bitwise_and(x(), x()), TypeError, r"\[bitwise_and\].*float64"),
    (lambda: flow.tensor([True]) - flow.tensor([True]), TypeError, r"\[subtract\].*bool"),
    (lambda: flow.floor(flow.tensor([1j])), TypeError, r"\[floor\].*complex128"),
    (lambda: flow.tensor([1j]) // 2, TypeError, r"\[floor_divide\].*complex128"),
    (lambda: flow.tensor([1j]).astype("float32"), TypeError, r"\[astype\].*complex128.*real"),
    # devices: both, and the way out
    (lambda: x() + flow.ones(3, device="mock:1"), ValueError, r"\[add\].*cpu.*mock:1.*\.to\("),
    (
        lambda: x() @ flow.ones((3, 1), device="mock:0"),
        ValueError,
        r"\[matmul\].*cpu.*mock:0.*\.to\(",
    ),
    (
        lambda: flow.where(x() > 0, flow.ones(3, device="mock:1"), 0),
        ValueError,
        r"\[where\].*mock:1",
    ),
    (lambda: flow.stack([x(), x().mock()]), ValueError, r"\[(concat|stack)\].*cpu.*mock:0"),
    (lambda: flow.vm.host_func(len, [x().mock()]), ValueError, r"\[host_func\].*mock:0.*cpu"),
    (lambda: x().to("mock:99"), ValueError, "mock:99"),
    (lambda: flow.zeros(1, device="mock:-1"), ValueError, "mock:-1"),
    (lambda: flow.zeros(1, device="gpu"), ValueError, "gpu"),
    (lambda: flow.zeros(1, device=""), ValueError, "device"),
    (lambda: flow.zeros(1, device="mock:1:2"), ValueError, "mock:1:2"),
    (lambda: flow.zeros(1, device="mock:99999999999999999999"), ValueError, "device"),
    (lambda: flow.zeros(1, device=3), TypeError, ""),
    (lambda: x().mock(7), ValueError, "mock:7"),
    (lambda: x().mock("0"), TypeError, ""),
    # data
    (lambda: flow.tensor(np.array([object()])), TypeError, r"\[tensor\].*object"),
    (lambda: flow.tensor([None]), TypeError, r"\[tensor\]"),
    (lambda: flow.tensor(None), TypeError, r"\[tensor\]"),
    (lambda: flow.tensor("abc"), TypeError, r"\[tensor\]"),
    (lambda: flow.tensor([["a"]]), TypeError, r"\[tensor\]"),
    (lambda: flow.tensor(b"abc"), TypeError, r"\[tensor\]"),
    (lambda: flow.tensor({1: 2}), TypeError, r"\[tensor\]"),
    (lambda: flow.tensor({1, 2}), TypeError, r"\[tensor\]"),
    (lambda: flow.tensor([[1], [2, 3]]), ValueError, r"\[tensor\]"),
    (lambda: flow.tensor([[1, 2], 3]), ValueError, r"\[tensor\]"),
    (lambda: flow.tensor(np.array(["2020-01-01"], "M8[D]")), TypeError, r"\[tensor\].*datetime64"),
    (lambda: flow.tensor(np.zeros(2, [("a", "f4")])), TypeError, r"\[tensor\]"),
    (
        lambda: flow.tensor(np.zeros(2, np.longdouble)),
        TypeError,
        r"\[tensor\].*longdouble|float128",
    ),
    (lambda: flow.tensor(2**64), OverflowError, r"\[tensor\]"),
    (lambda: flow.tensor([10**400]), OverflowError, r"\[tensor\]"),
    (lambda: flow.tensor(np.zeros((1,) * 33)), (ValueError, IndexError), "dimensions"),
    (lambda: flow.tensor(lambda: 1), TypeError, r"\[tensor\]"),
    # operands
    (lambda: x() + "a", TypeError, r"unsupported operand|\[add\]"),
    (lambda: x() + None, TypeError, "unsupported operand"),
    (lambda: x() + range(3), TypeError, "unsupported operand"),
    (lambda: x() < "a", TypeError, "not supported"),
    (lambda: flow.add(x(), "a"), TypeError, r"\[add\].*str"),
    (lambda: flow.add(x(), None), TypeError, r"\[add\].*NoneType"),
    (lambda: flow.add(x(), {1}), TypeError, r"\[add\].*set"),
    (lambda: flow.add(x()), TypeError, r"\[add\] takes 2 operands, got 1"),
    (lambda: flow.sqrt(x(), x(), x()), TypeError, r"\[sqrt\] takes 1 operand, got 3"),
    (lambda: flow.add(x(), x(), where=x()), TypeError, r"\[where\] expected a mask of dtype bool"),
    (lambda: flow.add(x(), x(), while_=True), TypeError, r"\[add\] unexpected .* 'while_'"),
    (lambda: flow.add(), TypeError, r"\[add\]"),
    (lambda: x() + np.array([object()]), TypeError, "object"),
    (lambda: x() + np.array(["a", "b", "c"]), TypeError, r"dtype"),
    (lambda: x() + np.datetime64("2020-01-01"), TypeError, "datetime64"),
    (lambda: x() + np.longdouble(1), TypeError, "longdouble|float128"),
    (lambda: flow.ones(2, dtype="int8") + 300, OverflowError, "300"),
    (lambda: flow.ones(2, dtype="uint8") - (-1), OverflowError, "-1"),
    (lambda: flow.ones(2, dtype="int64") * 2**70, OverflowError, ""),
    (lambda: flow.full(2, 300, dtype="uint8"), OverflowError, "300"),
    (lambda: pow(x(), 2, 3), TypeError, r"\[pow\]"),
    # sizes
    (lambda: flow.zeros((1 << 62,)), (ValueError, MemoryError), ""),
    (lambda: flow.zeros((1 << 40, 1 << 40)), ValueError, r"\[\w+\].*large|big"),
    (lambda: flow.zeros(-1), ValueError, r"\[\w+\].*negative"),
    (lambda: flow.zeros((2, -3)), ValueError, r"\[\w+\].*negative"),
    (lambda: flow.zeros(2**63), (OverflowError, ValueError), ""),
    (lambda: flow.zeros(10**30), (OverflowError, ValueError), ""),
    (lambda: flow.zeros(2.5), TypeError, r"float"),
    (lambda: flow.zeros((2.0, 3)), TypeError, r"float"),
    (lambda: flow.zeros("ab"), TypeError, r"str"),
    (lambda: flow.zeros(None), TypeError, r"\[\w+\].*NoneType"),
    (lambda: flow.zeros((None,)), TypeError, "NoneType"),
    (lambda: flow.zeros([[2]]), TypeError, "list"),
    (lambda: flow.zeros((1,) * OVERLONG), ValueError, r"dimensions"),
    (lambda: x().reshape((1,) * OVERLONG), ValueError, r"\[reshape\].*dimensions"),
    (
        lambda: flow.broadcast_to(x(), (1,) * OVERLONG + (2, 3)),
        ValueError,
        r"\[broadcast_to\].*dimensions",
    ),
    (lambda: flow.broadcast_to(flow.ones(1), (1 << 62, 1 << 62)), ValueError, r"\[broadcast_to\]"),
    (lambda: flow.broadcast_to(x(), (-1, 3)), ValueError, r"\[broadcast_to\]"),
    (lambda: x().reshape(7), ValueError, r"\[reshape\].*\(2, 3\).*\(7,\)"),
    (lambda: x().reshape("a"), TypeError, ""),
    (lambda: x().reshape(2.0, 3.0), TypeError, "float"),
    (lambda: x().reshape(), ValueError, r"\[reshape\]"),
    (lambda: flow.permute_dims(x(), (0.0, 1.0)), TypeError, "float"),
    (lambda: flow.squeeze(x(), axis=5), (ValueError, IndexError), r"\[squeeze\]"),
    (lambda: flow.moveaxis(x(), 0, 7), (ValueError, IndexError), r"\[moveaxis\]"),
    (lambda: flow.moveaxis(x(), (0, 1), 0), ValueError, r"\[moveaxis\]"),
    (lambda: flow.expand_dims(x(), axis=1 << 70), (ValueError, IndexError, OverflowError), ""),
    (lambda: flow.linspace(0, 1, -1), ValueError, ""),
    (lambda: flow.linspace(0, 1, 2.5), TypeError, ""),
    (lambda: flow.arange(0, 5, 0), (ValueError, ZeroDivisionError), ""),
    (lambda: flow.arange(float("nan")), ValueError, ""),
    (lambda: flow.arange("a"), TypeError, ""),
    (lambda: flow.eye(-1), ValueError, ""),
    (lambda: flow.eye(2.5), TypeError, ""),
    # conversions
    (lambda: bool(x()), ValueError, r"ambiguous"),
    (lambda: bool(flow.zeros(0)), ValueError, r"0 elements"),
    (lambda: float(x()), TypeError, r"\[float\].*\(2, 3\)"),
    (lambda: int(flow.tensor(float("nan"))), ValueError, "NaN"),
    (lambda: int(flow.tensor(float("inf"))), OverflowError, "infinity"),
    (lambda: float(flow.tensor(1j)), TypeError, "complex"),
    (lambda: x().item(), ValueError, r"\[item\].*\(2, 3\)"),
    (lambda: x().item(0, 5), IndexError, "5"),
    (lambda: x().item("a"), (IndexError, TypeError), ""),
    (lambda: [1, 2][flow.tensor(1.0)], TypeError, "float64"),
    (lambda: x().shares_storage(3), TypeError, r"\[shares_storage\].*int"),
    (lambda: x().nothing, AttributeError, "nothing"),
    (lambda: flow.nothing, AttributeError, "nothing"),
    (lambda: type(x())(), TypeError, ""),
    (lambda: flow.Device(), TypeError, ""),
    (lambda: flow.vm.host_func(3), TypeError, ""),
    (lambda: flow.vm.host_func(len, [3]), TypeError, r"\[host_func\].*int"),
    (lambda: flow.vm.host_func(len, 3), TypeError, ""),
    (lambda: flow.synchronize("nowhere"), ValueError, "nowhere"),
    (lambda: flow.random.normal(size=-1), ValueError, ""),
    (lambda: flow.random.randint(0), ValueError, ""),
    # only kernels of arrays are called by name
    (lambda: _C.call_kernel("x", "copy", [x()], [x()]), ValueError, "no kernel named copy"),
]


@pytest.mark.parametrize(("call", "error", "message"), MESSAGES)
def test_messages(call: Callable[[], Any], error: Any, message: str) -> None:
    with pytest.raises(error, match=message or None) as caught:
        call()
    assert "C++" not in str(caught.value)
    assert "pybind11" not in str(caught.value)


def test_an_error_of_an_argument_changes_nothing(device: flow.Device) -> None:
    a = flow.tensor([1, 2, 3], dtype="int8", device=device)
    for call in (
        lambda: a.__iadd__(flow.ones((2, 3), dtype="int8", device=device)),
        lambda: a.__iadd__(flow.ones(3, device=device)),
        lambda: a.__iadd__(300),
        lambda: a.__setitem__(0, 300),
        lambda: a.__setitem__(slice(None), np.ones(2)),
    ):
        with pytest.raises((ValueError, TypeError, OverflowError)):
            call()
    assert a.tolist() == [1, 2, 3]


@pytest.mark.parametrize("kind", ["cpu", "mock:0"])
@pytest.mark.parametrize("shape", [(1 << 46,), (1 << 57,), ((1 << 31) - 1, (1 << 31) - 1)], ids=str)
def test_absurd_sizes_run_out_of_memory(kind: str, shape: tuple[int, ...]) -> None:
    """At the call or at the look, and the next operation works."""
    with pytest.raises((MemoryError, ValueError)):
        flow.zeros(shape, dtype="int8", device=kind).sum().item()
    with pytest.raises((MemoryError, ValueError)):
        (flow.broadcast_to(flow.zeros(1, device=kind), shape) + 1)[0].numpy()
    assert flow.ones(3, device=kind).sum().item() == 3
    try:
        flow.synchronize()
    except MemoryError:
        flow.synchronize()


def test_a_huge_broadcast_view_is_fine() -> None:
    view = flow.broadcast_to(flow.tensor(2.0), (1 << 20, 1 << 20))
    assert view.shape == (1 << 20, 1 << 20)
    assert view[5, 7].item() == 2
    assert view[:3, :2].sum().item() == 12
    assert view.reshape((1 << 40,)).shape == (1 << 40,)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("sync", ["0", "1"])
def test_fuzz(run_program: Run, seed: int, sync: str) -> None:
    """Every public function and method, with garbage: exceptions, no signal, and then it works."""
    done = run_program(
        FUZZ.read_text(), str(seed), "6", sync=sync, memory_limit="256MiB", timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]
    calls, raised = map(int, done.stdout.split())
    assert calls > raised > calls // 4


NASTY = """
import numpy as np
import oneflow_lite as flow
overlaid = np.lib.stride_tricks.as_strided
for device in ("cpu", "mock:0"):
    one = flow.ones(1, device=device)
    three = flow.ones(3, device=device)
    for call in (
        lambda: flow.zeros((1 << 62,), dtype="int8", device=device),
        lambda: flow.zeros((1 << 31, 1 << 31, 1 << 31), device=device),
        lambda: flow.broadcast_to(one, (1 << 50,)).numpy(),
        lambda: flow.broadcast_to(one, (1 << 50,)).reshape((1 << 25, 1 << 25)) + 1,
        lambda: three[1 << 62],
        lambda: three[:: -(1 << 62)],
        lambda: three[(None,) * 1000],
        lambda: flow.concat([flow.broadcast_to(one, (1 << 45,))] * 3),
        lambda: flow.concat([flow.broadcast_to(one, (1 << 62,))] * 3),
        lambda: flow.stack([flow.ones((1,) * 32, device=device)] * 2),
        lambda: flow.expand_dims(flow.ones((1,) * 32, device=device), axis=0),
        lambda: flow.tensor(overlaid(np.ones(1), (1 << 45,), (0,)), device=device),
        lambda: flow.full((3,), np.ones((3,) * 20), device=device),
        lambda: flow.ones((0, 1 << 62), device=device).sum(axis=0),
        lambda: flow.ones((1 << 62, 0), device=device).numpy(),
        lambda: flow.ones(2, device=device) << 1,
        lambda: flow.ones(2, dtype="int32", device=device) << 1000,
        lambda: flow.broadcast_to(one, (1 << 40, 1)) @ flow.broadcast_to(one, (1, 1 << 40)),
        lambda: flow.add(three[:2], 1, out=flow.broadcast_to(one, (2,))),
    ):
        try:
            result = call()
            if result.size < 1000:
                result.numpy()
            print("fine", result.shape)
        except Exception as error:
            print(type(error).__name__, str(error)[:100])
try:
    flow.synchronize()
except Exception as error:
    print(type(error).__name__)
print("alive", flow.arange(4).sum().item())
"""


@pytest.mark.parametrize("sync", ["0", "1"])
def test_the_nastiest_leave_the_process_alive(run_program: Run, sync: str) -> None:
    done = run_program(NASTY, sync=sync)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "alive 6" in done.stdout
    assert "SystemError" not in done.stdout
