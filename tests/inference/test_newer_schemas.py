"""The table that completes the schemas of an older onnx: as the newest onnx has them, and used where one is missing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import onnx
import pytest

from gather_infer import infer
from gather_infer.inference.proto import schema as schemas
from gather_infer.inference.proto.releases import INSTALLED_OPSET, NEWEST_IR_VERSION, RELEASES, ir_version_of
from gather_infer.inference.proto.schema import Schema, entry_of, read_table, schema_of
from gather_infer.tensor import DType, SymbolicTensor
from tests.onnx_versions import needs_onnx

OLDEST = {"": 21, "ai.onnx.ml": 5, "ai.onnx.preview.training": 1}
"""Domain -> its newest opset in onnx 1.16."""

CORRECTED = {("Erf", 13), ("GroupNormalization", 18)}
"""Operator versions of which onnx 1.16 has a schema that later releases have corrected."""


def newer() -> dict[tuple[str, str, int], Any]:
    """The schemas of the installed onnx that onnx 1.16 does not have, or has otherwise."""
    return {
        (s.domain, s.name, s.since_version): s
        for s in onnx.defs.get_all_schemas_with_history()
        if s.since_version > OLDEST.get(s.domain, 0) or (not s.domain and (s.name, s.since_version) in CORRECTED)
    }


@needs_onnx("1.23", "the schemas of opset 28")
def test_the_table_has_the_schemas_of_the_newest_onnx() -> None:
    table = {(domain, name, e["since"]): e for (domain, name), entries in read_table().items() for e in entries}
    assert table == {key: entry_of(raw) for key, raw in newer().items()}, "run tools/make_schemas.py"


@needs_onnx("1.23", "the newest release")
def test_the_newest_release() -> None:
    assert RELEASES[-1].onnx == INSTALLED_OPSET
    assert onnx.IR_VERSION == NEWEST_IR_VERSION == ir_version_of(INSTALLED_OPSET)


def test_the_releases_are_those_of_onnx() -> None:
    """The rows of onnx's own table of releases, newest column last."""
    known = {release.name: release for release in schemas_known()}
    theirs = {row[0]: tuple(row) for row in onnx.helper.VERSION_TABLE}
    assert all(theirs[name] == tuple(release) for name, release in known.items() if name in theirs)
    assert [r.onnx for r in RELEASES] == sorted(r.onnx for r in RELEASES)


def schemas_known() -> tuple[Any, ...]:
    from gather_infer.inference.proto.releases import _KNOWN

    return _KNOWN


@pytest.fixture
def older(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """onnx as if it had no schema of opset 22 and later, nor of the domain ai.onnx.preview."""
    real = onnx.defs.get_schema

    def get_schema(op_type: str, version: int, domain: str = "") -> Any:
        if domain not in OLDEST:
            raise onnx.defs.SchemaError(f"No schema registered for {op_type}")
        return real(op_type, min(version, OLDEST[domain]), domain)

    monkeypatch.setattr(onnx.defs, "get_schema", get_schema)
    monkeypatch.setattr(schemas, "_newer", read_table)
    monkeypatch.setattr(schemas, "_BUILT_IN", {})
    yield


def contents(schema: Schema | None) -> tuple[Any, ...]:
    assert schema is not None
    return tuple(getattr(schema, name) for name in Schema.__slots__ if name != "raw")


@needs_onnx("1.23", "the schemas of opset 28")
@pytest.mark.usefixtures("older")
def test_the_table_completes_an_older_onnx(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = list(newer())
    completed = {key: schema_of(key[1], key[2], key[0]) for key in keys}
    monkeypatch.undo()
    for (domain, name, since), found in completed.items():
        assert contents(found) == contents(schema_of(name, since, domain))
        assert found is not None and (found.raw is None) == (not (not domain and (name, since) in CORRECTED))


@pytest.mark.usefixtures("older")
def test_an_operator_between_two_versions_has_the_older_one() -> None:
    found = [schema_of("Sin", version, "") for version in (21, 22, 28)]
    assert [one.since for one in found if one is not None] == [7, 22, 22]
    assert schema_of("Attention", 22, "") is None


@pytest.mark.usefixtures("older")
def test_an_operator_with_a_function_body_alone_is_unknown_with_a_cause() -> None:
    """FlexAttention has no rule: its body comes from onnx, which lacks it here."""
    names = ("q", "k", "v")
    inputs = [onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, ["B", 2, "L", 4]) for n in names]
    node = onnx.helper.make_node("FlexAttention", names, ["y"], domain="ai.onnx.preview")
    graph = onnx.helper.make_graph([node], "g", inputs, [onnx.helper.make_empty_tensor_value_info("y")])
    imports = [onnx.helper.make_opsetid("", 25), onnx.helper.make_opsetid("ai.onnx.preview", 1)]
    inference = infer(onnx.helper.make_model(graph, opset_imports=imports, ir_version=10))
    assert inference["y"] is None or inference["y"] == SymbolicTensor()
    assert [d.code for d in inference.diagnostics] == ["GI105"]
    assert "onnx" in inference.diagnostics[0].message


@pytest.mark.usefixtures("older")
def test_element_types_are_checked_by_the_table() -> None:
    """Sin takes bfloat16 since opset 22 (https://onnx.ai/onnx/operators/onnx__Sin.html)."""
    for opset, errors in ((21, 1), (22, 0)):
        value = onnx.helper.make_tensor_value_info("x", int(DType.BFLOAT16), ["N"])
        node = onnx.helper.make_node("Sin", ["x"], ["y"])
        graph = onnx.helper.make_graph([node], "g", [value], [onnx.helper.make_empty_tensor_value_info("y")])
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=10)
        assert len(infer(model).errors) == errors
