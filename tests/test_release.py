"""Files around the package agree with it and with each other: version, dependencies, metadata, workflows, forms."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from gather_infer_cli.main import main

import gather_infer
from tests.cli.cli_models import out_of_bounds
from tests.documents import REPO, cli_runner
from tests.onnx_versions import NOT_JUDGED_BY_OLDER_ONNXRUNTIME

yaml = pytest.importorskip("yaml")
tomllib = pytest.importorskip("tomllib" if find_spec("tomllib") else "tomli")

VERSION = gather_infer.__version__
ADDRESS = "https://github.com/gather-infer/gather-infer"
PROJECT = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))
FORMS = sorted((REPO / ".github/ISSUE_TEMPLATE").glob("*.yml"))
WORKFLOWS = {path.stem: path for path in (REPO / ".github/workflows").glob("*.yml")}
STABLE = r"actions/[\w-]+@v\d+|pypa/gh-action-pypi-publish@release/v\d+|\./"
"""What a workflow may use: a major version, or this repository."""


def loaded(path: Path | str) -> Any:
    return yaml.safe_load((REPO / path).read_text(encoding="utf-8"))


def test_the_version_has_one_source() -> None:
    assert "version" not in PROJECT["project"] and PROJECT["project"]["dynamic"] == ["version"]
    assert PROJECT["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "gather_infer.__version__"}
    assert re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", VERSION)


def test_every_place_has_the_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cli_runner().invoke(main, ["--version"]).stdout.startswith(f"gather-infer {VERSION}, onnx ")
    assert loaded("CITATION.cff")["version"] == VERSION
    assert loaded("recipe/recipe.yaml")["context"]["version"] == VERSION
    assert re.search(rf"^## {re.escape(VERSION)}\b", (REPO / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    examples = re.findall(r"(?:infer@v|rev: v)(\S+)", (REPO / "docs/check.md").read_text(encoding="utf-8"))
    assert examples == [VERSION, VERSION]
    monkeypatch.chdir(tmp_path)
    Path("bad.onnx").write_bytes(out_of_bounds().SerializeToString())
    sarif = yaml.safe_load(cli_runner().invoke(main, ["check", "bad.onnx", "--format", "sarif"]).stdout)
    assert sarif["runs"][0]["tool"]["driver"]["version"] == VERSION


def test_the_changelog_has_room_for_the_next_release() -> None:
    headings = re.findall(r"^## (.*)$", (REPO / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert headings[0] == "Unreleased" and headings[1].startswith(VERSION)


def test_the_recipe_has_the_dependencies_of_the_package() -> None:
    requirements = loaded("recipe/recipe.yaml")["requirements"]
    wanted = [f"python{PROJECT['project']['requires-python']}", *PROJECT["project"]["dependencies"]]
    always = [each.replace(" ", "") for each in wanted if ";" not in each]
    assert [each.replace(" ", "") for each in requirements["run"]] == always
    assert {each.replace(" ", "") for each in requirements["host"]} >= {wanted[0], *PROJECT["build-system"]["requires"]}


def test_addresses_are_those_of_one_repository() -> None:
    assert set(PROJECT["project"]["urls"]) >= {"Homepage", "Documentation", "Issues", "Changelog", "Source"}
    pages = [*REPO.glob("*.md"), *REPO.glob("*.cff"), *REPO.glob("docs/*.md"), *REPO.glob(".github/**/*.yml")]
    texts = [
        path.read_text(encoding="utf-8") for path in (*pages, REPO / "pyproject.toml", REPO / "recipe/recipe.yaml")
    ]
    found = {address for text in texts for address in re.findall(r"https://github\.com/[\w.-]+/gather-infer\b", text)}
    assert found == {ADDRESS}


def test_the_supported_versions_are_tested() -> None:
    matrix = loaded(WORKFLOWS["tests"])["jobs"]["tests"]["strategy"]["matrix"]
    named = PROJECT["project"]["classifiers"]
    pythons = [
        name.rpartition(" ")[2] for name in named if re.fullmatch(r"Programming Language :: Python :: 3\.\d+", name)
    ]
    assert matrix["python"] == pythons
    assert PROJECT["project"]["requires-python"] == f">={pythons[0]}"
    systems = {name.rpartition(" ")[2].lower() for name in named if name.startswith("Operating System :: ")}
    assert {{"ubuntu": "linux"}.get(each.split("-")[0], each.split("-")[0]) for each in matrix["os"]} == systems
    assert f"{pythons[0]} to {pythons[-1]}" in (REPO / "docs/versioning.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", WORKFLOWS)
def test_workflows_may_do_little(name: str) -> None:
    workflow = loaded(WORKFLOWS[name])
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert "timeout-minutes" in job
        uses = [step["uses"] for step in job["steps"] if "uses" in step]
        assert all(re.fullmatch(STABLE, each) for each in uses), uses
        for step in job["steps"]:
            assert not re.search(r"\$\{\{", step.get("run", "")), "expressions belong into env, not into a script"
            if step.get("uses", "").startswith("actions/checkout"):
                assert step["with"]["persist-credentials"] is False


def test_only_a_tag_releases_and_only_one_job_publishes() -> None:
    workflow = loaded(WORKFLOWS["release"])
    assert workflow[True] == {"push": {"tags": ["v*"]}}, "YAML reads `on` as true"
    rights = {name: job.get("permissions") for name, job in workflow["jobs"].items()}
    assert rights == {"build": None, "publish": {"id-token": "write"}, "page": {"contents": "write"}}
    assert "password" not in WORKFLOWS["release"].read_text(encoding="utf-8").replace("no password", "")


@pytest.mark.parametrize("path", [path for path in FORMS if path.stem != "config"], ids=lambda path: path.stem)
def test_forms_of_issues(path: Path) -> None:
    form = loaded(path)
    assert form["name"] and form["description"]
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    assert {field["type"] for field in fields} <= {"textarea", "input", "dropdown", "checkboxes"}
    assert all(field["attributes"]["label"] for field in fields)
    ids = [field["id"] for field in fields]
    assert len(set(ids)) == len(ids) > 0


def test_the_container_has_no_rights_of_root() -> None:
    lines = (REPO / "Containerfile").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.startswith("USER ")] == ["USER 10001:10001"]
    assert 'ENTRYPOINT ["gather-infer"]' in lines and any(re.fullmatch(r"FROM \S+-slim", line) for line in lines)


@pytest.mark.parametrize("beginning", NOT_JUDGED_BY_OLDER_ONNXRUNTIME)
def test_what_older_runtimes_do_not_judge_exists(beginning: str) -> None:
    path, _, name = beginning.partition("::")
    assert f"def {name.partition('[')[0]}" in (REPO / "tests" / path).read_text()
