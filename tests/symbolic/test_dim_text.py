"""Dims as text, both ways."""

from __future__ import annotations

import copy
import pickle

import pytest

from gather_infer.symbolic import DimSyntaxError, Expr, maximum, parse_dim, symbol

NORMAL_FORMS = {
    # text read: text printed
    "2*N + 1": "2*N + 1",
    "1 + N*2": "2*N + 1",
    "-1 + N": "N - 1",
    "1 - N": "1 - N",
    "-N": "-N",
    "-N - 1": "-N - 1",
    "seq + past": "past + seq",
    "N + N*M": "M*N + N",
    "N**3": "N*N*N",
    "(N + 1)//2": "(N + 1)//2",
    "(N - 1)//2": "(N + 1)//2 - 1",
    "N % 2": "N % 2",
    "N - 2*(N//2)": "N % 2",
    "3*(N % 4) + 1": "3*(N % 4) + 1",
    "-(N//2)": "-(N//2)",
    "1 - N//2": "1 - N//2",
    "-N//2": "-((N + 1)//2)",
    "2*N//3": "2*N//3",
    "N//(2*M)": "N//(2*M)",
    "-1//N": "(-1)//N",
    "max(N - 1, 0)": "max(0, N - 1)",
    "Max(N, M)": "max(M, N)",
    "Min(5, N)": "min(5, N)",
    "mod(N, 3)": "N % 3",
    "floor(N/2)": "N//2",
    "floor(N/2 + 1/2)": "(N + 1)//2",
    "ceiling(N/2)": "(N + 1)//2",
    "4*N/2": "2*N",
    "N*(N + 1)/2": "(N*N + N)//2",
    "floor(W/2 - 1/2) + 1": "(W + 1)//2",
    "ceiling(H/3 - 2/3)": "H//3",
    "floor(Max(1/2, N/2))": "max(1, N)//2",
    "Abs(N - 4)": "max(4 - N, N - 4)",
    "sqrt(N**2)": "N",
    "FloorDiv(s0, 2)": "s0//2",
    "CeilToInt(IntTrueDiv(s0, 3))": "(s0 + 2)//3",
    "CeilToInt(n, 4)": "(n + 3)//4",
    "TruncToInt(1.5*ToFloat(s0))": "s0 + s0//2",
    "ModularIndexing(s0, 4, 8)": "s0//4 - 8*(s0//32)",
    "N^0": "N",
    "4^N + 3": "max(1, N) + 3",
    "a^b&c": "max(a, min(b, c))",
    "a + b /: 2": "a + b//2",
    "+N": "N",
    "2*-N + 3*N": "N",
    "Add(S0, -1)": "S0 - 1",
    "Mul(S0, 6, 1 / (2))": "3*S0",
    "floordiv(n, 2)": "n//2",
    "'batch-size' + 1": "'batch-size' + 1",
    "'N'": "N",
    "''": "''",
    "onnx.Gather_1.dim": "onnx.Gather_1.dim",
    "max": "max",
    "max(max, 1)": "max(1, max)",
    "N*M//M": "M*N//M",  # M may be 0
    "((N))": "N",
    "--N": "N",
    "+".join(["N"] * 500): "500*N",
    "(" * 3000 + "N" + ")" * 3000: "N",
}


@pytest.mark.parametrize(("text", "printed"), NORMAL_FORMS.items(), ids=[text[:40] for text in NORMAL_FORMS])
def test_text_is_read_and_printed_in_normal_form(text: str, printed: str) -> None:
    dim = parse_dim(text)
    assert str(dim) == printed
    assert parse_dim(printed) is dim


def test_a_number_is_an_int() -> None:
    assert parse_dim(" 42 ") == 42
    assert parse_dim("N - N") == 0
    assert type(parse_dim("7 // 2")) is int


ODD_NAMES = ["batch-size", "dim 0", "ids/1", "", "it's", 'say "x"', "Größe", "a\\b", "x\ny", "1abc", "\\n", "\x00", "٣"]


@pytest.mark.parametrize("name", ODD_NAMES, ids=[ascii(name) for name in ODD_NAMES])
def test_any_name_survives(name: str) -> None:
    lone = symbol(name)
    for dim in (lone, 2 * lone + 1, maximum(lone * 2 + 1, 7), lone // 3):
        assert parse_dim(str(dim)) is dim


ERRORS = {
    # text: (position, problem)
    "": (0, "expected a number, a name or an opening parenthesis"),
    "N +": (3, "expected a number, a name or an opening parenthesis"),
    "N M": (2, "expected an operator"),
    "2N": (0, "expected a number, a name, a quoted name, an operator or a parenthesis"),
    "N)": (1, "expected an operator or the end, there is no open parenthesis"),
    "max(N": (5, "expected ) to close the one at position 0"),
    "N, M": (1, "expected an operator or the end, a comma belongs to a function"),
    "max()": (4, "expected a number, a name or an opening parenthesis"),
    "mod(N)": (0, "mod takes 2 arguments, 1 given"),
    "sqrt(N)": (0, "a root that need not be an integer"),
    "exp(N)": (0, "unknown function exp"),
    "N**2**2": (1, "a second ** is ambiguous, write parentheses"),
    "N^2": (1, "^2 is a maximum in RFC 0009 and a power in JAX"),
    "floor(N/3 + 0.3)": (12, "0.3 is a float that was rounded"),
    "floor(IntTrueDiv(N, 3)*2)": (22, "the value depends on how floats round"),
    "N//0": (1, "division by 0"),
    "N % (M - M)": (2, "division by 0"),
    "N/2": (3, "'/' may leave a fraction, expected floor(...), ceil(...) or '//' around it"),
    "-N**2": (0, "a minus before ** is ambiguous, write parentheses"),
    "2**9999999": (3, "exponent 9999999 is outside [0, 64]"),
    "N**M": (3, "expected a number as exponent"),
    "1.": (0, "expected a number, a name, a quoted name, an operator or a parenthesis"),
    "1.5": (3, "3/2 is not an integer"),
    "'open": (0, "expected a number, a name, a quoted name, an operator or a parenthesis"),
    "9" * 1301: (0, "a number of 1301 digits, the limit is 1300"),
    "((2**64)**64)**64": (8, "a number of more than 4096 bits"),
    "(" * 100_000: (4096, "parentheses nested deeper than 4096"),
    "(N + M + K + 1)**60": (15, "a dim of 5001 nodes, the cap is 4096"),
    "N" * 200_000: (1 << 17, "text of 200000 characters, the limit is 131072"),
}


@pytest.mark.parametrize(("text", "expected"), ERRORS.items(), ids=[text[:40] or "empty" for text in ERRORS])
def test_errors_say_where_and_what(text: str, expected: tuple[int, str]) -> None:
    with pytest.raises(DimSyntaxError) as raised:
        parse_dim(text)
    assert (raised.value.position, raised.value.problem) == expected
    assert len(str(raised.value)) < 300


def test_names_restrict_the_symbols() -> None:
    assert str(parse_dim("past + seq", names={"past", "seq"})) == "past + seq"
    with pytest.raises(DimSyntaxError, match=r"unknown name 'total' at position 7 of 'past \+ total'"):
        parse_dim("past + total", names={"past", "seq"})


def test_copies_are_the_same_object() -> None:
    dim = parse_dim("max(0, N - 1)//3 + N % 2")
    assert isinstance(dim, Expr)
    assert copy.deepcopy(dim) is dim
    assert pickle.loads(pickle.dumps(dim)) is dim
