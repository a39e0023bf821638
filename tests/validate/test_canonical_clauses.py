"""Relations as people state them: at every size they say what they said before, and onnxruntime agrees."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import gather_infer
from gather_infer import parse_dim
from gather_infer.contract import DimsLine, Relation
from gather_infer.symbolic import Scope
from gather_infer.validate.canonical_clauses import canonical_clauses
from tests.validate.contract_runs import Feeds, Runtime
from tests.validate.test_contract import parsed

CASES: dict[str, tuple[str, list[str]]] = {
    # id: (relation, clauses, which all hold)
    "steps of 8": ("(h + 4)//8 == h//8", ["h % 8 < 4"]),
    "steps of 8, as an inequality": ("(h + 4)//8 <= h//8", ["h % 8 < 4"]),
    "even": ("6*n == 12*(n//2)", ["n % 2 == 0"]),
    "odd": ("(n + 1)//2 == n//2 + 1", ["n % 2 == 1"]),
    "in the middle": ("(n + 6)//8 == (n + 4)//8 + 1", ["n % 8 >= 2", "n % 8 < 4"]),
    "always": ("2*(n//2) <= n", []),
    "never": ("2*(n//2) >= n + 1", ["2*(n//2) >= n + 1"]),
    "quotients of quotients": ("7*((h//4 + 6)//7) == h//4", ["h % 28 < 4"]),
    "not even": ("2*(n//2) + 1 <= n", ["n % 2 == 1"]),
    "what does not repeat itself": ("n//2 == 4", ["n//2 == 4"]),
    "patches": (
        "16*b*(h//4)*(w//4) == b*h*w",
        ["h % 4 == 0 or w == 0 or b == 0", "w % 4 == 0 or h == 0 or b == 0"],
    ),
    "windows": (
        "4*b*((h + 4)//8)*((w + 4)//8) == b*(h//4)*(w//4)",
        ["h % 8 < 4 or (w + 4)//8 == 0 or b == 0", "w % 8 < 4 or (h + 4)//8 == 0 or b == 0"],
    ),
    "patches of two lengths": (
        "12*(h//4)*(w//3) == h*w", ["h % 4 == 0 or w == 0", "w % 3 == 0 or h == 0"],
    ),
    "patches in three directions": (
        "8*(d//2)*(h//2)*(w//2) == d*h*w",
        ["d % 2 == 0 or h == 0 or w == 0", "h % 2 == 0 or d == 0 or w == 0", "w % 2 == 0 or d == 0 or h == 0"],
    ),
    "neither is the larger one": ("5*(h//2)*(w//2) == h*w", ["5*(h//2)*(w//2) == h*w"]),
    "a factor that both have": ("a*x == b*x", ["a == b or x == 0"]),
    "the least": ("a + b == min(m, a + b)", ["a + b <= m"]),
    "the greatest": ("max(a, b, 3) == b", ["b >= 3", "b >= a"]),
    "the least is a number": ("min(1, n) == 1", ["n >= 1"]),
    "the least of others": ("min(a, b) == c", ["min(a, b) == c"]),
}  # fmt: skip


def relation_of(text: str) -> Relation:
    (sign,) = (sign for sign in ("==", "<=", ">=") if f" {sign} " in text)
    left, right = text.split(f" {sign} ")
    return Relation(parse_dim(left), sign, parse_dim(right))


@pytest.mark.parametrize("case", CASES)
def test_clauses_say_what_the_relation_says(case: str) -> None:
    text, expected = CASES[case]
    relation = relation_of(text)
    clauses = canonical_clauses(relation, Scope())
    assert [" or ".join(map(str, clause)) for clause in clauses] == expected
    names = sorted(relation.symbols)
    for sizes in itertools.product(range(30 if len(names) == 1 else 11), repeat=len(names)):
        bound = dict(zip(names, sizes, strict=True))
        assert relation.holds(bound) == all(any(r.holds(bound) for r in clause) for clause in clauses), bound


def test_what_holds_of_nothing_only_is_not_in_the_text() -> None:
    line = DimsLine((relation_of("h % 4 == 0"), relation_of("w == 0"), relation_of("b == 0")))
    assert line.text == "h % 4 == 0"
    assert [str(relation) for relation in line.unless] == ["w == 0", "b == 0"]
    assert line.holds({"h": 3, "w": 0, "b": 1})
    assert DimsLine((relation_of("b == 0"),)).text == "b == 0"
    assert DimsLine((relation_of("a % 2 == 0"), relation_of("b % 2 == 0"))).text == "a % 2 == 0 or b % 2 == 0"


def test_patches_of_an_image() -> None:
    """A reshape to patches of 4 x 4: the lines are those of a person, and exact where there is nothing."""
    model = parsed(
        "float[batch, 1, height, width] x",
        "s = Shape (x) b, c, h, w = Split (s) p = Div (h, v4) q = Div (w, v4) "
        "t = Concat <axis = 0> (b, c, p, v4, q, v4) y = Reshape <allowzero = 1> (x, t)",
        "int64[1] v4 = {4}",
    )
    contract = gather_infer.contract_of(model).contract
    assert [(line.text, line.tight) for line in contract.lines] == [
        ("height % 4 == 0", True),
        ("width % 4 == 0", True),
    ]
    runtime = Runtime(model)
    for sizes in itertools.product((0, 1, 2), (0, 3, 4, 5, 8), (0, 3, 4, 5, 8)):
        feeds: Feeds = {"x": np.zeros((sizes[0], 1, *sizes[1:]), np.float32)}
        assert bool(contract.check(feeds)) == bool(runtime.error(feeds)), sizes
    assert "must be height % 4 == 0" in contract.check({"x": np.zeros((1, 1, 5, 4), np.float32)})[0].text
