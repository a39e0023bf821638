"""Writes docs/openvino-operators.md from the table of lowerings. A test compares.

python docs/make_openvino_operators.py
"""

from __future__ import annotations

from pathlib import Path

from gather_infer.openvino.lowerings import LOWERINGS
from gather_infer.openvino.lowerings.lowering_table import LOWEST_OPSET
from gather_infer.openvino.lowerings.openvino_dialect import READER_OPERATORS
from gather_infer.openvino.lowerings.sampling import RANDOM
from gather_infer.openvino.lowerings.unsupported import REASONS

PAGE = Path(__file__).with_name("openvino-operators.md")
HEAD = f"""\
<!-- made by docs/make_openvino_operators.py -->

# Operators of OpenVINO

What `gather-infer convert` makes ONNX of, by the type that an IR has. Parameter, Result and Const are inputs, outputs
and weights; If, Loop and TensorIterator become ONNX's If and Loop; ReadValue and Assign
[inputs and outputs](convert.md#state).

* **versions**: the opsets of OpenVINO that changed the operator; each is converted as its page says.
* **from opset**: the least opset of ai.onnx that it needs, where that is not {LOWEST_OPSET}.

{" and ".join(RANDOM)} are converted with [`--random onnx`](convert.md#random-numbers) alone.

Several nodes may stand for a layer. What is refused for what its inputs are is listed by `convert`, with the reason.
"""


def page() -> str:
    """The text of docs/openvino-operators.md."""
    types = sorted(set(LOWERINGS.op_types) - READER_OPERATORS, key=str.lower)
    refused = [f"| {name} | {REASONS[name]} |" for name in types if name in REASONS]
    made = [_row(name) for name in types if name not in REASONS]
    lines = [
        HEAD,
        f"## Refused: {len(refused)}\n",
        *("| operator | why |", "|---|---|", *refused),
        f"\n## Converted: {len(made)}\n",
        *("| operator | versions | from opset |", "|---|---|---|", *made),
    ]
    return "\n".join(lines) + "\n"


def _row(name: str) -> str:
    entries = sorted(LOWERINGS.versions(name), key=lambda entry: entry.since)
    least = {entry.opset for entry in entries} - {LOWEST_OPSET}
    opset = ", ".join(map(str, sorted(least)))
    return f"| {name} | {', '.join(str(entry.since) for entry in entries)} | {opset} |"


if __name__ == "__main__":
    PAGE.write_text(page())
