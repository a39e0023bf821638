"""Program that writes a model as onnxruntime optimizes it at level `basic`; run as a child process.

python -m gather_infer.compat.basic_optimization IN.onnx OUT.onnx
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

_ERROR = 3


def main(arguments: Sequence[str]) -> None:
    """Optimize the file `arguments[0]` into `arguments[1]`, with the weights in a data file if the input has one."""
    import onnxruntime

    given, made = map(Path, arguments)
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(made)
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.log_severity_level = _ERROR
    if Path(f"{given}.data").is_file():
        options.add_session_config_entry("session.optimized_model_external_initializers_file_name", f"{made.name}.data")
    onnxruntime.InferenceSession(str(given), options, providers=["CPUExecutionProvider"])


if __name__ == "__main__":
    main(sys.argv[1:])
