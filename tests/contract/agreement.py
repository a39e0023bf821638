"""Requests for a contract, right and wrong, and whether the contract, its guard and its schema agree on them.

`python -m tests.contract.agreement --requests 10000` draws that many, over all fixtures.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np

import gather_infer
from gather_infer import Contract
from gather_infer.contract import DimsLine, ElementsLine, Violation
from gather_infer.report import guard_source, request_schema
from gather_infer.symbolic import Dim, evaluate
from tests.contract.contracts import BERT, MIXED, random_feeds
from tests.validate.contract_runs import Drawer, Feeds, NoElement, Sizes

FIXTURES = sorted((Path(__file__).parents[2] / "fixtures").glob("*.onnx"))
MAX_ELEMENTS = 1500
NOT_CHECKED = "not checked by this schema: "
KINDS = (
    *("", "", "element", "element", "end", "axis", "ragged"),
    *("type", "rank", "missing", "more", "none", "float", "empty"),
)
ROWS = "the rows of an array have the same length"


def contracts() -> Iterator[tuple[str, Contract]]:
    yield "bert", BERT
    yield "mixed", MIXED
    for path in FIXTURES:
        yield path.stem, gather_infer.contract_of(path).contract


class Agreement:
    """A contract with its guard and its schema."""

    def __init__(self, contract: Contract, seed: int) -> None:
        self.contract = contract
        self.numbers = np.random.default_rng(seed)
        self.drawer = Drawer(contract, seed)
        self.guards = {strict: _guard(contract, strict) for strict in (False, True)}
        self.schemas = {strict: request_schema(contract, strict=strict) for strict in (False, True)}
        self.validators = {strict: jsonschema.Draft202012Validator(schema) for strict, schema in self.schemas.items()}
        numbers = {n for line in contract.all_lines if isinstance(line, DimsLine) for r in line.relations
                   for n in (*_numbers(r.left), *_numbers(r.right))}  # fmt: skip
        near = {n + step for n in numbers for step in (-1, 0, 1) if 0 <= n + step <= MAX_ELEMENTS}
        self.sizes = [0, 1, 1, 2, 2, 3, 4, 5, 7, 8, *near]

    def request(self) -> Feeds:
        """Feeds of few elements: half of them with sizes inside the contract, then with something wrong or nothing."""
        while True:
            if self.contract is MIXED:
                feeds = random_feeds(self.numbers)  # whose columns and unsigned elements are mostly outside
                return {name: each % 2 if name in ("boxes", "last") else each for name, each in feeds.items()}
            if self.numbers.random() < 0.5:
                self.drawer.sizes = tuple(n for n in self.sizes if n)
                sizes = self.drawer.inside()
            else:
                sizes = self.drawer.whole({name: int(self.numbers.choice(self.sizes)) for name in self.drawer.names})
            if sizes is None or any(n < 0 for n in sizes.values()) or self._count(sizes) > MAX_ELEMENTS:
                self.sizes = [n for n in self.sizes if n < 8 or self.numbers.random() < 0.98]
                continue
            try:
                return self.drawer.feeds(sizes)
            except (NoElement, ZeroDivisionError):
                continue

    def _count(self, sizes: Sizes) -> int:
        try:
            shapes = [[evaluate(dim, sizes) for dim in spec.shape or ()] for spec in self.contract.inputs]
        except ZeroDivisionError:
            return MAX_ELEMENTS + 1
        return MAX_ELEMENTS + 1 if any(n < 0 for shape in shapes for n in shape) else sum(map(_product, shapes))

    def spoilt(self, feeds: Feeds) -> tuple[dict[str, Any], str]:
        """The feeds with one thing changed, as nested lists, and what was done."""
        name = str(self.numbers.choice(sorted(name for name, each in feeds.items() if isinstance(each, np.ndarray))))
        array = feeds[name]
        kind = str(self.numbers.choice(KINDS))
        value: Any = array
        if kind == "element" and array.size and array.dtype.kind in "iu":
            value = array.astype(object)
            value.flat[int(self.numbers.integers(array.size))] = int(self.numbers.integers(-600, 600))
        elif kind == "end" and array.size and array.dtype.kind in "iu":
            lines = [line for line in self.contract.all_lines if isinstance(line, ElementsLine) and line.input == name]
            ends = [end for line in lines for end in (line.lower, line.upper) if isinstance(end, int)]
            info = np.iinfo(array.dtype)
            drawn = int(self.numbers.choice([*ends, int(info.min), int(info.max)])) + int(self.numbers.integers(-1, 2))
            value = array.astype(object)
            value.flat[int(self.numbers.integers(array.size))] = drawn
        elif kind == "axis" and array.ndim:
            axis = int(self.numbers.integers(array.ndim))
            value = np.concatenate([array, array.take([0] if array.shape[axis] else [], axis)], axis)
        elif kind == "rank":
            value = array[None] if self.numbers.random() < 0.5 or not array.ndim or not array.shape[0] else array[0]
        elif kind == "type":
            value = np.full(array.shape, "x") if array.dtype.kind != "U" else np.ones(array.shape)
        elif kind == "float" and array.dtype.kind in "iu":
            value = array + (0.5 if self.numbers.random() < 0.5 else 0.0)
        made = {other: each.tolist() if isinstance(each, np.ndarray) else each for other, each in feeds.items()}
        made[name] = value.tolist()
        if kind == "ragged" and array.ndim > 1 and array.shape[0] > 1 and array.size:
            made[name][0] = made[name][0][:-1]
        if kind == "missing":
            del made[name]
        if kind == "more":
            made["not an input"] = [1]
        if kind == "none":
            made[name] = None
        if kind == "empty":
            made[name] = []
        return made, kind

    def disagreement(self, request: dict[str, Any]) -> str:
        """Where contract, guard and schema differ on a request of lists; empty where they do not."""
        request = json.loads(json.dumps(request))
        for strict in (False, True):
            found = self.contract.check(request, strict=strict)
            told = self.guards[strict](request)
            if [violation.text for violation in found] != told:
                return f"contract {[v.text for v in found]}, guard {told}"
            is_valid = self.validators[strict].is_valid(request)
            if not found and not is_valid:
                errors = [error.message for error in self.validators[strict].iter_errors(request)]
                return f"the contract takes what the schema refuses: {errors}"
            said = [violation for violation in found if not self._is_left_out(violation, strict)]
            if said and is_valid:
                return f"the schema takes what the contract refuses: {[v.text for v in said]}"
        return ""

    def of_arrays(self, feeds: Feeds) -> str:
        """Where contract and guard differ on arrays; empty where they do not."""
        found = [violation.text for violation in self.contract.check(feeds)]
        told = self.guards[False](feeds)
        return "" if found == told else f"contract {found}, guard {told}"

    def _is_left_out(self, violation: Violation, strict: bool) -> bool:
        """Whether the schema says of itself that it does not check it."""
        description = self.schemas[strict].get("description", "")
        _, _, unsaid = description.partition(". known to work only for")[0].partition(NOT_CHECKED)
        left_out = unsaid.split("; ")
        if violation.line is not None:
            return violation.line.text in left_out
        axis = violation.text.partition(" = ")[0]
        if "its rows differ in length" in violation.text:
            return ROWS in left_out
        return any(text.startswith(f"{axis} == ") for text in left_out)


def _guard(contract: Contract, strict: bool) -> Callable[[dict[str, Any]], list[str]]:
    names: dict[str, Any] = {"__name__": "guard"}
    exec(compile(guard_source(contract, strict=strict), "guard.py", "exec"), names)
    check: Callable[[dict[str, Any]], list[str]] = names["check"]
    return check


def _numbers(dim: Dim) -> list[int]:
    return [dim] if isinstance(dim, int) else [c for monomial, c in dim.terms if not monomial]


def _product(shape: list[int]) -> int:
    return int(np.prod(shape))


def agreed(name: str, contract: Contract, *, requests: int, seed: int = 0) -> Counter[str]:
    """How many requests there were of each kind, and how many of them were refused. Fails where the three differ."""
    agreement = Agreement(contract, seed)
    counts: Counter[str] = Counter()
    for _ in range(requests):
        feeds = agreement.request()
        difference = agreement.of_arrays(feeds)
        assert not difference, f"{name}: {difference}"
        request, kind = agreement.spoilt(feeds)
        difference = agreement.disagreement(request)
        assert not difference, f"{name}, {kind}: {difference}"
        counts["requests"] += 1
        counts[f"{kind or 'as drawn'}: {'refused' if contract.check(request) else 'taken'}"] += 1
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    wanted = parser.parse_args()
    made = list(contracts())
    counts: Counter[str] = Counter()
    for position, (name, contract) in enumerate(made):
        share = wanted.requests * (position + 1) // len(made) - wanted.requests * position // len(made)
        counts += agreed(name, contract, requests=share, seed=wanted.seed)
    for kind, count in sorted(counts.items()):
        print(f"{count:6} {kind}")


if __name__ == "__main__":
    main()
