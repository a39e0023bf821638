"""`gather_infer.page`: an interactive report on a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from gather_infer.catalog.family import is_gather
from gather_infer.contract import Contract, DimsLine, Line
from gather_infer.cost import Cost, cost_of
from gather_infer.diagnostic import Diagnostic
from gather_infer.explanation import explained_symbols
from gather_infer.inference import infer
from gather_infer.inference.result import Inference
from gather_infer.model.model_loading import ModelLike, to_model_file
from gather_infer.node_ids import MAIN
from gather_infer.pages.drawings import GraphDrawings, overview
from gather_infer.pages.result import Page
from gather_infer.pages.sentences import sentence
from gather_infer.pages.tables import Dims, PageTables, tree_json
from gather_infer.progress import Progress, no_progress
from gather_infer.report import summarize
from gather_infer.report.explain import symbol_json
from gather_infer.report.json import (
    SCHEMA,
    Json,
    assumption_json,
    diagnostic_json,
    summary_json,
    trusted_annotation_json,
    verdict_json,
)
from gather_infer.rules import RuleSet
from gather_infer.symbolic import Dim, DimTooLarge, factored
from gather_infer.validate import Verdict, verdict_diagnostics, verdicts
from gather_infer.validate.condition import Condition, Elements
from gather_infer.validate.contract_builder import contract

MAX_DRAWINGS: Final = 2000
"""Maximum number of accesses with a drawing; those that are not proved come first."""

_MODEL: Final = ("name", "bytes", "format", "ir_version", "producer", "opsets", "nodes", "subgraphs", "functions")


def page(
    model: ModelLike,
    *,
    dims: Mapping[str, object] | Iterable[str] = (),
    inputs: Mapping[str, str] | Iterable[str] = (),
    ranges: Mapping[str, object] | Iterable[str] = (),
    rules: Sequence[RuleSet] = (),
    assume: bool = True,
    initializers_as_constants: bool = False,
    progress: Progress = no_progress,
) -> Page:
    """An interactive report on a model as one HTML file: types, bounds checks, contract, cost, and their reasons.

    model, dims, inputs, ranges, rules, assume, initializers_as_constants, progress   as for `infer`

    Raises the exceptions of `infer`.

        >>> page = gather_infer.page("fixtures/bert-torchscript.onnx", dims=["seq=1..64"])
        >>> page.save("bert.html")
        >>> print(page)
        <Page of fixtures/bert-torchscript.onnx: 377 tensors>
    """
    file = to_model_file(model)
    inference = infer(
        file,
        dims=dims,
        inputs=inputs,
        ranges=ranges,
        rules=rules,
        assume=assume,
        initializers_as_constants=initializers_as_constants,
        progress=progress,
    )
    progress(lambda: "judging")
    found = tuple(verdicts(inference, rules=rules))
    derived = contract(inference, found=found, rules=rules)
    progress(lambda: "counting")
    cost = cost_of(inference)
    progress(lambda: "drawing")
    return Page(_data(inference, found, derived.contract, cost), inference, found)


def _data(inference: Inference, found: Sequence[Verdict], derived: Contract, cost: Cost) -> dict[str, Json]:
    tables = PageTables(inference)
    dims = tables.dims
    data: dict[str, Json] = {
        "schema": SCHEMA,
        "model": _model(inference),
        "inputs": [tables.tensors.get((MAIN, name)) for name in inference.inputs],
        "outputs": [tables.tensors.get((MAIN, name)) for name in inference.outputs],
        "coverage": dict(zip(("tensors", "typed", "ranked", "exact"), inference.coverage(), strict=True)),
        "accesses": _accesses(inference, found, tables),
        "contract": _contract(derived, dims),
        "findings": [diagnostic_json(d) for d in _findings(inference, found)],
        "constraints": [
            [dims.position(c.left), c.relation, dims.position(c.right), str(c.node)] for c in inference.constraints
        ],
        "assumptions": [{**assumption_json(a), "text": str(a)} for a in inference.assumptions],
        "trusted_annotations": [trusted_annotation_json(each) for each in inference.trusted_annotations],
        "cost": _cost(cost, tables),
        "overview": overview(inference, tables),
        **tables.json(),
    }
    data["symbols"] = _symbols(inference, derived, tables)
    data["dims"] = dims.rows
    return data


def _model(inference: Inference) -> Json:
    model = inference.model
    name = Path(model.name).name  # a page is passed on: it does not tell where the file was
    summary = summarize(
        model.proto, name=name, nbytes=model.size, is_gather=is_gather, file_format=model.foreign_format
    )
    members = summary_json(summary)
    return {name: members[name] for name in _MODEL}


def _findings(inference: Inference, found: Sequence[Verdict]) -> Iterator[Diagnostic]:
    yield from inference.diagnostics
    yield from verdict_diagnostics(found, inference)


def _accesses(inference: Inference, found: Sequence[Verdict], tables: PageTables) -> list[Json]:
    verdict_of = {verdict.access.key: verdict for verdict in found}
    drawings = GraphDrawings(tables)
    kinds = {key: verdict.kind.value for key, verdict in verdict_of.items()}
    by_need = sorted(inference.accesses, key=lambda access: kinds.get(access.key) == "proved")
    drawn = {access.key for access in by_need[:MAX_DRAWINGS]}
    rows: list[Json] = []
    for access in inference.accesses:
        verdict = verdict_of.get(access.key)
        inputs = tables.node_inputs[tables.nodes[access.node]]
        operands = {name: at for name, at in zip(_names(inputs, tables), inputs, strict=True) if at is not None}
        rows.append(
            {
                "node": tables.nodes[access.node],
                "axis": access.axis,
                "component": None if access.addressing is None else access.addressing.column,
                "data": operands.get(access.data),
                "indices": operands.get(access.indices),
                "result": tables.tensors.get((access.node.graph, access.result)),
                "verdict": None if verdict is None else verdict_json(verdict),
                "conditions": [] if verdict is None else _conditions(verdict.conditions, tables.dims),
                "drawing": drawings.around_access(access) if access.key in drawn else None,
            }
        )
    return rows


def _names(tensors: Sequence[int | None], tables: PageTables) -> list[str]:
    return ["" if tensor is None else tables.names[tensor] for tensor in tensors]


def _conditions(conditions: Sequence[Condition], dims: Dims) -> list[Json]:
    """The conditions on sizes as `[left, relation, right]`, which the page evaluates; not those on elements."""
    return [
        [dims.position(each.left), each.relation, dims.position(each.right)]
        for each in conditions
        if not isinstance(each.left, Elements) and not each.either
    ]


def _contract(derived: Contract, dims: Dims) -> Json:
    return {
        **{
            group: [_line(line, dims) for line in lines]
            for group, lines in (
                ("lines", derived.lines),
                ("nonempty", derived.nonempty),
                ("declared", derived.declared),
            )
        },
        "open": [str(entry) for entry in derived.open],
    }


def _line(line: Line, dims: Dims) -> Json:
    """A line with its sentence; `relations` are alternatives of which one holds, if they have no `where`."""
    relations: list[Json] = []
    if isinstance(line, DimsLine) and not line.where:
        relations = [[dims.position(r.left), r.relation, dims.position(r.right)] for r in line.relations]
    return {
        "sentence": sentence(line),
        "tight": line.tight,
        "nodes": [*line.nodes],
        "reason": line.reason,
        "is_huge_limit": isinstance(line, DimsLine) and line.is_huge_limit,
        "symbols": [dims.symbol(name) for name in sorted(line.symbols)],
        "relations": relations,
    }


def _symbols(inference: Inference, derived: Contract, tables: PageTables) -> list[Json]:
    """The explanation of each symbol, in the order of the positions that dims refer to."""
    explained = {symbol.symbol: symbol for symbol in explained_symbols(inference, derived)}
    rows: list[Json] = []
    for name in tables.dims.symbols:
        if name not in explained:
            rows.append({"symbol": name})
            continue
        members = symbol_json(explained[name])
        cause = explained[name].cause
        left_out = ("schema", "suggestions", "contract_lines")
        row = {key: value for key, value in members.items() if key not in left_out}
        row["node"] = None if cause is None else tables.nodes.get(cause.node)
        rows.append(row)
    return rows


def _cost(cost: Cost, tables: PageTables) -> Json:
    """Totals as `[text, formula]`, and columns with the formulas of each node; null for an unknown quantity."""
    formulas = _Formulas(tables.dims)
    peaks = [formulas.position(point.live) for point in cost.program_points]
    nodes = [node for node in cost.nodes if node.node in tables.nodes]
    columns: dict[str, Json] = {"node": [tables.nodes[node.node] for node in nodes]}
    for quantity in ("macs", "reads", "writes", "live"):
        dims = [getattr(node, quantity) for node in nodes]
        columns[quantity] = [None if dim is None else formulas.position(dim) for dim in dims]
    return {
        **{
            quantity: [_text(dim), formulas.position(dim)]
            for quantity, dim in (("macs", cost.macs), ("reads", cost.reads), ("writes", cost.writes))
        },
        "peak": [_peak_text(cost), [*peaks]],
        "parameter_bytes": cost.parameter_bytes,
        "exact": {quantity: cost.is_exact(quantity) for quantity in ("macs", "reads", "writes", "peak")},
        "nodes": columns,
        "symbols": [tables.dims.symbol(name) for name in cost.symbols],
        "formulas": formulas.rows,
    }


def _text(dim: Dim) -> str:
    return str(dim) if isinstance(dim, int) else factored(dim)


def _peak_text(cost: Cost) -> str | None:
    try:
        return _text(cost.peak)
    except DimTooLarge:
        return None


class _Formulas:
    """Formulas by position, as trees."""

    def __init__(self, dims: Dims) -> None:
        self.dims = dims
        self.rows: list[Json] = []
        self._positions: dict[Dim, int] = {}

    def position(self, dim: Dim) -> int:
        known = self._positions.get(dim)
        if known is None:
            known = self._positions[dim] = len(self.rows)
            self.rows.append(tree_json(self.dims.tree(dim)))
        return known
