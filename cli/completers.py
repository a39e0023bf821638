"""Completion functions for shells: files, operators, codes, and names of the model on the command line.

A shell may call them after every key, so they are fast, and they return no items on failure.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeAlias

from click import Context, Parameter

from gather_infer.diagnostic import CODES
from gather_infer.domains import qualified
from gather_infer.errors import GatherInferError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem
    from onnx import ModelProto

    from gather_infer.model import ModelFile

Items: TypeAlias = "list[CompletionItem] | list[str]"

VARIABLE = "_GATHER_INFER_COMPLETE"
"""The environment variable with which a shell requests completions."""


def files(context: Context, parameter: Parameter, text: str) -> Items:
    """A single item that makes the shell complete file names."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(text, type="file")]


def codes(context: Context, parameter: Parameter, text: str) -> Items:
    """Completions of the comma-separated list `text`: its earlier codes, then a code that starts with the last one."""
    before, comma, last = text.rpartition(",")
    return [f"{before}{comma}{code}" for code in CODES if code.startswith(last.upper())]


def codes_or_files(context: Context, parameter: Parameter, text: str) -> Items:
    return codes(context, parameter, text) if text[:2].upper() == "GI" else files(context, parameter, text)


def operators(context: Context, parameter: Parameter, text: str) -> Items:
    """The supported operators whose names start with `text`."""
    from gather_infer.catalog.operators import known_names

    return _with_prefix(text, (qualified(domain, op) for domain, op in known_names()))


def operators_of_model(context: Context, parameter: Parameter, text: str) -> Items:
    """The operators of the model on the command line that start with `text`; empty if the model cannot be read."""
    model = _model(context)
    if model is None:
        return []
    from gather_infer.model.names import operator_names

    return _with_prefix(text, operator_names(model.proto))


def tensors(context: Context, parameter: Parameter, text: str) -> Items:
    """The tensors of the model on the command line that start with `text`; empty if the model cannot be read.

    The name of a tensor in a subgraph includes its path.
    """
    model = _model(context)
    if model is None:
        return []
    from gather_infer.model.names import tensor_names

    return _with_prefix(text, tensor_names(model.proto))


def inputs(proto: ModelProto) -> Iterable[str]:
    return (value.name for value in proto.graph.input)


def outputs(proto: ModelProto) -> Iterable[str]:
    return (value.name for value in proto.graph.output)


def nodes(proto: ModelProto) -> Iterable[str]:
    """The labels of the nodes of the main graph."""
    from gather_infer.model.paths import node_labels

    return node_labels(proto.graph.node)


def named_nodes(proto: ModelProto) -> Iterable[str]:
    """The names of the nodes of all graphs and functions."""
    from gather_infer.model.paths import bodies

    return (node.name for _, body in bodies(proto) for node in body.node if node.name)


def dims(proto: ModelProto) -> Iterable[str]:
    """The symbols of the dims of all types."""
    from gather_infer.editing.renaming import dim_texts
    from gather_infer.symbolic import free_symbols

    return (name for dim in dim_texts(proto).values() for name in free_symbols(dim))


def names(known: Callable[[ModelProto], Iterable[str]], ending: str = "") -> Callable[[Context, Parameter, str], Items]:
    """Completions by names of the model on the command line, each with `ending`; none if it cannot be read."""

    def complete(context: Context, parameter: Parameter, text: str) -> Items:
        model = _model(context)
        return [] if model is None else _with_prefix(text, (f"{name}{ending}" for name in known(model.proto)))

    return complete


def _model(context: Context) -> ModelFile | None:
    """The model on the command line; None if there is none, if it is standard input, or if it cannot be read."""
    path = context.params.get("model") or context.params.get("subject") or _file_on_line()
    if not path or path == "-":
        return None
    from gather_infer.model.model_loading import to_model_file

    try:
        return to_model_file(os.path.expanduser(path))
    except GatherInferError:
        return None


def _file_on_line() -> str | None:
    """The first word after the command's name that is an existing file; None if there is none.

    It serves when click has parsed no arguments, as while the value of an option is missing.
    """
    from click.shell_completion import split_arg_string

    words = split_arg_string(os.environ.get("COMP_WORDS", ""))[2:]
    return next((word for word in words if os.path.isfile(os.path.expanduser(word))), None)


def _with_prefix(text: str, names: Iterable[str]) -> list[str]:
    return sorted({name for name in names if name.startswith(text)})


def is_completing() -> bool:
    """Whether a shell runs the program to get completions."""
    return VARIABLE in os.environ
