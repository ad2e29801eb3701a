"""Builds the extension ``oneflow_lite._C`` from every source under csrc/.

The library of products, OpenBLAS, is not compiled here. It is copied from the build requirement
``scipy-openblas32`` into the package, with its licence. The headers that kernels of devices include
are copied, too: these kernels are compiled at run time.

Read from the environment: ``OFL_SANITIZE=thread|address`` builds with that sanitizer, ``OFL_JOBS``
is the number of compilers that run at once (all cores by default).
"""

import os
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from filecmp import cmp
from glob import glob
from importlib import metadata
from pathlib import Path

import numpy
import pybind11
from setuptools import Extension, setup
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


class Build(build_ext):
    """Compiles what changed, several sources at a time; setuptools only does whole extensions."""

    def run(self) -> None:
        super().run()
        if not openblas_files():
            self.warn("scipy-openblas32 is not installed: this build has no OpenBLAS")
        for source, target in self.copies():
            self.mkpath(str(target.parent))
            if not target.exists() or not cmp(source, target):
                # A process may have the old one in its memory: it keeps that file.
                copy = target.with_name(target.name + ".new")
                shutil.copy2(source, copy)
                os.replace(copy, target)

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

    def build_extension(self, ext: Extension) -> None:
        if sanitizer:
            self.build_temp += f"-{sanitizer}"  # objects of different flags never mix
        headers_changed = max(map(os.path.getmtime, ext.depends))

        def compile_one(source: str) -> str:
            (target,) = self.compiler.object_filenames([source], output_dir=self.build_temp)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            newest = max(headers_changed, os.path.getmtime(source))
            if self.force or not os.path.exists(target) or os.path.getmtime(target) < newest:
                self.compiler.compile(
                    [source],
                    output_dir=self.build_temp,
                    include_dirs=ext.include_dirs,
                    extra_postargs=ext.extra_compile_args,
                )
            return target

        with ThreadPoolExecutor(int(os.environ.get("OFL_JOBS", os.cpu_count() or 1))) as pool:
            objects = list(pool.map(compile_one, ext.sources))
        self.compiler.link_shared_object(
            objects,
            self.get_ext_fullpath(ext.name),
            extra_postargs=ext.extra_link_args,
            build_temp=self.build_temp,
            target_lang="c++",
        )


setup(
    ext_modules=[
        Extension(
            "oneflow_lite._C",
            sources=sorted(glob("csrc/**/*.cpp", recursive=True)),
            depends=[*sorted(glob("csrc/**/*.h", recursive=True)), "setup.py"],
            include_dirs=["csrc", pybind11.get_include(), numpy.get_include()],
            extra_compile_args=compile_args,
            extra_link_args=link_args,
            language="c++",
        )
    ],
    cmdclass={"build_ext": Build},
)
