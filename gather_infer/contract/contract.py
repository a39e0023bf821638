"""The `Contract`: conditions on the inputs of a model under which a run does not fail, and its JSON form."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from warnings import warn

from gather_infer.contract.checking import Checker, Violation
from gather_infer.contract.lines import (
    ConditionalBody,
    ContractInput,
    DimsLine,
    ElementsLine,
    InputCondition,
    Line,
    Open,
    Relation,
)
from gather_infer.contract.stored import read_object
from gather_infer.errors import ContractViolated, UsageError
from gather_infer.symbolic import Dim, DimSyntaxError, parse_dim

SCHEMA: Final = 2
"""Version of the JSON form, its member `schema`."""

_RELATIONS: Final = ("==", "<=", ">=")
_CHOICES: Final = ("==", "!=", "<", ">=")


@dataclass(frozen=True)
class Contract:
    """Conditions on the inputs of a model: feeds that meet them cause no index out of bounds and no shapes that clash.

    model     name of the model file
    inputs    the types of the inputs; dims with the same symbol have the same size
    lines     the minimal conditions that nodes impose, those on elements first
    nonempty  conditions that dims are not 0
    declared  conditions that the caller promised when the contract was derived (`--dim`, `--range`); the lines assume
              them
    open      nodes that may fail although the feeds meet every condition

        >>> import numpy
        >>> contract = gather_infer.contract_of("fixtures/bert-torchscript.onnx").contract
        >>> ids = numpy.array([[101, 151]])
        >>> feeds = {"input_ids": ids, "attention_mask": numpy.ones_like(ids), "token_type_ids": numpy.zeros_like(ids)}
        >>> for violation in contract.check(feeds):
        ...     print(violation)
        input_ids[0, 1] = 151: must be -151 <= input_ids < 151 (/bert/embeddings/word_embeddings/Gather)
    """

    model: str
    inputs: tuple[ContractInput, ...]
    lines: tuple[Line, ...]
    nonempty: tuple[DimsLine, ...] = ()
    declared: tuple[Line, ...] = ()
    open: tuple[Open, ...] = ()
    _checker: Checker = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_checker", Checker(self.inputs, self.enforced))

    @property
    def all_lines(self) -> tuple[Line, ...]:
        """Every condition on feeds: `declared`, then `nonempty`, then `lines`."""
        return (*self.declared, *self.nonempty, *self.lines)

    @property
    def ordinary_lines(self) -> tuple[Line, ...]:
        """The lines that reports print by default: all but size limits of 10^9 or more."""
        return tuple(line for line in self.lines if not (isinstance(line, DimsLine) and line.is_huge_limit))

    @property
    def enforced(self) -> tuple[tuple[Line, bool], ...]:
        """Each line of `all_lines`, with True if `check` enforces it even when not strict: declared and tight lines."""
        return (
            *((line, True) for line in self.declared),
            *((line, line.tight) for line in (*self.nonempty, *self.lines)),
        )

    def check(self, feeds: Mapping[str, object], *, strict: bool = False) -> list[Violation]:
        """Every violation of the contract by `feeds`, which maps input names to arrays; empty when there is none.

        strict   include lines that are sufficient but not necessary: a run that breaks one may still succeed
        """
        return [violation for violation in self._checker.run(feeds) if violation.needed or strict]

    def warnings(self, feeds: Mapping[str, object]) -> list[Violation]:
        """Violations of lines that are sufficient but not necessary, which `check` reports only when strict."""
        return [violation for violation in self._checker.run(feeds) if not violation.needed]

    def require(self, feeds: Mapping[str, object], *, strict: bool = False) -> None:
        """Raise ContractViolated, which holds the texts of the violations, when `feeds` violate the contract.

        strict   as for `check`; without it each violated line that is not necessary gives a UserWarning
        """
        found = list(self._checker.run(feeds))
        wrong = [violation.text for violation in found if violation.needed or strict]
        if wrong:
            raise ContractViolated(wrong)
        for violation in found:
            warn(violation.text, stacklevel=2)

    @classmethod
    def load(cls, source: str | os.PathLike[str]) -> Contract:
        """Load a contract from JSON text, a JSON file, or a model that has one in its metadata.

        Raises ModelReadError when the file cannot be read, UsageError when it holds no contract.
        """
        return cls.from_json(read_object(source))

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Contract:
        """The contract from an object that `to_json` returned. Raises UsageError for any other data."""
        schema = data.get("schema")
        if schema is None:
            raise UsageError(f"not a contract of schema {SCHEMA}: it has no member 'schema'")
        if schema != SCHEMA:
            raise UsageError(f"a contract of schema {schema!r} cannot be read, only of schema {SCHEMA}")
        try:
            return cls(
                str(data["model"]["name"]),
                tuple(map(_input, data["model"]["inputs"])),
                tuple(map(_line, data["lines"])),
                tuple(map(_dims_line, data["nonempty"])),
                tuple(map(_line, data["declared"])),
                tuple(map(_open, data["open"])),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise UsageError(f"not a contract of schema {SCHEMA}: {error!r}") from error
        except DimSyntaxError as error:
            raise UsageError(f"not a contract of schema {SCHEMA}: {error}") from error

    def to_json(self) -> dict[str, Any]:
        """The contract as a JSON object; docs/contract.md describes it."""
        return {
            "schema": SCHEMA,
            "model": {
                "name": self.model,
                "inputs": [
                    {
                        "name": i.name,
                        "dtype": i.dtype,
                        "shape": None if i.shape is None else [d if isinstance(d, int) else str(d) for d in i.shape],
                        "optional": i.optional,
                    }
                    for i in self.inputs
                ],
            },
            "lines": [_line_json(line) for line in self.lines],
            "nonempty": [_line_json(line) for line in self.nonempty],
            "declared": [_line_json(line) for line in self.declared],
            "open": [_open_json(entry) for entry in self.open],
        }


def _line_json(line: Line) -> dict[str, Any]:
    common = {"tight": line.tight, "nodes": list(line.nodes), "text": line.text, "reason": line.reason}
    if isinstance(line, ElementsLine):
        return {
            "kind": "elements",
            "input": line.input,
            "column": line.column,
            "lower": None if line.lower is None else str(line.lower),
            "upper": None if line.upper is None else str(line.upper),
            "reads_all": line.reads_all,
            **({"is_bool": True} if line.is_bool else {}),
            **common,
        }
    relations = [{"left": str(r.left), "relation": r.relation, "right": str(r.right)} for r in line.relations]
    conditions = [
        {"input": w.input, "relation": w.relation, "number": w.number, **({"is_bool": True} if w.is_bool else {})}
        for w in line.where
    ]
    return {
        **({"kind": "dims", **relations[0]} if len(relations) == 1 else {"kind": "any", "any": relations}),
        **({"where": conditions} if conditions else {}),
        **common,
    }


def _open_json(entry: Open) -> dict[str, Any]:
    bodies = [{"node": body.node, "name": body.name, "condition": body.condition} for body in entry.bodies]
    return {"node": entry.node, "reason": entry.reason, **({"bodies": bodies} if bodies else {})}


def _open(data: Mapping[str, Any]) -> Open:
    bodies = (ConditionalBody(str(b["node"]), str(b["name"]), str(b["condition"])) for b in data.get("bodies", ()))
    return Open(str(data["node"]), str(data["reason"]), tuple(bodies))


def _input(data: Mapping[str, Any]) -> ContractInput:
    shape = data["shape"]
    dims = None if shape is None else tuple(d if isinstance(d, int) else _dim(d) for d in shape)
    dtype = data["dtype"]
    return ContractInput(str(data["name"]), None if dtype is None else str(dtype), dims, bool(data["optional"]))


def _line(data: Mapping[str, Any]) -> Line:
    if data["kind"] != "elements":
        return _dims_line(data)
    column = data["column"]
    low, high = (None if data[key] is None else _dim(data[key]) for key in ("lower", "upper"))
    return ElementsLine(
        str(data["input"]),
        None if column is None else int(column),
        low,
        high,
        bool(data["reads_all"]),
        *_common(data),
        bool(data.get("is_bool", False)),
    )


def _dims_line(data: Mapping[str, Any]) -> DimsLine:
    if data["kind"] not in ("dims", "any"):
        raise UsageError(f"a contract has no lines of the kind {data['kind']!r}")
    relations = tuple(map(_relation, data["any"] if data["kind"] == "any" else [data]))
    return DimsLine(relations, *_common(data), tuple(map(_when, data.get("where", ()))))


def _when(data: Mapping[str, Any]) -> InputCondition:
    if data["relation"] not in _CHOICES:
        raise UsageError(f"a contract has no condition {data['relation']!r}; there are {', '.join(_CHOICES)}")
    return InputCondition(
        str(data["input"]), str(data["relation"]), int(data["number"]), bool(data.get("is_bool", False))
    )


def _relation(data: Mapping[str, Any]) -> Relation:
    if data["relation"] not in _RELATIONS:
        raise UsageError(f"a contract has no relation {data['relation']!r}; there are {', '.join(_RELATIONS)}")
    return Relation(_dim(data["left"]), data["relation"], _dim(data["right"]))


def _common(data: Mapping[str, Any]) -> tuple[bool, tuple[str, ...], str]:
    return bool(data["tight"]), tuple(map(str, data["nodes"])), str(data["reason"])


def _dim(text: object) -> Dim:
    return parse_dim(str(text))
