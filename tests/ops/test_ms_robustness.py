"""Every rule of com.microsoft on nonsense: it answers or raises SpecViolation, whatever is not known."""

from __future__ import annotations

import random
from typing import Any

import pytest

from gather_infer.errors import SpecViolation
from gather_infer.ops import standard_rules
from gather_infer.ops.microsoft.signature import Signature
from gather_infer.rules import Rule
from gather_infer.symbolic import Dim, symbol
from gather_infer.tensor import DType, SymbolicTensor, make_values
from tests.ops.call import call

RULES = standard_rules()["com.microsoft"]
ATTRIBUTES: dict[str, tuple[Any, ...]] = {
    "int": (-1, 0, 1, 2, 3, 16), "float": (0.0, 1.5), "string": ("", "NOTSET", "SAME_UPPER", "LATENT", "forward"),
    "ints": ((), (0,), (1, 1), (2, 2, 2), (-1, 0, 3, 4)), "floats": ((), (0.5,)), "strings": ((), ("a",)),
    "graph": (object(),),
}  # fmt: skip


def signature_of(rule: Rule) -> Signature | None:
    cells = [cell.cell_contents for cell in getattr(rule, "__closure__", None) or ()]
    return next((content for content in cells if isinstance(content, Signature)), None)


SIGNATURES = {op: found for op, _, rule in RULES.entries() if (found := signature_of(rule)) is not None}


def any_tensor(r: random.Random, choices: frozenset[DType]) -> SymbolicTensor:
    dtype = r.choice([None, *sorted(choices)])
    if r.random() < 0.25:
        return SymbolicTensor(dtype)
    if dtype in (DType.INT32, DType.INT64) and r.random() < 0.4:
        n = r.randint(0, 4)
        return SymbolicTensor(dtype, (n,), make_values([r.choice([None, -1, 0, 1, symbol("N")]) for _ in range(n)]))
    dims: list[Dim] = [0, 1, 2, 6, symbol("B"), symbol("S"), symbol("B") * 2 + 1]
    return SymbolicTensor(dtype, tuple(r.choice(dims) for _ in range(r.randint(0, 5))))


@pytest.mark.parametrize("op_type", sorted(SIGNATURES))
def test_nonsense_is_answered_or_refused(op_type: str) -> None:
    r, signature = random.Random(op_type), SIGNATURES[op_type]
    every = frozenset({DType.FLOAT32})
    for _ in range(150):
        inputs = [
            None
            if formal.is_optional and r.random() < 0.5
            else any_tensor(r, signature.choices.get(formal.type, every))
            for formal in signature.inputs
        ]
        attributes = {
            name: r.choice(ATTRIBUTES[kind])
            for name, kind in signature.attributes.items()
            if name in signature.required or r.random() < 0.5
        }
        try:
            found = call(RULES, op_type, inputs, version=1, outputs=len(signature.outputs), **attributes)
        except SpecViolation as violation:
            assert violation.code and not violation.message.endswith("."), violation
        else:
            assert all(isinstance(fact, SymbolicTensor) for fact in found)


@pytest.mark.parametrize("op_type", sorted(SIGNATURES))
def test_inputs_without_shapes_are_answered(op_type: str) -> None:
    signature = SIGNATURES[op_type]
    inputs = [SymbolicTensor() if not formal.is_optional else None for formal in signature.inputs]
    if op_type == "QLinearConcat":
        inputs += [SymbolicTensor()] * 2
    plain = {"int": 1, "string": "", "ints": (0,), "graph": None}
    attributes: dict[str, Any] = {
        n: ATTRIBUTES["graph"][0] if k == "graph" else plain[k]
        for n, k in signature.attributes.items()
        if n in signature.required
    }
    attributes |= {"block_size": 16} if "block_size" in signature.required else {}
    attributes |= {"sparse_block_size": 16} if "sparse_block_size" in attributes else {}
    attributes |= {"max_ngram_size": 2} if op_type == "NGramHashMapping" else {}
    attributes |= {"mrope_section": (1, 1, 1)} if op_type == "MRotaryEmbedding" else {}
    attributes |= {"kernel_shape": (1,)} if "Pool" in op_type or "pool" in op_type else {}
    attributes.pop("kernel_shape" if "Global" in op_type else "", None)
    found = call(RULES, op_type, inputs, version=1, outputs=len(signature.outputs), **attributes)
    assert len(found) == len(signature.outputs)
