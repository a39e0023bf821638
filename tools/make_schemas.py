"""Writes the table of schemas that complete those of an older onnx: `python tools/make_schemas.py`. A test compares.

The installed onnx has to be the newest known release. The table has the operator versions that onnx 1.16 does not know,
and the few that later releases have corrected.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx.defs

from gather_infer.inference.proto import schema

TABLE = Path(schema.__file__).with_name(schema.TABLE)

OLDEST = {"": 21, "ai.onnx.ml": 5, "ai.onnx.training": 1, "ai.onnx.preview.training": 1}
"""Domain -> its newest opset in onnx 1.16."""

CORRECTED = {
    # operator version of ai.onnx that onnx 1.16 knows -> the correction
    ("Erf", 13): "integer types removed",
    ("GroupNormalization", 18): "deprecated",
}


def table() -> str:
    """The text of the table: an operator version a line, which refers to lists of element types by number."""
    types: list[list[str]] = []
    lines = [json.dumps(entry) for entry in _entries(types)]
    rows = ",\n".join(f"  {json.dumps(names)}" for names in types)
    return f'{{\n"types": [\n{rows}\n],\n"schemas": [\n' + ",\n".join(f"  {line}" for line in lines) + "\n]\n}\n"


def _entries(types: list[list[str]]) -> Iterator[dict[str, Any]]:
    schemas = {(s.domain, s.name, s.since_version): s for s in onnx.defs.get_all_schemas_with_history()}
    for (domain, op_type, since), raw in sorted(schemas.items()):
        is_corrected = not domain and (op_type, since) in CORRECTED
        if not raw.file.endswith(".cc") or (since <= OLDEST.get(domain, 0) and not is_corrected):
            continue
        entry = schema.entry_of(raw)
        for formal in (*entry["inputs"], *entry["outputs"]):
            if formal["types"] not in types:
                types.append(formal["types"])
            formal["types"] = types.index(formal["types"])
        yield entry


if __name__ == "__main__":
    TABLE.write_text(table(), encoding="utf-8")
