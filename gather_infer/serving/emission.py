"""The result of an emission: the text for another program, and notes on what the text does not say."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from gather_infer.contract import Contract, DimsLine, ElementsLine
from gather_infer.serving.sizes import SizeCondition


@dataclass(frozen=True, slots=True)
class Emission:
    """A contract in the form that another program takes.

    target          the format, such as `triton`
    text            the text to write to a file
    inexpressible   what the contract requires and the text does not: each relation, range of elements and open point
    chosen          sizes that were chosen, because neither the caller nor the contract gives them
    remarks         other facts about the text: legal sizes that it leaves out, and why

        >>> result = gather_infer.contract_of("fixtures/bert-torchscript.onnx", dims=["batch=1..8"])
        >>> emission = gather_infer.emit(result.contract, "openvino", interface=result.interface)
        >>> print(emission.text.splitlines()[-1])
        ovc bert-torchscript.onnx --input 'input_ids[1..8,1..64],attention_mask[1..8,1..64],token_type_ids[1..8,1..64]'
    """

    target: str
    text: str
    inexpressible: tuple[str, ...] = ()
    chosen: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """All notes as lines of text."""
        return (
            *(f"not expressed: {text}" for text in self.inexpressible),
            *(f"chosen: {text}" for text in self.chosen),
            *self.remarks,
        )


@dataclass(frozen=True, slots=True)
class Notes:
    """The notes of an emission before its text is written, which repeats them as comments."""

    inexpressible: tuple[str, ...] = ()
    chosen: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    def emission(self, target: str, contract: Contract, body: str, *, comment: str = "#") -> Emission:
        """The emission of `body`, below comments with the notes."""
        made = Emission(target, "", self.inexpressible, self.chosen, self.remarks)
        title = f"contract of {contract.model}, written by gather-infer contract --emit {target}"
        head = "".join(f"{comment} {_one_line(line)}\n" for line in (title, *made.notes))
        return Emission(target, f"{head}{body}", self.inexpressible, self.chosen, self.remarks)


def _one_line(text: str) -> str:
    """A text that stays in its comment whatever the names in it contain."""
    return "".join(c if c.isprintable() else "?" for c in text)


def literal(text: str) -> str:
    """A string as a literal that is valid in JSON and in Python."""
    return json.dumps(text, ensure_ascii=False)


def element_texts(contract: Contract) -> Iterator[str]:
    """The lines on elements, for formats that constrain sizes only."""
    return (line.text for line in contract.all_lines if isinstance(line, ElementsLine))


def open_texts(contract: Contract) -> Iterator[str]:
    """The open points of the contract, at which a run may fail in any case."""
    return (f"open: {entry}" for entry in contract.open)


def size_texts(conditions: Iterable[SizeCondition]) -> Iterator[str]:
    """The conditions as text, each once, those below a limit of 10^9 as one."""
    conditions = list(conditions)
    for condition in dict.fromkeys(condition for condition in conditions if not condition.is_huge_limit):
        yield condition.text + _suffix(condition)
    huge = sum(condition.is_huge_limit for condition in conditions)
    if huge:
        yield f"{huge} limit{'s' * (huge != 1)} of 10^9 or more"


def _suffix(condition: SizeCondition) -> str:
    """` (not tight)` for lines that are sufficient only; a declared line is neither."""
    line = condition.line
    return " (not tight)" if isinstance(line, DimsLine) and not line.tight and line.nodes else ""


def unique(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))


def listed(texts: Sequence[str]) -> str:
    """The texts with commas, and `and` before the last."""
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


__all__ = ["Emission", "Notes", "element_texts", "listed", "literal", "open_texts", "size_texts", "unique"]
