"""A contract in other names of inputs, sizes and nodes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from gather_infer.contract.contract import Contract
from gather_infer.contract.lines import ConditionalBody, DimsLine, ElementsLine, Line, Open, Relation
from gather_infer.symbolic import Dim, substitute, symbol


def renamed(
    contract: Contract, *, inputs: Mapping[str, str], dims: Mapping[str, str], nodes: Mapping[str, str]
) -> Contract:
    """The same contract after a renaming of the model, each from old names to new ones.

    dims   symbols; the names of axes, as `mask.1`, follow those of the inputs
    nodes  labels of nodes
    """
    return _Renaming(contract, inputs, dims, nodes).contract()


class _Renaming:
    def __init__(
        self, contract: Contract, inputs: Mapping[str, str], dims: Mapping[str, str], nodes: Mapping[str, str]
    ) -> None:
        self.old = contract
        self.inputs = inputs
        self.nodes = nodes
        self.symbols: dict[str, Dim] = {
            spec.axis_name(axis): symbol(f"{inputs[spec.name]}.{axis}")
            for spec in contract.inputs
            if spec.name in inputs
            for axis in range(len(spec.shape or ()))
        }
        self.symbols |= {old: symbol(new) for old, new in dims.items()}
        texts = {**dims, **inputs, **nodes, **{old: str(new) for old, new in self.symbols.items()}}
        words = sorted(filter(None, texts), key=len, reverse=True)
        self._texts = texts
        self._words = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, words))})(?!\w)") if words else None

    def contract(self) -> Contract:
        old = self.old
        return replace(
            old,
            inputs=tuple(
                replace(
                    spec,
                    name=self.inputs.get(spec.name, spec.name),
                    shape=None if spec.shape is None else tuple(map(self._dim, spec.shape)),
                )
                for spec in old.inputs
            ),
            lines=tuple(map(self._line, old.lines)),
            nonempty=tuple(map(self._dims_line, old.nonempty)),
            declared=tuple(map(self._line, old.declared)),
            open=tuple(map(self._open, old.open)),
        )

    def _dim(self, dim: Dim) -> Dim:
        return substitute(dim, self.symbols)

    def _line(self, line: Line) -> Line:
        if isinstance(line, DimsLine):
            return self._dims_line(line)
        return self._elements_line(line)

    def _elements_line(self, line: ElementsLine) -> ElementsLine:
        return replace(
            line,
            input=self.inputs.get(line.input, line.input),
            lower=None if line.lower is None else self._dim(line.lower),
            upper=None if line.upper is None else self._dim(line.upper),
            nodes=self._labels(line.nodes),
            reason=self._text(line.reason),
        )

    def _dims_line(self, line: DimsLine) -> DimsLine:
        return replace(
            line,
            relations=tuple(Relation(self._dim(r.left), r.relation, self._dim(r.right)) for r in line.relations),
            nodes=self._labels(line.nodes),
            reason=self._text(line.reason),
            where=tuple(replace(each, input=self.inputs.get(each.input, each.input)) for each in line.where),
        )

    def _open(self, entry: Open) -> Open:
        bodies = tuple(
            ConditionalBody(self._label(body.node), body.name, self._text(body.condition)) for body in entry.bodies
        )
        return Open(self._label(entry.node), self._text(entry.reason), bodies)

    def _labels(self, labels: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(self._label, labels))

    def _label(self, label: str) -> str:
        return self.nodes.get(label, label)

    def _text(self, text: str) -> str:
        """A text for people, with each name in it replaced."""
        return text if self._words is None else self._words.sub(lambda found: self._texts[found[0]], text)
