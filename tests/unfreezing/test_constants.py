"""`unfreeze`: constants that stand for a size, and those that do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from gather_infer import unfreeze
from tests.unfreezing.cases import BATCH, Case, check_dynamic, check_refused
from tests.verification.models import model

SEQ = ("x.1=seq",)
IMAGE = ("x.2=height", "x.3=width")
HALVED = "MaxPool<kernel_shape=[1,1], strides=[2,2]>"
SQUARE = ("x.1=seq", "x.2=seq")
TWO_EDITS = (
    "(float[2,1] x, float[2,3] z) => (float[2,3] y) <float[2,3] c = {0,4,9,0,4,9}> { v = Add(x, c) y = Add(v, z) }"
)

CASES = {
    "a value that is edited for a second size, the rows": Case(
        TWO_EDITS,
        "(float[batch,1] x, float[batch,3] z) => (float[batch,3] y) <float[1,3] c = {0,4,9}> "
        "{ v = Add(x, c) y = Add(v, z) }",
        ("*.0=batch", "z.1=seq"),
    ),
    "a value that is edited for a second size, the length": Case(
        TWO_EDITS,
        "(float[3,1] x, float[3,seq] z) => (float[3,seq] y) <float[1,3] c = {0,4,9}, int64[1] b = {0}, "
        "int64[1] a = {1}> { n = Shape<start=1>(z) d = Slice(c, b, n, a) v = Add(x, d) y = Add(v, z) }",
        ("z.1=seq", "*.0=batch"),
        most=3,
    ),
    "integers that do not count": Case(
        "(int64[1,3] x) => (int64[1,3] y) <int64[1,3] p = {0,1,3}> { y = Add(x, p) }",
        "(int64[1,seq] x) => (int64[1,seq] y) <int64[1,3] p = {0,1,3}, int64[1] z = {0}, int64[1] a = {1}> "
        "{ n = Shape<start=1>(x) q = Slice(p, z, n, a) y = Add(x, q) }",
        SEQ,
        most=3,
    ),
    "integers that count by 3 from 5": Case(
        "(int64[1,4] x) => (int64[1,4] y) <int64[1,4] p = {5,8,11,14}> { y = Add(x, p) }",
        "(int64[1,seq] x) => (int64[1,seq] y) <int64 z = {0}, int64 o = {1}, int64 three = {3}, int64 five = {5}> "
        "{ n = Shape<start=1>(x) l = Squeeze(n) r = Range(z, l, o) m = Mul(r, three) p = Add(m, five) y = Add(x, p) }",
        SEQ,
    ),
    "a mask of every second distance": Case(
        "(float[1,5,5] x) => (float[1,5,5] y) <bool[1,5,5] m = "
        "{1,0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1}, float z = {-9}> { y = Where(m, x, z) }",
        "(float[1,seq,seq] x) => (float[1,seq,seq] y) <bool[1,5,5] m = "
        "{1,0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1}, float z = {-9}, int64[2] b = {0,0}, int64[2] a = {1,2}> "
        "{ n = Shape<start=1>(x) c = Slice(m, b, n, a) y = Where(c, x, z) }",
        SQUARE,
        most=5,
    ),
    "a mask of later positions": Case(
        "(float[1,3,3] x) => (float[1,3,3] y) <bool[1,3,3] m = {0,1,1,0,0,1,0,0,0}, float z = {-9}> "
        "{ y = Where(m, z, x) }",
        "(float[1,seq,seq] x) => (float[1,seq,seq] y) <float z = {-9}, int64 k = {1}> "
        "{ o = Shape(x) e = ConstantOfShape<value = float[1] {1}>(o) l = Trilu<upper=1>(e, k) m = Cast<to=9>(l) "
        "y = Where(m, z, x) }",
        SQUARE,
        sizes=(1, 2, 3, 7),
    ),
}  # fmt: skip
REFUSED = {
    "a table of the rows of a batch": (
        "(float[2,3] x) => (float[2,3] y) <float[2,3] c = {1,2,3,4,5,6}> { y = Add(x, c) }",
        BATCH,
        "node Add#0 (Add): requires batch",
    ),
    "a table along one size of an image": (
        "(float[1,1,4,6] x) => (float[1,1,4,6] y) <float[1,1,1,1] w = {2}, float[1,1,1,6] p = {1,2,3,4,5,9}> "
        "{ c = Conv(x, w) y = Add(c, p) }",
        IMAGE,
        "node Add#1 (Add): requires width == 1 or width == 6",
    ),
    "a size of a Resize that two values have, and that is broadcast": (
        f"(float[1,1,4,4] x) => (float[1,1,4,4] y) <int64[8] p = {{0,0,2,2,0,0,2,2}}, int64[4] s = {{1,1,4,4}}> "
        f"{{ d = {HALVED}(x) c = {HALVED}(d) e = Pad(x, p) f = {HALVED}(e) "
        'r = Resize<mode="nearest">(d, , , s) n = Neg(r) y = Add(n, c) }',
        IMAGE,
        "node Resize#4 (Resize): axis 2 of its sizes is 4, that of its data depends on height, width",
    ),
    "a size of a Resize that two values have": (
        f"(float[1,1,4,4] x) => (float[1,1,4,4] y) <int64[8] p = {{0,0,2,2,0,0,2,2}}, int64[4] s = {{1,1,4,4}}> "
        f'{{ d = {HALVED}(x) e = Pad(x, p) f = {HALVED}(e) r = Resize<mode="nearest">(d, , , s) y = Neg(r) }}',
        IMAGE,
        "node Resize#3 (Resize): axis 2 of its sizes is 4, that of its data depends on height, width",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_static_model_becomes_the_dynamic_one(name: str) -> None:
    check_dynamic(CASES[name])


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_explained_is_refused(name: str, tmp_path: Path) -> None:
    check_refused(*REFUSED[name], tmp_path)
    assert unfreeze(model(REFUSED[name][0]), REFUSED[name][1], verify=False).refused, "not by a run alone"


def test_a_constant_that_is_equal_in_both_models_stays() -> None:
    """Half of 3 and half of 4 positions are 2, rounded up: nothing tells whether the constant is."""
    text = (
        "(float[1,{},1] x) => (float[1,2,1] y) <float[1,2,1] c = {{1,1}}, int64[1] b = {{0}}, "
        "int64[1] e = {{9223372036854775807}}, int64[1] a = {{1}}, int64[1] k = {{2}}> "
        "{{ s = Slice(x, b, e, a, k) y = Add(s, c) }}"
    )
    result = unfreeze(model(text.format(3)), SEQ, like=model(text.format(4)))
    assert "node Add#1 (Add): requires" in result.why_refused
