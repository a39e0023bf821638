"""Shape chains: targets that become constant, and sizes that are computed once."""

from __future__ import annotations

from collections import Counter

import pytest

from fixtures.feeds import model_path
from gather_infer.passes import optimize
from tests.rewrites.table import Case, assert_same_runs, judge, model, rewritten

CASES = {
    "a copied dim and a number": Case(
        "reshape-to-constant",
        """g (float[N,4,8] x) => (float[A,B] y) <int64 zero = {0}, int64[1] axes = {0}, int64[1] rest = {-1}> {
            s = Shape(x) n = Gather(s, zero) v = Unsqueeze(n, axes) t = Concat<axis = 0>(v, rest) y = Reshape(x, t)
        }""",
        "g (float[N,4,8] x) => (float[A,B] y) <int64[2] t = {0, 32}> { y = Reshape(x, t) }",
        near={
            "the target is constant": """g (float[N,4,8] x) => (float[A,B] y) <int64[2] t = {0, -1}> {
                y = Reshape(x, t)
            }""",
            "two dims that are neither numbers nor copied": """g (float[N,M] x) => (float[A,B] y)
                <int64[2] i = {1, 0}> { s = Shape(x) t = Gather(s, i) y = Reshape(x, t) }""",
        },
        opset=13,
        fails=True,
    ),
    "-1 for a product": Case(
        "reshape-to-constant",
        """g (float[N,M,8] x) => (float[A,B] y) 
            <int64 zero = {0}, int64 one = {1}, int64[1] axes = {0}, int64[1] k = {8}> {
            s = Shape(x) n = Gather(s, zero) m = Gather(s, one) nm = Mul(n, m) v = Unsqueeze(nm, axes)
            t = Concat<axis = 0>(v, k) y = Reshape(x, t)
        }""",
        "g (float[N,M,8] x) => (float[A,B] y) <int64[2] t = {-1, 8}> { y = Reshape(x, t) }",
        fails=True,
        near={
            "-1 beside a dim that may be 0": """g (float[N,M,K] x) => (float[A,B] y)
                <int64[1] a = {0}, int64[1] b = {1}, int64[1] c = {2}> {
                s = Shape(x) n = Gather(s, a) m = Gather(s, b) k = Gather(s, c) mk = Mul(m, k)
                t = Concat<axis = 0>(n, mk) y = Reshape(x, t)
            }""",
            "the dim of another axis, which may be 0": """g (float[N,M,K] x) => (float[A,B,C] y)
                <int64[3] i = {2, 1, 0}> { s = Shape(x) t = Gather(s, i) y = Reshape(x, t) }""",
        },
        opset=15,
    ),
    "through floats and back": Case(
        "reshape-to-constant",
        """g (float[N,6] x) => (float[A,B] y) <int64[1] i = {1}, int64[1] rest = {-1}, float half = {0.5}> {
            s = Shape(x) n = Gather(s, i) f = Cast<to = 1>(n) h = Mul(f, half) l = Floor(h) k = Cast<to = 7>(l)
            t = Concat<axis = 0>(rest, k) y = Reshape(x, t)
        }""",
        "g (float[N,6] x) => (float[A,B] y) <int64[2] t = {-1, 3}> { y = Reshape(x, t) }",
        opset=11,
    ),
    "allowzero, where 0 is copied": Case(
        "reshape-to-constant",
        """g (float[N,M] x) => (float[A,B] y) { s = Shape(x) z = Neg(x) y = Reshape<allowzero = 1>(z, s) }""",
        "g (float[N,M] x) => (float[A,B] y) <int64[2] t = {0, 0}> { z = Neg(x) y = Reshape(z, t) }",
        opset=14,
    ),
    "allowzero, a 0 that copies nothing": Case(
        "reshape-to-constant",
        """g (float[N,0] x, float[3,0] z) => (float[A,B] y) { s = Shape(z) y = Reshape<allowzero = 1>(x, s) }""",
        """g (float[N,0] x, float[3,0] z) => (float[A,B] y) <int64[2] t = {3, 0}> { y = Reshape(x, t) }""",
        opset=21,
    ),
    "allowzero stays where a number 0 has no dim to copy": Case(
        "reshape-to-constant",
        """g (float[N,0] x, float[0,3] z) => (float[A,B,C] y) <int64[2] i = {1, 0}, int64[1] two = {2}> {
            s = Shape(z) r = Gather(s, i) t = Concat<axis = 0>(r, two) y = Reshape<allowzero = 1>(x, t)
        }""",
        """g (float[N,0] x, float[0,3] z) => (float[A,B,C] y) <int64[3] t = {3, 0, 2}> { y = Reshape(x, t) }""",
        opset=21,
    ),
    "Expand to its own shape": Case(
        "sizes-to-constant",
        "g (float[N,M] x) => (float[A,B] y) { s = Shape(x) z = Neg(x) y = Expand(z, s) }",
        "g (float[N,M] x) => (float[A,B] y) <int64[2] t = {1, 1}> { z = Neg(x) y = Expand(z, t) }",
        near={
            "a dim that is expanded": """g (float[N,1] x, float[N,M] z) => (float[A,B] y) {
                s = Shape(z) y = Expand(x, s)
            }""",
            "a dim of another axis": """g (float[N,M] x, float[M,M] z) => (float[A,B,C] y) <int64[3] i = {0, 1, 1}> {
                s = Shape(z) t = Gather(s, i) y = Expand(z, t)
            }""",
        },
        opset=13,
    ),
    "Expand to its own shape, old": Case(
        "sizes-to-constant",
        "g (float[N,M] x) => (float[A,B] y) { s = Shape(x) z = Neg(x) y = Expand(z, s) }",
        "g (float[N,M] x) => (float[A,B] y) <int64[2] t = {1, 1}> { z = Neg(x) y = Expand(z, t) }",
        near={
            "a Slice by attributes": """g (float[N,M] x) => (float[A,B] y) {
                y = Slice<starts = [1], ends = [9]>(x)
            }""",
        },
        opset=9,
    ),
    "Slice to the end": Case(
        "sizes-to-constant",
        """g (float[N,M] x) => (float[A,B] y) <int64[1] b = {1}, int64[1] i = {1}> {
            s = Shape(x) e = Gather(s, i) y = Slice(x, b, e, i)
        }""",
        """g (float[N,M] x) => (float[A,B] y) <int64[1] b = {1}, int64[1] e = {9223372036854775807}> {
            y = Slice(x, b, e, b)
        }""",
        near={
            "the end of another axis": """g (float[N,M] x) => (float[A,B] y) <int64[1] b = {1}, int64[1] i = {0}> {
                s = Shape(x) e = Gather(s, i) y = Slice(x, b, e, b)
            }""",
            "backwards": """g (float[N,M] x) => (float[A,B] y)
                <int64[1] b = {-1}, int64[1] i = {1}, int64[1] k = {-1}> {
                s = Shape(x) e = Gather(s, i) y = Slice(x, b, e, i, k)
            }""",
        },
        opset=11,
    ),
    "a size of a later value": Case(
        "canonical-dims",
        """g (float[N,M] x) => (int64[A] a, float[N,M] h) <int64 zero = {0}, int64 one = {1}> {
            h = Neg(x) s = Shape(h) m = Gather(s, one) a = Range(zero, m, one)
        }""",
        """g (float[N,M] x) => (int64[A] a, float[N,M] h) <int64 zero = {0}, int64 one = {1}> {
            h = Neg(x) s = Shape(x) m = Gather(s, one) a = Range(zero, m, one)
        }""",
        near={
            "one size, read once": """g (float[N,M] x) => (int64[A] a) <int64 zero = {0}, int64 one = {1}> {
                s = Shape(x) m = Gather(s, one) a = Range(zero, m, one)
            }""",
            "elements that are not sizes": """g (int64[3] x) => (int64[A] a) <int64 zero = {0}, int64 one = {1}> {
                h = Neg(x) m = Gather(h, one) k = Gather(x, zero) a = Range(m, k, one)
            }""",
            "sizes that differ": """g (float[N,M] x, float[L,K] z) => (int64[A] a, int64[B] b)
                <int64 zero = {0}, int64 one = {1}> {
                s = Shape(x) m = Gather(s, one) a = Range(zero, m, one)
                r = Shape(z) k = Gather(r, zero) b = Range(one, k, one)
            }""",
        },
        opset=13,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    judge(CASES[name])


SHARED = {
    # id: (graph, opset, operators after; those that stay the same are not listed)
    "a size that is read twice": (
        """g (float[N,M] x) => (int64[A] a, int64[B] b) <int64 zero = {0}, int64 one = {1}> {
            h = Neg(x) s = Shape(h) m = Gather(s, one) a = Range(zero, m, one)
            r = Shape(x) k = Gather(r, one) b = Range(one, k, one)
        }""",
        11,
        {"Shape": 1, "Gather": 1, "Range": 2},
    ),
    "a target of pieces": (
        """g (float[N,M,6] x, float[K,6] z) => (float[A,B,C] y) <int64 zero = {0}, int64 one = {1}, int64[1] axes = {0},
            int64[1] two = {2}, int64[1] three = {3}> {
            h = Neg(x) s = Shape(h) n = Gather(s, zero) m = Gather(s, one)
            a = Unsqueeze(n, axes) b = Unsqueeze(m, axes) t = Concat<axis = 0>(a, b, two, three)
            y = ConstantOfShape(t)
        }""",
        15,
        {"Shape": 1, "Concat": 1, "ConstantOfShape": 1},
    ),
    "a target of pieces, before Shape had a start": (
        """g (float[N,M,6] x) => (float[A,B,C] y) <int64 zero = {0}, int64 one = {1}, int64[1] two = {2}> {
            s = Shape(x) n = Gather(s, zero) m = Gather(s, one)
            a = Unsqueeze<axes = [0]>(n) b = Unsqueeze<axes = [0]>(m) t = Concat<axis = 0>(a, b, two)
            y = ConstantOfShape(t)
        }""",
        11,
        {"Shape": 1, "Slice": 1, "Concat": 1, "ConstantOfShape": 1},
    ),
    "half of a size, computed twice": (
        """g (float[N,M] x) => (int64[A] a, int64[B] b) <int64 zero = {0}, int64 one = {1}, int64 two = {2}> {
            s = Shape(x) m = Gather(s, one) k = Div(m, two) a = Range(zero, k, one)
            c = Cast<to = 7>(m) d = Div(c, two) e = Add(d, zero) b = Range(one, e, one)
        }""",
        13,
        {"Shape": 1, "Gather": 1, "Div": 1, "Range": 2},
    ),
    "two outputs": (
        """g (float[N,M] x) => (int64 a, int64[1] b, int64 c) <int64 one = {1}, int64[1] first = {0}, int64 two = {2}> {
            h = Neg(x) i = Abs(h) s = Shape(h) a = Gather(s, one)
            r = Shape(i) b = Gather(r, first) u = Shape(x) m = Gather(u, one) k = Mul(m, two) c = Add(k, one)
        }""",
        18,
        {"Mul": 1, "Add": 1},
    ),
    "read in the branches of an If": (
        """g (float[N,M] x, bool ok) => (int64 y) <int64 one = {1}, int64 two = {2}> {
            h = Neg(x) s = Shape(h) m = Gather(s, one) i = Abs(x) r = Shape(i) k = Gather(r, one)
            y = If(ok) <
                then_branch = t () => (int64 a) { a = Mul(m, two) },
                else_branch = e () => (int64 b) {
                    j = Neg(h) q = Shape(j) w = Gather(q, one) u = Mul(w, two) b = Add(u, k)
                }
            >
        }""",
        13,
        {"If": 1, "Mul": 2, "Shape": 1, "Gather": 1},
    ),
    "read in the body of a Loop": (
        """g (float[N,M] x, int64 trips) => (int64[K] y) <int64 one = {1}, bool yes = {1}> {
            h = Neg(x) s = Shape(h) m = Gather(s, one)
            y = Loop(trips, yes) <body = b (int64 i, bool go) => (bool on, int64 a) {
                on = Identity(go) q = Shape(x) w = Gather(q, one) c = Add(w, m) a = Add(c, i)
            }>
        }""",
        13,
        {"Loop": 1, "Shape": 1, "Gather": 1},
    ),
    "a size that no input has": (
        """g (float[N] x) => (int64[A] a, int64[B] b, int64[1,K] at) <int64 zero = {0}, int64 one = {1}> {
            at = NonZero(x) s = Shape(at) k = Gather(s, one) a = Range(zero, k, one)
            d = Abs(at) r = Shape(d) j = Gather(r, one) b = Range(one, j, one)
        }""",
        13,
        {"NonZero": 1, "Shape": 1, "Gather": 1, "Range": 2},
    ),
}


@pytest.mark.parametrize(("text", "opset", "operators"), SHARED.values(), ids=SHARED.keys())
def test_sizes_that_are_computed_once(text: str, opset: int, operators: dict[str, int]) -> None:
    before = model(text, opset)
    after = rewritten(before, "canonical-dims")
    found = Counter(optimize(after, passes=["canonical-dims"]).before.operators)
    assert {name: found[name] for name in operators} == operators, found
    assert_same_runs(before, after, Case("", "", "", ranges={"trips": (0, 4)}), 30)


NARROW = {
    # id: (rule, graph, operators after)
    "Slice to the end": (
        "sizes-to-constant",
        """g (float[N,M] x) => (float[A,B] y) <int32[1] b = {1}, int64[1] i = {1}> {
            s = Shape(x) l = Gather(s, i) e = Cast<to = 6>(l) y = Slice(x, b, e, b)
        }""",
        {"Slice": 1},
    ),
    "a size in int32": (
        "canonical-dims",
        """g (float[N,M] x) => (int32[A] a, int32[B] b) <int32 zero = {0}, int64 one = {1}, int32 step = {1}> {
            h = Neg(x) s = Shape(h) m = Gather(s, one) k = Cast<to = 6>(m) a = Range(zero, k, step)
            r = Shape(x) i = Cast<to = 6>(r) j = Gather(i, one) b = Range(step, j, step)
        }""",
        {"Shape": 1, "Squeeze": 1, "Cast": 1, "Range": 2},
    ),
}


@pytest.mark.parametrize(("rule", "text", "operators"), NARROW.values(), ids=NARROW.keys())
def test_sizes_in_int32(rule: str, text: str, operators: dict[str, int]) -> None:
    """A size is known as int32 only where it cannot be too large."""
    before = model(text, 18)
    assert not optimize(before, passes=[rule]).applied or rule == "canonical-dims"
    result = optimize(before, passes=[rule], dims={"N": "0..100", "M": "0..100"})
    assert result.after.operators == Counter(operators)
    assert_same_runs(before, result.proto, Case("", "", ""), 30)


def test_a_cache_leaves_a_pair_for_each_symbol() -> None:
    """The TorchScript export of GPT-2 with a cache reads batch, seq and past off shapes 37 times; three are left."""
    result = optimize(str(model_path("gpt2-kv-torchscript")))
    nodes = {name: node for node in result.proto.graph.node for name in node.output}
    pairs = [
        node
        for node in nodes.values()
        if node.op_type == "Gather" and nodes.get(node.input[0], node).op_type == "Shape"
    ]
    assert len(pairs) <= 3
    assert result.after.operators["Shape"] == 2


@pytest.mark.parametrize("spare", [0, 1, 2])
def test_sizes_cost_no_more_gathers_than_the_file_has(spare: int) -> None:
    unread = "".join(f"unread{at} = Gather(o, o) " for at in range(spare))
    text = f"""g (float[N, 4, M] x) => (int64[N] y, int64[M] z) <int64[1] o = {{0}}, int64[1] i = {{1}},
        int64[1] t = {{2}}, int64[1] e = {{3}}, int64 zero = {{0}}, int64 one = {{1}}> {{
        {unread} s = Shape(x) a = Slice(s, o, i) b = Slice(s, t, e) n = Squeeze(a, o) m = Squeeze(b, o)
        y = Range(zero, n, one) z = Range(zero, m, one) }}"""
    before = model(text, 13)
    after = rewritten(before, "canonical-dims")
    found = Counter(node.op_type for node in after.graph.node)
    assert found["Gather"] <= spare
    assert found.total() == (5 if spare == 2 else 7), found
    assert_same_runs(before, after, Case("canonical-dims", text, text), 20)


def test_a_target_that_another_node_reads_too() -> None:
    """Positive dims allow the Reshape other targets than the Gather: the two change to one cheaper vector together."""
    graph = model("""g (float[2,N,P,Q] x) => (float[A,B,C,D,E] y, int64[2,1] z, int64[1] n)
        <int64[2,1] pick = {0, 2}, int64[1] one = {1}, int64[1] rest = {-1}> {
        n = Shape<start = 1, end = 2>(x) p = Shape<start = 2, end = 3>(x) q = Shape<start = 3, end = 4>(x)
        t = Concat<axis = 0>(one, rest, n, p, q) y = Reshape(x, t) z = Gather(t, pick) }""")
    result = optimize(graph, dims=["N=1..", "P=1..", "Q=1.."])
    operators = Counter(node.op_type for node in result.proto.graph.node)
    assert operators == {"Shape": 2, "Concat": 1, "Reshape": 1, "Gather": 1}
    sizes = {"N": (1, 2, 3), "P": (1, 5), "Q": (1, 7)}
    assert_same_runs(graph, result.proto, Case("canonical-dims", "", "", sizes=sizes), runs=20)
