"""Writes docs/codes.md from the table of codes: `python docs/make_codes.py`. A test holds the page against it."""

from __future__ import annotations

from pathlib import Path

from gather_infer.diagnostic import CODES

PAGE = Path(__file__).with_name("codes.md")

HEAD = '''\
<!-- made by docs/make_codes.py -->

# Diagnostic codes

A finding has a severity, a code, a message, a place and the facts that it rests on. All findings of a model come out in
one run.

* **error**: the model breaks the specification, a runtime will refuse it or give something else;
* **warning**: legal, but it will hurt;
* **note**: worth knowing.

```python
import gather_infer
import onnx

model = onnx.parser.parse_model("""
    <ir_version: 8, opset_import: ["": 17]>
    lookup (float[9, 4] table) => (float[3, 4] rows) <int64[3] index = {0, 1, 9}>
    {
        [pick] rows = Gather (table, index)
    }
""")
for finding in gather_infer.infer(model).diagnostics:
    print(finding.text("model.onnx"))
# error[GI301]: index 9 is outside [-9, 8]
#   --> model.onnx: node pick (Gather-17)
#    |  data float32[9, 4], axis 0
#    |  indices element [2]
```
'''

GROUPS = {
    "1": "The model as a whole",
    "20": "Declared against inferred",
    "21": "Operators",
    "3": "The Gather family",
    "4": "Edits",
}

ADVICE = {
    "GI101": "Rename one of them; most runtimes refuse the file.",
    "GI102": "Break the cycle that the message spells out: ONNX has no cycles, a feedback is a Loop or a Scan.",
    "GI103": "Look for the node that was meant to make it; an edit may have removed or renamed it.",
    "GI104": "Add the domain to `opset_import`, with the version that the exporter meant.",
    "GI105": "Give [a rule](custom-rules.md) with `--rules`, or put a function body for the operator into the model.",
    "GI106": "Compare the node with its operator's page at the imported opset; often that opset is too old.",
    "GI107": "Compare the node with its operator's page; an optional input in the middle is left out by an empty name.",
    "GI108": "Inline the function, or flatten the nesting.",
    "GI109": "Leave the dim empty, or name it, when its size is not known.",
    "GI110": "Give the body the inputs and outputs that its node passes and takes.",
    "GI201": "Write fresh `value_info` with `gather-infer infer -o`, so that nobody trusts the old one.",
    "GI202": "Correct the declared output, or the inputs that it contradicts: `--dim` and `--input` may be wrong.",
    "GI203": "Nothing; the declared name can be replaced by the expression.",
    "GI204": "The file is damaged or was written wrongly; export it again.",
    "GI210": "Read the message against the operator's page: it names the clause, the allowed range and what was found.",
    "GI211": "Insert a Cast, or raise the opset where the operator allows the type.",
    "GI212": "Follow the shapes in the message back to the inputs; `--dim` may claim sizes that do not fit.",
    "GI213": "Bind symbols with `--dim`; expressions of this size say little anyway.",
    "GI301": "Correct the index or the size of the axis: runtimes fail here, or read garbage.",
    "GI302": "See that every input keeps to the condition.",
    "GI303": "Write the index from the front, or raise the opset: only later versions say what a negative index means.",
    "GI304": "Set an axis in the range that the message gives.",
    "GI305": "Add or remove axes with Unsqueeze, Squeeze or Reshape.",
    "GI306": "Set `batch_dims` in the range that the message gives; data and indices agree in that many first dims.",
    "GI307": "The last dim of `indices` has to be between 1 and the rank of data less `batch_dims`.",
    "GI308": "Cast the indices to int64, which every operator of the family takes.",
    "GI309": "`gather-infer convert` rewrites it.",
    "GI401": "Raise `--max-bytes` if the constant may be that large; otherwise the reason stands in the message.",
}  # fmt: skip


def page() -> str:
    """The text of docs/codes.md."""
    parts = [HEAD]
    for prefix, title in GROUPS.items():
        parts += [f"\n## {title}\n", "| code | severity | meaning | what to do |", "|---|---|---|---|"]
        for code, (severity, meaning) in CODES.items():
            if code.startswith(f"GI{prefix}"):
                parts.append(f"| `{code}` | {severity} | {meaning} | {ADVICE[code]} |")
        parts.append("")
    parts.append(
        "\nAn index out of bounds is a warning where the operator gives zeros for it, as OpenVINO's Gather does."
    )
    return "\n".join(parts).replace("\n\n\n", "\n\n") + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
