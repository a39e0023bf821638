"""The guard and the schema of a contract say what the contract says."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

import gather_infer
from gather_infer import Contract
from gather_infer.contract import ElementsLine
from gather_infer.report import guard_source, request_schema
from tests.contract.contracts import BERT, MIXED, Feeds, good, random_feeds, spec
from tests.validate.contract_runs import Drawer, NoElement

REPO = Path(__file__).parents[2]
FIXTURES = sorted((REPO / "fixtures").glob("*.onnx"))


def guard(contract: Contract) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "guard"}
    exec(compile(guard_source(contract), "guard.py", "exec"), names)
    return names


def texts(contract: Contract, feeds: Feeds) -> list[str]:
    return [violation.text for violation in contract.check(feeds)]


def test_the_guard_finds_what_the_contract_finds() -> None:
    check: Callable[[Feeds], list[str]] = guard(MIXED)["check"]
    numbers = np.random.default_rng(7)
    assert check(good()) == texts(MIXED, good()) == []
    counts = []
    for _ in range(3000):
        feeds = random_feeds(numbers)
        found = texts(MIXED, feeds)
        assert check(feeds) == found
        counts.append(len(found))
    assert {0, 1, 2, 3} <= set(counts)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_the_guards_of_fixtures(path: Path) -> None:
    contract = gather_infer.contract_of(path).contract
    check: Callable[[Feeds], list[str]] = guard(contract)["check"]
    drawer = Drawer(contract)
    for draw in range(8):
        sizes = (
            drawer.inside()
            if draw % 2
            else drawer.whole({n: int(drawer.numbers.integers(0, 70)) for n in drawer.names})
        )
        assert sizes is not None
        try:
            feeds = drawer.feeds(sizes)
        except NoElement:
            continue
        for name, array in feeds.items():
            if array.dtype.kind == "i" and array.size and draw > 3:
                feeds[name] = array + drawer.numbers.integers(-9, 400, array.shape)
        assert check(feeds) == texts(contract, feeds)


def test_the_guard_raises() -> None:
    names = guard(BERT)
    ids = np.full((1, 2), 30522)
    feeds = {"ids": ids, "mask": ids, "types": np.zeros_like(ids)}
    with pytest.raises(ValueError, match=r"^ids\[0, 0\] = 30522: must be -30522 <= ids < 30522 \(/emb/word/Gather\)$"):
        names["require"](feeds)
    names["require"]({**feeds, "ids": np.zeros_like(ids)})


def test_names_cannot_leave_their_quotes() -> None:
    name = 'x"); raise SystemExit  # \\\n\'{}"""'
    contract = Contract(name, (gather_infer.contract.ContractInput(name, "int64", (gather_infer.symbol(name), 2)),), ())
    feeds = {name: np.zeros((3, 1), np.int64)}
    assert guard(contract)["check"](feeds) == texts(contract, feeds) == [f"{name}.1 = 1: must be 2"]


@pytest.mark.parametrize("contract", [BERT, MIXED], ids=["bert", "mixed"])
def test_the_guard_is_clean(contract: Contract, tmp_path: Path) -> None:
    path = tmp_path / "guard.py"
    path.write_text(guard_source(contract))
    for command in (
        ["ruff", "check", "--no-cache", "--isolated", str(path)],
        ["mypy", "--strict", "--no-incremental", "--config-file", "", str(path)],
    ):
        run = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, cwd=tmp_path)
        assert run.returncode == 0, run.stdout + run.stderr


def test_the_guard_stands_alone(tmp_path: Path) -> None:
    (tmp_path / "guard.py").write_text(guard_source(BERT))
    code = "import guard, sys; print(guard.check({}), sys.modules.keys() & {'onnx', 'gather_infer'})"
    assert subprocess.check_output([sys.executable, "-c", code], cwd=tmp_path, text=True) == (
        "['ids is missing', 'mask is missing', 'types is missing'] set()\n"
    )


def validator(contract: Contract) -> Any:
    schema = request_schema(contract)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_bools_are_true_or_false() -> None:
    lines = (
        ElementsLine("c", None, None, 0, nodes=("If/then_branch/Conv",), is_bool=True),
        ElementsLine("d", None, 1, None, is_bool=True),
    )
    contract = Contract("m.onnx", (spec("c", "bool"), spec("d", "bool", 2)), lines)
    assert [line.text for line in contract.lines] == ["c is false", "d is true"]
    assert Contract.from_json(json.loads(json.dumps(contract.to_json()))) == contract
    cases: list[tuple[bool, list[bool], list[str]]] = [
        (False, [True, True], []),
        (True, [True, True], ["c = true: must be c is false (If/then_branch/Conv)"]),
        (False, [True, False], ["d[1] = false: must be d is true"]),
    ]
    for c, d, wrong in cases:
        feeds: Feeds = {"c": np.array(c), "d": np.array(d)}
        assert texts(contract, feeds) == list(guard(contract)["check"](feeds)) == wrong
        assert validator(contract).is_valid({"c": c, "d": d}) is not bool(wrong)


SCHEMA = {
    # id: (request, whether it is valid)
    "fine": ({"ids": [[1, -2]], "mask": [[1, 1]], "types": [[0, 1]]}, True),
    "an id too large": ({"ids": [[1, 30522]], "mask": [[1, 1]], "types": [[0, 1]]}, False),
    "an id too small": ({"ids": [[1, -30523]], "mask": [[1, 1]], "types": [[0, 1]]}, False),
    "empty": ({"ids": [[]], "mask": [[]], "types": [[]]}, False),
    "too long": ({"ids": [[1] * 513], "mask": [[1]], "types": [[0]]}, False),
    "as long as can be": ({"ids": [[1] * 512], "mask": [[1] * 512], "types": [[0] * 512]}, True),
    "a rank too low": ({"ids": [1], "mask": [[1]], "types": [[0]]}, False),
    "floats": ({"ids": [[1.5]], "mask": [[1]], "types": [[0]]}, False),
    "missing": ({"ids": [[1]], "types": [[0]]}, False),
    "one more": ({"ids": [[1]], "mask": [[1]], "types": [[0]], "x": 1}, False),
    # relates one input with another, so it stands in the description
    "another length": ({"ids": [[1]], "mask": [[1, 1]], "types": [[0]]}, True),
}


@pytest.mark.parametrize("case", SCHEMA)
def test_the_schema_says_what_it_can(case: str) -> None:
    request, is_valid = SCHEMA[case]
    assert validator(BERT).is_valid(request) == is_valid


def test_the_schema_describes_what_it_cannot_say() -> None:
    assert request_schema(BERT)["description"] == (
        "not checked by this schema: mask.0 == ids.0; mask.1 == ids.1; types.0 == ids.0; types.1 == ids.1; "
        "the rows of an array have the same length"
    )
    mixed = request_schema(MIXED)
    assert "past + seq <= 12" in mixed["description"]
    assert "batch == n or batch == 1 or n == 1" in mixed["description"]
    past = mixed["properties"]["cache"]["items"]["items"]
    assert past["maxItems"] == 12  # follows from past + seq <= 12
    assert mixed["required"] == [i.name for i in MIXED.inputs if i.name != "maybe"]


def test_what_the_contract_takes_the_schema_takes() -> None:
    check = validator(MIXED)
    request = {
        name: value.tolist() if isinstance(value, np.ndarray) else [0.0] for name, value in good().items()
    }  # fmt: skip
    assert list(check.iter_errors(json.loads(json.dumps(request)))) == []
    drawer = Drawer(BERT)
    for _ in range(20):
        sizes = drawer.inside()
        assert sizes is not None
        feeds = drawer.feeds(sizes)
        assert validator(BERT).is_valid({name: array.tolist() for name, array in feeds.items()}) == (
            0 not in sizes.values()
        )
