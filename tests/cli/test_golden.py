"""Output of the commands, word for word. `GOLDEN=write pytest tests/cli/test_golden.py` writes the texts anew; the
difference is then reviewed like code."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest

from tests.cli.conftest import Run

GOLDEN = Path(__file__).parents[1] / "golden"
CASES = {
    # file: command
    "infer": "infer embedding.onnx",
    "check": "check bad.onnx",
    "check-many": "check bad.onnx embedding.onnx --jobs 1",
    "check-bert": "check fixtures/bert-torchscript.onnx --dim seq=1..64 -v",
    "check-declared": "check fixtures/bert-torchscript.onnx --dim seq=1..512 --range input_ids=0..151",
    "check-github": "check bad.onnx --format github",
    "check-missing": "check missing.onnx",
    "infer-dims": "infer embedding.onnx --dim seq=1..16 --dim batch=4 --constraints",
    "infer-out-of-bounds": "infer bad.onnx",
    "infer-openvino": "infer exported.onnx",
    "infer-many": "infer many.onnx",
    "infer-bert": "infer fixtures/bert-torchscript.onnx --dim seq=1..512",
    "infer-json": "infer embedding.onnx --format json",
    "inspect": "inspect embedding.onnx",
    "inspect-two": "inspect embedding.onnx exported.onnx",
    "inspect-json": "inspect exported.onnx --format json",
    "explain": "explain embedding.onnx hidden",
    "explain-values": "explain embedding.onnx target --dim seq=1..16",
    "explain-unknown": "explain fixtures/gpt2-kv-dynamo.onnx view_1 --no-assume --depth 1",
    "explain-verbose": "explain embedding.onnx hidden -v --depth 2",
    "explain-bert": "explain fixtures/bert-torchscript.onnx last_hidden_state --depth 6",
    "explain-symbol": "explain embedding.onnx seq",
    "explain-symbol-made-up": "explain fixtures/detector-nonzero-dynamo.onnx nonzero_0",
    "explain-symbol-of-outputs": "explain embedding.onnx total",
    "explain-symbol-given": "explain embedding.onnx seq --dim seq=8",
    "explain-symbol-json": "explain fixtures/gpt2-kv-dynamo.onnx reshape_1 --no-assume --format json",
    "explain-glob": "explain embedding.onnx 'w*' --depth 1",
    "explain-op": "explain embedding.onnx --op Unsqueeze --depth 1",
    "explain-all-unknown": "explain fixtures/detector-nonzero-dynamo.onnx --unknown --depth 0",
    "explain-none-unknown": "explain embedding.onnx --unknown",
    "tensors": "tensors embedding.onnx",
    "tensors-glob": "tensors fixtures/lstm-tagger-torchscript.onnx '/If/*' -v",
    "tensors-op": "tensors embedding.onnx --op Gather",
    "tensors-unknown": "tensors fixtures/detector-nonzero-dynamo.onnx --unknown",
    "tensors-none-unknown": "tensors embedding.onnx --unknown",
    "tensors-json": "tensors fixtures/detector-nonzero-dynamo.onnx val_37 --format json",
    "explain-code": "explain GI301",
    "explain-unknown-code": "explain GI333",
    "explain-unknown-tensor": "explain embedding.onnx hiden",
    "extract": "extract embedding.onnx --inputs word,at --outputs sum -o out.onnx",
    "extract-dry-run": "extract embedding.onnx --from-node /Add --to-node /Add --dry-run",
    "extract-missing": "extract embedding.onnx --inputs word --outputs hidden -o out.onnx",
    "extract-unknown": "extract embedding.onnx --outputs hiden -o out.onnx",
    "extract-json": "extract embedding.onnx --outputs seq_len --format json --dry-run",
    "outputs": "outputs embedding.onnx --add '*ord,sum' -o out.onnx --prove --verify 2",
    "outputs-dry-run": "outputs embedding.onnx --add target --drop hidden --dry-run",
    "outputs-refused": "outputs embedding.onnx --drop '*' -o out.onnx",
    "rename": "rename embedding.onnx --input ids=tokens --dim seq=length -o out.onnx --prove --verify 2",
    "rename-dry-run": "rename embedding.onnx --output hidden=state --node 's/^.word.//' --dim batch=N --dry-run",
    "rename-refused": "rename embedding.onnx --input ids=words -o out.onnx",
    "rename-unknown": "rename embedding.onnx --dim sec=length -o out.onnx",
    "compose": "compose embedding.onnx embedding.onnx --map ids=ids --map scale=scale -o out.onnx",
    "compose-dry-run": "compose embedding.onnx embedding.onnx --map ids=ids --prefix second. --dry-run",
    "compose-types": "compose embedding.onnx embedding.onnx --map hidden=ids -o out.onnx",
    "compose-json": "compose embedding.onnx embedding.onnx --map ids=ids --format json --dry-run",
    "compose-unmapped": "compose embedding.onnx embedding.onnx -o out.onnx",
    "fold": "fold embedding.onnx -o out.onnx -v",
    "fold-dry-run": "fold embedding.onnx --dry-run",
    "fold-out-of-bounds": "fold bad.onnx -o out.onnx",
    "optimize": "optimize embedding.onnx -o out.onnx -v",
    "optimize-gpt2": "optimize fixtures/gpt2-kv-torchscript.onnx -o out.onnx",
    "diff": "diff embedding.onnx embedding.onnx",
    "diff-narrower": "diff embedding.onnx bad.onnx",
    "diff-proved": "diff fixtures/gpt2-kv-dynamo.onnx fixtures/gpt2-kv-dynamo.onnx --prove -v",
    "diff-json": "diff embedding.onnx embedding.onnx --format json",
    "freeze": "freeze embedding.onnx --input 'ids=[2, 8]' -o out.onnx",
    "freeze-in-part": "freeze embedding.onnx --dim batch=2 --dim seq=1..16 --dry-run",
    "freeze-refused": "freeze embedding.onnx --dim seq=17 -o out.onnx",
    "freeze-json": "freeze embedding.onnx --dim batch=2 --dim seq=..16 --dry-run --format json",
    "freeze-gpt2": "freeze fixtures/gpt2-kv-dynamo.onnx --dim seq=1 -o out.onnx",
    "contract": "contract embedding.onnx",
    "contract-gpt2": "contract fixtures/gpt2-kv-dynamo.onnx -v",
    "contract-open": "contract fixtures/gnn-torchscript.onnx --dim nodes=1..10",
    "contract-declared": "contract embedding.onnx --range ids=0..99 --dim seq=1..16 --dim batch=1.. --require-proved",
    "contract-refused": "contract embedding.onnx --range ids=0..100 --dim seq=1..20",
    "contract-unproved": "contract embedding.onnx --require-proved --python guard.py",
    "contract-json": "contract embedding.onnx --format json",
    "contract-embedded": "contract embedding.onnx --embed -o out.onnx --python guard.py --json-schema request.json",
    "contract-range": "contract embedding.onnx --range id=0..9",
    "contract-emit": "contract fixtures/gpt2-kv-dynamo.onnx --emit trtexec --dim past=0..47 --dim seq=1 --opt batch=2",
    "contract-emit-file": "contract embedding.onnx --emit openvino -o shapes.sh",
    "contract-emit-refused": "contract embedding.onnx --emit ort",
    "contract-emit-in-place": "contract embedding.onnx --emit triton --in-place",
    "contract-embed-nowhere": "contract embedding.onnx --embed",
    "cost": "cost embedding.onnx",
    "cost-at": "cost embedding.onnx --at batch=2,seq=16",
    "cost-nodes": "cost embedding.onnx --by node --all",
    "cost-json": "cost embedding.onnx --format json --at seq=4",
    "cost-bert": "cost fixtures/bert-torchscript.onnx",
    "cost-gpt2": "cost fixtures/gpt2-kv-dynamo.onnx -v",
    "cost-loop": "cost fixtures/embedding-bag-dynamo.onnx",
    "cost-decided": "cost fixtures/moe-nonzero-dynamo.onnx --at batch=1",
    "cost-refused": "cost fixtures/bert-torchscript.onnx --at batch=1,seq=4096",
    "cost-out-of-bounds": "cost bad.onnx",
    "convert": "convert exported.onnx -o out.onnx",
    "convert-verbose": "convert exported.onnx -o out.onnx --gather-oob assume-valid -v",
    "convert-dry-run": "convert exported.onnx --dry-run",
    "convert-refused": "convert exported.onnx -o out.onnx --gather-oob refuse",
    "ops-gather": "ops ai.onnx.Gather",
    "ops-reshape": "ops Reshape",
    "ops-unknown": "ops Gahter",
    "unknown-command": "infr embedding.onnx",
    "unknown-dim": "infer embedding.onnx --dim sequence=4",
    "unknown-option": "infer embedding.onnx --dims seq=4",
    "missing-file": "infer missing.onnx",
    "help": "--help",
    "help-check": "check --help",
    "help-infer": "infer --help",
    "help-inspect": "inspect --help",
    "help-diff": "diff --help",
    "help-explain": "explain --help",
    "help-fold": "fold --help",
    "help-optimize": "optimize --help",
    "help-freeze": "freeze --help",
    "help-unfreeze": "unfreeze --help",
    "help-page": "page --help",
    "help-extract": "extract --help",
    "help-compose": "compose --help",
    "help-rename": "rename --help",
    "help-outputs": "outputs --help",
    "help-convert": "convert --help",
    "help-contract": "contract --help",
    "help-cost": "cost --help",
    "help-ops": "ops --help",
    "help-tensors": "tensors --help",
    "help-completion": "completion --help",
}


@pytest.mark.parametrize("name", CASES)
def test_golden(name: str, run: Run) -> None:
    result = run(*shlex.split(CASES[name]))
    stderr = "".join(f"! {line}\n" for line in result.stderr.splitlines())
    text = f"$ gather-infer {CASES[name]}\n{result.stdout}{stderr}-> exit {result.exit_code}\n"
    text = re.sub(r"\d+\.\d\d s\b", "0.00 s", text)
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("GOLDEN") == "write":
        path.write_text(text)
    assert text == path.read_text()


def test_no_text_is_left_over() -> None:
    assert {path.stem for path in GOLDEN.glob("*.txt")} == set(CASES)
