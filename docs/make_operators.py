"""Writes docs/operators.md from the rule sets and onnx's schemas: `python docs/make_operators.py`. A test compares."""

from __future__ import annotations

from pathlib import Path

import onnx

from gather_infer.catalog.operators import operators
from gather_infer.report import operators_markdown

PAGE = Path(__file__).with_name("operators.md")

HEAD = f"""\
<!-- made by docs/make_operators.py with onnx {onnx.__version__} -->

# Operators

`gather-infer ops` prints these tables, `gather-infer ops Gather` each behaviour of one operator.

* **since**: the versions from which a different rule, or a different source of facts, applies.
* **facts from**: a *built-in rule*; the *interpreter*, which infers subgraphs; the *lowering* of an OpenVINO operator
  to ONNX nodes, which are then inferred; the *function body* of the operator; or the inference of *onnx*, of which only
  the element type, the rank, and fully static shapes are used.
* **values**: known elements are propagated from inputs to outputs, as in `Shape -> Gather -> Concat`.
* **spans**: value ranges of the outputs are known, as `[0, V - 1]` for an ArgMax over `V` classes.

Both columns come from calling the rules of the newest version with small inputs.

```sh
gather-infer ops
gather-infer ops Gather
gather-infer ops com.microsoft.Gelu --format json
gather-infer ops Gahter   # exit 2
```
"""


def page() -> str:
    """The text of docs/operators.md."""
    return "\n".join([HEAD, *operators_markdown(operators())]).replace("\n\n\n", "\n\n") + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
