"""Kernels that copy elements from places that index arrays give.

Options of a request: the bytes of a word, the number of index arrays.
"""

from oneflow_lite.cuda.kernels.request import Request

FILES = ("types.cuh", "index/indexing.cuh", "index/gather.cuh")
_WORDS = {1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64", 16: "Word16"}


def word(bytes_: int) -> str:
    """Return the type of words of so many bytes.

    Examples
    --------
    >>> word(4), word(16)
    ('uint32', 'Word16')
    """
    return _WORDS[bytes_]


def index(request: Request) -> str:
    """Return the type that items and offsets are counted in.

    Examples
    --------
    >>> index(Request("gather", "", (), (), (), True, False, (4, 1)))
    'uint32'
    """
    return "uint64" if request.wide else "uint32"


def entry(name: str, args: str, call: str, threads: str = "kThreads") -> str:
    """Return the kernel of a name that makes a call with its argument, in blocks of `threads`.

    Examples
    --------
    >>> entry("kernel", "Args", "run<int>").splitlines()[-2]
    '  ofl::run<int>(args);'
    """
    return f"""
extern "C" __global__ void __launch_bounds__(ofl::{threads})
{name}(const __grid_constant__ ofl::{args} args) {{
  ofl::{call}(args);
}}
"""


def kernel(name: str, request: Request) -> str:
    """Return the kernel of a request.

    Examples
    --------
    >>> request = Request("gather", "", (), (), (), True, False, (4, 2))
    >>> "ofl::gather<ofl::uint32, 2, ofl::uint32>(args);" in kernel("rows", request)
    True
    """
    bytes_, arrays = request.options
    call = f"gather<ofl::{word(bytes_)}, {arrays}, ofl::{index(request)}>"
    return entry(name, f"GatherArgs<{arrays}>", call)
