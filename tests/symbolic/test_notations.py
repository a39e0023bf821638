"""Dims in the notations of other tools: the texts, and that reading them returns the dim."""

from __future__ import annotations

import pytest

from gather_infer.symbolic import parse_dim
from gather_infer.symbolic.notations import NOTATIONS, InexpressibleDim
from gather_infer.symbolic.printing import to_text

TEXTS = {
    # dim: rfc0009, torch, onnxruntime (and onnx-ir and paddle, which share its notation)
    "2*N + 1": ("2*N + 1", "2*N + 1", "2*N + 1"),
    "N**2": ("N*N", "N*N", "N*N"),
    "(W + 1)//2": ("(W + 1)//2", "((W + 1)//2)", "floor((W + 1)/2)"),
    "floor(W/2 - 1/2) + 1": ("(W + 1)//2", "((W + 1)//2)", "floor((W + 1)/2)"),
    "-(N//2)": ("-(N//2)", "-(N//2)", "-floor(N/2)"),
    "3*(N//2)*M": ("3*M*(N//2)", "3*M*(N//2)", "3*M*floor(N/2)"),
    "N//2//M": ("N//(2*M)", "(N//(2*M))", "floor(N/(2*M))"),
    "N % 2": ("N % 2", "PythonMod(N, 2)", "Mod(N, 2)"),
    "3*((N + 1) % 4)": ("3*((N + 1) % 4)", "3*PythonMod(N + 1, 4)", "3*Mod(N + 1, 4)"),
    "max(0, N - 1)": ("(0 ^ (N - 1))", "Max(0, N - 1)", "Max(0, N - 1)"),
    "2*min(N, M, 7)": ("2*((7 & M) & N)", "2*Min(7, M, N)", "2*Min(7, M, N)"),
    "max(4, 3*N - M)": ("(4 ^ (3*N - M))", "Max(4, 3*N - M)", "Max(4, 3*N - M)"),
}


@pytest.mark.parametrize("text", TEXTS)
def test_the_text_of_each_notation(text: str) -> None:
    dim = parse_dim(text)
    rfc, torch, sympy = TEXTS[text]
    expected = {"rfc0009": rfc, "torch": torch, "onnxruntime": sympy, "onnx-ir": sympy, "paddle": sympy}
    for name, notation in NOTATIONS.items():
        written = to_text(dim, notation)
        assert written == expected.get(name, str(dim)), name
        assert parse_dim(written) == dim, name


INEXPRESSIBLE = {
    # dim: the notations that have a text for it
    "2*a.b": {"gather-infer", "onnxruntime", "onnx-ir", "paddle"},
    "2*'batch-size'": {"gather-infer"},
    "2*lambda": {"gather-infer", "rfc0009", "onnx-ir"},
    "N + 9223372036854775808": set(NOTATIONS) - {"rfc0009"},
}


@pytest.mark.parametrize("text", INEXPRESSIBLE)
def test_a_dim_that_a_notation_cannot_express(text: str) -> None:
    expressible = set()
    for name, notation in NOTATIONS.items():
        try:
            assert parse_dim(to_text(parse_dim(text), notation)) == parse_dim(text)
            expressible.add(name)
        except InexpressibleDim as problem:
            assert name in str(problem)
    assert expressible == INEXPRESSIBLE[text]
