"""Numbers in the text of a program that are none, or do not fit: an error with the text's line."""

import warnings

import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Program

EXTENTS = {
    "1e400": "expected a size, an integer of 64 bits, got inf",
    "1e3": "expected a size, an integer of 64 bits, got 1000.0",
    "True": "expected a size, an integer of 64 bits, got True",
    "2j": "expected a size, an integer of 64 bits, got 2j",
    "0x10": "expected a number, got 0x10",
    "1_0": "expected a number, got 1_0",
    "9223372036854775808": "expected a size, an integer of 64 bits, got 9223372036854775808",
    "9223372036854775807": r"the shape \[9223372036854775807\] is too big",
    "4294967296,4294967296,0": r"the shape \[4294967296,4294967296,0\] is too big",
    "2]{9223372036854775808": "expected a size, an integer of 64 bits, got 9223372036854775808",
}
CALLS = {
    "add(%0, %0)  # a.py:9223372036854775808": "expected a line, an integer of 32 bits, got 92",
    "add(%0, %0)  # a.py:2147483648": "expected a line, an integer of 32 bits, got 2147483648",
    "add(%0, %0)  # a.py:-3": "expected a line, got -3",
    "add(%0, %0)  # a.py": "expected a line, an integer of 32 bits, got a.py",
    "add(%0, 2if)": "expected a number, got 2if",
    "add(%0, 1or 2)": "expected a number, got 1or 2",
    "add(%0, i8(300))": "300 out of bounds for int8",
    "add(%0, i8(1.5))": "expected a number of int8, got 1.5",
    "add(%0, bool(2))": "expected a number of bool, got 2",
    "add(%0, bool(0.0))": "expected a number of bool, got 0.0",
    "add(%0, f32((1+2j)))": r"expected a number of float32, got \(1.0\+2.0j\)",
    "add(%0, f16(1e10))": "10000000000.0 is out of bounds of float16",
    "add(%0, f16(-65520))": "-65520 is out of bounds of float16",
    "add(%0, f32(1e300))": r"1e\+300 is out of bounds of float32",
    "add(%0, c64((1e300+0j)))": r"\(1e\+300\+0.0j\) is out of bounds of complex64",
    "add(%0, c64((inf+1e300j)))": r"\(inf\+1e\+300j\) is out of bounds of complex64",
    f"add(%0, f64({'1' * 400}))": "too large",
    "add(%0, %0) lane 99999999999999999999": "expected a lane, an integer of 64 bits",
    "reduce.sum[axes=(1if,)](%0)": "expected a number, got 1if",
    "reduce.sum[axes=(9223372036854775808,)](%0)": "expected an attribute, an integer of 64 bits",
    "reduce.sum[axes=(70,)](%0)": "expected axes",
    "roll[shift=1or 2](%0)": "expected a number, got 1or",
}


def refused(text: str, words: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=rf"^\[Program.parse\] line \d: .*{words}"):
            Program.parse(text)


@pytest.mark.parametrize("shape", EXTENTS)
def test_shapes(shape: str) -> None:
    end = "}" if "{" in shape else "]"
    refused(f"program f\n%0: f64[{shape}{end} cpu = parameter x\nreturn %0\n", EXTENTS[shape])


@pytest.mark.parametrize("call", CALLS)
def test_calls(call: str) -> None:
    text = f"program f\n%0: f64[2] cpu = parameter x\n%1: f64[2] cpu = {call}\nreturn %1\n"
    refused(text, CALLS[call])


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("%0: i8[2] cpu = constant [300, 1]", "300 out of bounds for int8"),
        ("%0: i8[2] cpu = constant [1.5, 1]", "expected a number of int8, got 1.5"),
        ("%0: f16[2] cpu = constant [inf, 1e10]", "10000000000.0 is out of bounds of float16"),
        ("%0: i64[1] cpu = constant [99999999999999999999999]", "too large"),
        ("@0 = philox 9223372036854775808", "expected how many counters, an integer of 64 bits"),
        ("@0 = philox 2.5", "expected how many counters, an integer of 64 bits, got 2.5"),
    ],
)
def test_constants_and_counters(line: str, words: str) -> None:
    refused(f"program f\n{line}\nreturn\n", words)


def test_a_number_that_no_operand_can_be_is_an_error_of_verify() -> None:
    text = (
        "program f\n%0: f64[2] cpu = parameter x\n%1: f64[2] cpu = add(%0, N)  # a.py:4\nreturn %1"
    )
    program = Program.parse(text.replace("N", "1" * 400))
    with pytest.raises(ValueError, match=r"^\[add\] \(a.py:4\) cannot be made again"):
        program.verify()


@pytest.mark.parametrize(
    "number",
    [
        "f16(inf)",
        "f16(6e-08)",
        "f32(1e-45)",
        "f32(-nan)",
        "f16(-0.0)",
        "c64((-inf-0.0j))",
        "i8(-128)",
    ],
)
def test_numbers_of_a_dtype_that_fit(number: str) -> None:
    dtype = number.partition("(")[0]
    text = f"program f\n%0: {dtype}[2] cpu = parameter x\n%1: {dtype}[2] cpu = add(%0, {number})\n"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        program = Program.parse(f"{text}return %1\n")
    assert number in str(program)


@pytest.mark.parametrize("number", ["1e-05", "-2.5e+30", ".5", "2.", "(1.5-2j)", "-nan"])
def test_numbers_that_python_writes(number: str) -> None:
    text = "program f\n%0: c128[2] cpu = parameter x\n%1: c128[2] cpu = add(%0, N)\nreturn %1\n"
    program = Program.parse(text.replace("N", number))
    assert Program.parse(str(program)) == program
    flow.graph.compile(program)
