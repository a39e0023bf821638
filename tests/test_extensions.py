"""Functions of the user: each kind is guarded alike, wherever it is called."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn, cast

import numpy as np
import onnx
import pytest

from gather_infer import ModelReadError, RewriteSet, RuleSet, SpecViolation, SymbolicTensor, UsageError, infer, optimize
from gather_infer.cost import CostUnknown
from gather_infer.extensions import file_of
from gather_infer.passes.rewrite import GraphRewrite, Rewrite, RewriteCost, Unavailable
from gather_infer.symbolic import DimTooLarge

Function = Callable[..., Any]


def parsed(graph: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17, "mine": 1]> {graph}')


NEGATED = parsed("g (float[N, 3] x) => (float[N, 3] y) { [turn] y = Neg(x) }")
MIXED = parsed("g (float[N, 3] x) => (float[N, 3] y) { [mix] y = mine.Mix(x) }")
MISPLACED = parsed("g (float[N, 3] x, int64[K] i) => (y) <int64 a = {0}> { [pick] y = Gather(x, i, a) }")
"""A Gather of OpenVINO in the domain of ONNX, which the rule of OpenVINO's Gather infers."""


def ruled(function: Function, domain: str = "", op_type: str = "Neg", model: onnx.ModelProto = NEGATED) -> list[str]:
    rules = RuleSet(domain)
    rules.rule(op_type)(function)
    return [finding.code for finding in infer(model, rules=[rules]).diagnostics]


def rewritten(function: Function) -> list[str]:
    rewrites = RewriteSet()
    rewrites.rewrites("Neg", name="own")(function)
    return [applied.law for applied in optimize(NEGATED, rewrites=[rewrites]).applied]


def arranged(function: Function) -> list[str]:
    rewrites = RewriteSet()
    rewrites.graph_pass(function, name="own")
    return [applied.law for applied in optimize(NEGATED, rewrites=[rewrites]).applied]


def counted(function: Function) -> list[str]:
    rules = RuleSet("mine")
    rules.macs("Mix", text="n")(function)
    found = infer(MIXED, rules=[rules]).cost().unknown_contributions
    return [gap.reason for gap in found if gap.quantity == "macs"]


class Kind(NamedTuple):
    """A kind of function: `run` calls one of them, whose errors name it `title`."""

    run: Callable[[Function], list[str]]
    title: str
    refusals: list[tuple[Exception, list[str]]]
    """Exceptions that such a function may raise, with the result of `run`."""


KINDS = {
    "a rule": Kind(
        ruled, "the rule of Neg at node turn", [(SpecViolation("no"), ["GI210"]), (DimTooLarge("no"), ["GI213"])]
    ),
    "a rule for a misplaced node": Kind(
        lambda function: ruled(function, "openvino", "Gather", MISPLACED),
        "the rule of openvino.Gather at node pick",
        [(SpecViolation("no"), ["GI210", "GI309"]), (DimTooLarge("no"), ["GI213", "GI309"])],
    ),
    "a rewrite": Kind(rewritten, "rewrite own of turn", [(Unavailable(), []), (DimTooLarge("no"), [])]),
    "a graph-level pass": Kind(arranged, "rewrite own", [(Unavailable(), []), (DimTooLarge("no"), [])]),
    "a formula": Kind(
        counted,
        "the formula of mine.Mix at node mix",
        [
            (CostUnknown("why"), ["why"]),
            (SpecViolation("odd"), ["odd"]),
            (DimTooLarge("no"), ["the expression grows past the size limit"]),
        ],
    ),
}


def raising(error: BaseException) -> Function:
    def function(*_: object) -> NoReturn:
        raise error

    return function


LINE = raising(KeyError()).__code__.co_firstlineno + 1


@pytest.mark.parametrize("name", KINDS)
def test_an_exception_is_the_cause_of_an_error_with_its_line(name: str) -> None:
    kind, error = KINDS[name], KeyError("x")
    with pytest.raises(UsageError) as caught:
        kind.run(raising(error))
    assert str(caught.value) == f"{__file__}:{LINE}: {kind.title}: KeyError: 'x'"
    assert caught.value.__cause__ is error
    with pytest.raises(UsageError) as caught:
        kind.run(raising(SystemExit(0)))
    assert str(caught.value) == f"{__file__}:{LINE}: {kind.title}: exits the program, which rules must not do"
    with pytest.raises(ModelReadError, match=r"^gone$"):  # not an error of the function
        kind.run(raising(ModelReadError("gone")))


@pytest.mark.parametrize("name", KINDS)
def test_the_exceptions_that_a_function_may_raise(name: str) -> None:
    kind = KINDS[name]
    for error, result in kind.refusals:
        assert kind.run(raising(error)) == result


@pytest.mark.parametrize("name", KINDS)
def test_a_result_of_a_wrong_type(name: str) -> None:
    kind = KINDS[name]
    with pytest.raises(UsageError) as caught:
        kind.run(lambda *_: "text")
    assert str(caught.value).startswith(f"{__file__}: {kind.title} must return ")


class Callback:
    def __call__(self, *_: object) -> NoReturn:
        raise KeyError("x")


@functools.wraps(raising(KeyError("x")))
def decorated(*given: object) -> object:
    return raising(KeyError("x"))(*given)


WRAPPED: dict[str, Function] = {
    "a partial": functools.partial(raising(KeyError("x")), 1),
    "an object": Callback(),
    "a method": Callback().__call__,
    "decorated": decorated,
}


@pytest.mark.parametrize("name", WRAPPED)
@pytest.mark.parametrize("kind", KINDS)
def test_the_line_in_a_callable_of_any_sort(name: str, kind: str) -> None:
    with pytest.raises(UsageError, match=r"test_extensions\.py:\d+: .*: KeyError: 'x'$"):
        KINDS[kind].run(WRAPPED[name])


def test_a_callable_without_source() -> None:
    assert [file_of(one) for one in (len, functools.partial(len), np.add)] == [""] * 3
    with pytest.raises(UsageError, match=r"^the rule of Neg at node turn: TypeError: "):
        ruled(len)


def rewrite(**fields: object) -> Function:
    return lambda match: Rewrite(law="", **cast(Any, {"values": {match.output(): match.input(0)}, **fields}))


MALFORMED: dict[str, tuple[str, Function, str]] = {
    # id:            (kind, function, end of the message)
    "no nodes":      ("a rewrite", rewrite(nodes=None), "must have NodeProtos in nodes, has None"),
    "constants":     ("a rewrite", rewrite(constants=["c"]), "must have Constants in constants, has ['c']"),
    "siblings":      ("a rewrite", rewrite(siblings=3), "must have a set of names in siblings, has 3"),
    "a body":        ("a rewrite", rewrite(body=3), "must have a Graph or None in body, has 3"),
    "undefined":     ("a rewrite", rewrite(values={"y": "z"}), "reads z, which is not defined"),
    "another value": ("a rewrite", rewrite(values={"x": "x"}), "replaces x, which the node does not write"),
    "no such value": (
        "a graph-level pass",
        lambda *_: GraphRewrite(law="", name="z", cost=RewriteCost(), nodes=(), constants={}, inputs=(), renamed={}),
        "replaces z, which no node of the graph writes",
    ),
    "a code":        ("a rule", raising(SpecViolation("no", "GI999")), "raises the unknown code GI999"),
}  # fmt: skip


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_result_names_the_file(name: str) -> None:
    kind, function, message = MALFORMED[name]
    with pytest.raises(UsageError) as caught:
        KINDS[kind].run(function)
    assert str(caught.value) == f"{__file__}: {KINDS[kind].title} {message}"


def test_an_unknown_code_of_a_report_names_the_line() -> None:
    def reports(op: Any) -> list[SymbolicTensor]:
        op.report("GI999", "no")
        return [op.tensor(0)]

    with pytest.raises(UsageError, match=r"test_extensions\.py:\d+: the rule of Neg at node turn: ValueError: unknown"):
        ruled(reports)
