"""Runs OpenVINO operators for a parent that must survive OpenVINO's crashes.

Reads pickled groups of cases from stdin; answers each group, run as one model, with a pickled (error, array) per case
on stdout, in order. A case is (operator, opset, attributes, arrays). Works as a script, so that the parent never
imports openvino.
"""

from __future__ import annotations

import pickle
import sys
from typing import Any

import numpy as np
import openvino as ov
from openvino import opset1, opset5, opset6, opset7, opset8

OPSETS = {1: opset1, 5: opset5, 6: opset6, 7: opset7, 8: opset8}


def build(operator: str, opset: int, attributes: dict[str, int], arrays: list[Any]) -> tuple[Any, list[Any]]:
    """The node and its parameters, of dynamic shape."""

    def parameter(number: int, array: Any) -> Any:
        shape: list[int] = [-1] * array.ndim
        if operator == "GatherND" and number == 1:
            shape[-1] = array.shape[-1]  # the plugin wants to know the rank of the result
        return opset8.parameter(ov.PartialShape(shape), array.dtype)

    module = OPSETS[opset]
    constant_axis = operator == "Gather" and not attributes.get("run_time_axis")
    inputs = [parameter(number, array) for number, array in enumerate(arrays[:2] if constant_axis else arrays)]
    match operator:
        case "Gather":
            axis = opset8.constant(arrays[2]) if constant_axis else inputs[2]
            rest = [attributes["batch_dims"]] if opset >= 7 else []
            return module.gather(inputs[0], inputs[1], axis, *rest), inputs
        case "GatherElements":
            return module.gather_elements(*inputs, attributes["axis"]), inputs
        case "GatherND":
            return module.gather_nd(*inputs, attributes["batch_dims"]), inputs
        case _:
            return module.gather_tree(*inputs), inputs


def run(core: ov.Core, cases: list[Any]) -> list[Any]:
    built = [build(*case) for case in cases]
    model = ov.Model([node for node, _ in built], [p for _, inputs in built for p in inputs])
    # A copy, because OpenVINO refuses numpy's view of an element as a 0-d array.
    feeds = [np.array(a) for (_, inputs), case in zip(built, cases, strict=True) for a in case[3][: len(inputs)]]
    if all(case[0] == "Gather" for case in cases):  # the CPU plugin has no run-time axis
        outputs = [ov.Tensor(out.element_type, ov.Shape([0])) for out in model.outputs]
        if not model.evaluate(outputs, [ov.Tensor(feed) for feed in feeds]):
            raise RuntimeError("evaluate gave up")
        return [out.data.copy() for out in outputs]
    results = core.compile_model(model, "CPU")(feeds)
    return [results[number].copy() for number in range(len(cases))]


def main() -> None:
    core = ov.Core()
    for group in pickle.load(sys.stdin.buffer):
        try:
            answers = [("", result) for result in run(core, group)]
        except RuntimeError as failure:
            answers = [answer(core, case) for case in group] if len(group) > 1 else [(last_line(failure), None)]
        for each in answers:
            pickle.dump(each, sys.stdout.buffer)
        sys.stdout.buffer.flush()


def answer(core: ov.Core, case: Any) -> tuple[str, Any]:
    try:
        return "", run(core, [case])[0]
    except RuntimeError as failure:
        return last_line(failure), None


def last_line(failure: RuntimeError) -> str:
    return str(failure).strip().splitlines()[-1]


if __name__ == "__main__":
    main()
