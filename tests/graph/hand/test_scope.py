"""Scope: parameters by name; guards; what is there after a run."""

import threading

import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Executor, Program, Scope, global_scope, scope_guard


def counted() -> tuple[Program, Program]:
    main, startup = Program("main"), Program("startup")
    with flow.graph.building(main, startup):
        count = flow.graph.parameter("count", (), dtype="int64", init=0)
        middle = count + 1
        count += middle * 0 + 1
    return main, startup


def test_it_is_a_mapping_of_its_own_tensors() -> None:
    scope, given = Scope(), flow.ones(2)
    scope["a"] = given
    given += 1
    assert scope["a"].tolist() == [1, 1]
    assert (list(scope), len(scope), "a" in scope, "b" in scope) == (["a"], 1, True, False)
    assert repr(scope) == "Scope(a)"
    del scope["a"]
    assert scope.get("a") is None
    with pytest.raises(KeyError, match=r"\[Scope\] has no 'a'.*startup program"):
        scope["a"]
    scope["weight"] = 1
    with pytest.raises(KeyError, match="did you mean weight"):
        scope["weights"]
    with pytest.raises(TypeError, match="expected a name, got int"):
        scope[3] = 1  # type: ignore[index]


def test_temporaries_are_gone_after_a_run() -> None:
    main, startup = counted()
    exe, scope = Executor(), Scope()
    for program in (startup, main, main):
        exe.run(program, scope=scope)
    assert list(scope) == ["count"]
    assert scope["count"].item() == 2


def test_a_run_writes_the_tensor_itself() -> None:
    main, startup = counted()
    exe, scope = Executor(), Scope()
    exe.run(startup, scope=scope)
    held = scope["count"]
    exe.run(main, scope=scope)
    assert scope["count"] is held
    assert held.item() == 1
    exe.run(startup, scope=scope)
    assert held.item() == 0


def test_guards_nest_and_are_of_their_thread() -> None:
    main, startup = counted()
    exe, outer, inner = Executor(), Scope(), Scope()
    seen = []
    with scope_guard(outer):
        exe.run(startup)
        with scope_guard(inner) as scope:
            assert scope is global_scope() is inner
            exe.run(startup)
            exe.run(main)
        thread = threading.Thread(target=lambda: seen.append(global_scope()))
        thread.start()
        thread.join()
    assert (outer["count"].item(), inner["count"].item()) == (0, 1)
    assert seen[0] is global_scope()
    assert seen[0] not in (outer, inner)
    with pytest.raises(KeyError), scope_guard(outer):
        raise KeyError
    assert global_scope() is seen[0]
    with pytest.raises(TypeError, match="expected a Scope, got dict"):  # noqa: SIM117
        with scope_guard({}):  # type: ignore[arg-type]
            pass
