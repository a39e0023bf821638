"""The optimisers that are compared, each as its users call it; what is imported depends on the tool alone.

python benchmarks/optimizers.py TOOL IN OUT     load a file, optimise, save
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec


@dataclass(frozen=True)
class Optimizer:
    """One way to optimise a file.

    needs         packages besides onnx
    run           from a file to a file, as a script that has nothing else to do
    is_in_python  most of it is written in Python: time is compared with these
    """

    needs: tuple[str, ...]
    run: Callable[[str, str], object]
    is_in_python: bool = True

    @property
    def is_installed(self) -> bool:
        return all(find_spec(name) for name in self.needs)


def _onnxsim(path: str, out: str) -> None:
    import onnx
    import onnxsim

    model, _ = onnxsim.simplify(onnx.load(path))
    onnx.save(model, out)


def _onnxslim(path: str, out: str) -> None:
    import onnxslim

    onnxslim.slim(path, out)


def _onnxscript(path: str, out: str) -> None:
    import onnx
    from onnxscript import optimizer

    onnx.save(optimizer.optimize(onnx.load(path)), out)


def _polygraphy(path: str, out: str) -> None:
    from polygraphy.tools import main

    sys.argv[1:] = ["surgeon", "sanitize", "--fold-constants", path, "-o", out]
    main()


def _onnxruntime_basic(path: str, out: str) -> None:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = out
    onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def _onnxoptimizer(path: str, out: str) -> None:
    import onnx
    import onnxoptimizer

    onnx.save(onnxoptimizer.optimize(onnx.load(path)), out)


def _load_and_save(path: str, out: str) -> None:
    import onnx

    onnx.save(onnx.load(path), out)


UNIT = "load+save"

OPTIMIZERS = {
    UNIT: Optimizer((), _load_and_save),
    "onnxsim": Optimizer(("onnxsim",), _onnxsim),
    "onnxslim": Optimizer(("onnxslim",), _onnxslim),
    "onnxscript": Optimizer(("onnxscript",), _onnxscript),
    "polygraphy": Optimizer(("polygraphy", "onnx_graphsurgeon"), _polygraphy),
    "onnxruntime basic": Optimizer(("onnxruntime",), _onnxruntime_basic, is_in_python=False),
    "onnxoptimizer": Optimizer(("onnxoptimizer",), _onnxoptimizer, is_in_python=False),
}


if __name__ == "__main__":
    if len(sys.argv) == 1:  # those that are installed
        print("\n".join(name for name, tool in OPTIMIZERS.items() if tool.is_installed))
    else:
        OPTIMIZERS[sys.argv[1]].run(*sys.argv[2:4])
