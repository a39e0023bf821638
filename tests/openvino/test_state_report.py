"""State in the report of `convert`: the feeds of the first run."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.documents import run_command
from tests.openvino.ir_made import Layer, const, net, parameter, result, save

ROW = "FP32:1,4"


def variable(name: str) -> str:
    return f'variable_id="{name}" variable_type="f32" variable_shape="1,4"'


def test_what_the_first_run_feeds(tmp_path: Path) -> None:
    layers = [
        parameter("0", "1,4", outs=(f"0:{ROW}:x",)),
        const("1", "1,4", 0, 16, outs=(f"0:{ROW}",)),
        Layer("2", "ReadValue", (f"0:{ROW}",), (f"1:{ROW}:held",), version="opset6", data=variable("held")),
        Layer("3", "ReadValue", (), (f"0:{ROW}:bare",), version="opset6", data=variable("bare")),
        Layer("4", "Add", (f"0:{ROW}", f"1:{ROW}"), (f"2:{ROW}:sum",)),
        Layer("5", "Add", (f"0:{ROW}", f"1:{ROW}"), (f"2:{ROW}:more",)),
        Layer("6", "Assign", (f"0:{ROW}",), (f"1:{ROW}",), version="opset6", data=variable("held")),
        Layer("7", "Assign", (f"0:{ROW}",), (f"1:{ROW}",), version="opset6", data=variable("bare")),
        Layer("8", "Assign", (f"0:{ROW}",), (f"1:{ROW}",), version="opset6", data=variable("log")),
        result("9", ins=(f"0:{ROW}",)),
    ]
    edges = "1.0>2.0 0.0>4.0 2.1>4.1 4.2>5.0 3.0>5.1 4.2>6.0 5.2>7.0 0.0>8.0 5.2>9.0"
    path = save(tmp_path, net(layers, edges), np.arange(1, 5, dtype=np.float32).tobytes())
    code, output = run_command(f"gather-infer convert {path} -o {tmp_path / 'out.onnx'}")
    assert code == 0, output
    assert [line for line in output.splitlines() if "state" in line] == [
        "  state as inputs and outputs, initial value as default: held -> held_out",
        "  state as inputs and outputs, zeros in the first run: bare -> bare_out",
        "  state that is never read, as outputs: log_out",
    ]
