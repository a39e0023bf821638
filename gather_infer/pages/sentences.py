"""The lines of a contract as sentences."""

from __future__ import annotations

from gather_infer.contract import DimsLine, ElementsLine, Line
from gather_infer.contract.lines import InputCondition, Relation

_VERBS = {"<=": "is at most", ">=": "is at least", "==": "equals"}
_CHOICES = {"<": "is less than", ">=": "is at least", "==": "is", "!=": "is not"}


def sentence(line: Line) -> str:
    """A line of a contract as a sentence: `Every element of ids is at least 0 and less than 512.`"""
    return f"{_elements(line) if isinstance(line, ElementsLine) else _dims(line)}."


def _elements(line: ElementsLine) -> str:
    if line.is_bool:
        return f"{line.elements} is {'false' if line.lower is None else 'true'}"
    which = "Every element" if line.column is None else f"Every element at {line.column} of the last axis"
    read = "" if line.reads_all else " that the model reads"
    bounds = [] if line.lower is None else [f"at least {line.lower}"]
    if line.upper is not None:
        bounds.append(f"less than {line.upper + 1}")
    return f"{which} of {line.input}{read} is {' and '.join(bounds)}"


def _dims(line: DimsLine) -> str:
    relations = [relation for relation in line.relations if relation not in line.unless]
    text = ", or ".join(map(_relation, relations))
    if line.unless:
        text += f", unless {' or '.join(f'{relation.left} is 0' for relation in line.unless)}"
    return f"Where {' and '.join(map(_choice, line.where))}: {text}" if line.where else text


def _relation(relation: Relation) -> str:
    if str(relation) != f"{relation.left} {relation.relation} {relation.right}":  # `n % 4 < 3`
        return str(relation)
    return f"{relation.left} {_VERBS[relation.relation]} {relation.right}"


def _choice(condition: InputCondition) -> str:
    if condition.is_bool:
        return str(condition)
    return f"{condition.input} {_CHOICES[condition.relation]} {condition.number}"
