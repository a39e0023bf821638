"""The result of an edit, and the file that an edit starts from."""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from onnx import ValueInfoProto

from gather_infer.errors import EditRefused
from gather_infer.inference.constraints.given import symbols_of_inputs
from gather_infer.inference.proto.types import DimReader, from_type
from gather_infer.model import ModelFile
from gather_infer.model.model_loading import ModelLike, to_onnx_file
from gather_infer.model.tensors import fed_inputs
from gather_infer.passes.freezing import freeze
from gather_infer.passes.result import PassResult
from gather_infer.progress import Progress
from gather_infer.rules import RuleSet
from gather_infer.symbolic import symbol


class LineStatus(enum.Enum):
    """The status of a line of the second model's contract in a joined model.

    PROVED  it holds in every run in which the first model succeeds
    FAILS   inputs within the first model's contract violate it
    OPEN    neither is known
    INPUT   it is about an input of the second model that stays an input
    """

    PROVED = "proved"
    FAILS = "fails"
    OPEN = "open"
    INPUT = "input"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class JoinedLine:
    """A line of the second model's contract in a joined model.

    text     in the names of the joined model; of a line that is proved, in those of the second model
    nodes    labels of the nodes that impose it; empty if a declared type does
    witness  sizes by axis and an element by input with which the line fails; empty unless it fails
    """

    text: str
    nodes: tuple[str, ...]
    status: LineStatus
    witness: tuple[tuple[str, int], ...] = ()

    @property
    def example(self) -> str:
        """The witness as text: `input_ids.1 = 49`."""
        return ", ".join(f"{name} = {number}" for name, number in self.witness) or "with all inputs"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class EditResult(PassResult):
    """A model after an edit of its graph or its interface.

    notes     remarks about parts of the model that do not apply to the new one
    symbols   generated symbols that declared types of the new model may contain
    lines     the lines of the second model's contract, of two models that are joined
    refused   why the model is not written; empty if it is
    """

    notes: tuple[str, ...] = ()
    symbols: Collection[str] = ()
    lines: tuple[JoinedLine, ...] = ()
    refused: tuple[str, ...] = ()

    @property
    def refusal(self) -> EditRefused | None:
        return EditRefused(f"{self.source.name}: {self.refused[0]}") if self.refused else None

    @property
    def inputs(self) -> tuple[tuple[str, str], ...]:
        """Name and declared type of each input that callers feed."""
        return self._declared(fed_inputs(self.proto))

    @property
    def outputs(self) -> tuple[tuple[str, str], ...]:
        """Name and declared type of each output."""
        return self._declared(self.proto.graph.output)

    def _declared(self, values: Iterable[ValueInfoProto]) -> tuple[tuple[str, str], ...]:
        names, _ = symbols_of_inputs(fed_inputs(self.proto), {})
        reader = DimReader(names)
        facts = ((value.name, from_type(value.type, reader, lambda axis: symbol("?"))) for value in values)
        return tuple((name, "?" if fact is None else str(fact)) for name, fact in facts)

    @property
    def generated(self) -> Collection[str]:
        return self.symbols


def with_constraints(
    model: ModelLike,
    *,
    dims: Mapping[str, object] | Iterable[str],
    types: Mapping[str, str] | Iterable[str],
    rules: Sequence[RuleSet],
    initializers_as_constants: bool,
    progress: Progress,
) -> tuple[ModelFile, ModelFile]:
    """The file of a model, and the same file with the given dims and types of inputs declared, as `freeze` does.

    Raises EditRefused for sizes with which the model fails, and the errors of `freeze`.
    """
    source = to_onnx_file(model)
    dims = dims if isinstance(dims, (str, Mapping)) else tuple(dims)
    types = types if isinstance(types, (str, Mapping)) else tuple(types)
    if not (dims or types or initializers_as_constants):
        return source, source
    frozen = freeze(
        source,
        dims=dims,
        inputs=types,
        rules=rules,
        initializers_as_constants=initializers_as_constants,
        progress=progress,
    )
    if frozen.refused:
        raise EditRefused(f"{source.name}: {frozen.why_refused}: {frozen.refused[0].message}")
    return source, replace(source, proto=frozen.proto)
