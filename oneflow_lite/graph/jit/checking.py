"""Calls of programs beside the same calls run eagerly: results and writes, bit for bit."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from oneflow_lite._C import Tensor
from oneflow_lite.graph.copies import assign, copied, type_of
from oneflow_lite.graph.trees import visit

Bits = tuple[Any, ...]


def checked(
    name: str,
    eager: Callable[[], Any],
    run: Callable[[], Any],
    holders: Sequence[tuple[str, Tensor]],
    generators: Sequence[Any],
) -> Any:
    """Return what the program returns, after a look at what eager's call returns and writes.

    Parameters
    ----------
    eager, run
        the call, in both ways.
    holders
        tensors that a call may write to, with how users name them. They are as before when the
        program begins.
    generators
        what the program draws from; the program begins where eager's call has begun.

    Raises
    ------
    RuntimeError
        The program returns or writes other bits; names the result or tensor.
    """
    marks = [x._mark() for x in generators]
    before = [(copied(x, type_of(x)), _bits(x)) for _, x in holders]
    expected = _leaves(eager(), "result")
    written = [_bits(x) for _, x in holders]
    for (_, x), (copy, bits), now in zip(holders, before, written, strict=True):
        if bits != now:
            assign(x, copy)
    for go_back in marks:
        go_back()
    returned = run()
    got = _leaves(returned, "result")
    expected += [(label, bits) for (label, _), bits in zip(holders, written, strict=True)]
    got += [(label, _bits(x)) for label, x in holders]
    for (label, one), (other, two) in zip(expected, got, strict=False):
        if (label, one) != (other, two):
            raise RuntimeError(f"[jit] {name}: {other} {_difference(one, two)}")
    if len(expected) != len(got):
        raise RuntimeError(f"[jit] {name} returns other containers than eagerly")
    return returned


def _leaves(tree: Any, label: str) -> list[tuple[str, Bits]]:
    found: list[tuple[str, Bits]] = []
    visit(tree, lambda x, path: found.append((path, _bits(x))), label)
    return found


def _bits(x: Any) -> Bits:
    """Return what tells two tensors or other results apart."""
    if not isinstance(x, Tensor):
        return type(x), repr(x)
    return str(x.device), x.dtype, x.shape, x.numpy().tobytes()


def _difference(expected: Bits, got: Bits) -> str:
    if len(expected) != 4 or len(got) != 4:
        return f"is {got[-1]}, eagerly {expected[-1]}"
    if expected[:3] != got[:3]:
        return (
            f"is {got[1]}{got[2]} on {got[0]}, eagerly {expected[1]}{expected[2]} on {expected[0]}"
        )
    dtype, shape = got[1], got[2]
    one, other = (np.frombuffer(x[3], dtype).reshape(shape) for x in (got, expected))
    item = np.dtype(f"V{dtype.itemsize}")
    differ = np.atleast_1d(one).view(item) != np.atleast_1d(other).view(item)
    place = tuple(int(n) for n in np.argwhere(differ)[0][: len(shape)])
    return (
        f"differs in {np.count_nonzero(differ)} of {one.size} elements, first at {place}: "
        f"{one[place]!r}, eagerly {other[place]!r}"
    )
