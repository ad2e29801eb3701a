"""Executables: programs that are lowered to kernel calls, ready to run any number of times.

Program ─► each operation planned once, memory laid out ─► Executable ─► run, run, run
"""

from typing import Any

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.graph.ir import Function, Op, Scalar, Type, Value
from oneflow_lite.graph.program import Program


def compile(program: Program) -> "Executable":
    """Return the program ready to run: operations are planned, and nothing is computed.

    Parameters
    ----------
    program
        Its captured tensors are read, and written to, at each run.

    Raises
    ------
    ValueError
        The program is not sound, or a captured tensor is not known, as in one read from text.

    Examples
    --------
    >>> import oneflow_lite as flow
    >>> traced = flow.graph.trace(lambda x, y: flow.tanh(x) + y, flow.ones(3), flow.ones(3))
    >>> run = flow.graph.compile(traced.program)
    >>> (z,) = run(flow.zeros(3), flow.ones(3))
    >>> z.numpy()
    array([1., 1., 1.])
    """
    program.verify()
    return Executable(program)


class Executable:
    """What compile() returns; called with a tensor for each parameter, it returns the results.

    Results have eager's bits, and errors its lines. Small programs on the cpu run in the calling
    thread, others as an instruction for each operation.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self._native = _lowered(program.main, program.name)

    def __call__(self, *arguments: Tensor) -> list[Tensor]:
        """Run the program.

        Raises
        ------
        ValueError
            There are more or fewer arguments than parameters; one has another dtype, shape, strides
            or device than its parameter; one that is written to is read-only or shares its memory
            with another one.
        """
        return self._native.run(arguments)

    def report(self) -> dict[str, Any]:
        """Return what is known of the runs: steps, bytes of the arena, runs in each way."""
        native = self._native
        return {
            "operations": len(self.program.main.ops),
            "steps": native.step_count,
            "arena_bytes": native.arena_bytes,
            "inline_runs": native.inline_runs,
            "issued_runs": native.issued_runs,
        }


def _lowered(function: Function, name: str) -> _C.Executable:
    bound = (*function.captures, *function.constants)
    if any(capture.tensor is None for capture in bound):
        raise ValueError(f"[compile] {name}: a captured tensor is not known")
    numbers: dict[Value, int] = {}
    for value in function.inputs():
        numbers[value] = len(numbers)
    inputs = [_parts(value.type) for value in numbers]
    operations = [_operation(op, numbers) for op in function.ops]
    return _C.Executable(
        name,
        inputs,
        [capture.tensor for capture in bound],
        len(function.constants),
        len(numbers),
        operations,
        [numbers[value] for value in function.results],
        [(numbers[target], numbers[last]) for target, last in function.assigns],
    )


def _operation(op: Op, numbers: dict[Value, int]) -> tuple[Any, ...]:
    operands = tuple((x.value,) if isinstance(x, Scalar) else numbers[x] for x in op.operands)
    targets = [numbers[target] for target in op.targets]
    for value in op.results:
        numbers[value] = len(numbers)
    return op.call, operands, targets, [numbers[value] for value in op.results], op.site


def _parts(given: Type) -> tuple[Any, ...]:
    return given.dtype, given.shape, given.strides, given.device
