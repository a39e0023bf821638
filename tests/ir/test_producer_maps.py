# ruff: noqa: E501  (code as text)
"""No module outside the IR maps names of values to the nodes that produce them: `Graph.producers` does."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import gather_infer

PACKAGE = Path(gather_infer.__file__).parent

EXCEPTIONS = {
    "inference/topology.py: topological": "the interpreter also orders bodies that no file holds, and does not build the IR",
    "model/edits.py: Journal._replacements": "of the nodes that a journal inserts, which are in no graph",
    "unfreezing/declared_types.py: with_declared_types": "pairs the nodes of a body that is being edited with those before",
    "unfreezing/function_calls.py: _restore_calls": "of a message that is being edited, and is no IR before that",
    "unfreezing/walk.py: UnfreezingWalk.walk_nodes": "an interpreter, whose bodies no IR holds",
}
"""Function -> why it builds a map of its own."""

_Loop = ast.For | ast.comprehension


def producer_maps(tree: ast.Module) -> Iterator[str]:
    """The qualified names of the functions that map the outputs of nodes to nodes or positions."""
    pending: list[tuple[ast.AST, str, tuple[_Loop, ...]]] = [(tree, "", ())]
    while pending:
        node, function, loops = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            function = f"{function}.{node.name}".lstrip(".")
        around = loops
        if isinstance(node, ast.For):
            around = (*loops, node)
        elif isinstance(node, ast.DictComp | ast.SetComp | ast.ListComp | ast.GeneratorExp):
            around = (*loops, *node.generators)
        if any(_maps_outputs(key, value, around) for key, value in _entries(node)):
            yield function
        pending += [(child, function, around) for child in ast.iter_child_nodes(node)]


def _entries(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The keys and values that an expression or statement writes into a dict."""
    match node:
        case ast.DictComp(key=key, value=value):
            yield key, value
        case ast.Assign(targets=[ast.Subscript(slice=key)], value=value):
            yield key, value
        case ast.Call(func=ast.Attribute(attr="setdefault" | "fromkeys"), args=[key, value]):
            yield key, value
        case ast.Call(func=ast.Attribute(attr="append" | "add", value=ast.Call() as inner), args=[value]):
            yield from ((key, value) for key, _ in _entries(inner))
        case ast.GeneratorExp(elt=ast.Tuple(elts=[key, value])):  # of dict() or update()
            yield key, value


def _maps_outputs(key: ast.expr, value: ast.expr, loops: tuple[_Loop, ...]) -> bool:
    """Whether `key` has the name of an output of a node, and `value` the node or what a loop binds together with it.

    What is computed from the name itself is neither: `fact(node, name)`.
    """
    owners = set(_owners(key))
    names = _names_in(key)
    for loop in loops:
        if not names.isdisjoint(_bound(loop)):
            owners |= set(_owners(loop.iter))
    together = [_bound(loop) for loop in loops if not owners.isdisjoint(_bound(loop))]
    producers = set().union(*together)
    name = ast.dump(key)
    parts, pending = set[str](), list[ast.AST]([value])
    while pending:
        part = pending.pop()
        text = ast.dump(part)
        if text == name or (isinstance(part, ast.Call) and name in text):
            continue
        parts |= {part.id} if isinstance(part, ast.Name) else set()
        pending += ast.iter_child_nodes(part)
    return not parts.isdisjoint(producers)


def _owners(expression: ast.expr) -> Iterator[str]:
    """The variables of whose nodes an expression reads the outputs: `node` in `node.output[0]`."""
    for part in ast.walk(expression):
        if isinstance(part, ast.Attribute) and part.attr in ("output", "outputs"):
            owner = part.value
            while isinstance(owner, ast.Attribute):
                owner = owner.value
            if isinstance(owner, ast.Name) and owner.id != "self":
                yield owner.id


def _bound(loop: _Loop) -> set[str]:
    return _names_in(loop.target)


def _names_in(expression: ast.expr) -> set[str]:
    return {part.id for part in ast.walk(expression) if isinstance(part, ast.Name)}


MAPS = {
    # id: (code, whether it maps outputs to their producers)
    "comprehension": ("m = {name: node for node in nodes for name in node.output}", True),
    "positions": ("m = {name: at for at, node in enumerate(nodes) for name in node.output if name}", True),
    "first output": ("m = {node.output[0]: node for node in nodes if node.output}", True),
    "part of a node": ("m = {node.output[0]: node.attribute[0].t for node in nodes}", True),
    "assignment": ("for at, node in enumerate(nodes):\n  for slot, name in enumerate(node.output):\n    m[name] = at, slot", True),
    "setdefault": ("for at, node in enumerate(nodes):\n  for name in filter(None, node.outputs):\n    m.setdefault(name, at)", True),
    "lists": ("for node in nodes:\n  for name in node.outputs:\n    m.setdefault(name, []).append(node)", True),
    "fromkeys": ("for node in nodes:\n  m |= dict.fromkeys(node.output, node)", True),
    "pairs": ("for node in nodes:\n  m.update((name, node) for name in node.output)", True),
    "chain of attributes": ("m = {name: place for place in places for name in place.node.output}", True),
    "facts": ("for node in nodes:\n  for name, fact in zip(node.output, facts):\n    m[name] = fact", False),
    "declared types": ("m = {value.name: value.type for value in graph.output}", False),
    "a set": ("m = {name for node in nodes for name in node.output}", False),
    "names to names": ("for node in nodes:\n  for name in node.output:\n    m[name] = fresh(name)", False),
    "computed from the name": ("m = {name: fact(node, name) for node in nodes for name in node.output}", False),
    "one node": ("m[node.output[0]] = node.input[0]", False),
    "texts of producers": ("m = {name: str(node.path) for node in nodes for name in node.outputs}", True),
    "nodes by their names": ("m = {node.name: node for node in nodes if node.output}", False),
}  # fmt: skip


@pytest.mark.parametrize("name", MAPS)
def test_maps_are_found(name: str) -> None:
    code, is_map = MAPS[name]
    assert bool(list(producer_maps(ast.parse(code)))) == is_map


def test_maps_from_names_to_producers_are_in_the_ir() -> None:
    found = {
        f"{path.relative_to(PACKAGE)}: {function}"
        for path in PACKAGE.rglob("*.py")
        if path.parent != PACKAGE / "ir" and ".output" in (code := path.read_text())
        for function in producer_maps(ast.parse(code))
    }
    assert sorted(found - EXCEPTIONS.keys()) == [], "use Graph.producers"
    assert sorted(EXCEPTIONS.keys() - found) == [], "no longer an exception"
