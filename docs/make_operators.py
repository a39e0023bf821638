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

* **since**: the versions at which the behaviour of the operator changes.
* **facts from**: where its types come from. A *built-in rule*; the *interpreter*, which infers the bodies of control
  flow; the *lowering* of an OpenVINO operator to ONNX nodes; the *function body* of the operator; or *onnx*'s shape
  inference, of which the engine uses the element type and the rank, and the sizes if all of them are static.
* **values**: elements of the result are known where those of the inputs are, as in `Shape -> Gather -> Concat`.
* **value ranges**: bounds of the elements of the result are known, as `[0, V - 1]` of an ArgMax over `V` classes.

The generator finds values and value ranges by calling the rules of the newest version with small inputs.

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
