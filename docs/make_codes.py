"""Writes docs/codes.md from the tables of codes: `python docs/make_codes.py`. A test holds the page against it."""

from __future__ import annotations

import re
from pathlib import Path

from gather_infer.diagnostic import ADVICE, CODES, GROUPS

PAGE = Path(__file__).with_name("codes.md")

HEAD = '''\
<!-- made by docs/make_codes.py -->

# Diagnostic codes

A finding has a severity, a code, a message, a place and the facts that it rests on. All findings of a model come out in
one run.

* **error**: no run of the model succeeds. onnxruntime refuses the file, or what the specification requires of a node
  fails in every run that comes to it; or what was declared with `--dim` and `--range` lets runs through that fail
  (`GI501`, `GI502`);
* **warning**: runs succeed, and yet something is wrong: some of them fail, another tool refuses the file
  (`onnx.checker` does for `GI114`), or what the file states is not so (`GI201`, where it is a size or a rank);
* **note**: worth knowing.

The severity in the tables is the usual one. A finding weighs more or less where more is known: `GI201` is an error
where the output of a node is declared with another element type, for onnxruntime refuses that; `GI115` is a warning
where onnxruntime has nothing against what the checker refuses.

A failure in a branch of an If, in the body of a loop that may run 0 times, or in a function that is called only there
is a warning of the same code, "fails when taken" or "fails when it runs": a run that does not come to it is legal. Its
detail names each body, and when it runs as far as that is known. It stays an error where every run comes to it, or to
one of several: both branches of an If fail, or one branch of each of two Ifs of which a run takes one. It also stays an
error where a loader refuses the file for it, whichever branch a run takes: onnxruntime and `onnx.checker` infer the
shapes of every branch.

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
#   --> model.onnx: node pick (Gather-13)
#    |  data float32[9, 4], axis 0
#    |  indices element [2]
```
'''


def page() -> str:
    """The text of docs/codes.md."""
    parts = [HEAD]
    for prefix, title in GROUPS.items():
        parts += [f"\n## {title}\n", "| code | severity | meaning | what to do |", "|---|---|---|---|"]
        for code, (severity, meaning) in CODES.items():
            if code.startswith(f"GI{prefix}"):
                parts.append(f"| `{code}` | {severity} | {meaning} | {_linked(ADVICE[code])} |")
        parts.append("")
    parts.append(
        "\nAn index out of bounds is a warning where the operator gives zeros for it, as OpenVINO's Gather does, and\n"
        "where the index may have no elements although no input is empty, as the stack of a loop that need not run."
    )
    return "\n".join(parts).replace("\n\n\n", "\n\n") + "\n"


def _linked(advice: str) -> str:
    """The advice with the pages of docs/ that it names as links."""
    return re.sub(r"\(docs/([\w-]+)\.md\)", r"([how](\1.md))", advice)


if __name__ == "__main__":
    PAGE.write_text(page())
