"""The contract of a joined model: which conditions of the second model follow from the first one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gather_infer.contract import (
    Contract,
    ContractInput,
    DimsLine,
    ElementsLine,
    Line,
    NewRequirement,
    new_requirements,
)
from gather_infer.diagnostic import Diagnostic, Severity
from gather_infer.editing.result import JoinedLine, LineStatus
from gather_infer.inference import Inference
from gather_infer.model import ModelFile
from gather_infer.model.paths import node_labels
from gather_infer.progress import Progress
from gather_infer.rules import RuleSet
from gather_infer.symbolic import free_symbols
from gather_infer.tensor import SymbolicTensor
from gather_infer.validate.contract_builder import contract_of, with_assumptions


@dataclass(frozen=True, slots=True)
class JoinedContract:
    """The lines of the second model's contract in the joined model, and errors that only the joined model has."""

    lines: tuple[JoinedLine, ...]
    errors: tuple[str, ...]


def joined_contract(
    first: ModelFile,
    second: ModelFile,
    joined: ModelFile,
    feeds: Mapping[str, str],
    inference: Inference,
    *,
    rules: Sequence[RuleSet],
    progress: Progress,
) -> JoinedContract:
    """Compare the contract of the joined model with that of the first one.

    A condition that does not follow from the first model's contract is due to the second model. It is about inputs of
    the second model that stay inputs, or fails with a witness, or is undecided.

    feeds      input of the second model -> the value of the first that feeds it
    inference  of the first model, without assumptions
    """
    progress(lambda: "comparing contracts")
    mine, its, whole = (contract_of(file, rules=rules) for file in (first, second, joined))
    base, target = with_assumptions(mine), with_assumptions(whole)
    found = list(_type_lines(base, its.contract, feeds, inference))
    others = [spec for spec in target.inputs if spec.name not in {own.name for own in base.inputs}]
    extended = replace(base, inputs=(*base.inputs, *others))
    about_others = _AboutInputs(others, base.inputs)
    lines = {line.text: line for line in target.all_lines}
    for requirement in new_requirements(extended, target):
        line = lines.get(requirement.text)
        is_free = line is not None and about_others.concerns(line)
        found.append(_joined_line(requirement, LineStatus.INPUT if is_free else None))
    labels = _labels_after(second, joined)
    unproved = {node for line in found for node in line.nodes}
    about_fed = _AboutInputs([spec for spec in its.contract.inputs if spec.name in feeds], ())
    errors = tuple(_new_errors(whole.diagnostics, (*mine.diagnostics, *its.diagnostics)))
    for line in () if errors else its.contract.ordinary_lines:  # what fails for all inputs is no line of the contract
        nodes = tuple(_label_after(node, labels) for node in line.nodes)
        if about_fed.concerns(line) and unproved.isdisjoint(nodes):
            found.append(JoinedLine(line.text, nodes, LineStatus.PROVED))
    return JoinedContract(tuple(dict.fromkeys(found)), errors)


def _joined_line(requirement: NewRequirement, status: LineStatus | None) -> JoinedLine:
    if status is None:
        status = LineStatus.OPEN if requirement.witness is None else LineStatus.FAILS
    witness = requirement.witness if status is LineStatus.FAILS else None
    return JoinedLine(requirement.text, requirement.nodes, status, tuple((witness or {}).items()))


def _type_lines(
    base: Contract, second: Contract, feeds: Mapping[str, str], inference: Inference
) -> Iterator[JoinedLine]:
    """The sizes that the declared types of the fed inputs require, and that the first model does not guarantee."""
    given = {spec.name for spec in base.inputs}
    specs: list[ContractInput] = []
    pairs: dict[str, str] = {}
    for name, source in feeds.items():
        fact = inference[source]
        own = source
        while own in pairs or (own in given and own != source):
            own += "'"  # a value that feeds several inputs
        pairs[own] = name
        if own not in given and isinstance(fact, SymbolicTensor):
            specs.append(ContractInput(own, None if fact.dtype is None else str(fact.dtype), fact.shape))
    fed = tuple(spec for spec in second.inputs if spec.name in feeds)
    pairs = {own: name for own, name in pairs.items() if own in given or own in {spec.name for spec in specs}}
    wanted = Contract(second.model, tuple(spec for spec in fed if spec.name in pairs.values()), ())
    numbers = {
        f"{spec.axis_name(axis)} == {dim}"
        for spec in wanted.inputs
        for axis, dim in enumerate(spec.shape or ())
        if isinstance(dim, int)
    }
    for requirement in new_requirements(replace(base, inputs=(*base.inputs, *specs)), wanted, pairs):
        # runtimes reject another number, but not sizes that differ although the file calls both the same
        yield _joined_line(requirement, None if requirement.text in numbers else LineStatus.OPEN)


class _AboutInputs:
    """Whether lines concern some inputs: their elements, or sizes that only they have.

    inputs   these inputs
    others   inputs whose sizes do not count
    """

    def __init__(self, inputs: Iterable[ContractInput], others: Iterable[ContractInput]) -> None:
        inputs = tuple(inputs)
        self.names = {spec.name for spec in inputs}
        known = {name for spec in others for dim in spec.shape or () for name in free_symbols(dim)}
        self.symbols = {name for spec in inputs for dim in spec.shape or () for name in free_symbols(dim)} - known
        self.symbols |= {spec.axis_name(axis) for spec in inputs for axis in range(len(spec.shape or ()))}

    def concerns(self, line: Line) -> bool:
        if isinstance(line, ElementsLine):
            return line.input in self.names or not self.symbols.isdisjoint(line.symbols)
        assert isinstance(line, DimsLine), "a line is about elements or dims"
        return not self.symbols.isdisjoint(line.symbols) or any(each.input in self.names for each in line.where)


def _labels_after(second: ModelFile, joined: ModelFile) -> dict[str, str]:
    """The label of each node of the second model's main graph -> its label in the joined model."""
    before = node_labels(second.proto.graph.node)
    after = node_labels(joined.proto.graph.node)
    return dict(zip(before, after[len(after) - len(before) :], strict=True))


def _label_after(label: str, labels: Mapping[str, str]) -> str:
    """The label of a node in the joined model; one in a subgraph begins with that of the node around it."""
    if label in labels:
        return labels[label]
    outer = next((known for known in labels if label.startswith(f"{known}/")), None)
    return label if outer is None else labels[outer] + label.removeprefix(outer)


def _new_errors(found: Iterable[Diagnostic], known: Iterable[Diagnostic]) -> Iterator[str]:
    """The errors of the joined model that neither model has by itself."""
    left = Counter(finding.code for finding in known if finding.severity is Severity.ERROR)
    for finding in found:
        if finding.severity is Severity.ERROR:
            left[finding.code] -= 1
            if left[finding.code] < 0:
                yield f"{finding.message} (node {finding.location.node})"
