"""XML as a tree of elements, read in chunks by expat: no DTD, no entities, no recursion, bounded depth."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NoReturn
from xml.parsers import expat

from gather_infer.errors import ModelReadError

CHUNK_BYTES: Final = 1 << 16
MAX_DEPTH: Final = 64
"""Elements inside elements. A body takes three levels, so that 20 bodies stand in each other at most."""

MAX_TEXT: Final = 32
"""Characters of a `<dim>`, the only text between tags that is read."""


@dataclass(slots=True)
class Element:
    """An element: its attributes, its children in file order, and the text of a `<dim>`.

    children   elements, or what `compact` made of them
    """

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Any] = field(default_factory=list)
    text: str = ""

    def all(self, tag: str) -> Iterator[Element]:
        """The child elements that are called `tag`."""
        return (child for child in self.children if isinstance(child, Element) and child.tag == tag)

    def first(self, tag: str) -> Element | None:
        return next(self.all(tag), None)

    def require(self, name: str) -> str:
        """The attribute. Raises ModelReadError when the element has none."""
        value = self.attributes.get(name)
        if value is None:
            raise ModelReadError(f"line {self.line}: <{self.tag}> has no attribute {name!r}")
        return value


Compact = Callable[[Element], object]


def read_document(path: Path, compact: Mapping[tuple[str, str], Compact]) -> Element:
    """The root element of the file.

    compact   by the tags of parent and element, what takes the place of an element as soon as it is read whole

    Raises ModelReadError where the file is no XML, has a DTD, or nests deeper than MAX_DEPTH; OSError.
    """
    parser = _Parser(compact)
    with open(path, "rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            parser.feed(chunk, last=False)
    parser.feed(b"", last=True)
    assert parser.root is not None, "expat has seen a root element"
    return parser.root


def layer_label(name: str, layer_id: str) -> str:
    """What messages call a layer."""
    return f"layer {name!r} (id {layer_id})"


class _Parser:
    def __init__(self, compact: Mapping[tuple[str, str], Compact]) -> None:
        self.root: Element | None = None
        self.compact = compact
        self.open: list[Element] = []
        self.expat = expat.ParserCreate()
        self.expat.buffer_text = True
        self.expat.StartElementHandler = self.start
        self.expat.EndElementHandler = self.end
        self.expat.CharacterDataHandler = self.characters
        self.expat.StartDoctypeDeclHandler = self.refuse_dtd
        self.expat.EntityDeclHandler = self.refuse_dtd

    @contextmanager
    def named(self) -> Iterator[None]:
        """Lets a ModelReadError from inside say in which layer it is."""
        try:
            yield
        except ModelReadError as error:
            text = str(error)
            said = [e.attributes for e in self.open if e.tag == "layer" and {"name", "id"} <= e.attributes.keys()]
            if not said or text.startswith("layer "):
                raise
            raise ModelReadError(f"{layer_label(said[-1]['name'], said[-1]['id'])}: {text}") from error

    def feed(self, data: bytes, *, last: bool) -> None:
        try:
            self.expat.Parse(data, last)
        except expat.ExpatError as error:
            raise ModelReadError(f"not XML: {error}") from error
        except (ValueError, LookupError) as error:  # an encoding that Python does not have, or cannot hand to expat
            raise ModelReadError(f"not XML: {error}") from error

    def refuse_dtd(self, *_: object) -> NoReturn:
        raise ModelReadError(f"line {self.expat.CurrentLineNumber}: a DTD, which no IR has and no reader should follow")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, self.expat.CurrentLineNumber)
        if len(self.open) >= MAX_DEPTH:
            raise ModelReadError(f"line {element.line}: elements nest deeper than {MAX_DEPTH}")
        if not self.open:
            self.root = element
        self.open.append(element)

    def end(self, _: str) -> None:
        element = self.open.pop()
        if self.open:
            parent = self.open[-1]
            compact = self.compact.get((parent.tag, element.tag))
            with self.named():
                parent.children.append(element if compact is None else compact(element))

    def characters(self, text: str) -> None:
        element = self.open[-1]
        if element.tag == "dim":
            element.text += text
            if len(element.text) > MAX_TEXT:
                with self.named():
                    raise ModelReadError(f"<dim> must be a number, found {element.text[:MAX_TEXT]!r}...")
