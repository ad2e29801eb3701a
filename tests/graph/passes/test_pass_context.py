"""Contexts, instruments, Sequential and decorators: the rules of TVM's pass infrastructure."""

import io
import threading
from dataclasses import replace
from typing import Any

import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Function, Program, passes
from oneflow_lite.graph.passes import PassContext, PassInfo, Sequential

PROGRAM = Program.parse("""program p
%0: f32[3] cpu = parameter
%1: f32[3] cpu = exp(%0)  # a.py:1
%2: f32[3] cpu = exp(%0)  # a.py:2
%3: f32[3] cpu = tanh(%0)  # a.py:3
%4: f32[3] cpu = add(%1, %2)  # a.py:4
return %4
""")


class Noting(passes.FunctionPass):
    """Writes down that it has run."""

    def __init__(self, ran: list[str], name: str, level: int = 0, required: Any = ()) -> None:
        self.info = PassInfo(level, name, tuple(required))
        self.ran = ran

    def transform_function(self, function: Any, program: Any, context: Any) -> Function:
        self.ran.append(self.info.name)
        return function


@passes.pass_instrument
class Log:
    """Writes down what it is told; refuses passes of some names."""

    def __init__(self, name: str, seen: list[Any], refuses: Any = ()) -> None:
        self.name, self.seen, self.refuses = name, seen, refuses

    def enter_pass_ctx(self) -> None:
        self.seen.append((self.name, "enter"))

    def exit_pass_ctx(self) -> None:
        self.seen.append((self.name, "exit"))

    def should_run(self, program: Program, info: PassInfo) -> bool:
        self.seen.append((self.name, "ask", info.name))
        return info.name not in self.refuses

    def run_before_pass(self, program: Program, info: PassInfo) -> None:
        self.seen.append((self.name, "before", info.name))

    def run_after_pass(self, program: Program, info: PassInfo) -> None:
        self.seen.append((self.name, "after", info.name))


def test_sequential_asks_disabled_then_required_then_the_level() -> None:
    ran: list[str] = []
    row = Sequential([Noting(ran, f"level{k}", k) for k in range(4)])
    for context, wanted in (
        (PassContext(), [0, 1, 2]),
        (PassContext(opt_level=0), [0]),
        (PassContext(opt_level=3), [0, 1, 2, 3]),
        (PassContext(disabled_pass=["level1"]), [0, 2]),
        (PassContext(opt_level=0, required_pass=["level3"]), [0, 3]),
        (PassContext(opt_level=3, required_pass=["level3"], disabled_pass=["level3"]), [0, 1, 2]),
    ):
        ran.clear()
        with context:
            row(PROGRAM)
        assert ran == [f"level{k}" for k in wanted], context
    ran.clear()
    row(PROGRAM)
    assert ran == ["level0", "level1", "level2"]


def test_a_call_runs_a_pass_at_any_level_also_where_it_is_disabled() -> None:
    ran: list[str] = []
    late = Noting(ran, "late", 3)
    with PassContext(opt_level=0, disabled_pass=["late"]):
        late(PROGRAM)
    assert ran == ["late"]


def test_prerequisites_run_each_time_also_where_they_are_disabled() -> None:
    ran: list[str] = []
    passes.register_pass(Noting(ran, "test.needed", 3))
    row = Sequential([Noting(ran, "a", 0, ["test.needed"]), Noting(ran, "b", 0, ["test.needed"])])
    with PassContext(opt_level=0, disabled_pass=["test.needed"]):
        row(PROGRAM)
    assert ran == ["test.needed", "a", "test.needed", "b"]
    ran.clear()
    Noting(ran, "a", 0, ["test.needed"])(PROGRAM)  # by itself it needs nothing
    assert ran == ["a"]


def test_all_instruments_are_asked_and_one_may_refuse() -> None:
    seen: list[Any] = []
    ran: list[str] = []
    both = [Log("one", seen, ["p"]), Log("two", seen)]
    with PassContext(instruments=both):
        assert Noting(ran, "p")(PROGRAM) is PROGRAM
    assert ran == []
    assert seen == [
        ("one", "enter"),
        ("two", "enter"),
        ("one", "ask", "p"),
        ("two", "ask", "p"),
        ("one", "exit"),
        ("two", "exit"),
    ]


def test_nobody_is_asked_about_a_required_pass() -> None:
    seen: list[Any] = []
    ran: list[str] = []
    both = [Log("one", seen, ["p"]), Log("two", seen)]
    with PassContext(instruments=both, required_pass=["p"]):
        Noting(ran, "p")(PROGRAM)
    assert ran == ["p"]
    assert seen[2:-2] == [
        ("one", "before", "p"),
        ("two", "before", "p"),
        ("one", "after", "p"),
        ("two", "after", "p"),
    ]


def test_an_instrument_that_fails_to_enter_lets_those_before_it_leave() -> None:
    seen: list[Any] = []

    class Broken(passes.PassInstrument):
        def enter_pass_ctx(self) -> None:
            raise RuntimeError("not today")

    with (
        pytest.raises(RuntimeError, match="not today"),
        PassContext(instruments=[Log("one", seen), Broken(), Log("two", seen)]),
    ):
        raise AssertionError("entered")
    assert seen == [("one", "enter"), ("one", "exit")]
    assert PassContext.current().instruments == ()


def test_an_instrument_that_fails_to_leave_keeps_no_other_from_it() -> None:
    seen: list[Any] = []

    class Broken(passes.PassInstrument):
        def exit_pass_ctx(self) -> None:
            raise RuntimeError("stays")

    with (
        pytest.raises(RuntimeError, match="stays"),
        PassContext(instruments=[Broken(), Log("two", seen)]),
    ):
        pass
    assert seen == [("two", "enter"), ("two", "exit")]
    assert PassContext.current().instruments == ()


def test_a_pass_that_raises_is_named_and_leaves_the_context_as_it_was() -> None:
    seen: list[Any] = []

    @passes.function_pass(name="Breaks")
    def breaks(function: Function, program: Program, context: PassContext) -> Function:
        raise KeyError("lost")

    with PassContext(opt_level=3, instruments=[Log("one", seen)]) as context:
        with pytest.raises(KeyError) as caught:
            breaks(PROGRAM)
        assert PassContext.current() is context
    assert caught.value.__notes__ == ["in the pass Breaks, on the program p"]
    assert ("one", "after", "Breaks") not in seen
    assert PassContext.current().opt_level == 2


def test_contexts_nest_and_are_of_a_thread() -> None:
    found: list[int] = []
    with PassContext(opt_level=3):
        with PassContext(opt_level=1):
            assert PassContext.current().opt_level == 1
            other = threading.Thread(target=lambda: found.append(PassContext.current().opt_level))
            other.start()
            other.join()
        assert PassContext.current().opt_level == 3
    assert found == [2]


def test_settings_are_registered_with_a_type() -> None:
    passes.register_config("Test.depth", int)
    assert PassContext.list_configs()["Test.depth"] is int
    assert PassContext(config={"Test.depth": 3}).setting("Test.depth", 1) == 3
    assert PassContext().setting("Test.depth", 1) == 1
    with pytest.raises(ValueError, match=r"no setting Test.dept; did you mean Test.depth\?"):
        PassContext(config={"Test.dept": 3})
    with pytest.raises(TypeError, match="Test.depth is int, got True"):
        PassContext(config={"Test.depth": True})
    with pytest.raises(ValueError, match="Test.depth is int already"):
        passes.register_config("Test.depth", str)


def test_wrong_arguments_of_a_context() -> None:
    with pytest.raises(TypeError, match="opt_level: expected an integer, got '3'"):
        PassContext(opt_level="3")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="disabled_pass: expected a list of names"):
        PassContext(disabled_pass="FuseOps")
    with pytest.raises(TypeError, match="required_pass: expected names, got 3"):
        PassContext(required_pass=[3])  # type: ignore[list-item]


def test_a_row_is_a_pass_of_another_row() -> None:
    ran: list[str] = []
    seen: list[Any] = []
    inner = Sequential([Noting(ran, "a")], opt_level=3, name="inner")
    outer = Sequential([inner, Noting(ran, "b")], name="outer")
    with PassContext(instruments=[Log("one", seen)]):
        outer(PROGRAM)
    assert ran == ["b"]
    with PassContext(opt_level=3):
        outer(PROGRAM)
    assert ran == ["b", "a", "b"]
    assert ("one", "before", "outer") in seen


def test_passes_by_name() -> None:
    assert passes.find_pass("FoldConstant").info.level == 2
    with pytest.raises(ValueError, match=r"no pass FoldConstants; did you mean FoldConstant\?"):
        passes.find_pass("FoldConstants")
    with pytest.raises(ValueError, match="no pass nobody"):
        Sequential([Noting([], "a", 0, ["nobody"])])(PROGRAM)


LEVELS = {"InferType": 0, "DeadCode": 1, "ToANormalForm": 1, "FoldConstant": 2}


@pytest.mark.parametrize("name", [*LEVELS, "EliminateCommonSubexpr"])
def test_levels(name: str) -> None:
    assert passes.find_pass(name).info == PassInfo(LEVELS.get(name, 3), name)


def test_decorated_classes_take_arguments() -> None:
    @passes.function_pass(opt_level=1, name="Renames")
    class Renames:
        def __init__(self, name: str) -> None:
            self.name = name

        def transform_function(self, function: Any, program: Any, context: Any) -> Function:
            return replace(function, name=self.name)

    @passes.module_pass
    class Twice:
        def transform_module(self, program: Program, context: PassContext) -> Program:
            return Program("twice", program.functions)

    made = Renames("other")(PROGRAM)
    assert (made.main.name, made) == ("other", PROGRAM)
    assert Renames("x").info == PassInfo(1, "Renames")
    assert Twice()(PROGRAM).name == "twice"
    with pytest.raises(TypeError, match="expected a class with a method transform_function"):
        passes.function_pass(type("Empty", (), {}))


def test_a_pass_has_to_return_what_it_should() -> None:
    nothing = passes.function_pass(lambda function, program, context: None, name="Nothing")
    with pytest.raises(TypeError, match=r"\[Nothing\] expected a Function .* got NoneType"):
        nothing(PROGRAM)
    nothing = passes.module_pass(lambda program, context: 3, name="Nothing")
    with pytest.raises(TypeError, match=r"\[Nothing\] expected a Program from the pass, got int"):
        nothing(PROGRAM)
    with pytest.raises(TypeError, match=r"\[DeadCode\] expected a Program, got str"):
        passes.DeadCode()("text")  # type: ignore[arg-type]


def test_what_a_pass_of_a_user_makes_is_verified() -> None:
    @passes.function_pass(name="Turns")
    def turns(function: Function, program: Program, context: PassContext) -> Function:
        return replace(function, ops=tuple(reversed(function.ops)))

    with pytest.raises(ValueError, match=r"\[Turns\] makes a program that is wrong: .*a.py:4"):
        turns(PROGRAM)


def test_the_program_is_printed_by_a_pass_and_by_an_instrument() -> None:
    text = io.StringIO()
    assert passes.PrintIR("here", file=text)(PROGRAM) is PROGRAM
    assert text.getvalue() == f"# the program: here\n{PROGRAM}"
    text = io.StringIO()
    with PassContext(instruments=[passes.PrintIR(file=text)]):
        made = Sequential([passes.DeadCode()])(PROGRAM)
    assert text.getvalue() == f"# before sequential\n{PROGRAM}# before DeadCode\n{PROGRAM}"
    assert [op.name for op in made.main.ops] == ["exp", "exp", "add"]


def test_times_of_passes_in_others() -> None:
    timing = passes.PassTiming()
    with PassContext(opt_level=3, instruments=[timing]):
        Sequential([passes.DeadCode(), passes.EliminateCommonSubexpr()])(PROGRAM)
    assert [(name, depth) for name, depth, _ in timing.times] == [
        ("sequential", 0),
        ("DeadCode", 1),
        ("EliminateCommonSubexpr", 1),
    ]
    whole, *parts = (seconds for _, _, seconds in timing.times)
    assert whole >= sum(parts)
    assert timing.render().splitlines()[1].startswith("  DeadCode: ")


def test_no_pass_changes_its_input() -> None:
    before = str(PROGRAM)
    row = [passes.FoldConstant(), passes.EliminateCommonSubexpr(), passes.DeadCode()]
    with PassContext(opt_level=3):
        made = Sequential(row)(PROGRAM)
    assert str(PROGRAM) == before != str(made)


def test_a_device_name_is_no_program() -> None:
    with pytest.raises(TypeError, match="expected passes, got 'cpu'"):
        Sequential(["cpu"])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="has none of"):
        passes.pass_instrument(type("Empty", (), {}))


assert flow.graph.passes is passes
