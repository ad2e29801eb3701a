"""The real compiler of CUDA kernels: it takes all of them, and its version and errors are known."""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import pytest

from oneflow_lite.cuda import compiler
from oneflow_lite.cuda.kernels import OPTIONS, Request
from oneflow_lite.cuda.kernels.source import _FAMILIES, source
from tests.support.kernel_cases import everything

LARGEST_UNIT = 400  # kernels
COMPLETE = "sm_90"
ARCHITECTURES = ("sm_80", "sm_90", "sm_100", "sm_120")
SYNTAX_ONLY = ("--fdevice-syntax-only",)
EXHAUSTIVE = os.environ.get("OFL_TEST_EXHAUSTIVE") == "1"
COMPILER = os.environ.get("CXX", "g++").split()[0]

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform != "linux", reason="CUDA is tested on Linux"),
]


def generated(arch: str) -> list[Request]:
    """Kernels whose code is made for an architecture: each template with one of its dtypes for one
    of them, and every ninth template for each of the others. An exhaustive run takes all kernels
    for the one, and all templates for the others.
    """
    if EXHAUSTIVE and arch == COMPLETE:
        return everything()
    templates: dict[tuple[object, ...], list[Request]] = {}
    for request in everything():
        key = (request.kind, request.op, request.flat, request.wide, request.options)
        templates.setdefault(key, []).append(request)
    groups = list(templates.values())
    if arch == COMPLETE:
        return [group[len(group) // 2] for group in groups]
    others = [other for other in ARCHITECTURES if other != COMPLETE]
    offset = others.index(arch)
    groups = groups if EXHAUSTIVE else groups[offset::9]
    return [group[offset % len(group)] for group in groups]


def units(requests: list[Request]) -> list[list[Request]]:
    """The kernels of each module, in parts that compile in about the same time: modules are never
    together, and may use the same names."""
    modules: dict[str, list[Request]] = {}
    for request in requests:
        modules.setdefault(_FAMILIES[request.kind].__name__, []).append(request)
    parts = [(requests, -(-len(requests) // LARGEST_UNIT)) for requests in modules.values()]
    return [requests[k::count] for requests, count in parts for k in range(count)]


def compile_unit(arch: str, requests: list[Request], options: tuple[str, ...]) -> bytes:
    text = source({f"kernel_{k}": request for k, request in enumerate(requests)})
    assert text is not None
    return compiler._compile_by_nvrtc(text, arch, (*OPTIONS, *options))


def compile_all(work: list[tuple[str, list[Request], tuple[str, ...]]]) -> list[bytes]:
    """In processes: one NVRTC compiles one program at a time."""
    pytest.importorskip("cuda.bindings.nvrtc")
    pytest.importorskip("nvidia.cu13", reason="nvidia-cuda-nvrtc is not installed")
    with ProcessPoolExecutor(min(4, os.cpu_count() or 1), get_context("spawn")) as pool:
        return list(pool.map(compile_unit, *zip(*work, strict=True)))


@pytest.mark.slow
def test_every_kernel_is_right_for_every_architecture() -> None:
    """Without code, which takes thirty times as long."""
    whole = units(everything())
    compile_all([(arch, unit, SYNTAX_ONLY) for arch in ARCHITECTURES for unit in whole])


@pytest.mark.slow
def test_every_template_has_code() -> None:
    work = [(arch, unit, ()) for arch in ARCHITECTURES for unit in units(generated(arch))]
    images = compile_all(work)
    assert all(image[:4] == b"\x7fELF" for image in images)
    assert len(set(images)) == len(work)


def one_of_each_kind() -> list[Request]:
    return list({request.kind: request for request in everything()}.values())


@pytest.mark.parametrize("request_", one_of_each_kind(), ids=lambda request: request.kind)
def test_an_argument_of_another_size_is_refused(request_: Request) -> None:
    pytest.importorskip("cuda.bindings.nvrtc")
    pytest.importorskip("nvidia.cu13", reason="nvidia-cuda-nvrtc is not installed")
    text = source({"kernel": replace(request_, args_bytes=12)})
    assert text is not None
    for options in (OPTIONS, (*OPTIONS, *SYNTAX_ONLY)):
        with pytest.raises(compiler.CompileError, match="in 12 bytes: build oneflow_lite again"):
            compiler._compile_by_nvrtc(text, "sm_90", options)


@pytest.fixture
def no_nvrtc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(sys.modules, "cuda.bindings.nvrtc", None)
    compiler._nvrtc.cache_clear()
    yield
    compiler._nvrtc.cache_clear()


@pytest.mark.usefixtures("no_nvrtc")
def test_what_is_missing_is_said() -> None:
    with pytest.raises(ImportError, match=r'pip install "oneflow_lite\[cuda\]"'):
        compiler._compile_by_nvrtc("", "sm_90", ())


@pytest.mark.toolchain
@pytest.mark.skipif(shutil.which(COMPILER) is None, reason=f"no {COMPILER}")
def test_two_builds_of_one_version_share_no_images(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("cuda.bindings.nvrtc")
    pytest.importorskip("nvidia.cu13", reason="nvidia-cuda-nvrtc is not installed")
    used = compiler.identity()
    command = shlex.split(os.environ.get("CXX", "g++"))
    source = tmp_path / "one.cpp"
    source.write_text("int one() { return 1; }")
    identities = []
    for number in ("0x1234", "0x5678", "none"):
        library = tmp_path / f"{number}.so"
        options = ["-shared", "-fPIC", f"-Wl,--build-id={number}", "-o", str(library)]
        subprocess.run([*command, str(source), *options], check=True)
        monkeypatch.setattr(compiler, "_nvrtc_library", lambda path=library: str(path))
        compiler._nvrtc_identity.cache_clear()
        identities.append(compiler.identity())
        assert identities[-1].split()[:2] == used.split()[:2]
    compiler._nvrtc_identity.cache_clear()
    assert len({used, *identities}) == 4
    assert [text.split()[2] for text in identities[:2]] == ["1234", "5678"]


def test_devices_newer_than_the_compiler() -> None:
    known = [75, 80, 86, 90, 100, 120, 121]
    targets = [compiler.nearest(arch, known) for arch in ("sm_89", "sm_90", "sm_103", "sm_130")]
    assert targets == ["sm_86", "sm_90", "sm_100", "compute_121"]
    with pytest.raises(compiler.CompileError, match="older nvidia-cuda-nvrtc"):
        compiler.nearest("sm_52", known)
    with pytest.raises(ValueError, match="expected sm_NN"):
        compiler.nearest("90", known)


def test_the_log_of_the_real_compiler_is_kept() -> None:
    pytest.importorskip("cuda.bindings.nvrtc")
    pytest.importorskip("nvidia.cu13", reason="nvidia-cuda-nvrtc is not installed")
    with pytest.raises(compiler.CompileError, match=r"kernel.cu\(2\): error"):
        compiler._compile_by_nvrtc('\nextern "C" __global__ void f() { nothing(); }', "sm_90", ())
