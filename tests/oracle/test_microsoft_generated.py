"""Rules of com.microsoft against onnxruntime: their signatures against its schemas, their results on generated nodes.

A family runs in a process of its own: some kernels end the process on inputs that they do not expect.
"""

from __future__ import annotations

import multiprocessing
import random
from collections import Counter
from multiprocessing.connection import Connection

import onnxruntime
import onnxruntime.capi.onnxruntime_pybind11_state as runtime
import pytest

from gather_infer.ops import standard_rules
from gather_infer.ops.microsoft.signature import Signature
from gather_infer.rules import Rule
from tests.oracle import ms_attention_cases, ms_cases
from tests.oracle.ms_run import compare, run

GENERATORS = {**ms_cases.GENERATORS, **ms_attention_cases.GENERATORS}
CASES = 25
SHARES = (0.0, 0.4, 0.9)
NAMES = {"float": "float32", "double": "float64"}
SCHEMAS = {schema.name: schema for schema in runtime.get_all_operator_schema() if schema.domain == "com.microsoft"}
IS_OLDER = tuple(map(int, onnxruntime.__version__.split(".")[:2])) < (1, 32)
"""The signatures are those of 1.32: what came with it stands at the end of lists, or is an attribute."""
SINCE_1_32 = {"packed_conv", "gather_packed"}
"""Families of operators that have a kernel on the processor from 1.32 on."""
RULES = {op_type: rule for op_type, _, rule in standard_rules()["com.microsoft"].entries()}


def signature_of(rule: Rule) -> Signature | None:
    """The signature that a rule was made with."""
    cells = [cell.cell_contents for cell in getattr(rule, "__closure__", None) or ()]
    return next((content for content in cells if isinstance(content, Signature)), None)


SIGNATURES = {op_type: signature for op_type, rule in RULES.items() if (signature := signature_of(rule)) is not None}


@pytest.mark.parametrize("op_type", sorted(SCHEMAS.keys() & SIGNATURES.keys()))
def test_signature_is_that_of_the_schema(op_type: str) -> None:
    signature, schema = SIGNATURES[op_type], SCHEMAS[op_type]
    choices = {c.type_param_str: c.allowed_type_strs for c in schema.type_constraints}
    for mine, theirs in ((signature.inputs, schema.inputs), (signature.outputs, schema.outputs)):
        mine = mine[: len(theirs)] if IS_OLDER else mine
        assert [formal.name for formal in mine] == [formal.name for formal in theirs]
        for formal, given in zip(mine, theirs, strict=True):
            assert formal.is_optional == str(given.option).endswith("Optional"), formal.name
            assert formal.is_repeated == str(given.option).endswith("Variadic"), formal.name
            texts = [t.replace("tensor(", "").rstrip(")") for t in choices.get(given.typeStr, [given.typeStr])]
            if formal.type != "*":
                allowed = {str(dtype) for dtype in signature.choices[formal.type]}
                assert allowed == {NAMES.get(text, text) for text in texts}, formal.name
    attributes = {n: str(a.type).split(".")[-1].lower() for n, a in schema.attributes.items()}
    assert signature.attributes == (signature.attributes | attributes if IS_OLDER else attributes)
    assert sorted(signature.required) == sorted(n for n, a in schema.attributes.items() if a.required)


def work(family: str, answer: Connection) -> None:
    """Runs and compares the cases of a family; sends the counts, or what is wrong."""
    r = random.Random(f"ms {family}")
    counts: Counter[str] = Counter()
    for _ in range(CASES):
        case = GENERATORS[family](r)
        answer.send(str(case))
        expected = run(case)
        if isinstance(expected, str):
            counts["refused"] += 1
            continue
        counts["legal"] += 1
        for share in SHARES:
            try:
                compare(r, case, expected, share, counts)
                compare(r, case, expected, share, Counter(), forget=0.3)
            except AssertionError as error:
                answer.send(error)
                return
    answer.send(counts)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("family", sorted(GENERATORS.keys() - (SINCE_1_32 if IS_OLDER else set())))
def test_generated(family: str) -> None:
    here, there = multiprocessing.get_context("fork").Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=work, args=(family, there))
    process.start()
    there.close()
    case, result = "", None
    try:
        while result is None:
            message = here.recv()
            if isinstance(message, str):
                case = message
            else:
                result = message
    except EOFError:
        pytest.fail(f"the process ended at {case}")
    finally:
        process.join(10)
    if isinstance(result, AssertionError):
        pytest.fail(str(result))
    assert result["legal"] * 3 >= CASES * 2, "most of the generated cases should run"
    assert result["open"] <= result["dims"], "most dims should be told"
