"""CUDA C++ of kernels: what a family's ``.cuh`` files say, and what its module makes of a request.

A family is a module of a room, with ``kernel(name, request)``, the text of a kernel or None
where there is none, and ``FILES``, the files that its kernels begin with, or ``files(request)``
where they do not all need the same ones. A file may include headers of the native core, which the
build copies to ``cuda/include``.
"""

import functools
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType

from oneflow_lite.cuda.kernels.convolution import convolution
from oneflow_lite.cuda.kernels.elementwise import elementwise
from oneflow_lite.cuda.kernels.fusion import columns, fusion, rows
from oneflow_lite.cuda.kernels.index import gather, mask, scatter
from oneflow_lite.cuda.kernels.layout import INCLUDE
from oneflow_lite.cuda.kernels.product import matmul
from oneflow_lite.cuda.kernels.random import philox
from oneflow_lite.cuda.kernels.reduce import reduce, scan
from oneflow_lite.cuda.kernels.request import Request
from oneflow_lite.cuda.kernels.sort import runs, search, sort

_FAMILIES: dict[str, ModuleType] = {
    "arg_reduce": reduce,
    "convolution": convolution,
    "copy": elementwise,
    "count": reduce,
    "elementwise": elementwise,
    "fill": elementwise,
    "fused": fusion,
    "fused_columns": columns,
    "fused_rows": rows,
    "gather": gather,
    "mask": mask,
    "matmul": matmul,
    "random": philox,
    "reduction": reduce,
    "runs": runs,
    "scan": scan,
    "scatter": scatter,
    "search": search,
    "sort": sort,
    "where": elementwise,
}

# The host fills an argument that it laid out when it was built, from headers as they were then.
_CHECK = """
static_assert(sizeof(ofl::ArgumentOf<decltype({name})>::type) == {bytes},
              "the host gives the argument of {name} in {bytes} bytes: build oneflow_lite again");
"""
_DIRECTIVE = re.compile(r'^#(?:include ".+"|pragma once)\n', re.MULTILINE)


def source(requests: Mapping[str, Request]) -> str | None:
    """Return one translation unit with kernels of these names; None where one has no text.

    Examples
    --------
    >>> fill = Request("fill", "", ("int8", "int8"), ("int8", "int8"), (True,), True, False)
    >>> source({"fill_int8": fill}).count("Body_fill_int8")
    3
    >>> source({"unknown": Request("no such family", "", (), (), (), True, False)}) is None
    True
    """
    files: dict[str, None] = {}
    kernels = []
    for name, request in requests.items():
        family = _FAMILIES.get(request.kind)
        text = family.kernel(name, request) if family else None
        if family is None or text is None:
            return None
        files |= dict.fromkeys(_files_of(family, request))
        kernels.append(text)
        if request.args_bytes:
            kernels.append(_CHECK.format(name=name, bytes=request.args_bytes))
    return "\n".join([*_texts_of(files), *kernels])


def _files_of(family: ModuleType, request: Request) -> tuple[str, ...]:
    names: tuple[str, ...] = family.files(request) if hasattr(family, "files") else family.FILES
    return names


def _texts_of(files: Iterable[str]) -> Iterable[str]:
    """Each text once, and before it the headers that it includes."""
    texts: dict[Path, str] = {}
    for file in files:
        _add(Path(__file__).parent / file, texts)
    return texts.values()


def _add(path: Path, texts: dict[Path, str]) -> None:
    if path not in texts:
        included, text = _read(path)
        for header in included:
            _add(INCLUDE / header, texts)
        texts[path] = text


@functools.cache
def _read(path: Path) -> tuple[list[str], str]:
    """The headers that a file includes, and its text without these lines."""
    text = path.read_text("utf-8")
    return re.findall(r'^#include "(.+)"$', text, re.MULTILINE), _DIRECTIVE.sub("", text)
