"""What a kernel is asked for."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Request:
    """One kernel: what it computes, on operands that lie in memory in which way.

    Attributes
    ----------
    kind : str
        The family of kernels: "elementwise" (a row of the op table), "copy", "fill" or "where".
    op : str
        Name of the row; "" for the other kinds.
    dtypes : tuple of str
        Of the operands in memory, inputs and then the output. A scalar lies in the arguments.
    loop : tuple of str
        What inputs are cast to before the operation, and what the result is before it is cast to
        the last of ``dtypes``.
    scalars : tuple of bool
        Inputs that are given by value, each of its dtype in ``dtypes``.
    flat : bool
        Every operand that is no scalar is contiguous; otherwise they have strides.
    wide : bool
        Elements or byte offsets reach 2**31.
    options : tuple of int
        What else the family wants to know; its module says what.
    args_bytes : int
        Of the argument, as the compiler of the host lays it out; 0: not compared.
    """

    kind: str
    op: str
    dtypes: tuple[str, ...]
    loop: tuple[str, ...]
    scalars: tuple[bool, ...]
    flat: bool
    wide: bool
    options: tuple[int, ...] = ()
    args_bytes: int = 0
