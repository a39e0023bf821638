"""The result of a pass: the model, the diagnostics, the edits, and how to write them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from onnx import ModelProto, TensorProto

from gather_infer.diagnostic import Diagnostic, severity_counts
from gather_infer.domains import qualified
from gather_infer.errors import GatherInferError, ModelReadError
from gather_infer.inference.dim_dialects import save_translated
from gather_infer.inference.interface_types import UNCHANGED, Interface
from gather_infer.model import ModelFile, SaveReport
from gather_infer.model.edits import Journal
from gather_infer.model.paths import bodies
from gather_infer.model.save import Companions
from gather_infer.model.tensors import iter_tensors

if TYPE_CHECKING:
    import onnx_graphsurgeon as gs


class Size(NamedTuple):
    """The size of a model: nodes by operator, over all graphs and functions, and bytes of constants."""

    operators: Counter[str]
    initializers: int
    weight_bytes: int

    @property
    def nodes(self) -> int:
        return self.operators.total()


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class PassResult:
    """A model after a pass, and the changes to it.

    model        a graphsurgeon Graph if the input was one, else a ModelProto. If a path was given, large
                 weights are still on disk; `save` writes them out
    diagnostics  findings of the inference in the original model, and notes about nodes that the pass has left alone
    journal      the edits
    source       the original model
    proto        the model after the edits
    interface    the changes to the interface of the model
    """

    model: ModelProto | gs.Graph
    diagnostics: tuple[Diagnostic, ...]
    journal: Journal
    source: ModelFile
    proto: ModelProto
    interface: Interface = UNCHANGED

    def __repr__(self) -> str:
        before, after, found = self.before.nodes, self.after.nodes, severity_counts(self.diagnostics)
        nodes = f"{after} node{'s' * (after != 1)}" if before == after else f"{before} nodes before, {after} after"
        return f"<{type(self).__name__} of {self.source.name}: {nodes}{found and f', {found}'}>"

    @property
    def edits(self) -> list[str]:
        """A line for each edit, as `--dry-run` prints them."""
        return self.journal.describe(self.source.proto)

    @property
    def file(self) -> ModelFile:
        """The model after the edits as a file: with the place of the large weights, which are those of the original."""
        return replace(self.source, proto=self.proto)

    @property
    def before(self) -> Size:
        return size_of(self.source, self.source.proto)

    @property
    def after(self) -> Size:
        return size_of(self.source, self.proto)

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        external_data: str | None = None,
        in_place: bool = False,
        dim_dialect: str | None = None,
        companions: Companions | None = None,
    ) -> SaveReport:
        """Write the model, whole or not at all. Raises `refusal` if there is one, and as `gather_infer.model.save`.

        dim_dialect   write the expressions in dims as readers of this dialect take them, see docs/dims.md
        companions    returns the files that appear together with the model, from the hashes of what is written
        """
        if self.refusal is not None:
            raise self.refusal
        return save_translated(
            self.source,
            self.proto,
            path,
            dim_dialect=dim_dialect,
            generated=self.generated,
            external_data=external_data,
            in_place=in_place,
            companions=companions,
        )

    @property
    def refusal(self) -> GatherInferError | None:
        """The error for a model that must not be written; None for one that may be."""
        return None

    @property
    def generated(self) -> Collection[str]:
        """The generated symbols that dims of the model may contain."""
        return ()


def size_of(source: ModelFile, proto: ModelProto) -> Size:
    found: Counter[tuple[str, str]] = Counter()
    initializers = 0
    for _, body in bodies(proto):
        found.update([(node.domain, node.op_type) for node in body.node])
        initializers += len(getattr(body, "initializer", ()))
    operators: Counter[str] = Counter()
    for (domain, op_type), count in found.items():
        operators[qualified(domain, op_type)] += count
    return Size(operators, initializers, sum(_nbytes(source, t) for t in iter_tensors(proto)))


def _nbytes(source: ModelFile, tensor: TensorProto) -> int:
    try:
        return source.nbytes(tensor)
    except ModelReadError:  # an unknown type or a negative dim, which the inference has reported
        return 0
