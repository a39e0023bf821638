"""The rooms of the package: what each may import, and that the build ships all of them."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import gather_infer_cli
import pytest

import gather_infer
import gather_infer.inference
import gather_infer.model
import gather_infer.report

if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = pytest.importorskip("tomli")

REPO = Path(__file__).parents[1]
PACKAGE = Path(gather_infer.__file__).parent  # the installed wheel, when the sources are not beside the tests
CLI = Path(gather_infer_cli.__file__).parent

GROUND = {
    "access", "diagnostic", "domains", "errors", "lazy", "places", "record", "rules", "spans", "symbolic", "tensor"
}  # fmt: skip
ENGINE = GROUND | {"ops", "model", "inference"}
ROOMS: dict[str, tuple[set[str], set[str]]] = {
    # room: (rooms that it may import, third-party packages that it may import)
    "errors": (set(), set()),
    "lazy": (set(), set()),
    "domains": (set(), set()),
    "places": (set(), set()),
    "diagnostic": ({"places"}, set()),
    "symbolic": (set(), set()),
    "tensor": ({"symbolic"}, {"numpy"}),
    "spans": ({"rules", "symbolic", "tensor"}, set()),
    "access": ({"symbolic"}, set()),
    "record": ({"places", "symbolic"}, set()),
    "rules": ({"access", "diagnostic", "errors", "places", "record", "symbolic", "tensor"}, {"numpy"}),
    "ops": (GROUND, {"numpy"}),
    "model": ({"diagnostic", "domains", "errors", "lazy", "places"}, {"numpy", "onnx", "google", "onnx_graphsurgeon"}),
    "inference": (GROUND | {"ops", "model"}, {"numpy", "onnx", "google", "onnx_graphsurgeon"}),
    "explanation": (ENGINE, {"onnx", "onnx_graphsurgeon"}),
    "catalog": (ENGINE, {"onnx"}),
    "passes": (ENGINE, {"numpy", "onnx", "onnx_graphsurgeon"}),
    "shape_inference": (ENGINE, {"onnx", "google"}),
    "validate": (ENGINE, {"numpy", "onnx"}),
    "openvino": (ENGINE | {"passes", "validate"}, {"numpy", "onnx", "onnx_graphsurgeon"}),
    "report": (GROUND | {"inference", "explanation", "catalog"}, {"numpy"}),
}
RESULTS = {"gather_infer.inference.result", "gather_infer.explanation.steps", "gather_infer.catalog.coverage"}
"""The modules of result dataclasses: all that `report` may know of the rooms that make results."""


def _shown(path: Path) -> Path:
    """The path in the repository, wherever the package is."""
    return Path("cli") / path.relative_to(CLI) if path.is_relative_to(CLI) else path.relative_to(PACKAGE.parent)


def imports(path: Path, *, typing: bool = False) -> Iterator[str]:
    """The modules that a file imports, relative ones resolved; with `typing` also those for annotations only."""
    tree = ast.parse(path.read_text())
    hidden: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test) and not typing:
            hidden.update(id(inner) for inner in ast.walk(node))
    package = _shown(path).with_suffix("").parts[:-1]
    for node in ast.walk(tree):
        if id(node) in hidden:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            module = ".".join(filter(None, (base, node.module)))
            # `from gather_infer import ops` names a room, `from .x import y` a module
            if module == "gather_infer" or not node.module:
                yield from (f"{module}.{alias.name}" for alias in node.names)
            else:
                yield module


def files(room: str) -> list[Path]:
    single = PACKAGE / f"{room}.py"
    return [single] if single.exists() else sorted((PACKAGE / room).rglob("*.py"))


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_what_it_may(room: str) -> None:
    rooms, third_party = ROOMS[room]
    for path in files(room):
        for module in imports(path):
            top, _, rest = module.partition(".")
            if top == "gather_infer":
                other = rest.partition(".")[0]
                assert other in rooms | {room}, f"{_shown(path)} imports {module}"
            elif top not in sys.stdlib_module_names:
                assert top in third_party, f"{_shown(path)} imports {module}"


def test_reports_know_result_dataclasses_only() -> None:
    for path in files("report"):
        for module in imports(path):
            if module.startswith(("gather_infer.inference", "gather_infer.explanation", "gather_infer.catalog")):
                assert module in RESULTS, f"{_shown(path)} imports {module}"


LAZY = [gather_infer, gather_infer.inference, gather_infer.model, gather_infer.report]


@pytest.mark.parametrize("package", LAZY, ids=lambda package: package.__name__)
def test_lazy_names(package: ModuleType) -> None:
    assert all(getattr(package, name) is not None for name in package.__all__)
    with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'nothing'"):
        _ = package.nothing


def test_every_room_has_its_rule() -> None:
    found = {p.stem for p in PACKAGE.glob("*.py")} | {p.parent.name for p in PACKAGE.glob("*/__init__.py")}
    assert found - {"__init__"} == ROOMS.keys()


def test_nothing_imports_the_command_line() -> None:
    for path in PACKAGE.rglob("*.py"):
        for module in imports(path, typing=True):
            assert module.partition(".")[0] not in ("cli", "gather_infer_cli", "click"), path


def test_the_command_line_imports_heavy_packages_in_commands_only() -> None:
    heavy = ("numpy", "onnx", "google", "gather_infer.inference", "gather_infer.model", "gather_infer.report")
    light = {"gather_infer.report.forms"}  # tables that name what is imported later
    for path in CLI.glob("*.py"):
        tree = ast.parse(path.read_text())
        outermost = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
        for node in outermost:
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            assert not any(f"{name}.".startswith(f"{h}.") for name in names if name not in light for h in heavy), path


def test_imports_inside_the_command_line_are_relative() -> None:
    for path in CLI.glob("*.py"):
        assert not any(m.partition(".")[0] == "gather_infer_cli" for m in imports(path, typing=True)), path


def test_the_list_of_packages_is_complete() -> None:
    setuptools = tomllib.loads((REPO / "pyproject.toml").read_text())["tool"]["setuptools"]
    there = {".".join(_shown(p.parent).parts) for p in PACKAGE.rglob("__init__.py")}
    assert set(setuptools["packages"]) == there | {"gather_infer_cli"}
    assert setuptools["package-dir"]["gather_infer_cli"] == "cli"


def test_exceptions_are_caught_by_name() -> None:
    """One `except Exception`, at the outermost boundary of the program."""
    found = []
    for path in (*PACKAGE.rglob("*.py"), *CLI.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ExceptHandler):
                caught = "" if node.type is None else ast.unparse(node.type)
                if caught in ("", "Exception", "BaseException"):
                    found.append(str(_shown(path)))
    assert found == ["cli/main.py"]
