"""The text of programs is read back, and what is wrong with a text is said."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite import _C
from oneflow_lite._C import OpCall
from oneflow_lite.dtypes import SUPPORTED
from oneflow_lite.graph import Program, Scalar, trace
from oneflow_lite.graph.stand_ins import STAND_INS
from oneflow_lite.graph.text import digest_of


def traced(function: Callable[..., Any], *args: Any) -> Program:
    return trace(function, *args).program


def same(program: Program) -> None:
    """The text is read back as an equal program, with equal text, and both are right."""
    program.verify()
    again = Program.parse(str(program), constants_of(program))
    again.verify()
    assert str(again) == str(program)
    assert again == program
    assert again.digest == program.digest
    assert again.name == program.name


def constants_of(program: Program) -> dict[str, Any]:
    """What parse() gets for constants that are too long for the text."""
    found = {}
    for function in program.functions.values():
        for bound in function.constants:
            assert bound.tensor is not None
            found[digest_of(bound.tensor)] = bound.tensor
    return found


def main_of(*lines: str) -> str:
    return "\n".join(["program test", *lines]) + "\n"


# --- round trips


def _writes(x: flow.Tensor, y: flow.Tensor) -> flow.Tensor:
    x[1:, ::-2] = y[0, 0]
    x += 1
    flow.add(x, y, out=x)
    x[...] = 3
    x.T[1] = y[:, 1]
    flow.putmask(x, y > 0, 2.0)
    return x[0]


KINDS: dict[str, Callable[[flow.Tensor, flow.Tensor], Any]] = {
    "elementwise": lambda x, y: flow.tanh(x) * y - 1,
    "where": lambda x, y: (flow.where(x > y, x, y), flow.where(x > 0, x, 2.5)),
    "copy": lambda x, y: (x.T.astype("float32"), x.T.copy(), flow.asarray(x, copy=True)),
    "fill": lambda x, y: (flow.full((2, 3), 7), flow.zeros((0,), dtype="int8")),
    "empty": lambda x, y: flow.multiply(x, y, out=flow.empty(x.shape)),
    "reduce": lambda x, y: (
        *(x.sum(), x.max(axis=0), x.prod(axis=1, keepdims=True), x.min(axis=(0, 1))),
        *(flow.sum(x, initial=3.5), flow.all(x > 0), flow.max(x, axis=1, initial=-np.inf)),
    ),
    "arg_reduce": lambda x, y: (x.argmax(), x.argmin(axis=1), x.argmax(axis=0, keepdims=True)),
    "matmul": lambda x, y: (x @ y.T, x @ y[0], x[0] @ y[1], x[0] @ y.T),
    "concat": lambda x, y: (flow.concat([x, y], axis=1), flow.stack([x, y, x])),
    "transfer": lambda x, y: flow.tanh(x.to("mock:0")).to("cpu"),
    "array": lambda x, y: (
        *(flow.sort(x), flow.argsort(y, axis=0), flow.cumsum(x, axis=1), flow.take(x, [0, 1])),
        *(flow.linalg.inv(x[:3, :3]), flow.fft.fft(y), x[[0, 1]], flow.searchsorted(x[0], y[0])),
        *(flow.linalg.svd(x), flow.linalg.qr(y), flow.correlate(x[0], y[0])),
    ),
    "view": lambda x, y: (
        *(x.T, x[1:, ::-1], x[None, :, 0], flow.broadcast_to(x, (2, *x.shape)), x.reshape(-1)),
        *((x + 1j * y).real, (x + 1j * y).imag[::-2], x[0, 0]),
    ),
    "host": lambda x, y: (flow.vm.host_func(len, [x]), flow.vm.host_func(len, [], [y]), y)[2],
    "source": lambda x, y: flow.random.normal(size=(2, 3)),
    "writes": _writes,
    "nothing": lambda x, y: None,
    "arguments": lambda x, y: (x, y, x),
}


@pytest.mark.parametrize("name", KINDS)
def test_text_of_every_kind_of_call(name: str) -> None:
    program = traced(KINDS[name], flow.ones((4, 4)), flow.ones((4, 4)))
    same(program)
    kinds = {op.call.kind for op in program.main.ops}
    assert name in kinds or name not in _C_KINDS


_C_KINDS = (
    *("elementwise", "where", "copy", "fill", "empty", "reduce", "arg_reduce", "matmul"),
    *("concat", "transfer", "array", "view", "host", "source"),
)


def test_these_are_all_kinds() -> None:
    with pytest.raises(ValueError, match="there is no kind"):
        OpCall("no such kind", "name")
    assert set(_C_KINDS) <= set(KINDS)
    seen = {
        op.call.kind
        for function in KINDS.values()
        for op in traced(function, flow.ones((4, 4)), flow.ones((4, 4))).main.ops
    }
    assert seen == set(_C_KINDS)


@pytest.mark.parametrize("dtype", SUPPORTED, ids=lambda dtype: dtype.name)
def test_text_of_every_dtype(dtype: np.dtype[Any]) -> None:
    def function(x: flow.Tensor) -> Any:
        x[1] = x[0]
        made = flow.full((2,), 1, dtype=dtype)
        one = flow.asarray(np.array([0, 1, 1], "u1"), dtype=dtype)
        return flow.concat([made, one]), x.astype("complex128"), flow.where(x == x, x, one[0])

    same(traced(function, flow.zeros(3, dtype=dtype)))


LAYOUTS: dict[str, Callable[[], flow.Tensor]] = {
    "0-d": lambda: flow.tensor(3.0),
    "empty": lambda: flow.ones((0, 3)),
    "empty, transposed": lambda: flow.ones((4, 0, 3)).T,
    "one element": lambda: flow.ones((1, 1)),
    "strided": lambda: flow.ones((6, 8))[::2, ::3],
    "transposed": lambda: flow.ones((2, 3, 4)).permute_dims((2, 0, 1)),
    "negative": lambda: flow.ones((4, 5))[::-1, ::-2],
    "broadcast": lambda: flow.broadcast_to(flow.ones(3), (2, 3)),
    "real": lambda: flow.ones((2, 3), dtype="complex64").real,
    "imag": lambda: flow.ones((2, 3), dtype="complex128").imag[::-1],
    "mock": lambda: flow.ones((2, 3), device="mock:1").T,
}


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("place", ["parameter", "capture"])
def test_text_of_every_layout(name: str, place: str) -> None:
    x = LAYOUTS[name]()
    program = traced(lambda *_: (flow.tanh(x), x), *([x] if place == "parameter" else []))
    same(program)
    if place == "parameter":
        program = traced(lambda given: (flow.tanh(given), given.T + 1), x)
        same(program)
        assert program.main.params[0].type.strides == x.strides


NUMBERS: list[Any] = [
    *(0, 1, -1, 2**31, 2**63 - 1, -(2**63), True, False),
    *(0.0, -0.0, 0.1, float("nan"), -float("nan"), float("inf"), -float("inf"), 5e-324, 1e308),
    *(1j, -0.0 + 1j, complex(0.0, -0.0), complex(-0.0, -0.0), complex(float("nan"), 1)),
    *(complex(1, float("nan")), complex(float("inf"), -float("inf")), 1 - 2j),
    *(np.float32(0.1), np.float64(-0.0), np.int8(-3), np.uint64(2**64 - 1), np.bool_(True)),
    *(np.complex64(1 - 0.1j), np.float16(6e-8), np.float64("nan"), np.longdouble(1)),
]


@pytest.mark.parametrize("number", NUMBERS, ids=lambda x: f"{type(x).__name__} {x!r}")
@pytest.mark.parametrize("dtype", ["float32", "complex64", "int64", "uint64", "bool"])
def test_text_of_numbers(number: Any, dtype: str) -> None:
    """A number is the same after its text, to the sign of a zero and of a NaN."""

    def function(x: flow.Tensor) -> Any:
        return flow.where(x == x, x, number), flow.equal(x, number), flow.add(number, x)

    try:
        program = traced(function, flow.ones(2, dtype=dtype))
    except (OverflowError, TypeError, ValueError):
        with pytest.raises((OverflowError, TypeError, ValueError)):
            function(flow.ones(2, dtype=dtype))
        return
    same(program)
    again = Program.parse(str(program))
    for one, other in zip(scalars(program), scalars(again), strict=True):
        assert one.dtype == other.dtype
        assert one.weak == other.weak
        assert type(one.value) is type(other.value)
        assert bits(one) == bits(other)


def scalars(program: Program) -> list[Scalar]:
    return [x for op in program.main.ops for x in op.operands if isinstance(x, Scalar)]


def bits(scalar: Scalar) -> bytes:
    return np.asarray(scalar.value, None if scalar.weak else scalar.dtype).tobytes()


def test_weak_and_strong_numbers_are_told_apart() -> None:
    x = flow.ones(2, dtype="float32")
    weak, strong = (traced(lambda x, c=c: x + c, x) for c in (2.0, np.float64(2.0)))
    assert weak != strong
    assert "add(%0, 2.0)" in str(weak)
    assert "f64(2.0)" in str(strong)
    assert weak.main.results[0].type.dtype == np.float32
    assert strong.main.results[0].type.dtype == np.float64


CONSTANTS: dict[str, Any] = {
    "0-d": np.array(2.5),
    "empty": np.zeros((0, 2), "int16"),
    "short": np.arange(6, dtype="int32").reshape(2, 3),
    "odd": np.array([np.nan, -np.nan, 0.0, -0.0, np.inf, -np.inf, 5e-324]),
    "complex": np.array([complex(np.nan, -0.0), complex(-0.0, -np.inf), complex(-np.nan, np.nan)]),
    "payload": np.array([0x7FF8000000000001, 0xFFF0000000000F00], "u8").view("f8"),
    "bool": np.array([True, False]),
    "float16": np.array([0.1, 65504, -np.nan], "float16"),
    "uint64": np.array([2**64 - 1], "uint64"),
    "long": np.arange(1000.0),
    "transposed": np.arange(6.0).reshape(2, 3).T,
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_text_of_constants(name: str) -> None:
    array = CONSTANTS[name]
    program = traced(
        lambda: flow.positive(flow.asarray(array)) if array.dtype != bool else ~flow.asarray(array)
    )
    same(program)
    (bound,) = program.main.constants
    again = Program.parse(str(program), constants_of(program)).main.constants[0]
    assert again.tensor is not None
    assert again.tensor.numpy().tobytes() == np.ascontiguousarray(array).tobytes()
    assert (again.tensor.dtype, again.value.type) == (array.dtype, bound.value.type)


def test_a_constant_is_what_the_array_was() -> None:
    array = np.ones(3)
    program = traced(lambda: flow.asarray(array) + 1)
    array[...] = 7
    (bound,) = program.main.constants
    assert bound.tensor is not None
    assert bound.tensor.tolist() == [1, 1, 1]


def test_a_long_constant_has_to_be_given() -> None:
    text = str(traced(lambda: flow.asarray(np.arange(100)) + 1))
    with pytest.raises(ValueError, match=r"line 2: the constant \w{32} is not given; pass it in"):
        Program.parse(text)


def test_text_shows_what_it_is_for() -> None:
    def step(x: flow.Tensor, w: flow.Tensor) -> flow.Tensor:
        w -= 0.5 * x.T
        return flow.sum(x @ w, axis=0)

    program = traced(step, flow.ones((2, 3), dtype="float32"), flow.ones((3, 2), dtype="float32"))
    line = step.__code__.co_firstlineno
    lines = [text.split("  # ")[0] for text in str(program).splitlines()]
    assert lines == [
        "program step",
        "%0: f32[2,3] cpu = parameter x",
        "%1: f32[3,2] cpu = parameter w",
        "%2: f32[3,2]{4,12} cpu = view.transpose(%0)",
        "%3: f32[3,2]{4,12} cpu = multiply(0.5, %2)",
        "%4: f32[3,2] cpu = subtract(%1, %3) into %1",
        "%5: f32[2,2] cpu = matmul(%0, %4)",
        "%6: f32[2] cpu = reduce.sum[axes=(0,)](%5, f32(0.0))",
        "%1 := %4",
        "return %6",
    ]
    sites = [op.site for op in program.main.ops]
    assert sites == [(__file__, line + 1)] * 3 + [(__file__, line + 2)] * 2


def test_several_functions() -> None:
    one, other = traced(lambda x: x + 1, flow.ones(2)), traced(lambda x: x * 2, flow.ones(3))
    program = Program("two", {"main": one.main, "body": other.main})
    same(program)
    assert set(Program.parse(str(program)).functions) == {"main", "body"}
    assert program != one


# --- bad texts

GOOD = "%0: f32[2] cpu = parameter"
BAD: dict[str, tuple[list[str], str]] = {
    "no type": (["%0 = parameter"], "line 2: expected a value and its type"),
    "dtype": (["%0: f31[2] cpu = parameter"], "line 2: there is no dtype f31"),
    "device": (["%0: f32[2] moon:0 = parameter"], "line 2: .*moon"),
    "extent": (["%0: f32[x] cpu = parameter"], "line 2: there is no extent x"),
    "extents twice": (["extents a, a"], "line 2: expected at most 3 different extents, got a, a"),
    "late extents": ([GOOD, "extents a"], "line 3: expected the extents once, before all values"),
    "text in an extent": (["extents a", "%0: f32[a+] cpu = parameter"], "line 3: expected a numb"),
    "a product": (["extents a", "%0: f32[a*b] cpu = parameter"], "line 3: there is no extent b"),
    "negative extent": (["%0: f32[-2] cpu = parameter"], "line 2: "),
    "strides": (["%0: f32[2]{4,4} cpu = parameter"], "line 2: 1 dimensions have 2 strides"),
    "twice": ([GOOD, GOOD], "line 3: %0 is there already"),
    "no value": ([GOOD, "%1: f32[2] cpu = add(%0, %7)"], "line 3: there is no value %7"),
    "no operation": ([GOOD, "%1: f32[2] cpu = subtrude(%0)"], "line 3: .*no operation subtrude"),
    "no kind": ([GOOD, "%1: f32[2] cpu = thing.add(%0)"], "line 3: .*there is no kind thing"),
    "no call": ([GOOD, "%1: f32[2] cpu = add"], "line 3: expected a call"),
    "open": ([GOOD, "%1: f32[2] cpu = add(%0, %0"], "line 3: expected a call"),
    "operands": ([GOOD, "%1: f32[2] cpu = add(%0)"], "line 3: .*add.*2 operands, got"),
    "number": ([GOOD, "%1: f32[2] cpu = add(%0, 1.2.3)"], "line 3: .*1.2.3"),
    "word": ([GOOD, "%1: f32[2] cpu = add(%0, hello)"], "line 3: .*hello"),
    "text": ([GOOD, "%1: f32[2] cpu = add(%0, 'hello')"], "line 3: .*hello"),
    "attribute": (
        [GOOD, "%1: f32[2] cpu = add[more=1](%0, %0)"],
        "line 3: add has no attributes more",
    ),
    "no attribute": ([GOOD, "%1: f32[] cpu = reduce.sum(%0)"], "line 3: .*axes"),
    "attributes": ([GOOD, "%1: f32[] cpu = reduce.sum[axes](%0)"], "line 3: "),
    "axes": ([GOOD, "%1: f32[] cpu = reduce.sum[axes=5](%0)"], "line 3: "),
    "axis": ([GOOD, "%1: f32[] cpu = reduce.sum[axes=(-1,)](%0)"], "line 3: "),
    "kernel": ([GOOD, "%1: f32[2] cpu = array.thing(%0)"], "line 3: .*thing"),
    "loop": (
        [GOOD, "%1: f32[2] cpu = array.gufunc[loop=('no', 'f->f')](%0)"],
        "line 3: NumPy has no ufunc no",
    ),
    "site": ([GOOD, "%1: f32[2] cpu = tanh(%0)  # file.py:x"], "line 3: "),
    "constant": (["%0: f32[2] cpu = constant [1.0]"], "line 2: .*"),
    "constant's word": (["%0: f32[1] cpu = constant [a]"], "line 2: .*a"),
    "no constant": (["%0: f32[1] cpu = constant 12ab"], "line 2: the constant 12ab is not given"),
    "assign": ([GOOD, "%1 := %0"], "line 3: there is no value %1"),
    "assign of nothing": ([GOOD, "%0 := "], "line 3: "),
    "result": ([GOOD, "return %3"], "line 3: there is no value %3"),
    "function": (["return", "function"], "line 3: expected a name that no function has"),
    "function in a function": ([GOOD, "function body"], "line 3: the function main has no return"),
    "function twice": (
        ["return", "function one", "return", "function one"],
        "line 5: expected a name that no function has",
    ),
    "nonsense": (["hello world"], "line 2: expected a value and its type"),
    "behind the end": ([GOOD, "return %0", "%1: f32[2] cpu = tanh(%0)"], "line 4: "),
    "scalar of no number": (
        [GOOD, "%1: f32[2] cpu = matmul(%0, 2)"],
        "line 3: .*operand 1 is a number",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_texts(name: str) -> None:
    lines, message = BAD[name]
    with pytest.raises(ValueError, match=r"^\[Program.parse\] " + message) as raised:
        Program.parse(main_of(*lines, "return"))
    number = int(str(raised.value).split("line ")[1].split(":")[0])
    assert main_of(*lines).splitlines()[number - 1].strip() in str(raised.value)


def test_a_text_without_a_program() -> None:
    with pytest.raises(
        ValueError, match="line 1: expected program, or function, and its name: return"
    ):
        Program.parse("return\n")


def test_a_function_without_an_end() -> None:
    text = main_of(GOOD, "return %0", "function body", GOOD)
    with pytest.raises(ValueError, match=r"\[Program.parse\] .*function body has no return"):
        Program.parse(text)


def test_what_no_text_can_hold() -> None:
    """Numbers of the extension are right for any text that is read."""
    for attr in ((), (99, 0), (0,), (-1, 0, 2, 8), (0, 0, 2)):
        with pytest.raises((ValueError, TypeError)):
            OpCall("view", "view", attr=attr).replay([flow.ones(3)])
    for call, operands in (
        (OpCall("concat", "concat", attr=(5,)), [flow.ones(2), flow.ones(2)]),
        (OpCall("reduce", "sum", op=_C.op_named("sum"), codes=(12, 12)), [flow.ones(2)]),
        (OpCall("arg_reduce", "argmax"), [flow.ones(2)]),
        (OpCall("copy", "copy"), [flow.ones(2)]),
        (OpCall("fill", "full"), [2]),
        (OpCall("empty", "empty"), []),
        (OpCall("where", "where"), [flow.ones(2), flow.ones(2), 3]),
        (OpCall("matmul", "matmul"), [flow.ones(2), flow.ones(2)]),
        (OpCall("elementwise", "add"), [flow.ones(2), flow.ones(2)]),
    ):
        with pytest.raises((ValueError, TypeError, IndexError)):
            call.replay(operands)


class Weights(NamedTuple):
    w: flow.Tensor
    b: flow.Tensor


def test_names_of_arguments() -> None:
    def step(x: Any, weights: Any, rate: float, *, odd: Any) -> Any:
        return x @ weights["a"][0].w + weights["a"][0].b * rate + odd["it's \n# "]

    run = flow.jit(step)
    x = flow.ones((2, 2))
    weights = {"a": [Weights(x + 0, x + 1)]}
    program = run.program(x, weights, 0.5, odd={"it's \n# ": x + 2})
    names = [line.split(" = ")[1] for line in str(program).splitlines() if " = parameter" in line]
    assert names == [
        "parameter x",
        'parameter weights["a"][0].w'.replace('"', "'"),
        'parameter weights["a"][0].b'.replace('"', "'"),
        'parameter odd["it\'s \\n# "]',
        "parameter rate",
    ]
    read = Program.parse(str(program))
    assert (read, str(read)) == (program, str(program))
    other = flow.graph.trace(lambda y: y * 2, x).program
    assert other == flow.graph.trace(lambda z: z * 2, x).program  # names do not matter
    assert "parameter y" in str(other)


@pytest.mark.parametrize("name", ["a b", "'", '"x', " x", "x\ny", "  # net.py:3", "%1", "a := b"])
def test_names_of_any_kind(name: str) -> None:
    main = Program("main")
    with flow.graph.building(main):
        flow.graph.named("y", flow.graph.data(name, 2) * 2)
    read = Program.parse(str(main))
    assert [*read.main.names.values()] == [name]
    assert (read, str(read)) == (main, str(main))


def test_names_of_unknown_extents() -> None:
    main = Program("main")
    with flow.graph.building(main):
        x = flow.graph.data("x", ("batch", "time", 4), "float32")
        y = x[1:].T * 2
        z = flow.concat([x, flow.zeros((x.shape[0] + 500, *x.shape[1:]), dtype="float32")])
        flow.graph.named("y", y / y.size)
        flow.graph.named("z", z[3:, None])
        flow.graph.named("w", flow.ones(300_000) + flow.graph.data("v", 300_000))
    text = str(main)
    assert text.splitlines()[1:3] == [
        "extents batch, time",
        "%0: f32[batch,time,4] cpu = parameter x",
    ]
    for part in (
        "%1: f32[] cpu = parameter -4*time+4*batch*time",
        "f32[4,time,batch-1]{4,16,16*time} cpu = view",
        "f32[2*batch+500,time,4]",
        "[offset=48*time]",
        "f64[300000] cpu = parameter v",
    ):
        assert part in text, part
    for number in STAND_INS:
        assert str(number) not in text
    read = Program.parse(text)
    assert (read, str(read)) == (main, text)
    read.verify()


def test_constants_lie_as_their_types_say() -> None:
    by_rows = np.random.default_rng(2).random((300, 70))
    program = traced(lambda v: v + flow.tensor(by_rows), flow.zeros((300, 70)))
    (digest,) = constants_of(program)
    for given in (np.asfortranarray(by_rows), flow.tensor(by_rows.T.copy()).T):
        again = Program.parse(str(program), {digest: given})
        again.verify()
        (seen,) = flow.graph.compile(again)(flow.zeros((300, 70)))
        assert (seen.numpy() == by_rows).all()

    def turned(v: flow.Tensor) -> flow.Tensor:
        return v + flow.sort(flow.tensor([[3.0, 1.0, 2.0], [0.0, 5.0, 4.0]]).T, axis=1)

    folded = flow.graph.passes.FoldConstant()(traced(turned, flow.zeros((3, 2))))
    assert "{8,24}" in str(folded)
    same(folded)
    (seen,) = flow.graph.compile(Program.parse(str(folded)))(flow.zeros((3, 2)))
    assert (seen.numpy() == turned(flow.zeros((3, 2))).numpy()).all()


@pytest.mark.parametrize("made", ["fill.full(f64(1.0))", "empty()"])
@pytest.mark.parametrize("strides", ["80000000,8", "-800000,8", "800,8", "8,8", "0,8"])
def test_strides_that_leave_the_memory(made: str, strides: str) -> None:
    text = f"""program main
%0: f64[4,3] cpu = parameter v
%1: f64[4,3]{{{strides}}} cpu = {made}
%2: f64[4,3] cpu = add(%1, f64(1.0))
return %2
"""
    with pytest.raises(ValueError, match=r"shape \(4, 3\) cannot have the strides"):
        Program.parse(text).verify()
    whole = text.replace(f"{{{strides}}}", "").replace(made, "fill.full(f64(1.0))")
    Program.parse(whole).verify()


def test_strides_of_another_rank() -> None:
    call = OpCall("fill", "full", made=[(np.dtype("f8"), (4, 3), (8,))])
    with pytest.raises(ValueError, match="cannot have the strides"):
        call.replay([1.0])
