"""Builds the extension ``oneflow_lite._C`` from every source under csrc/.

The library of products, OpenBLAS, is not compiled here. It is copied from the build requirement
``scipy-openblas32`` into the package, with its licence. The headers that kernels of devices include
are copied, too: these kernels are compiled at run time.

Read from the environment: ``OFL_SANITIZE=thread|address`` builds with that sanitizer, ``OFL_JOBS``
is the number of compilers that run at once (all cores by default).
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from filecmp import cmp
from functools import partial
from glob import glob
from importlib import metadata
from pathlib import Path

import numpy
import pybind11
from setuptools import Extension, setup
from setuptools.command.build import build
from setuptools.command.build_ext import build_ext

SANITIZERS = ("thread", "address")
sanitizer = os.environ.get("OFL_SANITIZE", "")
if sanitizer and sanitizer not in SANITIZERS:
    raise SystemExit(f"OFL_SANITIZE={sanitizer}: expected one of {', '.join(SANITIZERS)}")

compile_args = ["-std=c++17", "-fvisibility=hidden", "-Wall", "-Wextra"]
compile_args += ["-ffp-contract=off", "-pthread"]  # no fused multiply-add: NumPy's bits
compile_args += ["-fno-math-errno"]  # nobody reads it, and loops with square roots vectorize
link_args = ["-pthread"]
if sys.platform == "linux":
    link_args += ["-Wl,--wrap=__gxx_personality_v0"]  # csrc/python/machine/thread_end.cpp
if sanitizer:
    compile_args += ["-O1", "-g", "-fno-omit-frame-pointer", f"-fsanitize={sanitizer}"]
    link_args += [f"-fsanitize={sanitizer}"]
else:
    compile_args += ["-O3", "-g0"]
# What pybind11 makes of a class is much code, of which no call is in a hurry.
bindings_args = [] if sanitizer else ["-O1"]


def openblas_files() -> list[Path]:
    """The library and its licence, where the build requirement is installed."""
    try:
        files = metadata.files("scipy-openblas32") or []
    except metadata.PackageNotFoundError:
        return []
    wanted = [file for file in files if file.name.startswith(("libscipy_openblas.", "LICENSE"))]
    return [Path(file.locate()) for file in wanted]


def device_headers() -> list[Path]:
    """The headers that both csrc/ and the kernels of devices include."""
    return [
        *sorted(Path("csrc/ops/cuda/layout").glob("*.h")),
        Path("csrc/ops/random/philox_numbers.h"),
    ]


def library_headers() -> list[str]:
    """Options for the headers of Python and of the build requirements.

    The compiler does not list the headers of such folders among those that an object depends on.
    pip removes the folders after each build; the recipe has the versions.
    """
    folders = [sysconfig.get_path("include"), pybind11.get_include(), numpy.get_include()]
    return [option for folder in folders for option in ("-isystem", folder)]


def write_if_changed(path: Path, text: str) -> Path:
    """Write the file, which keeps its time when it has this text already."""
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return path


def copy_to(target: Path, source: Path) -> None:
    """Copy a library; a process that has the old one in its memory keeps that file."""
    target.parent.mkdir(parents=True, exist_ok=True)
    copy = target.with_name(target.name + ".new")
    shutil.copy(source, copy)
    os.replace(copy, target)


def is_current(target: Path, inputs: Iterable[Path]) -> bool:
    """Whether the target exists, and no input is newer or missing."""
    try:
        made = target.stat().st_mtime_ns
        return all(path.stat().st_mtime_ns <= made for path in inputs)
    except FileNotFoundError:
        return False


def listed_inputs(rule: Path) -> list[Path]:
    """The source and the headers of an object, from the rule for make that the compiler wrote."""
    if not rule.exists():
        return [rule]  # missing: the object is out of date
    return [Path(name) for name in rule.read_text().replace("\\\n", "").partition(":")[2].split()]


def binds_classes(source: str) -> bool:
    """Whether a source makes classes with pybind11."""
    return re.search(r"pybind11(/|::|;)", Path(source).read_text()) is not None


class Build(build_ext):
    """Compiles what is out of date, several sources at a time.

    An object is out of date when its source, a header that it includes, this file or the recipe is
    newer. The library is linked again when an object is newer, or when the list of them changed.
    """

    def finalize_options(self) -> None:
        super().finalize_options()
        if self.editable_mode:  # its temporary folder would be gone at the next installation
            usual = build(self.distribution)
            usual.ensure_finalized()
            self.build_temp = usual.build_temp
        if sanitizer:
            self.build_temp += f"-{sanitizer}"  # objects of different flags never mix

    def run(self) -> None:
        super().run()
        if not openblas_files():
            self.warn("scipy-openblas32 is not installed: this build has no OpenBLAS")
        for source, target in self.copies():
            if not target.exists() or not cmp(source, target):
                copy_to(target, source)

    def copies(self) -> list[tuple[Path, Path]]:
        """Each file to copy, and its place in the package."""
        package = Path(self.get_ext_fullpath("oneflow_lite._C")).parent
        include = package / "cuda" / "include"
        return [
            *((file, package / "openblas" / file.name) for file in openblas_files()),
            *((file, include / file.relative_to("csrc")) for file in device_headers()),
        ]

    def get_outputs(self) -> list[str]:
        return [*super().get_outputs(), *(str(target) for _, target in self.copies())]

    def recipe(self, ext: Extension) -> str:
        """All that decides about an object, except for the files of this project."""
        command = self.compiler.compiler_so_cxx
        compiler = subprocess.run(
            [*command, "--version"], capture_output=True, text=True, check=True
        )
        versions = [f"{module.__name__} {module.__version__}" for module in (numpy, pybind11)]
        options = [
            *command,
            *ext.extra_compile_args,
            *self.compiler.linker_so_cxx,
            *ext.extra_link_args,
        ]
        return "\n".join([" ".join(options), compiler.stdout, sys.version, *versions])

    def precompiled(self, name: str, options: list[str], always: list[Path]) -> list[Path]:
        """What a header includes, compiled once for all sources with these options. A compiler
        cache does without it, as it would find no object again; and Apple's compiler makes one for
        one architecture.
        """
        command, source = self.compiler.compiler_so_cxx, Path("csrc", name)
        cached = Path(command[0]).name in ("ccache", "sccache")
        if cached or command.count("-arch") > 1 or not source.exists():
            return []
        header = write_if_changed(Path(self.build_temp, name), source.read_text())
        target = header.with_name(f"{header.name}.gch")
        if self.force or not is_current(target, [*always, header]):
            made = ["-x", "c++-header", str(header), "-o", str(target)]
            self.compiler.spawn([*command, *options, *made])
        return [target]

    def compiled(
        self, options: list[str], precompiled: list[Path], always: list[Path], source: str
    ) -> Path:
        """The object of a source. It gets the time at which its compiler started: a file that was
        saved since then is newer.
        """
        (name,) = self.compiler.object_filenames([source], output_dir=self.build_temp)
        target = Path(name)
        inputs = [*always, *precompiled, Path(source), *listed_inputs(target.with_suffix(".d"))]
        if self.force or not is_current(target, inputs):
            target.parent.mkdir(parents=True, exist_ok=True)
            started = time.time_ns()
            included = [part for path in precompiled for part in ("-include", path.with_suffix(""))]
            self.compiler.compile(
                [source],
                output_dir=self.build_temp,
                extra_postargs=[*options, *map(str, included), "-MMD"],
            )
            os.utime(target, ns=(started, started))
        return target

    def build_extension(self, ext: Extension) -> None:
        folder, final = Path(self.build_temp), Path(self.get_ext_fullpath(ext.name))
        always = [Path("setup.py"), write_if_changed(folder / "recipe.txt", self.recipe(ext))]
        folders = [f"-I{folder}" for folder in ext.include_dirs]
        options = [*ext.extra_compile_args, *folders, *library_headers()]
        plain = self.precompiled("base/precompiled.h", options, always)
        compile_plain = partial(self.compiled, options, plain, always)
        options = [*options, *bindings_args]
        bindings = self.precompiled("python/precompiled.h", options, [*always, *plain])
        compile_bindings = partial(self.compiled, options, bindings, [*always, *plain])

        def compiled(source: str) -> Path:
            return compile_bindings(source) if binds_classes(source) else compile_plain(source)

        with ThreadPoolExecutor(int(os.environ.get("OFL_JOBS", os.cpu_count() or 1))) as pool:
            objects = list(pool.map(compiled, ext.sources))
        listed = write_if_changed(folder / "objects.txt", "\n".join(map(str, objects)))
        library = folder / final.name
        if self.force or not is_current(library, [*always, listed, *objects]):
            library.unlink(missing_ok=True)
            self.compiler.link_shared_object(
                list(map(str, objects)),
                str(library),
                extra_postargs=ext.extra_link_args,
                build_temp=self.build_temp,
                target_lang="c++",
            )
        copy_to(final, library)


setup(
    ext_modules=[
        Extension(
            "oneflow_lite._C",
            sources=sorted(glob("csrc/**/*.cpp", recursive=True)),
            include_dirs=["csrc"],
            extra_compile_args=compile_args,
            extra_link_args=link_args,
            language="c++",
        )
    ],
    cmdclass={"build_ext": Build},
)
