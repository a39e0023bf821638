"""Reads shapes as OpenVINO's `ovc` does and gives them to a model: the arguments are the model and `--input`.

Prints JSON: for each input of the reshaped model the bounds of its dims, -1 for no upper bound. A script, so that its
parent survives a crash of OpenVINO.
"""

from __future__ import annotations

import json
import sys

import openvino as ov
from openvino.tools.ovc.cli_parser import parse_inputs


def main() -> None:
    model, text = sys.argv[1:]
    shapes = dict(parse_inputs(text))
    read = ov.Core().read_model(model)
    read.reshape(shapes)
    found = {value.any_name: value.partial_shape for value in read.inputs}
    for name, shape in shapes.items():
        assert found[name] == shape == ov.PartialShape(str(shape)), (name, shape)
    print(json.dumps({name: [[d.get_min_length(), d.get_max_length()] for d in s] for name, s in found.items()}))


if __name__ == "__main__":
    main()
