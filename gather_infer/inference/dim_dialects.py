"""Dialects of dims in written files: the expressions of a model, rewritten as the readers of one tool take them."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from itertools import count
from typing import Any, Final, NamedTuple

from onnx import FunctionProto, ModelProto

from gather_infer.diagnostic import Diagnostic, Location, diagnostic
from gather_infer.errors import UsageError, suggestion
from gather_infer.inference.constraints.given import symbols_of_inputs
from gather_infer.inference.dim_rendering import dims_of, names_of_dims
from gather_infer.inference.proto.dim_texts import read_dim_text
from gather_infer.model import ModelFile, SaveReport, save
from gather_infer.model.paths import bodies
from gather_infer.model.save import Companions
from gather_infer.symbolic import DimSyntaxError, Expr, parse_dim
from gather_infer.symbolic.notations import NOTATIONS, InexpressibleDim, Notation
from gather_infer.symbolic.printing import is_plain_name, to_text

DIALECTS: Final = tuple(NOTATIONS)
"""The names of the dialects."""


class TranslatedModel(NamedTuple):
    """A model in a dialect, and notes about the dims that the dialect cannot express.

    proto   the model that was given if nothing in it changes, else a copy
    """

    proto: ModelProto
    notes: tuple[Diagnostic, ...] = ()


def notation_of(dialect: str) -> Notation:
    """The notation of a dialect. Raises UsageError for an unknown name."""
    found = NOTATIONS.get(dialect)
    if found is None:
        raise UsageError(f"unknown dim dialect {dialect!r}{suggestion(dialect, DIALECTS)}")
    return found


def translated(proto: ModelProto, dialect: str, generated: Collection[str] = ()) -> TranslatedModel:
    """The model with the expressions in its declared dims written in a dialect.

    An expression is one of the symbols of the inputs, of names that are a dim of the model by themselves, and of the
    `generated` symbols of an inference. An expression that the dialect cannot express becomes a new name, the same
    wherever the expression occurs, and a note. Names stay as they are, since inputs and outputs are known by them, and
    so do the dims inside functions. Bounds and relations in the metadata keep the default notation.

    Raises UsageError for an unknown dialect.
    """
    translator = _Translator(proto, notation_of(dialect), generated)
    if not translator.changes:
        return TranslatedModel(proto, translator.notes())
    copy = ModelProto()
    copy.CopyFrom(proto)
    for dim in _declared_dims(copy):
        dim.dim_param = translator.changes.get(dim.dim_param, dim.dim_param)
    return TranslatedModel(copy, translator.notes())


def save_translated(
    source: ModelFile,
    proto: ModelProto,
    path: str | os.PathLike[str],
    *,
    dim_dialect: str | None = None,
    generated: Collection[str] = (),
    external_data: str | None = None,
    in_place: bool = False,
    embed: bool = False,
    companions: Companions | None = None,
) -> SaveReport:
    """Write a model with its dims in a dialect, see `gather_infer.model.save`; None keeps them as they are."""
    written = TranslatedModel(proto) if dim_dialect is None else translated(proto, dim_dialect, generated)
    report = save(
        source,
        written.proto,
        path,
        external_data=external_data,
        in_place=in_place,
        embed=embed,
        companions=companions,
    )
    return report._replace(notes=tuple(map(str, written.notes)))


def _declared_dims(proto: ModelProto) -> Iterator[Any]:
    """The named dims of all graphs."""
    for _, body in bodies(proto):
        if isinstance(body, FunctionProto):
            continue
        for value in (*body.input, *body.value_info, *body.output):
            for dim in dims_of(value.type):
                if dim.dim_param:
                    yield dim


class _Translator:
    """The texts of a model in a notation.

    changes  the new text of each dim_param that changes
    renamed  the expressions without a text in the notation, by the new name, with the reason
    kept     the names that readers of the notation may take for expressions
    """

    def __init__(self, proto: ModelProto, notation: Notation, generated: Collection[str]) -> None:
        self.notation = notation
        self.changes: dict[str, str] = {}
        self.renamed: dict[str, tuple[Expr, str]] = {}
        self.kept: list[str] = []
        texts = sorted({dim.dim_param for dim in _declared_dims(proto)})
        known, _ = symbols_of_inputs(proto.graph.input, {})
        names = known | {text for text in texts if is_plain_name(text)} | set(generated)
        readings = {text: read_dim_text(text, names).expression for text in texts if text not in known}
        expressions = {text: expression for text, expression in readings.items() if expression is not None}
        self.names = {text for text in texts if text not in expressions}
        self.taken = names_of_dims(proto) | names
        self.kept = [name for name in sorted(self.names) if _looks_like_an_expression(name)]
        fresh: dict[Expr, str] = {}
        for text, expression in expressions.items():
            new = fresh.get(expression) or self.spelt(expression)
            if new in self.renamed:
                fresh[expression] = new
            if new != text:
                self.changes[text] = new

    def spelt(self, expression: Expr) -> str:
        """The text of an expression, unlike that of every name; a new name if it has none."""
        try:
            text = to_text(expression, self.notation)
        except InexpressibleDim as problem:
            text = next(name for name in map("dim_{}".format, count()) if name not in self.taken)
            self.taken |= {text}
            self.renamed[text] = (expression, str(problem))
        while text in self.names:
            text = f"({text})"
        return text

    def notes(self) -> tuple[Diagnostic, ...]:
        """A note about the new names, and one about the names that look like expressions."""
        found = []
        if self.renamed:
            lines = [f"{name} stands for {dim}: {why}" for name, (dim, why) in self.renamed.items()]
            found.append(diagnostic("GI122", lines[0], Location(), detail=tuple(lines[1:])))
        if self.kept and not self.notation.quotes:
            listed = ", ".join(map(repr, self.kept))
            message = f"readers of the dialect {self.notation.name} may take these names for expressions: {listed}"
            found.append(diagnostic("GI120", message))
        return tuple(found)


def _looks_like_an_expression(name: str) -> bool:
    if is_plain_name(name):
        return False
    try:
        parse_dim(name)
    except DimSyntaxError:
        return False
    return True
