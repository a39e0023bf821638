"""Runs onnxruntime's symbolic_shape_infer on files, as a child process; prints a line of JSON for each.

python -m tests.oracle.script_worker IN OUT MERGE [IN OUT MERGE ...]
"""

from __future__ import annotations

import json
import logging
import sys

import onnx
from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference


def main(arguments: list[str]) -> None:
    logging.disable(logging.CRITICAL)
    for source, target, merge in zip(*[iter(arguments)] * 3, strict=True):
        try:
            model = SymbolicShapeInference.infer_shapes(onnx.load(source), auto_merge=merge == "True")
            onnx.save(model, target)
            reason = ""
        except Exception as error:  # noqa: BLE001 (whatever the script raises, a user sees it as a traceback)
            reason = f"{type(error).__name__}: {error}".rstrip(": ")
        print(json.dumps(reason), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
