"""Shape and type inference: a dataflow analysis by abstract interpretation; `infer` is the entry point.

The interpreter visits the nodes of a model in topological order and binds a fact to every value. Facts form a lattice:
element type, rank, dims as symbolic expressions, value ranges of integers (`SymbolicTensor.value_range`) and known
elements of small tensors (`SymbolicTensor.values`). The rule of an operator is its transfer function. Where paths meet,
as after an If, facts are joined; the state of a Loop or Scan is weakened until the facts of its body reach a fixed
point. Nodes also imply constraints on dims, so the whole model is interpreted again while constraints learned late can
decide questions that earlier nodes left open.

Names are resolved on first use: code that only reads results does not load the interpreter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gather_infer.lazy import lazy

if TYPE_CHECKING:
    from gather_infer.inference.inference_driver import infer
    from gather_infer.inference.result import Access, Coverage, Inference, TensorRow, TrustedAnnotation

_HOME = {
    "result": ("Access", "TrustedAnnotation", "Coverage", "Inference", "TensorRow"),
    "inference_driver": ("infer",),
}

__all__ = ["Access", "Coverage", "Inference", "TensorRow", "TrustedAnnotation", "infer"]

__getattr__ = lazy(__name__, _HOME)
