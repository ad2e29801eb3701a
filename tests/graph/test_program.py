"""Programs as values: equal ones are equal, and wrong ones are found."""

import copy
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Function, Op, Program, Type, Value, trace

CPU = flow.Device("cpu")
MOCK = flow.Device("mock:0")


def traced(function: Callable[..., Any], *args: Any) -> Program:
    return trace(function, *args).program


def value(shape: tuple[int, ...] = (2,), dtype: str = "float64") -> Value:
    step = np.dtype(dtype).itemsize
    strides = tuple(int(step * np.prod(shape[d + 1 :], dtype=int)) for d in range(len(shape)))
    return Value(Type(np.dtype(dtype), shape, strides, CPU))


def program_of(ops: list[Op], results: list[Value], params: list[Value]) -> Program:
    main = Function("main", tuple(params), (), (), tuple(ops), tuple(results))
    return Program("test", {"main": main})


# --- equality


def test_lines_and_names_do_not_matter() -> None:
    def one(x: flow.Tensor) -> flow.Tensor:
        return flow.tanh(x) + 1

    def other(given: flow.Tensor) -> flow.Tensor:
        result = flow.tanh(given)

        return result + 1

    x = flow.ones(3)
    a, b = traced(one, x), traced(other, x)
    assert str(a) != str(b)
    assert a == b
    assert (hash(a), a.digest) == (hash(b), b.digest)
    assert len({a, b}) == 1
    assert a != "a program"


X, Y = flow.ones((3, 3)), flow.ones((3, 3))
DIFFERENT: dict[str, tuple[Callable[..., Any], Callable[..., Any], tuple[Any, ...]]] = {
    "operation": (lambda x, y: x + y, lambda x, y: x * y, (X, Y)),
    "order of operands": (lambda x, y: x - y, lambda x, y: y - x, (X, Y)),
    "order of equal operands": (lambda x, y: x + y, lambda x, y: y + x, (X, Y)),
    "order of results": (lambda x, y: (x + 1, y), lambda x, y: (y, x + 1), (X, Y)),
    "number": (lambda x, y: x + 1, lambda x, y: x + 2, (X, Y)),
    "type of a number": (lambda x, y: x + 1, lambda x, y: x + 1.0, (X, Y)),
    "sign of zero": (lambda x, y: x + 0.0, lambda x, y: x + -0.0, (X, Y)),
    "sign of nan": (lambda x, y: x + np.nan, lambda x, y: x + -np.nan, (X, Y)),
    "axis": (lambda x, y: x.sum(0), lambda x, y: x.sum(1), (X, Y)),
    "keepdims": (
        lambda x, y: x.sum(0).reshape(1, 3),
        lambda x, y: x.sum(0, keepdims=True),
        (X, Y),
    ),
    "axis of arg_reduce": (lambda x, y: x.argmax(0), lambda x, y: x.argmax(1), (X, Y)),
    "least and greatest": (lambda x, y: x.argmax(), lambda x, y: x.argmin(), (X, Y)),
    "constant": (
        lambda x, y: x + flow.tensor([1.0, 2.0, 3.0]),
        lambda x, y: x + flow.tensor([1.0, 2.0, 4.0]),
        (X, Y),
    ),
    "device": (lambda x, y: x.to("mock:0"), lambda x, y: x.to("mock:1"), (X, Y)),
    "what is written": (
        lambda x, y: x.__iadd__(1)[:0],
        lambda x, y: (x + 1)[:0],
        (X, Y),
    ),
    "where is written": (
        lambda x, y: x.__setitem__((0, 0), 1),
        lambda x, y: x.__setitem__((0, 1), 1),
        (X, Y),
    ),
    "attributes of a kernel": (
        lambda x, y: flow.sort(x, axis=0),
        lambda x, y: flow.sort(x),
        (X,) * 2,
    ),
    "loop": (lambda x, y: flow.linalg.inv(x), lambda x, y: flow.linalg.cholesky(x), (X, Y)),
    "offset": (lambda x, y: x[0] + 1, lambda x, y: x[1] + 1, (X, Y)),
    "one more": (lambda x, y: x, lambda x, y: (x, y), (X, Y)),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_makes_programs_differ(name: str) -> None:
    one, other, args = DIFFERENT[name]
    a, b = traced(one, *args), traced(other, *args)
    assert a != b
    assert a.digest != b.digest
    assert a == traced(one, *args)


TYPES = {
    "dtype": flow.ones((3, 3), dtype="float32"),
    "shape": flow.ones((3, 1)),
    "strides": flow.ones((3, 3)).T,
    "device": flow.ones((3, 3), device="mock:0"),
}


@pytest.mark.parametrize("name", TYPES)
def test_types_make_programs_differ(name: str) -> None:
    assert traced(flow.tanh, X) != traced(flow.tanh, TYPES[name])


def test_captured_tensors_count_by_position() -> None:
    x, y = flow.ones(3), flow.zeros(3)
    assert traced(lambda: x + y) == traced(lambda: y + x)
    assert traced(lambda: x + y) != traced(lambda: x + x)


def test_a_parameter_is_no_capture() -> None:
    x = flow.ones(3)
    assert traced(lambda _: x + 1, flow.ones(3)) != traced(lambda y: y + 1, x)


def test_immutable() -> None:
    program = traced(lambda x: x + 1, X)
    for name in ("name", "_functions", "main", "more"):
        with pytest.raises(AttributeError):
            setattr(program, name, None)
    with pytest.raises(AttributeError):
        del program.name
    program.functions.clear()
    assert "main" in program.functions
    main, op = program.main, program.main.ops[0]
    changes: list[tuple[Any, str]] = [(main, "ops"), (op, "results"), (op.results[0], "type")]
    changes += [(op.operands[1], "value"), (op.results[0].type, "shape"), (op.call, "name")]
    for thing, name in changes:
        with pytest.raises((FrozenInstanceError, AttributeError, TypeError)):
            setattr(thing, name, None)
    assert isinstance(main.ops, tuple)
    given = {"main": main}
    made = Program("test", given)
    given.clear()
    assert made.main is main


def test_a_program_has_a_main_function() -> None:
    with pytest.raises(ValueError, match=r"\[Program\] test has no function main, got \['body'\]"):
        Program("test", {"body": traced(lambda x: x, X).main})
    with pytest.raises(ValueError, match="has no function main"):
        Program.parse("")
    with pytest.raises(ValueError, match="the function main has no return"):
        Program.parse("program nothing\n")


# --- verify


def sound() -> tuple[Program, list[Op]]:
    program = traced(lambda x, y: flow.tanh(x + y).sum(axis=1), X, Y)
    program.verify()
    return program, list(program.main.ops)


def changed(program: Program, **parts: Any) -> Program:
    return Program("test", {"main": replace(program.main, **parts)})


def place(op: Op) -> str:
    assert op.site is not None
    return rf"^\[{op.name}\] \({op.site[0]}:{op.site[1]}\) "


def test_verify_finds_a_use_before_it_is_made() -> None:
    program, ops = sound()
    ops[0], ops[1] = ops[1], ops[0]
    with pytest.raises(ValueError, match=place(ops[0]) + "uses a value that is not made before"):
        changed(program, ops=tuple(ops)).verify()
    with pytest.raises(ValueError, match="uses a value that is not made before it"):
        changed(program, params=program.main.params[:1]).verify()


def test_verify_finds_a_value_of_another_program() -> None:
    program, ops = sound()
    strange = traced(lambda x: x + 1, X).main.params[0]
    ops[1] = replace(ops[1], operands=(strange,))
    with pytest.raises(ValueError, match=place(ops[1]) + "uses a value that is not made"):
        changed(program, ops=tuple(ops)).verify()


def test_verify_finds_a_value_that_is_made_twice() -> None:
    program, ops = sound()
    with pytest.raises(ValueError, match=place(ops[0]) + "makes a value that is there already"):
        changed(program, ops=(ops[0], *ops)).verify()
    twice = (program.main.params[0],) * 2
    with pytest.raises(ValueError, match="an input stands there twice"):
        changed(program, params=twice).verify()


@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize(
    "change",
    [
        {"dtype": np.dtype("float32")},
        {"shape": (7,), "strides": (8,)},
        {"strides": (-8,)},
        {"device": MOCK},
    ],
    ids=lambda change: next(iter(change)),
)
def test_verify_finds_a_wrong_type(number: int, change: dict[str, Any]) -> None:
    program, ops = sound()
    old = ops[number].results[0]
    if "strides" in change and len(change) == 1:
        change = {"strides": tuple(-8 for _ in old.type.shape)}
    new = Value(replace(old.type, **change))
    ops = [
        replace(
            op,
            operands=tuple(new if x is old else x for x in op.operands),
            results=tuple(new if x is old else x for x in op.results),
        )
        for op in ops
    ]
    results = tuple(new if x is old else x for x in program.main.results)
    with pytest.raises(ValueError, match=place(ops[number]) + "makes .*, the program says .*"):
        changed(program, ops=tuple(ops), results=results).verify()


def test_verify_finds_operands_that_do_not_fit() -> None:
    x, y, result = value((2,)), value((3,)), value((2,))
    add = traced(lambda x: x + x, flow.ones(2)).main.ops[0]
    wrong = replace(add, operands=(x, y), results=(result,))
    with pytest.raises(ValueError, match=r"\[add\] .*" + __file__):
        program_of([wrong], [result], [x, y]).verify()


def test_verify_finds_wrong_numbers_of_operands_and_results() -> None:
    program, ops = sound()
    for wrong in (
        replace(ops[0], operands=ops[0].operands[:1]),
        replace(ops[0], operands=(*ops[0].operands, ops[0].operands[0])),
        replace(ops[0], results=(*ops[0].results, value())),
        replace(ops[0], results=()),
    ):
        with pytest.raises(ValueError, match=place(ops[0])):
            changed(program, ops=(wrong,), results=()).verify()


def test_verify_finds_wrong_targets() -> None:
    def writes(x: flow.Tensor) -> None:
        x += 1

    program = traced(writes, X)
    (op,) = program.main.ops
    with pytest.raises(ValueError, match=place(op)):
        changed(program, ops=(replace(op, targets=()),)).verify()
    with pytest.raises(ValueError, match=place(op)):
        changed(program, ops=(replace(op, targets=op.targets * 2),)).verify()


def test_verify_finds_a_wrong_assign() -> None:
    def writes(x: flow.Tensor, y: flow.Tensor) -> flow.Tensor:
        x += y
        return x.sum()

    program = traced(writes, X, Y)
    program.verify()
    ((target, last),) = program.main.assigns
    other = program.main.ops[-1].results[0]
    for wrong in ((other, last), (target, other), (value(), last), (target, value((3, 3)))):
        with pytest.raises(ValueError, match=r"^\[writes\] assigns"):
            changed(program, assigns=(wrong,)).verify()
    with pytest.raises(ValueError, match=r"^\[writes\] assigns .* twice"):
        changed(program, assigns=((target, last),) * 2).verify()
    with pytest.raises(ValueError, match=r"^\[writes\] returns a value that nothing makes"):
        changed(program, results=(value(),)).verify()


def test_a_copy_of_a_program_is_the_program() -> None:
    made = trace(lambda x: flow.tanh(x) * 2, flow.ones((2, 3)))
    program = made.program
    assert copy.copy(program) is program
    assert copy.deepcopy(program) is program
    empty = flow.graph.Program("main")
    for other in (copy.copy(empty), copy.deepcopy(empty)):
        assert other is not empty
        with flow.graph.building(other):
            flow.graph.named("y", flow.graph.data("x", 2) * 2)
        assert (other.name, empty.is_empty) == ("main", True)
    twin = copy.deepcopy(made)
    assert (twin.program is program, twin.paths) == (True, made.paths)
    with pytest.raises(TypeError, match=r"^\[Program\] .* is not pickled, .*Program\.parse$"):
        pickle.dumps(program)
