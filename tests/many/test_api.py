"""`infer_many` and the others: results as of one model, in processes or executors, with a cache."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import onnx
import pytest

import gather_infer
from gather_infer import ModelRun, ModelWriteError, UsageError
from gather_infer.many.contract import ContractJob
from gather_infer.many.convert import ConvertJob
from gather_infer.many.cost import CostJob
from gather_infer.many.infer import InferJob
from gather_infer.many.job import Item
from gather_infer.many.rewrite import RewriteJob
from gather_infer.many.run import with_cache
from gather_infer.pool.digests import plain_text
from gather_infer.verification.options import VerifyOptions
from tests.checks.killing import rules
from tests.checks.small_models import called, folder_of, lookup
from tests.documents import REPO

BERT = str(REPO / "fixtures/bert-torchscript.onnx")
DLRM = str(REPO / "fixtures/dlrm-torchscript.onnx")
IR = str(REPO / "fixtures/openvino/cnn.xml")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def by_model(runs: Iterator[ModelRun]) -> dict[str, ModelRun]:
    return {run.model: run for run in runs}


EXPECTED: dict[str, tuple[Callable[..., Any], str, Callable[[Any], Any], Callable[[], Any]]] = {
    # function: the model, a number of the report, and the same number of the function for one model
    "infer": (
        gather_infer.infer_many, BERT,
        lambda report: report["coverage"]["tensors"], lambda: gather_infer.infer(BERT).coverage().tensors,
    ),
    "optimize": (
        gather_infer.optimize_many, DLRM,
        lambda report: report["after"]["nodes"], lambda: gather_infer.optimize(DLRM).after.nodes,
    ),
    "convert": (
        gather_infer.convert_many, IR,
        lambda report: len(report["converted"]), lambda: len(gather_infer.convert(IR).converted),
    ),
    "contract": (
        gather_infer.contract_many, BERT,
        lambda report: len(report["lines"]), lambda: len(gather_infer.contract_of(BERT).contract.lines),
    ),
    "cost": (
        gather_infer.cost_many, DLRM,
        lambda report: report["macs"], lambda: str(gather_infer.infer(DLRM).cost().macs),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EXPECTED)
def test_a_report_is_that_of_one_model(name: str) -> None:
    """In threads as executor; and a missing file has an error, which the others do not notice."""
    function, model, number, alone = EXPECTED[name]
    with ThreadPoolExecutor(1) as threads:
        runs = by_model(function([model, "missing.onnx"], executor=threads))
    assert str(number(runs[model].report)) == str(alone())
    assert (runs[model].exit_code, runs[model].error, runs[model].written) == (0, "", ())
    missing = runs["missing.onnx"]
    assert (missing.exit_code, missing.error) == (3, "missing.onnx: No such file or directory")
    assert missing.report == {"schema": 2, "model": {"name": "missing.onnx"}, "error": missing.error}
    assert pickle.loads(pickle.dumps(runs)) == runs


def test_processes_write_below_a_folder() -> None:
    Path("in/a").mkdir(parents=True)
    onnx.save(lookup(), "in/a/good.onnx")
    onnx.save(lookup(index=9), "in/bad.onnx")
    runs = by_model(gather_infer.infer_many(["in"], output="out", jobs=2))
    good, bad = (runs[os.path.join("in", name)] for name in (os.path.join("a", "good.onnx"), "bad.onnx"))
    assert good.paths == (os.path.join("out", "a", "good.onnx"),) and onnx.load(good.paths[0]).graph.value_info
    assert (bad.exit_code, bad.refused, bad.paths, [d.code for d in bad.errors]) == (1, True, (), ["GI301"])
    assert not Path("out/bad.onnx").exists()


def test_a_process_pool_that_breaks() -> None:
    """The file that kills its process gets exit code 4 from the processes that take over."""
    paths = folder_of(Path(), 4)
    Path(paths[1]).write_bytes(called("Killer").SerializeToString())
    with ProcessPoolExecutor(1) as pool:
        runs = by_model(gather_infer.cost_many(paths, rules=[rules], executor=pool, jobs=1))
    assert {path: run.exit_code for path, run in runs.items()} == {path: 4 * (path == paths[1]) for path in paths}
    assert runs[paths[1]].error.endswith("its process ended by SIGKILL")


def test_arguments() -> None:
    for function in (gather_infer.infer_many, gather_infer.cost_many, gather_infer.contract_many):
        with pytest.raises(UsageError, match="paths must be a list, is the path 'a"):
            function("a.onnx")
        with pytest.raises(UsageError, match="dims must be a list of strings, is the string 'seq=1'"):
            function(["a.onnx"], dims="seq=1")
        with pytest.raises(UsageError, match="jobs must be 1 or more, is 0"):
            function(["a.onnx"], jobs=0)
        Path("file").write_text("")
        with pytest.raises(ModelWriteError, match="cache file: File exists"):
            function(["a.onnx"], cache="file")
    with pytest.raises(UsageError, match="would both write this file"):
        gather_infer.convert_many(["a.onnx", "a.xml"], output="out")
    with pytest.raises(UsageError, match="no extension 'acme'"):
        gather_infer.infer_many([BERT], extensions=["acme"], jobs=1)


SHARED: dict[str, Any] = {
    "dims": ("seq=1",), "inputs": ("x=int64[1]",), "ranges": ("x=0..1",), "constants": True, "external_data": "w",
    "in_place": True, "dim_dialect": "torch",
}  # fmt: skip
"""Another value of each field that all jobs have, but for those of `SHOWN`."""

OTHER: dict[type[Any], dict[str, Any]] = {
    # job: another value of each of its own fields
    InferJob: {
        "assume": False, "annotate": True, "outputs": True, "everything": True, "constraints": True, "floats": True,
        "strict": True, "exit_zero": True,
    },
    RewriteJob: {
        "by": "fold", "passes": ("a",), "skip": ("a",), "fold_floats": True, "max_growth": 1, "edits": True,
        "prove": True, "certificate": "c.json", "verify": VerifyOptions(1), "strict": True,
    },
    ConvertJob: {
        "gather_oob": "refuse", "weights": "float", "beam_idx": "drop", "random": "onnx", "opset": 20,
        "keep_unsupported": True, "in_place_weights": True, "edits": True, "verify": VerifyOptions(2), "strict": True,
    },
    ContractJob: {"require_proved": True, "with_interface": True},
    CostJob: {"assume": False, "sizes": {"seq": 1}, "is_shared": True, "by_node": True, "everything": True},
}  # fmt: skip
SHOWN = {"code", "output_format", "view"}


@pytest.mark.parametrize("kind", OTHER, ids=lambda kind: kind.__name__)
def test_each_field_of_a_job_is_part_of_the_key(kind: type[Any]) -> None:
    """A new field has to be entered here, and changes the key of the cache."""
    values = {**SHARED, **OTHER[kind]}
    assert {field.name for field in fields(kind)} == values.keys() | SHOWN
    texts = [plain_text(kind())] + [plain_text(replace(kind(), **{name: value})) for name, value in values.items()]
    assert None not in texts and len(set(texts)) == len(texts)


def test_two_kinds_of_jobs_have_two_keys() -> None:
    kinds = (InferJob, RewriteJob, ConvertJob, ContractJob, CostJob)
    assert len({plain_text(kind()) for kind in kinds}) == len(kinds)


def test_a_cache_of_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    onnx.save(lookup(), "m.onnx")
    task = with_cache(CostJob(), "cache")
    first = task(Item("m.onnx"))
    calls: list[str] = []
    original = CostJob.outcome

    def counted(self: CostJob, *arguments: Any) -> Any:
        calls.append("call")
        return original(self, *arguments)

    monkeypatch.setattr(CostJob, "outcome", counted)
    assert task(Item("m.onnx")) == first and json.loads(first.lines[0])["macs"] == 0
    assert calls == []
    onnx.save(lookup(index=3), "m.onnx")
    assert task(Item("m.onnx")).model == "m.onnx" and calls == ["call"]
    for path, code in (("missing.onnx", 3), ("missing.onnx", 3)):
        assert task(Item(path)).exit_code == code
