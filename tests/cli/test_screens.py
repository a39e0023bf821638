"""What a person meets in the first hour, on terminals of 80 and of 120 columns: every line fits, nothing is lost."""

from __future__ import annotations

import shlex
from pathlib import Path

import onnx
import pytest
from gather_infer_cli.main import COMMANDS

from tests.cli.cli_models import cache
from tests.cli.conftest import Run
from tests.cli.test_first_screen import WIDTHS, plain
from tests.cli.test_streams import on_a_terminal

GPT2 = "fixtures/gpt2-kv-torchscript.onnx"
DETECTOR = "fixtures/detector-nonzero-dynamo.onnx"
BERT = "fixtures/bert-torchscript.onnx"
DECODER = "fixtures/openvino/decoder.xml"

QUESTIONS = {
    # command: (exit code, what it says at both widths)
    # the ten questions of the tutorial: a decoder with a cache, a detector with sizes of data, an IR, broken files
    f"infer {GPT2}": (0, ["in input_ids", "if past + seq <= 48", "37 accesses: 35 proved, 2 conditional"]),
    f"infer {DETECTOR}": (0, ["nonzero_0: the number of elements that are not 0 depends on the data"]),
    f"explain {GPT2} seq": (0, ["limited by past + seq <= 48", "rename --input 'input_ids=[batch, NAME]'"]),
    f"explain {GPT2} present.0.key": (0, ["present.0.key float32[batch, 4, past + seq, 8]"]),
    f"explain {DETECTOR} nonzero_0": (0, ["made up at node node_NonZero_37", "only a run tells"]),
    f"explain {DETECTOR} boxes": (0, ["boxes float32[nonzero_0, 4]", "depends on the data"]),
    f"cost {GPT2} --at batch=1,seq=1,past=40": (0, ["macs 23776 (23.78 k)", "together 126 KiB with parameters"]),
    f"cost {DETECTOR} --at batch=1,height=64,width=64": (0, ["macs 670720 (671 k)", "sizes that a run decides:"]),
    f"cost {DECODER}": (0, ["peak the largest of", "nodes 6"]),
    f"check {GPT2}": (0, ["past + seq <= 48", "no errors, no warnings"]),
    f"check {GPT2} --dim past=4096": (1, ["indices in [4096, seq + 4095] are outside [-48, 47]", "1 error in"]),
    f"check {DETECTOR} {GPT2} missing.onnx": (
        3, ["7 accesses: 7 proved", "error[GI001]: No such file", "3 files: 1 error"],
    ),
    f"contract {GPT2}": (0, [f"contract of {GPT2}", "past + seq <= 48 tight", "3 lines, 2 tight"]),
    f"contract {DETECTOR}": (0, ["no line: whatever the inputs hold, no index is out of bounds and no shapes clash"]),
    f"contract {DECODER}": (0, ["not in it, a run may fail there all the same:", "the axis has readvalue_0 rows"]),
    f"tensors {DETECTOR} --unknown": (0, ["boxes GatherND float32[nonzero_0, 4]", "18 of 47 tensors"]),
    f"tensors {GPT2} --unknown": (0, ["0 of 583 tensors: every such tensor is fully known"]),
    f"freeze {GPT2} --dim batch=1 --dry-run": (
        0,
        [
            "static: 0 of 6 inputs and 0 of 5 outputs", "out present.0.key [batch, 4, past + seq, 8] -> [1, 4, past",
            "past is not given past_key_values.0.key.2, past_key_values.0.value.2,",
        ],
    ),
    "freeze cache.onnx --dim past=3 --dry-run": (
        0, ["static: 0 of 97 inputs", "in past_key_{0..47} [batch, 1, past, 8] -> [batch, 1, 3, 8] (48)"],
    ),
    f"optimize {DETECTOR} --dry-run": (0, ["nodes 29 20", "interface unchanged: 1 input, 4 outputs"]),
    f"fold {GPT2} --dry-run": (0, ["nodes 544 440", "122 edits: --verbose"]),
    f"infer {GPT2} -o out.onnx --dim batch=1": (0, ["declared anew:", "wrote out.onnx"]),
    f"inspect {DECODER} {GPT2}": (0, ["openvino.opset3.Broadcast 2", "ConstantOfShape 2"]),
    "infer broken.onnx": (3, ["error: broken.onnx: truncated or not ONNX protobuf"]),
    "check broken.onnx": (3, ["error[GI001]: truncated or not ONNX protobuf", "--> broken.onnx: model"]),
    # every form of help
    **{
        f"{name} --help": (0, [f"gather-infer {name}"])
        for name in COMMANDS
    },
    "--help": (0, ["Commands:"]),
    "ops Gather": (0, ["Gather"]),
    "explain GI302": (0, ["GI302"]),
}  # fmt: skip


@pytest.mark.parametrize("columns", WIDTHS)
@pytest.mark.parametrize("command", QUESTIONS)
def test_a_screen(command: str, columns: int, run: Run) -> None:
    Path("broken.onnx").write_bytes(Path(DETECTOR).read_bytes()[:5000])
    onnx.save(cache(), "cache.onnx")
    expected, texts = QUESTIONS[command]
    code, text = on_a_terminal(columns, *shlex.split(command))
    lines = plain(text)
    assert code == expected, text
    assert [line for line in lines if len(line) > columns] == []
    words = " ".join(text_of(lines).split())
    assert [said for said in texts if said not in words] == []


def text_of(lines: list[str]) -> str:
    """The lines as they were before they were fitted, but for spaces."""
    return " ".join(line.strip() for line in lines)
