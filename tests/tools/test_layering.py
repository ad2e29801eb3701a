"""Arrows point down: who may include or import whom, how long things are, where the GIL lives.

Each test collects every violation, as ``file:line what``.
"""

import ast
import functools
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.support import ROOT

CSRC = ROOT / "csrc"
PACKAGE = ROOT / "oneflow_lite"

MAX_FILE, MAX_FUNCTION, MAX_COLUMNS = 500, 60, 100
MAX_FOLDER = 24  # files of a folder

# Folder of csrc -> the folders that it may include, besides itself.
INCLUDES = {
    "base": set(),
    "ep": {"base"},
    "vm": {"base", "ep"},
    "ops": {"base", "ep"},
    "tensor": {"base", "ep", "vm", "ops"},
    "distributed": {"base", "ep", "vm", "ops", "tensor"},
    "graph": {"base", "ep", "vm", "ops", "tensor"},
    "profiler": {"base", "ep", "vm", "ops", "tensor", "graph"},
    "python": {"base", "ep", "vm", "ops", "tensor", "distributed", "graph", "profiler"},
}

# Folder -> its rooms, lowest first: a room includes rooms before it. Rooms of one step may
# include each other. The files beside the rooms are parts, too, and parts make no ring. So vm's
# streams are below fusion, which uses them, and virtual_machine.h, which joins all, is above it.
ROOMS = {
    "ep": ("threads", "memory", "communicators", "cpu mock cuda"),
    "ep/communicators": ("mpi",),
    "graph": ("order", "memory", "fusing", "recording", "planning", "running"),
    "ops": (
        *("elementwise", "index", "product", "convolution", "random", "reduce", "sort", "fusion"),
        "cuda",
    ),
    "ops/elementwise": ("arithmetic float_functions parts",),
    "ops/elementwise/float_functions": ("formulas",),
    "ops/cuda": (
        *("layout", "elementwise", "index", "product", "convolution", "random", "reduce", "sort"),
        "fusion",
    ),
    "graph/running": ("steps",),
    "distributed": ("layouts", "world rules", "boxing"),
    "python": ("machine ops tensor engine", "native", "random", "interop", "graph distributed"),
    "tensor": ("fusion", "index"),
    "vm": (
        *(
            "failure",
            "board queue",
            "links pool progress",
            "fusion",
            "devices",
            "small_work",
            "waiting",
        ),
        "process",
    ),
}

# Backend -> the files that include its headers, besides its own folder and the list of backends.
BACKENDS = {
    "cpu": {"ops/leased_memory.cpp"},
    "mock": {"python/machine/mock.cpp"},
    "cuda": {"python/interop/device_arrays.cpp", "python/machine/cuda.cpp"},
}
LIST_OF_BACKENDS = "python/machine/backends.cpp"

# Folders of which rooms and the files beside them still make rings. The set may only shrink: the
# test fails when a folder is mended, too. Files make no rings.
KNOWN_FOLDERS_WITH_RINGS = {"ops", "python"}

# Layers of the package, lowest first; a module imports its own layer and those below.
LAYERS = (
    {"_C", "main_interpreter", "flag_values", "flag_types", "locks"},
    {"flags", "dtypes", "device", "inspection", "failures", "launchers"},
    {"ops", "linalg", "fft", "random", "lib", "interop", "interchange", "display", "tensor"},
    {"cuda"},
    {"engine"},
    {"profiler", "vm"},
    {"graph"},
    {"distributed"},
    {"lifecycle", "testing"},
    {"", "__main__"},  # "" is the package itself
)
# Within their layer: imports point left.
ORDER = ("ops", "linalg", "fft", "random", "lib", "interop", "interchange", "display", "tensor")

CPP = sorted(path for path in CSRC.rglob("*") if path.suffix in (".h", ".cpp"))
PACKAGE_FILES = sorted(PACKAGE.rglob("*.py"))
FILES = [
    path
    for folder in (CSRC, PACKAGE, *(ROOT / name for name in ("tests", "benchmarks", "examples")))
    for path in sorted(folder.rglob("*"))
    if path.suffix in (".h", ".cpp", ".py", ".pyi")
]


@functools.cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def at(path: Path, line: int, what: str) -> str:
    return f"{path.relative_to(ROOT)}:{line} {what}"


def test_there_is_something_to_check() -> None:
    assert {path.relative_to(CSRC).parts[0] for path in CPP} == set(INCLUDES)
    assert len(PACKAGE_FILES) > 10


# --- C++


@functools.cache
def includes(path: Path) -> list[tuple[int, str]]:
    lines = enumerate(path.read_text().splitlines(), 1)
    found = ((n, re.match(r'\s*#\s*include\s+[<"]([^>"]+)[>"]', line)) for n, line in lines)
    return [(number, match[1]) for number, match in found if match]


def test_includes_point_down() -> None:
    wrong = []
    for path in CPP:
        folder = path.relative_to(CSRC).parts[0]
        for line, header in includes(path):
            target = header.split("/")[0]
            if target in INCLUDES and target not in INCLUDES[folder] | {folder}:
                wrong.append(at(path, line, f"includes {header}"))
    assert wrong == []


def test_analyses_know_integers_only() -> None:
    """They include base, each other, the kinds of operations and the standard library.

    Their Python imports nothing else.
    """
    allowed = re.compile(r"base/|graph/(order|memory|fusing)/|ops/pattern\.h|\w+$")
    rooms = tuple(CSRC / "graph" / room for room in ("order", "memory", "fusing"))
    sources = [path for path in CPP if path.parent in rooms]
    assert len(sources) > 10
    assert [
        at(path, line, f"includes {header}")
        for path in sources
        for line, header in includes(path)
        if not allowed.match(header)
    ] == []
    modules = sorted((PACKAGE / "graph/analyses").rglob("*.py"))
    assert len(modules) > 5
    assert [
        at(path, node.lineno, f"imports {target}")
        for path in modules
        for node in ast.walk(tree_of(path))
        for target in imported_modules(node) - {"_C", "graph"}
    ] == []


def test_csrc_includes_nothing_outside_of_it() -> None:
    wrong = []
    for path in CPP:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            header = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if header and (".." in Path(header[1]).parts or not (CSRC / header[1]).is_file()):
                wrong.append(at(path, number, f"includes {header[1]}"))
    assert wrong == []


def unit(path: Path) -> str:
    """x.h and x.cpp are one: each may include the other's headers."""
    return path.relative_to(CSRC).with_suffix("").as_posix()


@functools.cache
def arrows() -> dict[str, set[str]]:
    """The units that each unit includes."""
    found: dict[str, set[str]] = {unit(path): set() for path in CPP}
    for path in CPP:
        for _, header in includes(path):
            target = Path(header).with_suffix("").as_posix()
            if target in found and target != unit(path):
                found[unit(path)].add(target)
    return found


def reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    found: set[str] = set()
    left = [start]
    while left:
        for target in graph[left.pop()] - found:
            found.add(target)
            left.append(target)
    return found


def rings(graph: dict[str, set[str]]) -> set[str]:
    """The sets of nodes that all reach each other, as words."""
    reach = {node: reachable(graph, node) for node in graph}
    return {
        " ".join(sorted(other for other in reach[node] if node in reach[other]))
        for node in graph
        if node in reach[node]
    }


def parts(folder: str) -> dict[str, set[str]]:
    """The arrows between the rooms of a folder and the files beside them."""
    found: dict[str, set[str]] = {}
    for source, targets in arrows().items():
        if source.startswith(f"{folder}/"):
            part = source[len(folder) + 1 :].split("/")[0]
            inside = (target for target in targets if target.startswith(f"{folder}/"))
            found.setdefault(part, set()).update(
                {target[len(folder) + 1 :].split("/")[0] for target in inside} - {part}
            )
    return found


def test_rings_are_found() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a", "e"}, "e": {"d"}, "f": {"c"}}
    assert rings(graph) == {"b c", "d e"}


def test_no_ring_of_includes() -> None:
    assert rings(arrows()) == set()


def test_no_ring_of_rooms() -> None:
    assert {folder for folder in ROOMS if rings(parts(folder))} == KNOWN_FOLDERS_WITH_RINGS


def test_every_room_has_its_place() -> None:
    folders = {path.parent.relative_to(CSRC).as_posix() for path in CPP}
    expected = {
        f"{folder}/{room}" for folder, steps in ROOMS.items() for room in " ".join(steps).split()
    }
    assert {folder for folder in folders if "/" in folder} == expected


def test_rooms_include_rooms_before_them() -> None:
    wrong = []
    for folder, steps in ROOMS.items():
        place = {room: i for i, step in enumerate(steps) for room in step.split()}
        wrong += [
            f"{folder}/{room} includes {folder}/{target}"
            for room, targets in parts(folder).items()
            for target in targets
            if room in place and target in place and place[target] > place[room]
        ]
    assert wrong == []


def test_a_backend_is_known_to_few() -> None:
    users: dict[str, set[str]] = {backend: set() for backend in BACKENDS}
    for path in CPP:
        for _, header in includes(path):
            folder, backend = (*header.split("/"), "")[:2]
            if folder == "ep" and backend in BACKENDS and path.parent != CSRC / folder / backend:
                users[backend].add(path.relative_to(CSRC).as_posix())
    assert users == {backend: {LIST_OF_BACKENDS, *files} for backend, files in BACKENDS.items()}


def test_python_is_known_to_the_bindings_only() -> None:
    wrong = []
    for path in CPP:
        if path.relative_to(CSRC).parts[0] == "python":
            continue
        for line, header in includes(path):
            if re.match(r"Python\.h|pybind11/|numpy/", header):
                wrong.append(at(path, line, f"includes {header}"))
        for line, text in enumerate(without_text(path.read_text()).splitlines(), 1):
            if re.search(r"\bPyGILState_|\bPy_BEGIN_ALLOW|\bPyEval_", text):
                wrong.append(at(path, line, "touches the GIL"))
    assert wrong == []


def test_cpp_never_reads_the_environment() -> None:
    assert [path for path in CPP if re.search(r"\bgetenv\b", without_text(path.read_text()))] == []


def without_text(source: str) -> str:
    """C++ without comments and literals; lines keep their numbers."""
    pattern = r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\''
    return re.sub(pattern, lambda match: "\n" * match[0].count("\n"), source, flags=re.DOTALL)


def cpp_functions(source: str) -> list[tuple[int, int]]:
    """First and last line of each outermost function: best effort, by braces."""
    found, stack, head, head_line, line = [], [], "", 1, 1
    for char in without_text(source):
        if not head.strip():
            head_line = line
        if char == "{":
            scope = re.search(
                r"\b(namespace|class|struct|enum|union)\b(\s*\[\[.*?\]\])?[^()]*$", head
            )
            is_value = head.rstrip().endswith("=")  # such as an aligned table
            is_inside = any(outer for outer, _ in stack)
            function = "(" in head and not scope and not is_value and not is_inside
            stack.append((function, head_line))
        elif char == "}" and stack:
            function, begin = stack.pop()
            if function:
                found.append((begin, line))
        head = "" if char in "{};" else head + char
        line += char == "\n"
    return found


def test_cpp_functions_are_found() -> None:
    source = "namespace a {\nint f(int x,\n      int y) {\n  if (x) {\n  }\n}\n"
    source += "struct S {\n  S() : a_(1) {\n  }\n  int a_ = 2;\n};\n"
    source += "alignas(8) int table[] = {\n  1};\n}"
    assert cpp_functions(source) == [(2, 6), (8, 9)]


def test_cpp_functions_are_short() -> None:
    assert [
        at(path, begin, f"{end - begin + 1} lines")
        for path in FILES
        if path.suffix in (".h", ".cpp")
        for begin, end in cpp_functions(path.read_text())
        if end - begin + 1 > MAX_FUNCTION
    ] == []


# --- Python


def module_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return "" if parts == ("__init__",) else parts[0]


def layer_of(module: str) -> int:
    return next(i for i, layer in enumerate(LAYERS) if module in layer)


def imported_modules(node: ast.AST) -> set[str]:
    """First-level modules of the package that a statement imports; "" is the package itself."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and node.module == "oneflow_lite":
        names = [f"oneflow_lite.{alias.name}" for alias in node.names]
    else:
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
    parts = [name.split(".") for name in names]
    return {(name[1:] or [""])[0] for name in parts if name[0] == "oneflow_lite"}


def test_imports_point_down() -> None:
    wrong = []
    for path in PACKAGE_FILES:
        module = module_of(path)
        for node in ast.walk(tree_of(path)):
            for target in imported_modules(node) - {module}:
                up = layer_of(target) > layer_of(module)
                right = {module, target} <= set(ORDER) and ORDER.index(target) > ORDER.index(module)
                if up or right:
                    wrong.append(at(path, node.lineno, f"imports {target}"))
    assert wrong == []


def test_imports_are_absolute() -> None:
    assert [
        at(path, node.lineno, "relative import")
        for path in PACKAGE_FILES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ImportFrom) and node.level
    ] == []


def is_optional(node: ast.stmt, parents: dict[ast.AST, ast.AST]) -> bool:
    """Inside a ``try`` that catches ImportError."""
    above: ast.AST | None = parents.get(node)
    while above is not None:
        if isinstance(above, ast.Try):
            caught = "".join(ast.dump(handler.type) for handler in above.handlers if handler.type)
            if "ImportError" in caught or "ModuleNotFoundError" in caught:
                return True
        above = parents.get(above)
    return False


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node


def test_no_import_inside_a_function() -> None:
    wrong = []
    for path in PACKAGE_FILES:
        tree = tree_of(path)
        parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
        for function in functions(tree):
            for node in ast.walk(function):
                is_import = isinstance(node, (ast.Import, ast.ImportFrom))
                if is_import and not is_optional(node, parents):
                    wrong.append(at(path, node.lineno, f"import in {function.name}"))
    assert wrong == []


def test_python_functions_are_short() -> None:
    assert [
        at(path, node.lineno, f"{node.name}: {node.end_lineno - node.lineno + 1} lines")
        for path in FILES
        if path.suffix == ".py"
        for node in functions(tree_of(path))
        if node.end_lineno - node.lineno + 1 > MAX_FUNCTION
    ] == []


# --- all files


def test_files_are_short() -> None:
    code = [path for path in FILES if path.suffix != ".pyi"]  # a stub lists a whole module
    sizes = [(path, len(path.read_text().splitlines())) for path in code]
    assert [at(path, size, "lines") for path, size in sizes if size > MAX_FILE] == []


def test_folders_are_small() -> None:
    package = [path for path in PACKAGE.rglob("*") if path.suffix in (".py", ".cuh")]
    sizes = Counter(path.parent.relative_to(ROOT) for path in package + CPP)
    assert [f"{path}: {size} files" for path, size in sizes.items() if size > MAX_FOLDER] == []


def test_lines_are_short() -> None:
    assert [
        at(path, number, f"{len(line)} columns")
        for path in FILES
        if path.suffix != ".pyi"
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if len(line) > MAX_COLUMNS
    ] == []
