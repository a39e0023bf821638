"""Results: where the axes of tensors come from, and whether rows are independent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from gather_infer.errors import UnknownName
from gather_infer.node_ids import NodePath
from gather_infer.symbolic import Dim
from gather_infer.trail import Assumption


@dataclass(frozen=True, slots=True)
class AxisFactor:
    """A size that an axis is a product of.

    input, axis   the axis of an input of the model with the same index; "" and None if there is none
    """

    size: Dim
    input: str = ""
    axis: int | None = None

    def __str__(self) -> str:
        return f"{self.input}.{self.axis}" if self.input else str(self.size)


@dataclass(frozen=True, slots=True)
class AxisOrigin:
    """The factors of an axis in row-major order, the outermost first; none for an axis of size 1."""

    size: Dim
    factors: tuple[AxisFactor, ...]

    def __str__(self) -> str:
        return " * ".join(map(str, self.factors)) or str(self.size)


class AxisProvenance(Mapping[str, "tuple[AxisOrigin, ...]"]):
    """The origin of each axis, by tensor of the main graph; tensors of unknown rank are left out.

    >>> import gather_infer
    >>> axes = gather_infer.axis_provenance("fixtures/bert-torchscript.onnx")
    >>> print(*axes["last_hidden_state"], sep=", ")
    input_ids.0, input_ids.1, 32
    """

    def __init__(self, axes: Mapping[str, tuple[AxisOrigin, ...]]) -> None:
        self._axes = axes

    def __getitem__(self, name: str) -> tuple[AxisOrigin, ...]:
        """The origins of the axes of a tensor. Raises UnknownName, a KeyError, for another name."""
        found = self._axes.get(name)
        if found is None:
            raise UnknownName("tensor of known rank", name, self._axes)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._axes)

    def __len__(self) -> int:
        return len(self._axes)


class IndependenceVerdict(Enum):
    """Whether row i of an output depends on row i of the inputs alone.

    PROVED    it does, in every legal run
    REFUTED   a run showed that it does not
    OPEN      neither; if the analysis found a node that mixes rows, `OutputIndependence.mixes` is true
    """

    PROVED = "proved"
    REFUTED = "refuted"
    OPEN = "open"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class OutputIndependence:
    """The verdict for one output.

    axis     the axis that holds the rows; None if no element depends on a row, or the verdict is not `proved`
    inner    the size inside that axis: its index is `(p*rows + row)*inner + s`
    mixes    whether a node is known to combine rows, or to compute with their number; a run may show no difference
    combines   whether that node combines rows or computes with how many there are, not just with the number of a row
    reason   the cause of another verdict than `proved`, with the node; "" if it is proved
    node     the node where the dependence begins; None for an input, or if the verdict is `proved`
    path     labels of the nodes from that node to the output
    run      the run that refutes it; "" if none does
    """

    name: str
    verdict: IndependenceVerdict
    axis: int | None = None
    inner: Dim = 1
    mixes: bool = False
    combines: bool = False
    reason: str = ""
    path: tuple[str, ...] = ()
    run: str = ""
    node: NodePath | None = None

    @property
    def explanation(self) -> str:
        """The cause with the output, and with the path if it is longer than the node; "" if the verdict is `proved`."""
        if not self.reason:
            return ""
        path = f" ({' -> '.join(_shortened(self.path))})" if len(self.path) > 1 else ""
        return f"output {self.name}: {self.reason}{path}"


@dataclass(frozen=True, slots=True)
class Independence:
    """Whether the rows of a batch are independent.

    rows         the number of rows: a symbol, or a number of a fixed batch, for which alone the verdict holds
    axes         the axes of the inputs that hold rows, as `ids.0`
    assumptions  under which the facts hold that the verdict uses
    unconfirmed  why no run was made although a node mixes rows; "" otherwise

        >>> import gather_infer
        >>> print(gather_infer.independence("fixtures/bert-torchscript.onnx"))
        rows of batch are independent: proved
    """

    rows: Dim
    axes: tuple[str, ...]
    outputs: tuple[OutputIndependence, ...]
    assumptions: tuple[Assumption, ...] = ()
    unconfirmed: str = ""

    @property
    def verdict(self) -> IndependenceVerdict:
        """`proved` if all outputs are, `refuted` if one is, else `open`."""
        found = {output.verdict for output in self.outputs}
        if IndependenceVerdict.REFUTED in found:
            return IndependenceVerdict.REFUTED
        return IndependenceVerdict.OPEN if IndependenceVerdict.OPEN in found else IndependenceVerdict.PROVED

    @property
    def cause(self) -> OutputIndependence | None:
        """The output that decides the verdict: one that is refuted, else one that mixes rows, else an open one."""
        found = [output for output in self.outputs if output.verdict is not IndependenceVerdict.PROVED]
        return min(
            found,
            key=lambda output: (output.verdict is not IndependenceVerdict.REFUTED, not output.mixes),
            default=None,
        )

    def __str__(self) -> str:
        text = f"rows of {self.rows} are independent: {self.verdict}"
        cause = self.cause
        if cause is None:
            return text
        return f"{text}, {cause.explanation}"


def _shortened(path: tuple[str, ...]) -> tuple[str, ...]:
    """The first and the last nodes of a long path."""
    return path if len(path) <= 6 else (*path[:3], f"{len(path) - 5} more", *path[-2:])
