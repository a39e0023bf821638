"""Profiles for TensorRT: every point of each box is inside the contract, and runs in onnxruntime."""

from __future__ import annotations

import itertools
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import gather_infer
from gather_infer import Contract, EmissionRefused, UsageError
from gather_infer.contract import InputCondition
from gather_infer.serving import boxes
from gather_infer.serving.targets import emit
from gather_infer.validate.contract_builder import ContractResult
from tests.contract.contracts import dims, elements, spec
from tests.serving.emitted import (
    FIXTURES,
    READERS,
    Profile,
    dim_names,
    feeds_of,
    intervals,
    of_trtexec,
    points,
    violations,
)

onnxruntime.set_default_logger_severity(4)

CASES: dict[str, tuple[str, list[str]]] = {
    # what the relations do to boxes: (fixture, --dim)
    "a bound of one size": ("bert-torchscript", []),
    "sizes of the caller": ("bert-dynamo", ["batch=1..4", "seq=1..64"]),
    "a sum below a limit": ("whisper-decoder-dynamo", ["past=0..47", "seq=1..48"]),
    "an axis that is a sum": ("gpt2-kv-torchscript", []),
    "an axis that is a sum, and sizes of the caller": ("gpt2-kv-dynamo", ["batch=1..2", "past=0..47", "seq=1"]),
    "remainders": ("swin-dynamo", ["batch=1..2", "height=8..64", "width=8..100"]),
    "lower bounds": ("clip-dynamo", []),
    "limits that are not tight": ("wav2vec2-dynamo", ["batch=1..2"]),
    "elements below a size": ("gnn-torchscript", ["nodes=0..9", "graphs=1..3"]),
    "a fixed size": ("llama-kv-dynamo", ["batch=1", "past=7"]),
    "no line": ("vit-dynamo", []),
}


@cache
def result_of(name: str, sizes: tuple[str, ...] = ()) -> ContractResult:
    return gather_infer.contract_of(f"fixtures/{name}.onnx", dims=sizes)


def profiles(result: ContractResult, target: str = "trtexec", **options: Any) -> list[Profile]:
    return READERS[target](emit(result.contract, target, interface=result.interface, **options).text)


def model_of(name: str) -> onnx.ModelProto:
    return onnx.load(Path("fixtures") / f"{name}.onnx", load_external_data=False)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_point_is_inside_the_contract(case: str) -> None:
    name, sizes = CASES[case]
    result, model = result_of(name, tuple(sizes)), model_of(name)
    found = profiles(result)
    assert found
    for number, profile in enumerate(found):
        assert violations(result.contract, model, profile, 1000, number) == []
    for target in READERS:
        assert profiles(result, target) == found


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_shapes_run_in_onnxruntime(case: str) -> None:
    name, sizes = CASES[case]
    result, model = result_of(name, tuple(sizes)), model_of(name)
    assert runs(result.contract, model, profiles(result)) > 0


def runs(contract: Contract, model: onnx.ModelProto, found: list[Profile]) -> int:
    """Number of runs: the corners of each profile that are small enough, and a point inside."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    names = dim_names(model)
    done = 0
    for profile in found:
        box = intervals(profile, names)
        middle = {name: (low + high) // 2 for name, (low, high) in box.items()}
        for sizes in [middle, *points({name: (low, min(high, low + 20)) for name, (low, high) in box.items()}, 2, 0)]:
            feeds = feeds_of(contract, model, names, sizes)
            if sum(feed.size for feed in feeds.values()) < 300_000:
                session.run(None, {name: np.ascontiguousarray(feed) for name, feed in feeds.items()})
                done += 1
    return done


@pytest.mark.oracle
@pytest.mark.parametrize("path", [path for path in FIXTURES if path.stem != "openvino-gather"], ids=lambda p: p.stem)
def test_every_fixture(path: Path) -> None:
    result, model = result_of(path.stem), model_of(path.stem)
    for limit in (4, 1):
        found = profiles(result, profiles=limit)
        for number, profile in enumerate(found):
            assert violations(result.contract, model, profile, 1000, number) == []
        assert runs(result.contract, model, found) > 0


# boxes of contracts made by hand


def contract_with(*lines: str, inputs: tuple[str, ...] = ("a b",)) -> Contract:
    """A contract with these lines on sizes, and float inputs with these dims: `a b`."""
    specs = tuple(spec(f"x{n}", "float32", *text.split(" ")) for n, text in enumerate(inputs))
    return Contract("m.onnx", specs, tuple(dims(line, "node") for line in lines))


def sizes_of(contract: Contract, **options: Any) -> list[list[tuple[int, int]]]:
    """The intervals of the axes of x0, for each profile."""
    found = of_trtexec(emit(contract, "trtexec", **options).text)
    return [list(zip(profile.least["x0"], profile.most["x0"], strict=True)) for profile in found]


ONE = {
    # lines: the only box
    ("a <= 64", "b <= 9"): [(1, 64), (1, 9)],
    ("a >= 5", "a <= 64", "b <= 9"): [(5, 64), (1, 9)],
    ("a == 7", "b <= 9"): [(7, 7), (1, 9)],
    ("a <= 4", "b <= 3*a", "b >= 1", "a >= 3", "b <= 9"): [(3, 4), (1, 9)],
    ("a <= 4", "b <= 9", "a <= 3 or b <= 9"): [(1, 4), (1, 9)],
    ("a <= 4", "b <= 9", "a + b <= 13"): [(1, 4), (1, 9)],
}


@pytest.mark.parametrize("lines", ONE, ids=str)
def test_one_box_has_all_sizes(lines: tuple[str, ...]) -> None:
    contract = contract_with(*lines)
    assert sizes_of(contract) == [ONE[lines]]
    assert emit(contract, "trtexec").remarks == ()


SEVERAL = {
    # lines: (opt, a box that must contain it, or its point)
    ("a <= 40", "b <= 40", "a + b <= 48"): ({"a": 40, "b": 8}, [(1, 40), (1, 8)]),
    ("a <= 100", "a >= 32", "b <= 9", "a % 32 == 0"): ({"a": 64}, [(64, 64), (1, 9)]),
    ("a <= 40", "b <= 9", "a % 8 <= 3"): ({"a": 9}, [(8, 11), (1, 9)]),
    ("a <= 40", "b <= 40", "a == b"): ({}, None),
    ("a <= 40", "b <= 40", "a == 4 or b == 3"): ({"a": 4, "b": 20}, [(4, 4), (1, 40)]),
    ("a <= 9", "b <= 9", "a*b <= 20"): ({"a": 5, "b": 4}, [(1, 5), (1, 4)]),
    ("a <= 9", "b <= 9", "a // b >= 2"): ({"a": 8, "b": 4}, [(8, 9), (1, 4)]),
}


@pytest.mark.parametrize("lines", SEVERAL, ids=str)
def test_several_boxes_that_hold_what_callers_send(lines: tuple[str, ...]) -> None:
    contract = contract_with(*lines)
    wanted, box = SEVERAL[lines]
    found = sizes_of(contract) if "a == b" in lines else sizes_of(contract, opt=wanted)
    assert 1 <= len(found) <= 4
    assert box is None or found[0] == box
    for (low_a, high_a), (low_b, high_b) in found:
        for a in range(low_a, high_a + 1):
            for b in range(low_b, high_b + 1):
                assert all(line.holds({"a": a, "b": b}) for line in contract.lines), (a, b)
    assert emit(contract, "trtexec").remarks[0].startswith("no single profile has all legal sizes, because of ")
    assert len(sizes_of(contract, profiles=1)) == 1


def test_a_fault_in_the_proof_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: every box counts as proved."""
    monkeypatch.setattr(boxes, "_is_proved", lambda condition, box: True)
    result = result_of("whisper-decoder-dynamo", ("past=0..47", "seq=1..48"))
    (profile,) = profiles(result)
    assert violations(result.contract, model_of("whisper-decoder-dynamo"), profile, 10) != []


def test_corners_are_no_proof() -> None:
    """All corners of 0..8 by 0..8 satisfy it; the middle does not."""
    contract = contract_with("a <= 8", "b <= 8", "a*b >= 8*a + 8*b - 64 or a % 8 == 0", "a % 8 == 0 or b % 2 == 1")
    for (low_a, high_a), (low_b, high_b) in sizes_of(contract):
        for a in range(low_a, high_a + 1):
            for b in range(low_b, high_b + 1):
                assert all(line.holds({"a": a, "b": b}) for line in contract.lines)


def test_an_axis_that_follows_is_fixed_or_reported() -> None:
    result = result_of("gpt2-kv-dynamo", ("batch=1..2", "past=0..47", "seq=1"))
    model = model_of("gpt2-kv-dynamo")
    fixed = emit(result.contract, "trtexec", interface=result.interface)
    assert "--dependent-axes gives attention_mask.1 a range" in fixed.remarks
    assert all(profile.least["attention_mask"][1] == profile.most["attention_mask"][1] for profile in profiles(result))
    ranged = emit(result.contract, "trtexec", interface=result.interface, dependent_axes=True)
    assert "attention_mask.1 == past + 1" in ranged.inexpressible
    (profile,) = of_trtexec(ranged.text)
    assert (profile.least["attention_mask"], profile.most["attention_mask"]) == ((1, 1), (2, 48))
    assert violations(result.contract, model, profile, 10) != []
    names = dim_names(model)
    for past in (0, 3, 47):  # the points that satisfy the equation are inside
        sizes = {"batch": 2, "seq": 1, "past": past, "past + seq": past + 1}
        assert result.contract.check(feeds_of(result.contract, model, names, sizes), strict=True) == []


def test_a_dependent_axis_must_grow() -> None:
    contract = contract_with("a <= 8", "b <= 8", inputs=("a b", "a-b+8"))
    with pytest.raises(EmissionRefused, match=r"x1.0 == a - b \+ 8 has no range: it may fall when a size grows"):
        emit(contract, "trtexec", dependent_axes=True)


def test_dims_of_the_caller_do_not_tie_axes_in_the_file() -> None:
    """TensorRT makes axes equal that have one name in the file, whatever --dim says of them."""
    result = result_of("gpt2-kv-dynamo", ("seq=past", "past=1..8", "batch=1"))
    for profile in profiles(result):
        assert profile.least["input_ids"] == profile.most["input_ids"]
        assert violations(result.contract, model_of("gpt2-kv-dynamo"), profile, 20) == []


def test_a_symbol_of_one_axis_moves_with_it() -> None:
    """`k` is in the axis `k + a` only, so the axis has sizes of its own: at least those of `a`."""
    contract = contract_with("a <= 4", "b <= 3", inputs=("a b", "k+a"))
    profile = of_trtexec(emit(contract, "trtexec", opt={"a": 4}).text)[0]
    assert (profile.least["x1"], profile.most["x1"]) == ((4,), (8,))
    assert (profile.least["x0"], profile.most["x0"]) == ((1, 1), (4, 3))


def test_sizes_without_legal_elements_are_left_out() -> None:
    inputs = (spec("i", "uint8", "n"), spec("x", "float32", "a"))
    lines = (elements("i", "", "a - 3", "Gather"), dims("a <= 9", "node"), dims("n <= 5", "node"))
    (profile,) = of_trtexec(emit(Contract("m.onnx", inputs, lines), "trtexec").text)
    assert (profile.least, profile.most) == ({"i": (1,), "x": (3,)}, {"i": (5,), "x": (9,)})


def test_a_condition_on_an_input_is_required_of_all() -> None:
    lines = (dims("a <= 6", "If", where=(InputCondition("s", "==", 1),)), dims("b <= 2", "node"))
    contract = Contract("m.onnx", (spec("x0", "float32", "a", "b"), spec("s", "int64")), lines)
    assert sizes_of(contract) == [[(1, 6), (1, 2)]]


REFUSED = {
    "no legal size": (contract_with("a <= 3", "a >= 5"), {}, "no size satisfies the contract, because of a >= 5"),
    "no legal size is found": (contract_with("a <= 3", "b <= 3", "a*a == 2"), {}, "no legal sizes found in "),
    "an illegal size to optimize for": (
        contract_with("a <= 99", "b <= 2", "a % 32 == 0"), {"a": 33}, "a=33 violates a % 32 == 0"),
    "sizes that are illegal together": (
        contract_with("a <= 9", "b <= 9", "a + b <= 12"), {"a": 9, "b": 8},
        "no legal sizes found with a=9, b=8, because of a + b <= 12"),
    "a size outside": (contract_with("a <= 9", "b <= 2"), {"a": 10}, "a=10 is outside 1..9, the sizes that"),
    "unknown rank": (
        Contract("m.onnx", (gather_infer.contract.ContractInput("x", "float32", None),), ()), {},
        "the rank of input x is unknown"),
    "a comma in a name": (
        Contract("m.onnx", (spec("x,y", "float32", "n"),), ()), {},
        "trtexec cannot read the name of input 'x,y', which contains one of ,'"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_refused(case: str) -> None:
    contract, opt, message = REFUSED[case]
    with pytest.raises(EmissionRefused) as caught:
        emit(contract, "trtexec", opt=opt)
    assert str(caught.value).startswith(message)
    assert caught.value.exit_code == 1


def test_a_size_without_that_name() -> None:
    with pytest.raises(UsageError, match="no free size 'sec'; did you mean 'seq'"):
        emit(contract_with("seq <= 9", inputs=("seq",)), "trtexec", opt={"sec": 10})


def test_names_that_are_not_ascii() -> None:
    contract = Contract("m.onnx", (spec("é \U0001f600", "float32", "n"),), (dims("n <= 4"),))
    for target, read in READERS.items():
        assert read(emit(contract, target).text)[0].most == {"é \U0001f600": (4,)}


def test_random_lines() -> None:
    """Every point of the boxes of random lines, against `Contract.check`."""
    random = Random(3)
    boxes_found = 0
    for _ in range(25):
        lines = [*(_line(random) for _ in range(random.randint(1, 3))), "a <= 9", "b <= 8"]
        contract = contract_with(*lines, inputs=random.choice([("a b",), ("a b", "a+b"), ("a b", "2*b+a")]))
        try:
            found = of_trtexec(emit(contract, "trtexec").text)
        except EmissionRefused:
            continue
        for profile in found:
            boxes_found += 1
            ends = {
                str(dim): (profile.least[s.name][axis], profile.most[s.name][axis])
                for s in contract.inputs
                for axis, dim in enumerate(s.shape or ())
            }
            for point in itertools.product(*(range(low, high + 1) for low, high in ends.values())):
                sizes = dict(zip(ends, point, strict=True))
                feeds = {
                    s.name: np.broadcast_to(np.float32(0), [sizes[str(dim)] for dim in s.shape or ()])
                    for s in contract.inputs
                }
                assert contract.check(feeds, strict=True) == [], (lines, sizes)
    assert boxes_found > 20


def _line(random: Random) -> str:
    """A line such as `a*b <= 12`, `(a+3)//2 >= b`, `a%4 <= 1 or b == 3`."""

    def term() -> str:
        one, other, number = random.choice("ab"), random.choice("ab"), random.randint(2, 6)
        return random.choice([one, f"{number}*{one}", f"{one}*{other}", f"({one}+3)//{number}", f"{one}%{number}",
                              f"min({one},{number})", f"{one}//{other}"])  # fmt: skip

    relation = (
        f"{term()}+{term()} {random.choice(['<=', '>=', '=='])} {random.choice([term(), str(random.randint(2, 20))])}"
    )
    return relation if random.random() < 0.7 else f"{relation} or {term()} <= {random.randint(0, 9)}"


def test_a_colon_in_a_name() -> None:
    contract = Contract("m.onnx", (spec("x:0", "float32", "n"),), (dims("n <= 4"),))
    assert of_trtexec(emit(contract, "trtexec").text)[0].most == {"x:0": (4,)}
    assert READERS["polygraphy"](emit(contract, "polygraphy").text)[0].most == {"x:0": (4,)}
    with pytest.raises(EmissionRefused, match="the TensorRT provider cannot read the name of input 'x:0'"):
        emit(contract, "ort-trt")


def test_chosen_sizes_are_reported() -> None:
    emission = emit(contract_with("b <= 3"), "trtexec", opt={"a": 5})
    assert emission.chosen == ("a >= 1", "a <= 8", "b >= 1", "opt sizes: a=5, b=2")
    assert "# chosen: a <= 8\n" in emission.text
    assert emit(contract_with("b <= 3", "b >= 3", "a == 2"), "trtexec").chosen == ()


@pytest.mark.parametrize(
    ("target", "options", "message"),
    [
        ("triton", {"opt": {"a": 1}}, "sizes to optimize for need profiles, triton has none"),
        ("torch", {"dependent_axes": True}, "dependent axes need profiles, torch has none"),
        ("trtexec", {"strict": True}, "only pydantic has a strict form, not trtexec"),
        ("trtexec", {"profiles": 0}, "at least one profile is needed, found 0"),
        ("trtexe", {}, "no target 'trtexe'; did you mean 'trtexec'?"),
        ("triton", {}, "a configuration for Triton needs the interface of the model, ContractResult.interface"),
        ("ort", {}, "free dimension overrides need the interface of the model, ContractResult.interface"),
    ],
    ids=lambda value: str(value),
)
def test_options_that_do_not_fit(target: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        emit(contract_with("a <= 3"), target, **options)
    assert str(caught.value) == message
