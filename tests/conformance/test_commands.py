"""Every node model of onnx's backend tests goes through every function that takes a model, and none raises."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from onnx import ModelProto

import gather_infer
from tests.conformance.backend import cases, static, symbolic

Sizes = Mapping[str, int]
FUNCTIONS: Mapping[str, Callable[[ModelProto, Sizes], object]] = {
    "infer": lambda model, _: gather_infer.infer(model).annotated(),
    "check": lambda model, _: gather_infer.check(model),
    "optimize": lambda model, _: gather_infer.optimize(model),
    "fold": lambda model, _: gather_infer.fold(model),
    "freeze": lambda model, sizes: gather_infer.freeze(model, dims=sizes),
    "contract": lambda model, _: gather_infer.contract_of(model),
    "cost": lambda model, _: gather_infer.infer(model).cost(),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_some_static_node_models(function: str) -> None:
    for case in cases()[list(FUNCTIONS).index(function) % 4 :: 4]:
        FUNCTIONS[function](*static(case))


@pytest.mark.oracle
@pytest.mark.parametrize("function", FUNCTIONS)
def test_static_node_models(function: str) -> None:
    for case in cases():
        FUNCTIONS[function](*static(case))


@pytest.mark.oracle
@pytest.mark.parametrize("function", FUNCTIONS)
def test_symbolic_node_models(function: str) -> None:
    for case in cases():
        FUNCTIONS[function](*symbolic(case))
