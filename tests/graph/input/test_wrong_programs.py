"""Texts of programs that no trace writes: an error of verify() and of compile(), never a crash."""

from collections.abc import Callable
from typing import Any

import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Program

CHECKS = [Program.verify, flow.graph.compile]


def _program(*lines: str, result: int = 1) -> Program:
    return Program.parse("\n".join(["program f", *lines, f"return %{result}", ""]))


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize(
    "lines",
    [
        ["%1: f64[3] cpu = tanh(2)"],
        ["%1: f64[] cpu = tanh(2.0)"],
        ["%0: f64[3] cpu = empty()", "%1: f64[3] cpu = add(0, 1) into %0"],
    ],
)
def test_an_operation_of_numbers_only(check: Callable[[Program], Any], lines: list[str]) -> None:
    with pytest.raises(ValueError, match="expected a tensor among the operands, got numbers"):
        check(_program(*lines))


INV = "array.inv[kernel='gufunc', attr={attr}, loop=('inv', '{loop}')](%0)"


def _inv(attr: str, loop: str = "d->d") -> str:
    return INV.format(attr=attr, loop=loop)


WRONG: dict[str, tuple[str, str]] = {
    "core dimensions beyond the operand": (
        "f64[2,2]",
        _inv("(0, 1, 0, 34, 1, 29, 0, 0, 2, 0, 0)"),
    ),
    "core dimensions of another loop": ("f64[2,2]", _inv("(0, 1, 0, 34, 0, 0, 0)")),
    "a number of a core dimension": (
        "f64[2,2]",
        _inv("(0, 1, 0, 34, 1, 2, 0, 7, 2, 0, 0)"),
    ),
    "a failure that there is not": (
        "f64[2,2]",
        _inv("(0, 99, 0, 34, 1, 2, 0, 0, 2, 0, 0)"),
    ),
    "a matrix that is not square": (
        "f64[2,3]",
        _inv("(0, 1, 0, 34, 1, 2, 0, 0, 2, 0, 0)"),
    ),
    "no generalized ufunc": (
        "f64[2,2]",
        "array.add[kernel='gufunc', attr=(0, 0, 0, 0, 0, 0, 0), loop=('exp', 'd->d')](%0)",
    ),
    "a loop of another dtype": (
        "f64[2,2]",
        _inv("(0, 1, 0, 34, 1, 2, 0, 0, 2, 0, 0)", "D->D"),
    ),
    "more singular values": (
        "f64[5]",
        "array.svd[kernel='gufunc', attr=(0, 4, 0, 0, 3, 2, 0, 1, 1, 2), loop=('svd', 'd->d')](%0)",
    ),
    "a negative axis to accumulate": (
        "f64[2,2]",
        "array.cumsum[kernel='accumulate', attr=(-9, 1, 1, 1), loop=('add', 'dd->d')](%0)",
    ),
    "no loop to accumulate": (
        "f64[2,2]",
        "array.cumsum[kernel='accumulate', attr=(0, 1, 1, 1)](%0)",
    ),
    "an accumulating loop of another dtype": (
        "f64[2,2]",
        "array.cumsum[kernel='accumulate', attr=(0, 1, 1, 1), loop=('add', 'ff->f')](%0)",
    ),
    "too few attributes": (
        "f64[2,2]",
        "array.cumsum[kernel='accumulate', attr=(0,), loop=('add', 'dd->d')](%0)",
    ),
    "an axis to sort": ("f64[2,2]", "array.sort[attr=(300, 0, 1), loop=('sort', 'float64')](%0)"),
    "a sort of another size": (
        "f64[2,2]",
        "array.sort[attr=(0, 0, 1), loop=('sort', 'float32')](%0)",
    ),
    "a loop that does not sort": (
        "f64[2,2]",
        "array.sort[attr=(0, 0, 1), loop=('add', 'dd->d')](%0)",
    ),
    "a larger result of a sort": (
        "f64[9,9]",
        "array.sort[attr=(0, 0, 1), loop=('sort', 'float64')](%0)",
    ),
    "positions of float": ("f64[2,2]", "array.argsort[attr=(0, 0), loop=('sort', 'uint64')](%0)"),
    "a mode of gather": ("f64[3,2]", "array.getitem[kernel='gather', attr=(7, 9)](%0, %1)"),
    "more indices than axes": (
        "f64[3]",
        "array.getitem[kernel='gather', attr=(0, 0, 1, 2)](%0, %1, %1, %1)",
    ),
    "a larger result of gather": (
        "f64[3,9]",
        "array.getitem[kernel='gather', attr=(0, 0)](%0, %1)",
    ),
    "indices of float": ("f64[2,2,2]", "array.getitem[kernel='gather', attr=(0, 0)](%0, %0)"),
    "an axis to take along": (
        "f64[2,2]",
        "array.take_along_axis[attr=(5,)](%0, %2)",
    ),
    "a larger result of positions": ("i64[9,4]", "array.nonzero[](%0)"),
    "a longer window": (
        "f64[9]",
        "array.correlate[attr=(8,), loop=('dot', 'float64')](%3, %3)",
    ),
    "bits of float": ("u8[1,2]", "array.packbits[kernel='pack_bits', attr=(0, 0)](%0)"),
    "bits along no axis": ("u8[1,2]", "array.packbits[kernel='pack_bits', attr=(2, 0)](%2)"),
    "too few bytes": ("u8[0,2]", "array.packbits[kernel='pack_bits', attr=(0, 0)](%2)"),
    "bits of another shape": ("u8[1,3]", "array.packbits[kernel='pack_bits', attr=(0, 0)](%2)"),
    "bytes of int64": ("u8[16,2]", "array.unpackbits[kernel='unpack_bits', attr=(0, 0)](%2)"),
    "a short draw": ("f64[3]", "array.random[kernel='philox', attr=(1, 0)]()"),
    "a third operand": ("f64[2,2]", "array.sort[attr=(0, 0, 1)](%0, %0)"),
    "a mask of another shape": ("f64[3]", "array.getitem[kernel='mask_gather'](%0, %4)"),
    "rows that the mask does not choose": (
        "f64[2,2]",
        "array.setitem[kernel='mask_scatter', attr=(3, 0, 0)](%5, %3) into %0",
    ),
    "a count of indices": (
        "f64[2,2]",
        "array.setitem[kernel='scatter', attr=(0, 5, 0, 0, 0)](%1, %3) into %0",
    ),
}


@pytest.mark.parametrize("check", CHECKS, ids=["verify", "compile"])
@pytest.mark.parametrize("name", WRONG)
def test_attributes_of_array_kernels(check: Callable[[Program], Any], name: str) -> None:
    made, call = WRONG[name]
    lines = [
        "%0: f64[2,2] cpu = parameter x",
        "%1: i64[3] cpu = parameter y",
        "%2: i64[2,2] cpu = parameter z",
        "%3: f64[4] cpu = parameter line",
        "%4: bool[5] cpu = parameter mask",
        "%5: bool[2,2] cpu = parameter whole",
        f"%6: {made} cpu = {call}",
    ]
    with pytest.raises(ValueError, match=r"cannot be made again: "):
        check(_program(*lines, result=6))


def test_a_mask_that_chooses_more_than_there_are_rows() -> None:
    program = _program(
        "%0: f64[4] cpu = parameter x",
        "%1: bool[4] cpu = parameter mask",
        "%2: f64[2] cpu = parameter rows",
        "%3: f64[4] cpu = array.setitem[kernel='mask_scatter', attr=(-1, 0, 0)](%1, %2) into %0",
        result=3,
    )
    run = flow.graph.compile(program)
    rows = flow.ones(2)
    (made,) = run(flow.zeros(4), flow.tensor([True, False, True, False]), rows)
    assert made.tolist() == [1, 0, 1, 0]
    (failed,) = run(flow.zeros(4), flow.tensor([True] * 4), rows)
    with pytest.raises(RuntimeError, match="expected 2 true elements in the mask, got 4"):
        failed.numpy()


@pytest.mark.parametrize("check", CHECKS, ids=["verify", "compile"])
def test_a_transform_of_no_points(check: Callable[[Program], Any]) -> None:
    traced = flow.graph.trace(flow.fft.irfft, flow.graph.spec(1, "complex128"), 7)
    text = str(traced.program).replace("c128[1]", "c128[0]")
    with pytest.raises(ValueError, match="irfft expected at least one point, got none"):
        check(Program.parse(text))


@pytest.mark.parametrize(
    ("made", "call", "wanted"),
    [
        ("f64[2,2]", "array.sort[attr=(0, 0, 1)](%0, %0)", "1 operand, got 2"),
        (
            "f64[2]",
            "array.partition[attr=(0, 0, 1)](%0, %0, %0)",
            "1 to 2 operands, got 3",
        ),
        (
            "f64[2,2]",
            "array.cumsum[kernel='accumulate', attr=(0,), loop=('add', 'dd->d')](%0)",
            "at least 4 attributes, got 1",
        ),
        (
            "f64[2,2]",
            _inv("(0, 99, 0, 34, 1, 2, 0, 0, 2, 0, 0)"),
            "attribute 1 from 0 to 6, got 99",
        ),
        (
            "f64[2,2]",
            _inv("(7, 1, 0, 34, 1, 2, 0, 0, 2, 0, 0)"),
            "attribute 0 to be 0, or 1 for a loop that changes its only input, got 7",
        ),
    ],
)
def test_what_is_expected_of_an_array_kernel(made: str, call: str, wanted: str) -> None:
    program = _program("%0: f64[2,2] cpu = parameter x", f"%1: {made} cpu = {call}")
    with pytest.raises(ValueError, match=f" expected {wanted}"):
        flow.graph.compile(program)


FAR = 2**63 - 1
REACHING: dict[str, tuple[str, str]] = {
    "strides": (f"f64[2]{{{FAR}}}", "slice"),
    "negative strides": (f"f64[2]{{-{FAR}}}", "slice"),
    "a sum that begins anew": ("f64[9,2]{2305843009213693944,8}", "slice"),
    "both ends": (f"f64[2,2]{{-{FAR // 2},{FAR // 2 + 1}}}", "slice"),
    "an offset": ("f64[2]", f"slice[offset={FAR - 7}]"),
    "a negative offset": ("f64[2]", f"slice[offset=-{FAR}]"),
}


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("name", REACHING)
def test_views_beyond_what_64_bits_count(check: Callable[[Program], Any], name: str) -> None:
    made, call = REACHING[name]
    program = _program("%0: f64[2] cpu = parameter x", f"%1: {made} cpu = view.{call}(%0)")
    with pytest.raises(ValueError, match=r"^\[slice\] cannot be made again: .* (reach|memory of) "):
        check(program)


def test_a_view_of_no_elements_may_have_any_strides() -> None:
    program = _program("%0: f64[2] cpu = parameter x", f"%1: f64[0]{{{FAR}}} cpu = view.slice(%0)")
    assert flow.graph.compile(program)(flow.ones(2))[0].tolist() == []


MISALIGNED: dict[str, tuple[str, str, str]] = {
    "an offset": ("f32[16]", "f32[2]", "slice[offset=5]"),
    "a stride": ("f32[16]", "f32[2]{6}", "slice"),
    "a negative stride": ("f32[16]", "f32[2]{-6}", "slice[offset=12]"),
    "a stride of a stricter dtype": ("u8[16]", "f32[2]{6}", "view"),
}
ALIGNED: dict[str, tuple[str, str, str]] = {
    "bytes": ("f32[16]", "u8[7]", "view[offset=5]"),
    "a part of complex numbers": ("c128[4]", "f64[4]{16}", "real[offset=8]"),
    "strides of one element": ("f32[16]", "f32[1,2]{6,4}", "slice[offset=8]"),
    "no elements": ("f32[16]", "f32[0]", "slice[offset=3]"),
    "bytes that arguments share": ("u8[17]", "f32[4]", "view[offset=1]"),
}


def _view(device: str, given: str, made: str, call: str) -> Program:
    return _program(f"%0: {given} {device} = parameter x", f"%1: {made} {device} = view.{call}(%0)")


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("name", MISALIGNED)
def test_views_begin_where_kernels_may_read(check: Callable[[Program], Any], name: str) -> None:
    program = _view("cpu", *MISALIGNED[name])
    with pytest.raises(ValueError, match=r"begins at multiples of [48] bytes"):
        check(program)


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("name", ALIGNED)
def test_views_may_begin_at_any_multiple(check: Callable[[Program], Any], name: str) -> None:
    check(_view("cpu", *ALIGNED[name]))


@pytest.mark.simulated
def test_kernels_of_a_device_read_whole_complex_numbers(run_program: Callable[..., Any]) -> None:
    program = _view("cpu", "c64[16]", "c64[2]", "slice[offset=4]")
    code = f"""
import oneflow_lite as flow
for device in ("cpu", "cuda:0"):
    try:
        flow.graph.compile(flow.graph.Program.parse({str(program)!r}.replace("cpu", device)))
        print(device)
    except ValueError as error:
        print(error)
print((flow.ones(3, device="cuda:0") + 1).tolist())
"""
    done = run_program(code, cuda_sim="devices=1")
    assert (done.returncode, done.stderr) == (0, "")
    compiled, refused, after = done.stdout.splitlines()
    assert (compiled, after) == ("cpu", "[2.0, 2.0, 2.0]")
    assert "complex64 begins at multiples of 8 bytes: the view is 4 bytes behind" in refused


@pytest.mark.parametrize("check", CHECKS)
def test_a_parameter_beyond_what_64_bits_count(check: Callable[[Program], Any]) -> None:
    program = _program(f"%0: f64[2]{{{FAR}}} cpu = parameter x", "%1: f64[2] cpu = exp(%0)")
    with pytest.raises(ValueError, match="reach further than 64 bits count"):
        check(program)


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("mode", [0, 1, 2])
def test_indices_along_an_axis_without_elements(check: Callable[[Program], Any], mode: int) -> None:
    given = ["%0: f64[0,3] cpu = parameter x", "%1: i64[N] cpu = parameter k"]
    take = f"%2: f64[N,3] cpu = array.take[kernel='gather', attr=({mode}, 0)](%0, %1)"
    put = f"array.setitem[kernel='scatter', attr=({mode}, 1, 0, 0, 0)](%1) into %2"
    write = ["%2: f64[0,3] cpu = multiply(%0, 1)", f"%3: f64[0,3] cpu = {put}"]
    for last in ([take], write):
        lines = [line.replace("N", "2") for line in (*given, *last)]
        program = _program(*lines, result=len(last) + 1)
        with pytest.raises(ValueError, match="axis 0 has no elements to index"):
            check(program)
        lines = [line.replace("N", "0") for line in (*given, *last)]
        check(_program(*lines, result=len(last) + 1))


@pytest.mark.parametrize("check", CHECKS)
def test_rows_are_added_to_rows_only(check: Callable[[Program], Any]) -> None:
    given = ["%0: f32[2,3] cpu = parameter rows", "%1: i64[2] cpu = parameter places"]
    program = _program(*given, "%2: f32[4,3]{4,16} cpu = array.scatter_add(%1, %0)", result=2)
    with pytest.raises(ValueError, match="and a contiguous result"):
        check(program)


SCATTERED = """
import oneflow_lite as flow
text = '''program f
%0: DTYPE[2,3] DEVICE = parameter rows
%1: i64[2] DEVICE = parameter places
%2: DTYPE[4,3] DEVICE = array.scatter_add(%1, %0)
return %2
'''.replace("DEVICE", DEVICE)
def refused(run, rows, *places):
    try:
        run(rows, flow.tensor(places, device=DEVICE))[0].numpy()
    except IndexError as error:
        print(error)
    try:
        flow.synchronize()
    except IndexError:
        pass

for dtype, code in (("float32", "f32"), ("float64", "f64")):
    typed = text.replace("DTYPE", code)
    run = flow.graph.compile(flow.graph.Program.parse(typed))
    rows = flow.ones((2, 3), dtype=dtype, device=DEVICE)
    print(run(rows, flow.tensor([3, -4], device=DEVICE))[0].tolist())
    for wrong in (4, -5, 2**62, -(2**63)):
        refused(run, rows, 1, wrong)
    run = flow.graph.compile(flow.graph.Program.parse(typed.replace("[4,3]", "[0,3]")))
    refused(run, rows, 0, 0)
"""


@pytest.mark.parametrize(
    ("device", "flags"),
    [
        ("cpu", {}),
        pytest.param("cuda:0", {"cuda_sim": "devices=1"}, marks=pytest.mark.simulated),
    ],
)
def test_rows_added_at_places_that_there_are_not(
    run_program: Callable[..., Any], device: str, flags: dict[str, str]
) -> None:
    done = run_program(f"DEVICE = {device!r}{SCATTERED}", **flags)
    assert done.returncode == 0, done.stderr
    summed = str([[1.0] * 3, [0.0] * 3, [0.0] * 3, [1.0] * 3])
    refused = [
        f"[scatter_add] index {wrong} is out of bounds for axis 0 with size 4"
        for wrong in (4, -5, 2**62, -(2**63))
    ]
    refused += ["[scatter_add] index 0 is out of bounds for axis 0 with size 0"]
    assert done.stdout.splitlines() == [summed, *refused] * 2
