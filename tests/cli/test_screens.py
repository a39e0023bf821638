"""Screens of the first hour on terminals of 80 and 120 columns: every line fits, nothing is lost."""

from __future__ import annotations

import shlex
from pathlib import Path

import onnx
import pytest
from gather_infer_cli.main import COMMANDS

from gather_infer.diagnostic import CODES
from gather_infer.report.explain import code_text
from gather_infer.report.output_formats import View
from tests.cli.cli_models import MODELS, cache
from tests.cli.conftest import Run
from tests.cli.test_first_screen import WIDTHS, plain
from tests.cli.test_streams import on_a_terminal

GPT2 = "fixtures/gpt2-kv-torchscript.onnx"
DETECTOR = "fixtures/detector-nonzero-dynamo.onnx"
BERT = "fixtures/bert-torchscript.onnx"
DECODER = "fixtures/openvino/decoder.xml"
RECOMMENDER = "fixtures/openvino/recommender.xml"

QUESTIONS = {
    # command: (exit code, what it says at both widths)
    # the ten questions of the tutorial: a decoder with a cache, a detector with sizes of data, an IR, broken files
    f"infer {GPT2}": (0, ["in input_ids", "if past + seq <= 48", "37 accesses: 35 proved, 2 conditional"]),
    f"infer {DETECTOR}": (0, ["nonzero_0: the number of elements that are not 0 depends on the data"]),
    f"explain {GPT2} seq": (0, ["limited by past + seq <= 48", "rename --input 'input_ids=[batch, NAME]'"]),
    f"explain {GPT2} present.0.key": (0, ["present.0.key float32[batch, 4, past + seq, 8]"]),
    f"explain {DETECTOR} nonzero_0": (0, ["generated at node node_NonZero_37", "only known at run time"]),
    f"explain {DETECTOR} boxes": (0, ["boxes float32[nonzero_0, 4]", "depends on the data"]),
    f"cost {GPT2} --at batch=1,seq=1,past=40": (0, ["macs 23776 (23.78 k)", "together 126 KiB with parameters"]),
    f"cost {DETECTOR} --at batch=1,height=64,width=64": (0, ["macs 670720 (671 k)", "sizes known only at run time:"]),
    f"cost {DECODER}": (0, ["peak the largest of", "nodes 6"]),
    f"check {GPT2}": (0, ["past + seq <= 48", "no errors, no warnings"]),
    f"check {GPT2} --dim past=4096": (1, ["indices in [4096, seq + 4095] are outside [-48, 47]", "1 error in"]),
    f"check {DETECTOR} {GPT2} missing.onnx": (
        3, ["7 accesses: 7 proved", "error[GI001]: No such file", "3 files: 1 error"],
    ),
    f"contract {GPT2}": (0, [f"contract of {GPT2}", "past + seq <= 48 tight", "4 lines, 3 tight"]),
    f"contract {DETECTOR}": (0, ["no other line: for all inputs", "no shapes clash"]),
    f"contract {DECODER}": (0, ["open, a run may still fail there:", "the axis has readvalue_0 rows"]),
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
    f"fold {GPT2} --dry-run": (0, ["nodes 544 440", "116 edits: --verbose"]),
    f"infer {GPT2} -o out.onnx --dim batch=1": (0, ["changed declarations:", "wrote out.onnx"]),
    f"convert {DECODER} -o out.onnx": (
        0, ["empty in the first run: past_key_values.0.value -> present.0.value, past_key", "1 output kept"],
    ),
    f"convert {RECOMMENDER} -o out.onnx": (0, ["5 Shape, 5 Expand, 3 Slice, 2 Add", "Reshape, Equal, Where"]),
    f"freeze {DETECTOR} --dim height=64 --dim width=64 -o out.onnx": (0, ["static: 0 of 1 input and 0 of 4 outputs"]),
    f"convert {RECOMMENDER} -o out.onnx -v": (0, ["EmbeddingBagOffsetsSum-3", "ScatterElements"]),
    f"inspect {DECODER} {GPT2}": (0, ["openvino.opset3.Broadcast 2", "ConstantOfShape 2"]),
    "infer broken.onnx": (3, ["error: broken.onnx: truncated or not ONNX protobuf"]),
    "check broken.onnx": (3, ["error[GI001]: truncated or not ONNX protobuf", "--> broken.onnx: model"]),
    # every form of help
    **{
        f"{name} --help": (0, [f"gather-infer {name}"])
        for name in COMMANDS
    },
    "--help": (0, ["Commands:"]),
    "ops Gather": (0, ["Gather ai.onnx", "Indices are in [-s, s-1] for", "are known where those of the inputs are."]),
    "ops": (0, ["facts from", "operators:"]),
    # what else is printed in a first hour
    f"explain {DETECTOR} *": (0, ["more tensors: --all", "images float32[batch, 3, height, width]"]),
    f"explain {GPT2} --op Softmax": (0, ["Softmax"]),
    f"tensors {GPT2} */wpe/*": (0, ["Gather", "of 583 tensors"]),
    "infer nodata.onnx": (0, ["warning[GI112]", "nodata.data"]),
    f"freeze {BERT} --dim seq=99 -o out.onnx": (1, ["refused: the sizes contradict the model", "nothing written"]),
    f"freeze {GPT2} --dim past=4096 -o out.onnx": (1, ["error[GI301]", "outside [-48, 47]", "nothing written"]),
    f"cost {GPT2} --by node": (0, ["/gpt2/lm_head/MatMul", "334 nodes take no multiply-adds: --all"]),
    f"infer {GPT2} {DETECTOR} broken.onnx": (3, ["583 tensors, all known", "2 of 3 files: no errors, no warnings"]),
}  # fmt: skip


@pytest.mark.sampled(12)
@pytest.mark.parametrize("columns", WIDTHS)
@pytest.mark.parametrize("command", QUESTIONS)
def test_a_screen(command: str, columns: int, run: Run) -> None:
    Path("broken.onnx").write_bytes(Path(DETECTOR).read_bytes()[:5000])
    onnx.save(cache(), "cache.onnx")
    onnx.save(
        MODELS["embedding.onnx"](), "nodata.onnx", save_as_external_data=True, location="nodata.data",
        size_threshold=0, convert_attribute=False,
    )  # fmt: skip
    Path("nodata.data").unlink()
    expected, texts = QUESTIONS[command]
    code, text = on_a_terminal(columns, *shlex.split(command))
    lines = plain(text)
    assert code == expected, text
    assert [line for line in lines if len(line) > columns and len(line.split()) > 1] == []
    words = " ".join(text_of(lines).split())
    assert [said for said in texts if said not in words] == []


def text_of(lines: list[str]) -> str:
    """The lines as they were before they were fitted, but for spaces."""
    return " ".join(line.strip() for line in lines)


@pytest.mark.parametrize("columns", WIDTHS)
@pytest.mark.parametrize("code", CODES)
def test_the_meaning_of_a_code_is_wrapped_to_the_width(code: str, columns: int) -> None:
    lines = code_text(code, View(width=columns))
    assert max(map(len, lines)) <= columns
    assert " ".join(text_of(lines).split()) == " ".join(text_of(code_text(code)).split())
