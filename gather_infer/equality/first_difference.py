"""The first place at which two models part."""

from __future__ import annotations

from collections.abc import Iterator

from gather_infer.equality.obligations import nodes_behind
from gather_infer.equality.operators import attributes_of_node, normalized
from gather_infer.equality.proof import Proof
from gather_infer.equality.result import FirstDifference
from gather_infer.equality.terms import Operand
from gather_infer.equality.translation import Translation
from gather_infer.ir.graph import Node
from gather_infer.tensor import DType


def first_difference(proof: Proof, output: str, other: str) -> FirstDifference | None:
    """The first node behind an output of the second model whose result no value of the first is proved equal to.

    None if each node has a result that the first model has too.
    """
    second = proof.second
    graph = second.model.main
    known = set(map(id, proof.first.tensors.values()))
    behind = nodes_behind(graph, other)
    for node in graph.sorted_nodes:
        if node not in behind or _is_size(second, node):
            continue
        if any(id(each) not in known for each in _results(second, node)):
            match = _counterpart(proof, node, output)
            differences = () if match is None else tuple(_differences(proof, match, node))
            return FirstDifference(
                output, "" if match is None else _title(proof.first, match), _title(second, node), differences
            )
    return None


def _results(side: Translation, node: Node) -> list[Operand]:
    return [side.tensors.get((node.graph, name)) for name in node.outputs if name]


def _is_size(side: Translation, node: Node) -> bool:
    """Whether a node computes known integers, such as the target of a Reshape: its reader shows the difference."""
    raws = [side.facts.raw(node.graph, name) for name in node.outputs if name]
    return all(raw.values is not None and raw.dtype in (DType.INT64, DType.INT32, DType.BOOL) for raw in raws)


def _counterpart(proof: Proof, node: Node, output: str) -> Node | None:
    """The node of the first model that corresponds to a node of the second, if one can be told.

    It writes a value of the same name, or is the same operator with the most equal operands.
    """
    first, second = proof.first, proof.second
    graph = first.model.main
    for name in node.outputs:
        producer = graph.producers.get(name)
        if name and producer is not None and producer[0].op_type == node.op_type:
            return producer[0]
    wanted = {id(second.tensor(node.graph, name)) for name in node.inputs if name}
    behind = nodes_behind(graph, output)
    found: tuple[int, Node] | None = None
    for each in graph.sorted_nodes:
        if each in behind and each.op_type == node.op_type:
            shared = len(wanted & {id(first.tensor(graph, name)) for name in each.inputs if name})
            if shared and (found is None or shared > found[0]):
                found = shared, each
    return None if found is None else found[1]


def _differences(proof: Proof, mine: Node, its: Node) -> Iterator[str]:
    """The differences between two nodes of the same operator, as sentences."""
    one, two = _key(proof.first, mine), _key(proof.second, its)
    if one[0] != two[0] and mine.op_type == its.op_type:
        yield f"it is of opset {its.version} in the second model, and of {mine.version} in the first"
    a, b = dict(one[1]), dict(two[1])
    given, other_given = (dict(normalized(attributes_of_node(node))) for node in (mine, its))
    for name in sorted({*a, *b}):
        value, other = given.get(name), other_given.get(name)
        if a.get(name) != b.get(name) and value != other:
            yield f"{name} is {_shown(other)} in the second model, and {_shown(value)} in the first"
    for at, (read, other_read) in enumerate(zip(mine.inputs, its.inputs, strict=False)):
        if proof.first.tensor(mine.graph, read) is not proof.second.tensor(its.graph, other_read):
            yield f"input {at} is {other_read or 'absent'} in the second model, and {read or 'absent'} in the first"
    if len(mine.inputs) != len(its.inputs):
        yield f"it has {len(its.inputs)} inputs in the second model, and {len(mine.inputs)} in the first"


def _key(side: Translation, node: Node) -> tuple[object, tuple[tuple[str, object], ...], object]:
    execution = side.executed.get(node)
    key = None if execution is None else execution.key
    return (key[0], key[1], key[2]) if isinstance(key, tuple) else ((), (), ())


def _shown(value: object) -> str:
    if isinstance(value, tuple) and value[:1] == ("float",):
        return repr(float.fromhex(str(value[1])))
    return "absent" if value is None else str(value)


def _title(side: Translation, node: Node) -> str:
    return f"{node.op_type} {side.model.label(node)}"
