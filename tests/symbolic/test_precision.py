"""Relations that must be decided: an answer of None is sound, and useless."""

from __future__ import annotations

import pytest

from gather_infer.symbolic import Interval, Scope, known_eq, known_le, parse_dim, simplify

# left side, right side: equal for every binding, with nothing known but N >= 0
EQUAL = [
    ("N//2//2", "N//4"),
    ("N//2//3//5", "N//30"),
    ("(2*N + 1)//2", "N"),
    ("(2*N + 6)//4", "(N + 3)//2"),
    ("(N//2 + 1)//2", "(N + 2)//4"),
    ("(N//4 + 3)//8", "(N + 12)//32"),
    ("(N - 1)//2 + 1", "(N + 1)//2"),
    ("(N + 1)//2 + N//2", "N"),
    ("-(-N//3)", "(N + 2)//3"),
    ("ceil(N/4)", "(N + 3)//4"),
    ("-((-N)//2)", "(N + 1)//2"),
    ("2*N//3", "N - (N + 2)//3"),
    ("N % 4 + 4*(N//4)", "N"),
    ("N % 2 + N//2*2", "N"),
    ("(N % 4) // 4", "0"),
    ("(N % 4) % 4", "N % 4"),
    ("(N % 8) % 4", "N % 4"),
    ("(5*N) % 4", "N % 4"),
    ("(N + 4) % 4", "N % 4"),
    ("4*N % 4", "0"),
    ("(4*N + 3) % 4", "3"),
    ("(N - 1) % 4", "(N + 3) % 4"),
    ("N*M//M", "N"),
    ("(N*M + M)//M", "N + 1"),
    ("(N*M + K)//M", "N + K//M"),
    ("N*M//(M*K)", "N//K"),
    ("N//M//K", "N//(M*K)"),
    ("N//M*M + N % M", "N"),
    ("(N % M)//M", "0"),
    ("(N + M)*(N - M)", "N*N - M*M"),
    ("N*(N + 1)//(N + 1)", "N"),
    ("6*N//(2*M)", "3*N//M"),
    ("max(N + 1, M + 1)", "max(N, M) + 1"),
    ("max(1, N)", "max(0, N - 1) + 1"),
    ("max(2*N, 2*M)", "2*max(N, M)"),
    ("max(N*K, M*K)", "K*max(N, M)"),
    ("max(N, 0)", "N"),
    ("max(N, N + M)", "N + M"),
    ("max(max(N, M), K)", "max(N, max(M, K))"),
    ("max(N, M, N)", "max(M, N)"),
    ("min(N, 5) + max(N, 5)", "N + 5"),
    ("min(N, M) + max(N, M)", "N + M"),
    ("min(N, max(N, M))", "N"),
    ("max(N, min(N, M))", "N"),
    ("max(-N, -M)", "-min(N, M)"),
    ("max(N, 3) - min(-N, -3)", "2*max(N, 3)"),
    ("min(N, 5)//6", "0"),
    ("N - min(N, 5)", "max(0, N - 5)"),
    ("max(N - 5, 0) + min(N, 5)", "N"),
    ("max(N, M) - M", "max(N - M, 0)"),
    ("min(max(N, 3), 2)", "2"),
    ("(max(N, M) + 1)//1", "max(N, M) + 1"),
    ("max(N//2, M//2)", "max(N, M)//2"),
    ("N - N//2", "(N + 1)//2"),
    ("0//N", "0"),
    ("N//N", "1"),
    ("N//1", "N"),
    ("N//(-2)", "-((N + 1)//2)"),
    ("(past + seq) - past", "seq"),
    ("((H + 2*3 - 7)//2 + 1 + 2 - 3)//2 + 1", "(H + 3)//4"),
]

# equal, and not yet seen to be: when one of them is, move it up
CURRENTLY_UNDECIDED = [
    # The rationals cannot tell: it takes the three cases of N % 3.
    ("(N + 2)//3 + (N + 1)//3 + N//3", "N"),
    ("N*(N + 1)//2*2", "N*(N + 1)"),
]

# smaller or equal, greater or equal
ORDERED = [
    ("0", "7*((N//4 - N//8 + 6)//7)"),
    ("3", "7*((N//4 - N//8 + 6)//7) + 3"),
    ("0", "K*((N//4 - N//8 + 6)//7)*((M//4 - M//8 + 6)//7)"),
    ("0", "N - N//2"),
    ("N//2", "N"),
    ("0", "N*N - N"),
    ("N", "N*N"),
    ("N*N", "N*N*N"),
    ("-6", "N*N - 5*N"),
    ("0", "N*N - 2*N + 1"),
    ("N % 4", "3"),
    ("0", "N % 4"),
    ("N % 4", "N"),
    ("N % M", "M - 1"),
    ("0", "N % M"),
    ("N//M", "N"),
    ("N//M*M", "N"),
    ("N", "N//M*M + M - 1"),
    ("N//M*M*K", "N*K"),
    ("0", "N - min(N, 5)"),
    ("min(N, 5)", "N"),
    ("min(N, 5)", "5"),
    ("max(0, N - 1)", "N"),
    ("N - 1", "max(0, N - 1)"),
    ("max(N, M)", "N + M"),
    ("min(N, M)", "max(N, M)"),
    ("min(N, M)*2", "N + M"),
    ("N + M", "2*max(N, M)"),
    ("min(N, M)*K", "N*K"),
    ("max(N, M)//2", "N//2 + M//2 + 1"),
    ("(N + 1)//2", "N//2 + 1"),
    ("N//3", "N//2"),
    ("(N + M)//2", "max(N, M)"),
    ("min(N, M)", "(N + M)//2"),
    ("4*((N + 3)//4)", "N + 3"),
    ("N", "4*((N + 3)//4)"),
    ("min(N, 512)", "min(N, 1024)"),
    ("N*M", "N*M*2"),
    ("max(N - M, 0)", "N"),
]

# never equal
DIFFERENT = [
    ("N", "N + 1"),
    ("2*N", "2*M + 1"),
    ("4*N + 2", "4*M"),
    ("N", "-1"),
    ("N % 4", "4"),
    ("max(N, 3)", "2"),
    ("min(N, 3)", "4"),
    ("N*N", "N - 1"),
    ("6*(N//2) + 3", "2*M"),
]

# nothing may be said: some bindings are equal, some are not
OPEN = [("N", "M"), ("N", "1"), ("N*N", "N"), ("N//2", "0"), ("max(N, M)", "N"), ("N % 2", "1"), ("N*M", "0")]

# facts (each >= 0), smaller or equal, greater or equal
UNDER_FACTS = [
    (["512 - past - seq"], "past", "512"),
    (["512 - past - seq"], "past + seq", "512"),
    (["512 - past - seq"], "past + seq - 1", "511"),
    (["512 - past - seq", "seq - 1"], "past", "511"),
    (["N*M - 1"], "1", "N"),
    (["N*M*K - 1"], "1", "K"),
    (["3*N*M - 7"], "1", "M"),
    (["N - M"], "M*K", "N*K"),
    (["N - M", "M - K"], "K", "N"),
    (["N - 1"], "1", "N*N"),
    (["N - 1", "M - 1"], "N", "N*M"),
    (["N - 1", "M - 1"], "N + M - 1", "N*M"),
    (["N//2 - 1"], "2", "N"),
    (["5 - N//2"], "N", "11"),
    (["min(N, M) - 3"], "3", "M"),
    (["8 - max(N, M)"], "N + M", "16"),
    (["N + M - 1", "-M"], "1", "N"),
    (["2*N - 3"], "2", "N"),
    (["N*M - N", "N - 1"], "1", "M"),
    (["N - 2*M", "2*M - N", "M - 4"], "8", "N"),
    (["max(N, M) - 4", "3 - N"], "4", "M"),
]

# facts, dim, what it is in their scope
SIMPLIFIED = [
    (["N - 1"], "max(0, N - 1)", "N - 1"),
    (["N - 1"], "N*M//N", "M"),
    (["N - 1"], "0//N", "0"),
    (["4 - N"], "N//5", "0"),
    (["512 - N"], "min(N, 512)", "N"),
    (["M - N"], "max(N, M)", "M"),
    (["M - N - 1"], "N % M", "N"),
    (["M - 3", "3 - M"], "N//M", "N//3"),
    (["N - 3", "3 - N"], "N*M + 1", "3*M + 1"),
    (["-N"], "N + M", "M"),
]


@pytest.mark.parametrize(("left", "right"), EQUAL, ids=[f"{a} == {b}" for a, b in EQUAL])
def test_equal_dims_are_known_to_be_equal(left: str, right: str) -> None:
    assert known_eq(parse_dim(left), parse_dim(right)) is True
    assert known_le(parse_dim(left), parse_dim(right)) is True


@pytest.mark.parametrize(("left", "right"), CURRENTLY_UNDECIDED, ids=[f"{a} == {b}" for a, b in CURRENTLY_UNDECIDED])
def test_weak_spots_are_on_record(left: str, right: str) -> None:
    assert known_eq(parse_dim(left), parse_dim(right)) is None


@pytest.mark.parametrize(("left", "right"), ORDERED, ids=[f"{a} <= {b}" for a, b in ORDERED])
def test_order_is_known(left: str, right: str) -> None:
    assert known_le(parse_dim(left), parse_dim(right)) is True
    assert known_le(parse_dim(right) + 1, parse_dim(left)) is False


@pytest.mark.parametrize(("left", "right"), DIFFERENT, ids=[f"{a} != {b}" for a, b in DIFFERENT])
def test_different_dims_are_known_to_differ(left: str, right: str) -> None:
    assert known_eq(parse_dim(left), parse_dim(right)) is False


@pytest.mark.parametrize(("left", "right"), OPEN, ids=[f"{a} and {b}" for a, b in OPEN])
def test_open_questions_stay_open(left: str, right: str) -> None:
    assert known_eq(parse_dim(left), parse_dim(right)) is None


@pytest.mark.parametrize(
    ("facts", "left", "right"), UNDER_FACTS, ids=[f"{', '.join(f)} |= {a} <= {b}" for f, a, b in UNDER_FACTS]
)
def test_order_is_known_under_facts(facts: list[str], left: str, right: str) -> None:
    scope = Scope()
    for fact in facts:
        scope.add_fact(parse_dim(fact))
    assert known_le(parse_dim(left), parse_dim(right), scope) is True


@pytest.mark.parametrize(
    ("facts", "dim", "result"), SIMPLIFIED, ids=[f"{', '.join(f)} |= {a} is {b}" for f, a, b in SIMPLIFIED]
)
def test_simplify_uses_the_scope(facts: list[str], dim: str, result: str) -> None:
    scope = Scope()
    for fact in facts:
        scope.add_fact(parse_dim(fact))
    assert simplify(parse_dim(dim), scope) is parse_dim(result)


BOUNDS = {
    "N": (0, None),
    "N % 4": (0, 3),
    "N*N - N": (0, None),
    "N*N - 5*N": (-6, None),
    "N - N//2": (0, None),
    "N//2 - N": (None, 0),
    "min(N, 5)": (0, 5),
    "N - min(N, 5)": (0, None),
    "max(2, N)": (2, None),
    "3 - N": (None, 3),
    "5*(N % 3) - 2": (-2, 8),
    "(N % 4)*(M % 3)": (0, 6),
    "7//N": (0, 7),
    "(N % 2)//M": (0, 1),
}


@pytest.mark.parametrize("dim", BOUNDS)
def test_bounds(dim: str) -> None:
    assert Scope().bounds(parse_dim(dim)) == Interval(*BOUNDS[dim])
