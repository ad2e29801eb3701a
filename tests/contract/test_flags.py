"""Flags: parsed, typed, scoped, and each does what it says."""

import dataclasses
import itertools
import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest

import oneflow_lite as flow
from oneflow_lite import _C
from oneflow_lite.flag_types import Changes, FlagTypes
from oneflow_lite.flags import _ROWS, Flags

VARIABLES = [row.variable for row in _ROWS]


def registry() -> Flags:
    """A registry of the same rows that changes nothing."""
    return Flags(tuple(dataclasses.replace(row, apply=None) for row in _ROWS))


def loaded(**variables: str) -> Flags:
    flags = registry()
    flags.load({f"ONEFLOW_LITE_{name}": text for name, text in variables.items()})
    return flags


def test_type_checkers_know_the_rows() -> None:
    known = FlagTypes.__annotations__
    assert list(known) == [row.name for row in _ROWS]
    assert list(Changes.__annotations__) == [row.name for row in _ROWS if row.apply is not None]
    for row in _ROWS:
        kind = type(row.default)
        assert (
            row.default is None or getattr(known[row.name], "__origin__", known[row.name]) is kind
        )


@pytest.mark.parametrize("text", ["1", "true", "ON", " yes "])
def test_true(text: str) -> None:
    assert loaded(SYNC=text).sync is True


@pytest.mark.parametrize("text", ["0", "false", "Off", "no"])
def test_false(text: str) -> None:
    assert loaded(SYNC=text).sync is False


def test_an_empty_variable_is_the_default() -> None:
    flags = loaded(SYNC="", MEMORY_LIMIT=" ")
    assert flags.sync is False
    assert flags.memory_limit == 0


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("512MiB", 512 << 20),
        ("4GB", 4_000_000_000),
        ("4 GiB", 4 << 30),
        ("1.5kB", 1500),
        ("100", 100),
        ("7B", 7),
        ("1e6", 1_000_000),
    ],
)
def test_bytes(text: str, count: int) -> None:
    assert loaded(MEMORY_LIMIT=text).memory_limit == count


def test_less_than_a_byte_is_no_limit_of_memory() -> None:
    for given in (0.5, "0.5", "0.0001 kB"):
        with (
            pytest.raises(ValueError, match="expected whole bytes"),
            flow.flags(memory_limit=given),
        ):
            pass


@pytest.mark.parametrize(
    ("text", "seconds"), [("2", 2), ("2.5s", 2.5), ("200ms", 0.2), ("5us", 5e-6), ("0", 0)]
)
def test_seconds(text: str, seconds: float) -> None:
    assert loaded(HANG_TIMEOUT=text).hang_timeout == pytest.approx(seconds)


def test_mock_knobs() -> None:
    text = "devices=2, capacity=64MiB,h2d=10GB/s,d2h=1GiB/s,d2d=5MB/s"
    text += ",launch=5us,compute=1G/s,jitter=10us"
    assert loaded(MOCK=text).mock == pytest.approx(
        {
            "devices": 2,
            "capacity": 64 << 20,
            "h2d": 1e10,
            "d2h": 1 << 30,
            "d2d": 5e6,
            "launch_latency": 5e-6,
            "compute": 1e9,
            "jitter": 1e-5,
        }
    )


def test_faults() -> None:
    flags = loaded(FAIL="alloc:3,launch:2")
    assert flags.fail == {"fail_alloc": 3, "fail_launch": 2}


def test_the_largest_limit_is_one() -> None:
    for given in (2**63 - 1, str(2**63 - 1), f"{2**63 - 1} B", "-0"):
        with flow.flags(memory_limit=given):
            assert flow.flags.memory_limit == (0 if given == "-0" else 2**63 - 1)
    with (
        pytest.raises(ValueError, match="at most 9223372036854775807"),
        flow.flags(memory_limit=2**63),
    ):
        pass
    with flow.flags(inline=1):
        assert isinstance(flow.flags.inline, float)


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("SYNC", "maybe", "expected one of 1, true"),
        ("SYNC", "2", "expected one of 1, true"),
        ("LOG", "loud", "expected one of debug, info"),
        ("IMPLICIT_SYNC", "forbid", "expected one of allow, warn, error"),
        ("MAX_IN_FLIGHT", "0", "an integer of at least 1"),
        ("MAX_IN_FLIGHT", "many", "an integer of at least 1"),
        ("MAX_IN_FLIGHT", str(10**30), "at most 9223372036854775807"),
        ("NUM_THREADS", str(2**40), "at most 1024"),
        ("MEMORY_LIMIT", "1e30", "at most 9223372036854775807 bytes"),
        ("MEMORY_LIMIT", "1e300TiB", "finite"),
        ("HANG_TIMEOUT", "1e400", "finite"),
        ("HANG_TIMEOUT", "inf", "expected a number"),
        ("HANG_TIMEOUT", "nan", "expected a number"),
        ("HANG_TIMEOUT", "1e100", "at most 1000000000 seconds"),
        ("INLINE", "1e30", "at most 1000000000 seconds"),
        ("MOCK", "devices=65", "at most 64"),
        ("MOCK", "capacity=1e30", "capacity=1e30: expected at most"),
        ("MOCK", "launch=1e99s", "launch=1e99s: expected at most"),
        ("FAIL", "copy:99999999999999999999", "at most 2147483647"),
        ("MEMORY_LIMIT", "-1", "expected a finite number that is not negative"),
        ("MEMORY_LIMIT", str(2**63), "at most 9223372036854775807 bytes"),
        ("INLINE", "-5us", "expected a finite number that is not negative"),
        ("FUSION", "maybe", "expected always, one of 1, true, on, yes or 0, false, off, no"),
        ("MEMORY_LIMIT", "4 gigs", "one of the units"),
        ("MEMORY_LIMIT", "1e999", "finite"),
        ("HANG_TIMEOUT", "3 weeks", "one of the units s, ms"),
        ("MOCK", "h2d=10", None),
        ("MOCK", "h2d=10GB", "h2d=10GB: expected a number with one of the units B/s"),
        ("MOCK", "h2f=1GB/s", "unknown key 'h2f'; did you mean h2d?"),
        ("MOCK", "devices", "expected key=value"),
        ("MOCK", "devices=0", "devices=0"),
        ("FAIL", "alloc=3", "expected key:value"),
        ("FAIL", "alloc:0", "an integer of at least 1"),
        ("FAIL", "alocs:1", "did you mean alloc?"),
    ],
)
def test_a_bad_value_names_its_variable(name: str, text: str, reason: str | None) -> None:
    if reason is None:  # a bare number is in the base unit
        assert loaded(**{name: text}).mock == {"h2d": 10}
        return
    with pytest.raises(ValueError, match=r"^\[flags\] ") as caught:
        loaded(**{name: text})
    assert f"ONEFLOW_LITE_{name}={text}" in str(caught.value)
    assert reason in str(caught.value)


def test_an_unknown_variable_gets_a_suggestion() -> None:
    with pytest.raises(ValueError, match="ONEFLOW_LITE_SINC.*did you mean ONEFLOW_LITE_SYNC"):
        loaded(SINC="1")


def test_an_unknown_variable_lists_the_known_ones() -> None:
    with pytest.raises(ValueError, match="ONEFLOW_LITE_QQQQQQQQ") as caught:
        loaded(QQQQQQQQ="1")
    assert all(variable in str(caught.value) for variable in VARIABLES)


def test_other_variables_are_not_ours() -> None:
    registry().load({"ONEFLOW": "x", "HOME": "/", "ONEFLOW_LITER": "y"})


def test_scopes_nest_and_restore() -> None:
    before = flow.flags.sync
    with flow.flags(sync=True):
        assert flow.flags.sync is True
        with flow.flags(sync="off", implicit_sync="warn"):
            assert flow.flags.sync is False
            assert flow.flags.implicit_sync == "warn"
        assert flow.flags.sync is True
        assert flow.flags.implicit_sync == "allow"
    assert flow.flags.sync is before


@pytest.mark.parametrize("value", [10**30, 10**400, float("inf"), float("nan"), -1, 2**63, 1e400])
@pytest.mark.parametrize("name", ["max_in_flight", "num_threads", "memory_limit", "hang_timeout"])
def test_a_number_beyond_the_machine_s_names_its_flag(name: str, value: float) -> None:
    before = flow.flags.rows()
    with (
        pytest.raises(ValueError, match=rf"^\[flags\] {name}=.*expected"),
        flow.flags(**{name: value}),
    ):
        pass
    assert flow.flags.rows() == before


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_scopes_end_in_any_order(order: tuple[int, ...]) -> None:
    """The scope that began last decides; its end takes back its own setting and no other."""
    before, values = flow.flags.max_in_flight, (7, 8, 9)
    scopes = [flow.flags(max_in_flight=value) for value in values]
    for scope in scopes:
        scope.__enter__()
    left = list(range(3))
    for i in order:
        assert flow.flags.max_in_flight == values[left[-1]]
        scopes[i].__exit__(None, None, None)
        left.remove(i)
    assert flow.flags.max_in_flight == before
    assert {row.name: source for row, _, source in flow.flags.rows()}["sync"] == "default"


def test_scopes_of_two_threads_that_overlap() -> None:
    before = flow.flags.sync, flow.flags.implicit_sync
    first_is_in, second_is_in, first_is_out = (threading.Event() for _ in range(3))

    def first() -> None:
        with flow.flags(sync=True, implicit_sync="warn"):
            first_is_in.set()
            second_is_in.wait()
        first_is_out.set()

    thread = threading.Thread(target=first)
    thread.start()
    first_is_in.wait()
    with flow.flags(sync=True):
        second_is_in.set()
        first_is_out.wait()
        assert (flow.flags.sync, flow.flags.implicit_sync) == (True, before[1])
    thread.join()
    assert (flow.flags.sync, flow.flags.implicit_sync) == before


class Stop(Exception):
    pass


def test_a_scope_restores_after_an_exception() -> None:
    with pytest.raises(Stop), flow.flags(max_in_flight=7):
        assert flow.flags.max_in_flight == 7
        raise Stop
    assert flow.flags.max_in_flight != 7


def test_a_bad_scope_changes_nothing() -> None:
    with pytest.raises(ValueError, match="log='loud'"), flow.flags(sync=True, log="loud"):
        pass
    assert flow.flags.sync is False


def test_unknown_flags_get_a_suggestion() -> None:
    with pytest.raises(AttributeError, match="did you mean sync"):
        _ = flow.flags.sinc
    with pytest.raises(AttributeError, match="did you mean sync"), flow.flags(sinc=1):
        pass


def test_flags_are_not_set_by_assignment() -> None:
    with pytest.raises(AttributeError):
        flow.flags.sync = True


def test_profile_is_read_at_import() -> None:
    with pytest.raises(ValueError, match="at import"), flow.flags(profile="x.json"):
        pass


def test_a_scope_that_is_interrupted_at_its_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C where a flag has just been set: the scope does not begin, and takes it back."""
    begin = type(flow.flags)._begin

    def interrupted(flags: Any, *arguments: Any) -> None:
        begin(flags, *arguments)
        raise KeyboardInterrupt

    before = flow.flags.max_in_flight
    monkeypatch.setattr(type(flow.flags), "_begin", interrupted)
    with pytest.raises(KeyboardInterrupt), flow.flags(max_in_flight=7):
        raise AssertionError("the block has begun")
    assert flow.flags.max_in_flight == before


def test_mock_scope_restores_the_knobs() -> None:
    before = _C.mock_knobs()
    with flow.flags(mock="jitter=1us,h2d=1GB/s"):
        assert _C.mock_knobs()["jitter"] == pytest.approx(1e-6)
        assert _C.mock_knobs()["h2d"] == 1e9
        with flow.flags(mock={"h2d": "2GB/s"}):
            assert _C.mock_knobs()["h2d"] == 2e9
            assert _C.mock_knobs()["jitter"] == before["jitter"]
        assert _C.mock_knobs()["h2d"] == 1e9
    assert _C.mock_knobs() == before


def test_keys_that_are_no_text() -> None:
    with pytest.raises(ValueError, match=r"\[flags\] fail=.*unknown key 1 \(known: alloc"):
        flow.flags(fail={1: 2}).__enter__()


def test_fail_scope_disarms() -> None:
    with flow.flags(fail="alloc:100"):
        assert _C.mock_knobs()["fail_alloc"] == 100
    assert _C.mock_knobs()["fail_alloc"] == 0


def test_log_sets_the_level_of_the_logger() -> None:
    with flow.flags(log="debug"):
        assert logging.getLogger("oneflow_lite").level == logging.DEBUG
    assert logging.getLogger("oneflow_lite").level == logging.WARNING


def test_every_flag_is_documented() -> None:
    assert all(row.doc for row, _, _ in flow.flags.rows())
    assert all(name in dir(flow.flags) for name in ("sync", "mock"))
    assert "sync=False" in repr(flow.flags)


def test_the_environment_is_read_at_import(run_program) -> None:
    done = run_program(
        "import oneflow_lite as flow; print(flow.flags.sync, flow.flags.memory_limit)",
        sync="1",
        memory_limit="1MiB",
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "True 1048576\n", "")


def test_an_unknown_variable_stops_the_import(run_program) -> None:
    done = run_program("import oneflow_lite", sinc="1")
    assert done.returncode == 1
    assert done.stderr.endswith("\n")
    assert "did you mean ONEFLOW_LITE_SYNC?" in done.stderr


def test_info_shows_value_and_source(run_program) -> None:
    code = "import oneflow_lite.__main__ as program; print(program.info())"
    done = run_program(code, sync="on", mock="devices=3")
    assert done.returncode == 0, done.stderr
    lines = {line.split()[0]: line.split() for line in done.stdout.splitlines() if line.strip()}
    assert lines["ONEFLOW_LITE_SYNC"][1:3] == ["True", "environment"]
    assert lines["ONEFLOW_LITE_LOG"][1:3] == ["warning", "default"]
    assert "mock:2" in done.stdout
    assert set(VARIABLES) <= set(lines)


def test_default_device_of_the_process(run_program: Callable[..., Any]) -> None:
    code = """
import threading
import oneflow_lite as flow
assert flow.zeros(2).device == flow.device("mock:1")
assert flow.__array_namespace_info__().default_device() == flow.device("mock:1")
seen = []
thread = threading.Thread(target=lambda: seen.append(flow.tensor([1]).device))
with flow.device("cpu"):
    thread.start()
    thread.join()
    assert flow.zeros(2).device == flow.device("cpu")
    with flow.flags(device="mock:0"):
        assert flow.zeros(2).device == flow.device("cpu")
with flow.flags(device="mock"):
    assert flow.zeros(2).device == flow.device("mock:0")
assert seen == [flow.device("mock:1")] == [flow.zeros(2).device]
"""
    done = run_program(code, device="mock:1")
    assert (done.returncode, done.stderr) == (0, "")
    done = run_program("import oneflow_lite", device="mock:7")
    assert done.returncode != 0
    assert "mock:7" in done.stderr
    done = run_program("import oneflow_lite", device="gpu")
    assert done.returncode != 0
    assert "ONEFLOW_LITE_DEVICE=gpu" in done.stderr
