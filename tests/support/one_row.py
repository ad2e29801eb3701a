"""A plugin of pytest: the table of operations has a row that nothing else knows.

As the table is imported, the row of ``numpy.fmod`` gets a name that no other line of the package,
of its native core and of the tests has. A program calls ``install`` before it imports the package.
"""

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType

NAME = "truncated_remainder"
_TABLE = "oneflow_lite.ops.elementwise"
_ROW = '\n{0} = op("{0}", np.fmod, '


class _Loader(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        """Compile the changed text, which does not reach the cache of bytecode."""
        text = self.get_source(fullname) or ""
        assert _ROW.format("fmod") in text
        return self.source_to_code(
            text.replace(_ROW.format("fmod"), _ROW.format(NAME)).encode(), self.path
        )


class _Finder:
    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != _TABLE:
            return None
        spec = PathFinder.find_spec(name, path, target)
        assert spec is not None
        assert spec.origin is not None
        spec.loader = _Loader(name, spec.origin)
        return spec


def install() -> None:
    """Change the table of this process."""
    assert "oneflow_lite" not in sys.modules
    sys.meta_path.insert(0, _Finder)


def pytest_load_initial_conftests() -> None:
    """Before a conftest imports the package."""
    install()
