"""Selection of tensors and nodes of the main graph by name or glob."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from gather_infer.errors import UnknownName, UsageError
from gather_infer.inference.tensor_table import is_glob
from gather_infer.ir import Graph
from gather_infer.ir.model import Model


def selected(what: str, patterns: str | Iterable[str], known: Sequence[str]) -> dict[str, bool]:
    """The names that equal a pattern or match it as a glob, in the order of the patterns and of `known`.

    Each is mapped to whether a pattern names it exactly.

    what       what the names denote, for messages
    patterns   each a name, a glob, or several of them with commas

    Raises UnknownName for a name that does not exist, UsageError for a glob that matches nothing.
    """
    existing = set(known)
    found: dict[str, bool] = {}
    for pattern in [patterns] if isinstance(patterns, str) else patterns:
        parts = [pattern] if pattern in existing else [part.strip() for part in pattern.split(",")]
        for part in filter(None, parts):
            for name in _matches(what, part, known, existing):
                found[name] = found.get(name, False) or name == part
    return found


def _matches(what: str, pattern: str, known: Sequence[str], existing: set[str]) -> list[str]:
    if pattern in existing:
        return [pattern]
    matching = [name for name in known if fnmatchcase(name, pattern)] if is_glob(pattern) else []
    if matching:
        return matching
    if is_glob(pattern):
        raise UsageError(f"no {what} matches {pattern!r}")
    raise UnknownName(what, pattern, known)


def require_known(what: str, name: str, known: Sequence[str]) -> None:
    """Raise UnknownName for a name that does not exist."""
    if name not in known:
        raise UnknownName(what, name, known)


def tensors_of(model: Model) -> list[str]:
    """The names of the tensors of the main graph: inputs, initializers, and outputs of nodes in topological order."""
    main = model.main
    made = (name for node in main.nodes for name in node.outputs if name)
    return list(dict.fromkeys(filter(None, (*main.inputs, *made, *main.initializers, *main.sparse))))


def require_in_main_graph(model: Model, patterns: str | Iterable[str]) -> None:
    """Raise UsageError for a name that only a subgraph defines: such a tensor cannot be an input or output."""
    for pattern in [patterns] if isinstance(patterns, str) else patterns:
        for name in pattern.split(","):
            if not model.main.defines(name.strip()):
                inner = _home_of(model, name.strip())
                if inner is not None:
                    label = model.graph_label(inner.path)
                    raise UsageError(f"{name.strip()} is a tensor of {label}, not of the main graph")


def _home_of(model: Model, name: str) -> Graph | None:
    """A subgraph of the main graph that defines a name."""
    return next((g for g in model.graphs.values() if model.main.path.contains(g.path) and g.defines(name)), None)
