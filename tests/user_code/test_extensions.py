"""Extensions of installed packages: five kinds, loaded only where they are named."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

import gather_infer
from gather_infer import Extension, UsageError, infer_many, load_extension, load_extensions
from gather_infer.user_code.installed import loaded_extensions
from tests.cli.conftest import Run
from tests.cli.conftest import run as run  # a fixture

SITE = Path(__file__).with_name("site")
TEXT = """<ir_version: 8, opset_import: ["": 17, "com.acme": 1]> g (float[N, 4] x) => (float[M, 4] y)
{ a = com.acme.Same (x) [slow] y = com.acme.Twice (a) }"""
PORT = '<port id="{}" precision="FP32"><dim>-1</dim><dim>3</dim></port>'
IR = f"""<?xml version="1.0"?><net name="m" version="11"><layers>
<layer id="0" name="x" type="Parameter" version="opset1"><data shape="?,3" element_type="f32"/>
<output>{PORT.format(0)}</output></layer>
<layer id="1" name="scaled" type="AcmeScale" version="extension"><data factor="3"/>
<input>{PORT.format(0)}</input><output>{PORT.format(1)}</output></layer>
<layer id="2" name="y" type="Result" version="opset1"><input>{PORT.format(0)}</input></layer>
</layers><edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>
<edge from-layer="1" from-port="1" to-layer="2" to-port="0"/></edges></net>"""

Install = Callable[[str, str], None]


@pytest.fixture
def acme(run: Run, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """The example is installed, and two models need it."""
    monkeypatch.syspath_prepend(SITE)
    onnx.save(onnx.parser.parse_model(TEXT), "twice.onnx")
    Path("scale.xml").write_text(IR)
    Path("scale.bin").write_bytes(b"")
    sys.modules.pop("acme_extension", None)
    loaded_extensions.cache_clear()
    yield run
    loaded_extensions.cache_clear()


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """A function that installs a package with the extension `name`, whose module has the given code."""

    def add(name: str, code: str) -> None:
        site = tmp_path / "site"
        info = site / f"{name}_package-2.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-package\nVersion: 2\n")
        (info / "entry_points.txt").write_text(f"[gather_infer.extensions]\n{name} = {name}_module:extension\n")
        (site / f"{name}_module.py").write_text(code)
        sys.modules.pop(f"{name}_module", None)
        monkeypatch.syspath_prepend(site)

    return add


def test_five_kinds(acme: Run) -> None:
    found = load_extension("acme")
    assert [len(kind) for kind in (found.rules, found.rewrites, found.lowerings, found.checks, found.costs)] == [1] * 5
    model = onnx.load("twice.onnx")
    inference = gather_infer.infer(model, rules=found.rule_sets)
    assert str(inference["y"]) == "float32[2*N, 4]"
    assert str(inference.cost().macs) == "4*N"
    (error,) = gather_infer.check(model, rules=found.rule_sets, checks=found.checks).errors
    assert error.text("twice.onnx").splitlines() == [
        "error[GI601]: acme/no-twice: Twice is too slow, use Concat",
        "  --> twice.onnx: node slow (com.acme.Twice-1)",
        "   |  measured in 2026",
    ]
    small = gather_infer.optimize(model, rules=found.rule_sets, rewrites=found.rewrites)
    assert [node.op_type for node in small.proto.graph.node] == ["Twice"]


def test_extensions_load_only_where_they_are_named(acme: Run) -> None:
    for command in (["infer"], ["check"], ["cost"], ["optimize", "--dry-run"], ["contract"], ["tensors"]):
        assert "acme_extension" not in sys.modules
        acme(*command, "twice.onnx")
    assert "acme_extension" not in sys.modules
    assert acme("infer", "twice.onnx", "--extension", "acme").exit_code == 0
    assert "acme_extension" in sys.modules


NAMED = ("--extension", "acme")


def test_the_commands_use_an_extension(acme: Run) -> None:
    assert "y   float32[2*N, 4]" in acme("infer", "twice.onnx", *NAMED).stdout
    assert json.loads(acme("cost", "twice.onnx", "--format", "json", *NAMED).stdout)["macs"] == "4*N"
    assert acme("optimize", "twice.onnx", "-o", "out.onnx", *NAMED).exit_code == 0
    assert [node.op_type for node in onnx.load("out.onnx").graph.node] == ["Twice"]
    result = acme("check", "twice.onnx", *NAMED)
    assert result.exit_code == 1 and "error[GI601]: acme/no-twice: Twice is too slow" in result.stdout
    assert acme("check", "twice.onnx", "--ignore", "GI6", *NAMED).exit_code == 0
    assert "[2*N, 4]" in acme("tensors", "twice.onnx", "y", *NAMED).stdout
    assert "Twice" in acme("explain", "twice.onnx", "y", *NAMED).stdout
    assert acme("freeze", "twice.onnx", "--dim", "N=3", "-o", "frozen.onnx", *NAMED).exit_code == 0
    assert acme("contract", "twice.onnx", *NAMED).exit_code == 0
    assert acme("fold", "twice.onnx", "--dry-run", *NAMED).exit_code == 0
    for form in ("json", "jsonl", "sarif", "junit", "github", "html"):
        assert "GI601" in acme("check", "twice.onnx", "--format", form, *NAMED).stdout


def test_a_layer_of_an_extension_set(acme: Run) -> None:
    """Only with the lowering: OpenVINO has no such operator."""
    refused = acme("convert", "scale.xml", "-o", "out.onnx")
    assert refused.exit_code == 1 and "OpenVINO has no such operator in the set extension" in refused.stderr
    assert acme("convert", "scale.xml", "-o", "out.onnx", *NAMED).exit_code == 0
    x = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    (y,) = onnxruntime.InferenceSession("out.onnx", providers=["CPUExecutionProvider"]).run(None, {"x": x})
    assert (y == 4 * x).all()
    assert "float32[?, 3]" not in acme("infer", "scale.xml", *NAMED).stdout
    assert "GI105" not in acme("infer", "scale.xml", *NAMED).stdout


def test_other_processes_load_it(acme: Run) -> None:
    Path("second.onnx").write_bytes(Path("twice.onnx").read_bytes())
    result = acme("check", "twice.onnx", "second.onnx", "--jobs", "2", *NAMED, "--cache", "c")
    assert result.exit_code == 1 and result.stdout.count("error[GI601]") == 2
    assert result.stderr.startswith("--cache is not used") and not Path("c").exists()
    runs = infer_many(["twice.onnx", "second.onnx"], extensions=["acme"], jobs=2, cache="c")
    assert {each.report["outputs"][0]["shape"][0] for each in runs} == {"2*N"}
    assert not Path("c").exists()


def test_a_configuration_has_to_be_trusted(acme: Run) -> None:
    Path("pyproject.toml").write_text('[tool.gather-infer]\nextensions = ["acme"]\n')
    result = acme("check", "twice.onnx")
    assert "acme_extension" not in sys.modules
    assert "extensions of " in result.stderr and result.stderr.endswith("are not loaded: --trust-config runs acme\n")
    assert "GI601" not in result.stdout
    assert "error[GI601]" in acme("check", "twice.onnx", "--trust-config").stdout


EMPTY = "from gather_infer import Extension\nextension = Extension()\n"
FAULTS = {
    # code of the module: the error
    "missing import": ("import no_such_module", r"extension 'broken' \(broken_module:extension of broken-package 2\): "
                       "ModuleNotFoundError: No module named 'no_such_module'"),
    "exits": ("raise SystemExit(3)", "extension 'broken' .*: exits the program"),
    "no attribute": ("", "extension 'broken' .*: AttributeError: "),
    "another object": ("extension = 3", "extension 'broken' .* must be a gather_infer.Extension, is of class int"),
    "a set of another kind": (
        "from gather_infer import Extension, RuleSet\nextension = Extension(checks=[RuleSet('a')])",
        "extension 'broken' .*: checks must be a list with objects of class CheckSet",
    ),
    "one set": (
        "from gather_infer import Extension, RuleSet\nextension = Extension(rules=RuleSet('a'))",
        "extension 'broken' .*: rules must be a list with objects of class RuleSet",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_broken_extension_is_one_error(fault: str, install: Install, run: Run) -> None:
    code, message = FAULTS[fault]
    install("broken", code)
    with pytest.raises(UsageError, match=message):
        load_extension("broken")
    result = run("infer", "embedding.onnx", "--extension", "broken")
    assert (result.exit_code, result.stdout) == (2, "") and result.stderr.startswith("error: extension 'broken'")


def test_an_unknown_name(acme: Run) -> None:
    result = acme("check", "twice.onnx", "--extension", "acne")
    assert (result.exit_code, result.stderr) == (2, "error: no extension 'acne'; did you mean 'acme'?\n")


CONFLICTS = {
    "a rule of com.acme.Twice since version 1": """
rules = RuleSet("com.acme")
rules.rule("Twice")(lambda op: [op.tensor(0)])
extension = Extension(rules=[rules])""",
    "a cost formula of com.acme.Twice": """
rules = RuleSet("com.acme")
rules.macs("Twice", text="1")(lambda work: 1)
extension = Extension(costs=[rules])""",
    "a rewrite no-same": """
rewrites = RewriteSet("com.other")
rewrites.rewrites("Same", name="no-same")(lambda match: None)
extension = Extension(rewrites=[rewrites])""",
    "a lowering of openvino.extension.AcmeScale since version 1": """
from gather_infer.openvino.lowerings.lowering_table import LoweringTable
table = LoweringTable("openvino.extension")
table.lowers("AcmeScale")(lambda op, g: op.x(0))
extension = Extension(lowerings=[table])""",
    "a check acme/no-twice": """
checks = CheckSet("acme")
checks.check("no-twice")(lambda inference: [])
extension = Extension(checks=[checks])""",
}


@pytest.mark.parametrize("conflict", CONFLICTS)
def test_two_extensions_with_the_same_entry(conflict: str, acme: Run, install: Install) -> None:
    install("other", f"from gather_infer import CheckSet, Extension, RewriteSet, RuleSet\n{CONFLICTS[conflict]}\n")
    result = acme("infer", "twice.onnx", *NAMED, "--extension", "other")
    message = f"error: the extensions 'acme' and 'other' both have {conflict}: name only one of them\n"
    assert (result.exit_code, result.stderr) == (2, message)
    assert load_extension("other") and load_extensions(["acme", "acme"]).rules


def test_two_packages_with_the_same_name(acme: Run, install: Install) -> None:
    install("acme", EMPTY)
    with pytest.raises(UsageError, match="several packages have an extension 'acme': acme-ext"):
        load_extension("acme")


def test_a_faulty_check_is_an_error_of_the_extension(install: Install, run: Run) -> None:
    install(
        "faulty",
        "from gather_infer import *\n"
        + """
checks = CheckSet("faulty")
@checks.check()
def broken(inference):
    yield 1 / 0
extension = Extension(checks=[checks])""",
    )
    result = run("check", "embedding.onnx", "--extension", "faulty")
    assert result.exit_code == 2
    assert "faulty_module.py:6: check faulty/broken: ZeroDivisionError: division by zero" in result.stderr


def test_an_extension_is_frozen() -> None:
    assert Extension() == Extension((), (), (), (), ())
