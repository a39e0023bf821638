"""The layers of the package, its top-level modules and packages: permitted imports, and shipping by the build."""

from __future__ import annotations

import ast
import functools
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType

import gather_infer_cli
import pytest

import gather_infer
import gather_infer.checks
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

LAYERS: dict[str, tuple[set[str], set[str]]] = {
    # layer: (layers that it may import, third-party packages that it may import)
    "errors": (set(), set()),
    "lazy": (set(), set()),
    "domains": (set(), set()),
    "processes": (set(), set()),
    "progress": (set(), set()),
    "node_ids": (set(), set()),
    "versioned": (set(), set()),
    "extensions": ({"errors"}, set()),
    "diagnostic": ({"node_ids"}, set()),
    "symbolic": (set(), set()),
    "tensor": ({"symbolic"}, {"ml_dtypes", "numpy"}),
    "access": ({"symbolic"}, set()),
    "trail": ({"node_ids", "symbolic"}, set()),
    "context": ({"access", "diagnostic", "errors", "node_ids", "trail", "symbolic"}, set()),
    "node_facts": ({"errors", "symbolic", "tensor"}, {"numpy"}),
    "rules": (
        {"access", "context", "diagnostic", "node_facts", "trail", "symbolic", "tensor", "versioned"},
        set(),
    ),
    "dialect": ({"versioned"}, set()),
    "value_ranges": ({"rules", "symbolic", "tensor"}, set()),
    "ops": ({"access", "diagnostic", "errors", "rules", "value_ranges", "symbolic", "tensor"}, {"numpy"}),
    "ir": ({"diagnostic", "domains", "errors", "model", "node_ids", "tensor"}, {"numpy", "onnx"}),
    "model": (
        {"dialect", "domains", "errors", "lazy", "node_ids", "tensor"},
        {"numpy", "onnx", "google", "onnx_graphsurgeon"},
    ),
    "pool": ({"errors", "model", "processes"}, set()),
    "cost": (
        {
            "domains", "errors", "extensions", "lazy", "ir", "model", "node_facts", "ops", "node_ids", "trail", "rules",
            "symbolic",
            "tensor",
        },
        {"numpy", "onnx"},
    ),
    "inference": (
        {
            "context", "access", "cost", "dialect", "diagnostic", "domains", "errors", "extensions", "ir", "lazy",
            "model", "node_facts", "node_ids", "ops", "progress", "trail", "rules", "value_ranges", "symbolic",
            "tensor", "versioned",
        },
        {"numpy", "onnx"},
    ),
    "explanation": (
        {
            "contract", "diagnostic", "errors", "inference", "lazy", "model", "node_ids", "provenance", "trail",
            "rules", "symbolic", "tensor", "validate",
        },
        set(),
    ),
    "catalog": (
        {
            "context", "dialect", "domains", "errors", "inference", "model", "ops", "rules", "symbolic", "tensor",
            "versioned",
        },
        {"onnx"},
    ),
    "passes": (
        {
            "diagnostic", "domains", "errors", "extensions", "inference", "ir", "model", "ops", "node_facts",
            "lazy", "node_ids", "progress", "rules", "runtimes", "symbolic", "tensor", "versioned",
        },
        {"numpy", "onnx"},
    ),
    "shape_inference": ({"diagnostic", "errors", "inference", "model", "symbolic"}, {"onnx", "google"}),
    "contract": ({"errors", "symbolic"}, {"numpy"}),  # what a server needs that checks its requests
    "validate": (
        {
            "access", "contract", "diagnostic", "errors", "inference", "ir", "model", "node_ids", "progress", "rules",
            "trail", "value_ranges", "symbolic", "tensor",
        },
        {"onnx"},
    ),
    "runtimes": ({"processes", "tensor"}, {"numpy", "onnx", "onnxruntime", "openvino"}),
    "verification": (
        {
            "dialect", "domains", "errors", "inference", "ir", "lazy", "model", "ops", "node_ids", "progress", "trail",
            "runtimes", "symbolic", "tensor", "validate",
        },
        {"numpy", "onnx"},
    ),
    "checks": (
        {
            "diagnostic", "domains", "errors", "extensions", "inference", "ir", "lazy", "model", "node_ids", "pool",
            "provenance", "rules", "value_ranges", "symbolic", "tensor", "validate",
        },
        {"numpy", "onnx"},
    ),
    "testing": ({"checks", "diagnostic"}, set()),
    "openvino": (
        {
            "access", "context", "dialect", "domains", "errors", "extensions", "inference", "ir", "model", "node_facts",
            "node_ids", "ops", "passes", "rules", "symbolic", "tensor", "validate", "versioned",
        },
        {"numpy", "onnx"},
    ),
    "editing": (
        {
            "contract", "diagnostic", "domains", "equality", "errors", "inference", "ir", "lazy", "model", "node_ids",
            "passes", "progress", "rules", "symbolic", "tensor", "validate", "verification",
        },
        {"onnx"},
    ),
    "provenance": (
        {
            "errors", "inference", "ir", "lazy", "model", "node_facts", "node_ids", "ops", "rules", "runtimes",
            "symbolic", "tensor", "trail", "validate", "verification",
        },
        {"numpy", "onnx"},
    ),
    "unfreezing": (
        {
            "diagnostic", "domains", "errors", "inference", "ir", "model", "node_ids", "passes", "progress",
            "provenance", "rules", "runtimes", "symbolic", "tensor", "trail", "validate", "verification",
        },
        {"numpy", "onnx"},
    ),
    "equality": (  # of passes only the kernels of constant evaluation: a proof must not trust the rewriting
        {
            "contract", "domains", "errors", "inference", "ir", "model", "node_facts", "node_ids", "ops", "passes",
            "progress", "rules", "symbolic", "tensor", "validate", "value_ranges", "verification", "versioned",
        },
        {"numpy", "onnx"},
    ),
    "compat": (
        {"diagnostic", "domains", "errors", "inference", "model", "node_ids", "passes", "rules", "symbolic", "tensor"},
        {"olive", "onnx", "onnx_ir", "onnxruntime"},
    ),
    "report": (
        {
            "catalog", "checks", "contract", "diagnostic", "domains", "errors", "explanation", "lazy", "trail",
            "symbolic", "tensor",
        },
        {"matplotlib", "numpy"},
    ),
    "pages": (
        {
            "catalog", "checks", "contract", "cost", "diagnostic", "equality", "explanation", "inference", "model",
            "node_ids", "progress", "report", "rules", "symbolic", "tensor", "validate",
        },
        {"numpy"},
    ),
    "serving": ({"contract", "errors", "report", "symbolic"}, set()),  # contracts as other programs take them
    "user_code": ({"checks", "domains", "errors", "extensions", "lazy", "model", "openvino", "passes", "rules"}, set()),
    "many": (
        {
            "catalog", "cost", "diagnostic", "equality", "errors", "explanation", "inference", "lazy", "model",
            "node_ids", "openvino", "passes", "pool", "progress", "report", "rules", "user_code", "validate",
            "verification",
        },
        set(),
    ),
}  # fmt: skip
CIRCLES = {
    # a module of the circle: why it stays
    "gather_infer.symbolic.normal_form": "`n // d` and `str(n)` are methods of Expr, computed by modules about Expr",
}
"""Modules of one layer that import each other at run time."""

TYPING_CIRCLES = CIRCLES | {
    "gather_infer.inference.interpreter": "a graph is interpreted node by node, and control-flow nodes hold graphs",
    "gather_infer.unfreezing.walk": "an edit of a node adds nodes, which are inferred and edited like it",
    "gather_infer.inference.environment": "an environment holds the provenance of its values",
}
"""The same when imports for annotations alone count as well."""

RESULTS = {
    "gather_infer.inference.result",
    "gather_infer.explanation.chain",
    "gather_infer.catalog.coverage",
    "gather_infer.cost.result",
    "gather_infer.checks.result",
    "gather_infer.editing.result",
    "gather_infer.equality.result",
    "gather_infer.provenance.result",
    "gather_infer.unfreezing.result",
}
"""The modules of result dataclasses, the only modules that `report` may import from the layers that make results."""


def _shown(path: Path) -> Path:
    """The path in the repository, wherever the package is."""
    return Path("cli") / path.relative_to(CLI) if path.is_relative_to(CLI) else path.relative_to(PACKAGE.parent)


@functools.cache
def _all_imports(path: Path) -> tuple[tuple[ast.Import | ast.ImportFrom, bool], ...]:
    """The import statements of a file, each with whether it is for annotations only."""
    found: list[tuple[ast.Import | ast.ImportFrom, bool]] = []
    pending: list[tuple[ast.AST, bool]] = [(ast.parse(path.read_text()), False)]
    while pending:
        node, is_typing = pending.pop()
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found.append((node, is_typing))
        else:
            is_typing = is_typing or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test))
            pending += ((child, is_typing) for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr))
    return tuple(found)


def _import_statements(path: Path, *, typing: bool) -> Iterator[ast.Import | ast.ImportFrom]:
    """Those of a file; with `typing` also those for annotations only."""
    return (node for node, is_typing in _all_imports(path) if typing or not is_typing)


def imports(path: Path, *, typing: bool = False) -> Iterator[str]:
    """The modules that a file imports, relative ones resolved; with `typing` also those for annotations only."""
    package = _shown(path).with_suffix("").parts[:-1]
    for node in _import_statements(path, typing=typing):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
            continue
        base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
        module = ".".join(filter(None, (base, node.module)))
        # `from gather_infer import ops` names a layer, `from .x import y` a module
        if module == "gather_infer" or not node.module:
            yield from (f"{module}.{alias.name}" for alias in node.names)
        else:
            yield module


def files(layer: str) -> list[Path]:
    single = PACKAGE / f"{layer}.py"
    return [single] if single.exists() else sorted((PACKAGE / layer).rglob("*.py"))


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_imports_only_what_it_may(layer: str) -> None:
    layers, third_party = LAYERS[layer]
    for path in files(layer):
        for module in imports(path):
            top, _, rest = module.partition(".")
            if top == "gather_infer":
                other = rest.partition(".")[0]
                # the version is a constant of the package itself
                assert other in layers | {layer, "__version__"}, f"{_shown(path)} imports {module}"
            elif top not in sys.stdlib_module_names:
                assert top in third_party, f"{_shown(path)} imports {module}"


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_may_import_only_what_it_does(layer: str) -> None:
    layers, third_party = LAYERS[layer]
    found = [module.split(".") for path in files(layer) for module in imports(path)]
    assert layers - {parts[1] for parts in found if parts[0] == "gather_infer" and len(parts) > 1} == set()
    assert third_party - {parts[0] for parts in found} == set()


@functools.cache
def picture(*, typing: bool) -> dict[str, set[str]]:
    """The modules of the package, each with those that it imports, inside functions too."""
    paths = {".".join(_shown(path).with_suffix("").parts).removesuffix(".__init__"): path for path in _sources()}
    graph: dict[str, set[str]] = {module: set() for module in paths}
    for module, path in paths.items():
        for node in _import_statements(path, typing=typing):
            for alias in node.names:
                base = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                name = ".".join([*base, alias.name])  # of a module, or of something in one
                graph[module].add(name if name in paths else "".join(base))
        graph[module] &= paths.keys() - {module}
    return graph


@functools.cache
def _sources() -> tuple[Path, ...]:
    return tuple(sorted(PACKAGE.rglob("*.py")))


def _trees(paths: Iterable[Path], pattern: str) -> Iterator[tuple[Path, ast.Module]]:
    """The files in whose text a pattern occurs, parsed."""
    for path in paths:
        text = path.read_text()
        if re.search(pattern, text):
            yield path, ast.parse(text)


def circles(graph: Mapping[str, set[str]]) -> list[set[str]]:
    """The largest sets of nodes that all lead to each other, those of one node left out."""
    reached: dict[str, set[str]] = {}
    for start in graph:
        pending, found = [start], set[str]()
        while pending:
            new = graph.get(pending.pop(), set()) - found
            found |= new
            pending += new
        reached[start] = found
    groups = {frozenset(b for b in reached[a] if a in reached.get(b, ())) for a in graph if a in reached[a]}
    return [set(group) for group in groups]


def test_circles() -> None:
    graph = {"a": {"b"}, "b": {"c", "d"}, "c": {"a"}, "d": {"e"}, "e": {"d"}, "f": {"a"}}
    assert sorted(map(sorted, circles(graph))) == [["a", "b", "c"], ["d", "e"]]


def test_no_layer_imports_one_that_imports_it() -> None:
    layers: dict[str, set[str]] = {}
    for module, others in picture(typing=True).items():
        if module != "gather_infer":  # it re-exports names of all layers
            layers.setdefault(module.split(".")[1], set()).update(name.split(".")[1] for name in others if "." in name)
    assert circles({layer: others - {layer} for layer, others in layers.items()}) == []


@pytest.mark.parametrize(("typing", "known"), [(False, CIRCLES), (True, TYPING_CIRCLES)], ids=["run time", "typing"])
def test_circles_inside_a_layer_are_known(typing: bool, known: Mapping[str, str]) -> None:
    found = circles(picture(typing=typing))
    assert [sorted(circle) for circle in found if circle.isdisjoint(known)] == []
    assert [module for module in known if not any(module in circle for circle in found)] == [], "no longer in a circle"
    assert len(found) == len(known), "a reason for each circle"


def test_a_layer_has_one_circle_at_most() -> None:
    layers = [circle.pop().split(".")[1] for circle in circles(picture(typing=False))]
    assert len(layers) == len(set(layers))


def test_imports_inside_the_package_are_absolute() -> None:
    for path in _sources():
        for node in _import_statements(path, typing=True):
            assert not (isinstance(node, ast.ImportFrom) and node.level), f"{_shown(path)}:{node.lineno}"


def test_reports_know_result_dataclasses_only() -> None:
    for path in files("report"):
        for module in imports(path):
            if module.startswith(tuple(name.rpartition(".")[0] for name in RESULTS)):
                assert module in RESULTS, f"{_shown(path)} imports {module}"


LAZY = [gather_infer, gather_infer.checks, gather_infer.inference, gather_infer.model, gather_infer.report]


@pytest.mark.parametrize("package", LAZY, ids=lambda package: package.__name__)
def test_lazy_names(package: ModuleType) -> None:
    assert all(getattr(package, name) is not None for name in package.__all__)
    with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'nothing'"):
        _ = package.nothing


def test_every_layer_has_its_rule() -> None:
    found = {p.stem for p in PACKAGE.glob("*.py")} | {p.parent.name for p in PACKAGE.glob("*/__init__.py")}
    assert found - {"__init__", "__main__"} == LAYERS.keys()


def test_nothing_imports_the_command_line() -> None:
    """But `python -m gather_infer`, which is the command line."""
    for path in _sources():
        if path == PACKAGE / "__main__.py":
            continue
        for module in imports(path, typing=True):
            assert module.partition(".")[0] not in ("cli", "gather_infer_cli", "click"), path


def test_the_command_line_imports_heavy_packages_in_commands_only() -> None:
    heavy = ("numpy", "onnx", "google", "gather_infer.inference", "gather_infer.model", "gather_infer.report")
    light = {"gather_infer.report.output_formats"}  # tables that name what is imported later
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
    """But for two: at the outermost boundary of the program, and around functions of the user."""
    found = []
    for path, tree in _trees((*_sources(), *CLI.glob("*.py")), r"\b(Base)?Exception\b|except\s*:"):
        for node in ast.walk(tree):
            if isinstance(node, ast.ExceptHandler):
                caught = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
                if any(each is None or ast.unparse(each) in ("Exception", "BaseException") for each in caught):
                    found.append(str(_shown(path)))
    assert found == ["gather_infer/extensions.py", "cli/main.py"]


_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_SINCE = {"since", "since_version"}


def _name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _is_lookup(node: ast.AST, in_comprehension: bool) -> bool:
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.USub) and _name(node.operand) in _SINCE
    if not isinstance(node, ast.Compare) or not isinstance(node.ops[0], _ORDERS):
        return False
    left, right = node.left, node.comparators[0]
    if any(isinstance(each, ast.Attribute) and each.attr in _SINCE for each in (left, right)):
        return True
    limit = {ast.LtE: _name(right), ast.GtE: _name(left)}.get(type(node.ops[0]))
    return in_comprehension and (limit == "version" or not _SINCE.isdisjoint({_name(left), _name(right)}))


def version_lookups(tree: ast.AST) -> Iterator[int]:
    """The lines that select or sort entries by their first version, as a search of its own does."""
    conditions = [part for node in ast.walk(tree) for part in getattr(node, "ifs", ())]  # of comprehensions
    inside = {id(node) for part in conditions for node in ast.walk(part)}
    found = (node for node in ast.walk(tree) if _is_lookup(node, id(node) in inside))
    return (node.lineno for node in found if isinstance(node, ast.expr))


LOOKUPS = {
    "a rule":       "next((entry for entry in entries if entry.since <= version), None)",
    "a pair":       "next((e for since, e in entries if since <= version), None)",
    "a number":     "max(v for v in versions if v <= version)",
    "one of two":   "[entry for entry in entries if entry.since <= version and is_wanted(entry)]",
    "a schema":     "newest = {s.name: s for s in schemas if version >= s.since_version}",
    "a loop":       "for e in entries:\n    if e.since > opset: continue",
    "a sort":       "sorted(entries, key=lambda entry: -entry.since)",
}  # fmt: skip


def test_a_version_is_looked_up_in_one_module() -> None:
    assert [name for name, code in LOOKUPS.items() if not list(version_lookups(ast.parse(code)))] == []
    trees = _trees((*_sources(), *CLI.glob("*.py")), "since|version")
    found = [path for path, tree in trees if list(version_lookups(tree))]
    assert found == [PACKAGE / "versioned.py"]


MAX_LINES = 500
LONG = {
    # a longer module: why it is not split
    "inference/interpreter.py": "one class, the interpreter; its regions are in `bodies`",
    "inference/inference_driver.py": "the steps of one inference in order",
    "validate/bounds.py": "the verdict of one access; each origin of its indices is checked by one method",
    "passes/shape_exprs/size_search.py": "one search; its parts share the state of the search",
}

MIN_LINES = 40
SHORT = {
    # a shorter module: why it stands alone
    "catalog/family.py": "a file summary imports it, and no other rules",
    "checks/dependent_rows.py": "a module for each check",
    "checks/large_tensors.py": "a module for each check",
    "checks/node_order.py": "a module for each check",
    "compat/basic_optimization.py": "the entry of a child process",
    "cost/formulas/einsum.py": "a module for each family of operators",
    "cost/formulas/ml.py": "a module for each family of operators",
    "equality/smallest_feeds.py": "inputs for a run; the proof and the facts do not need it",
    "inference/dim_notes.py": "findings, which the reader of dims below does not know",
    "inference/specialization.py": "imported only when a result is asked for other sizes",
    "lazy.py": "of the lowest layer",
    "many/contract.py": "a module for the job of each command",
    "openvino/dialect_nodes.py": "below both the lowerings and the conversion",
    "openvino/lowerings/unsupported.py": "a table, as the other lowerings are",
    "ops/onnx/ngram.py": "a module for each family of operators",
    "ops/openvino/constants.py": "a module for each family of operators",
    "ops/openvino/element_types.py": "a table that the reader and the rules share",
    "passes/region_driver.py": "a driver that `optimize` does not use",
    "passes/rewrites/recurrent.py": "a module for each family of operators",
    "pool/folders.py": "reads the file system, as no other module of the package does",
    "pool/worker.py": "the entry of a child process",
    "progress.py": "of the lowest layer",
    "report/checks/files.py": "a module for each output format",
    "report/page.py": "a module for each kind of result",
    "report/totals.py": "a module for each subject of a report",
}


def test_a_class_name_means_one_class() -> None:
    found: dict[str, list[str]] = {}
    for path, tree in _trees(_sources(), r"\bclass "):
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(str(_shown(path)))
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}


def test_modules_are_short() -> None:
    long = {str(p.relative_to(PACKAGE)) for p in PACKAGE.rglob("*.py") if len(p.read_text().splitlines()) > MAX_LINES}
    assert long == LONG.keys(), "split the module, or say why it is one"


def test_short_modules_have_a_reason() -> None:
    faces = ("__init__.py", "__main__.py")
    found = {
        str(p.relative_to(PACKAGE))
        for p in PACKAGE.rglob("*.py")
        if p.name not in faces and len(p.read_text().splitlines()) < MIN_LINES
    }
    assert found == SHORT.keys(), "merge the module, or say why it stands alone"


UPWARD_CALLS = {
    # call by name of code in a higher layer: why
    "inference/result.py: report.html:inference_html": "a notebook shows a result as the command prints it",
    "cost/result.py: report.html:cost_html": "a notebook shows a result as the command prints it",
    "cost/curve.py: report.cost_plot:svg_of": "a notebook shows a drawing",
    "cost/curve.py: report.cost_plot:drawing_for": "a result saves itself, as a page and a model do",
    "explanation/chain.py: report.explain:tensor_text": "`str` of an explanation is the text of the command",
    "explanation/chain.py: report.explain:symbol_text": "`str` of an explanation is the text of the command",
    "inference/result.py: validate:bounds_violations": "errors of a result include violated accesses",
    "cost/result.py: validate:failures_at_sizes": "the cost at sizes says which of them make the model fail",
}
"""Calls through `lazy.resolve`; the only others are the readers and dialects in the tables of `model_loading`."""


def test_calls_of_higher_layers_are_known() -> None:
    order = list(LAYERS)
    found = set()
    for path, tree in _trees(_sources(), r"\bresolve\("):
        for node in ast.walk(tree):
            match node:
                case ast.Call(func=ast.Name(id="resolve"), args=[ast.Constant(value=str(target)), *_]):
                    called, caller = target.partition(":")[0].split(".")[0], path.relative_to(PACKAGE).parts[0]
                    if order.index(called) > order.index(caller.removesuffix(".py")):
                        found.add(f"{path.relative_to(PACKAGE)}: {target}")
    assert found == UPWARD_CALLS.keys()
