"""XML as a tree of elements, parsed in chunks by expat: no DTD, no entities, no recursion, bounded depth."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NoReturn
from xml.parsers import expat

from gather_infer.errors import ModelReadError, shortened
from gather_infer.model.source import streamed

MAX_DEPTH: Final = 64
"""Nesting of elements. A body takes three levels, so bodies nest at most 20 deep."""

MAX_TEXT: Final = 32
"""Characters of a `<dim>`, the only element whose text is read."""


@dataclass(slots=True)
class Element:
    """An element: its attributes, and its children in file order.

    children   elements, or the records that converters made from them
    dims       the texts of `<dim>` elements, which are not among the children
    """

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Any] = field(default_factory=list)
    dims: list[str] = field(default_factory=list)

    def all(self, tag: str) -> Iterator[Element]:
        """The child elements with a tag."""
        return (child for child in self.children if isinstance(child, Element) and child.tag == tag)

    def first(self, tag: str) -> Element | None:
        return next(self.all(tag), None)

    def require(self, name: str) -> str:
        """An attribute. Raises ModelReadError when it is missing."""
        value = self.attributes.get(name)
        if value is None:
            raise ModelReadError(f"line {self.line}: <{self.tag}> has no attribute {name!r}")
        return value


ElementConverter = Callable[[Element], object]


def read_document(path: Path, converters: Mapping[tuple[str, str], ElementConverter]) -> Element:
    """The root element of the file.

    converters   by the tags of parent and element, a function that replaces an element once it is read completely

    Raises ModelReadError where the file is no XML, has a DTD, or nests deeper than MAX_DEPTH; OSError.
    """
    parser = _XmlParser(converters)
    for chunk in streamed(path):
        parser.feed(chunk, last=False)
    parser.feed(b"", last=True)
    assert parser.root is not None, "expat has seen a root element"
    return parser.root


def layer_label(name: str, layer_id: str) -> str:
    """Label of a layer in messages."""
    return f"layer {shortened(name)!r} (id {shortened(layer_id)})"


class _XmlParser:
    def __init__(self, converters: Mapping[tuple[str, str], ElementConverter]) -> None:
        self.root: Element | None = None
        self.converters = converters
        self.open: list[Element] = []
        self.text: list[str] = []
        self.expat = expat.ParserCreate()
        self.expat.buffer_text = True
        self.expat.StartElementHandler = self.start
        self.expat.EndElementHandler = self.end
        self.expat.StartDoctypeDeclHandler = self.refuse_dtd
        self.expat.EntityDeclHandler = self.refuse_dtd

    def with_layer(self, error: ModelReadError) -> ModelReadError:
        """The error, prefixed with the innermost open layer."""
        text = str(error)
        layers = [e.attributes for e in self.open if e.tag == "layer" and {"name", "id"} <= e.attributes.keys()]
        if not layers or text.startswith("layer "):
            return error
        return ModelReadError(f"{layer_label(layers[-1]['name'], layers[-1]['id'])}: {text}")

    def feed(self, data: bytes, *, last: bool) -> None:
        try:
            self.expat.Parse(data, last)
        except expat.ExpatError as error:
            raise ModelReadError(f"not XML: {error}") from error
        except (ValueError, LookupError) as error:  # an encoding that Python does not have, or cannot hand to expat
            raise ModelReadError(f"not XML: {error}") from error

    def refuse_dtd(self, *_: object) -> NoReturn:
        raise ModelReadError(f"line {self.expat.CurrentLineNumber}: a DTD, which is not allowed in an IR")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if len(self.open) >= MAX_DEPTH:
            raise ModelReadError(f"line {self.expat.CurrentLineNumber}: elements nest deeper than {MAX_DEPTH}")
        element = Element(tag, attributes, self.expat.CurrentLineNumber)
        if not self.open:
            self.root = element
        self.open.append(element)
        if tag == "dim":
            self.text.clear()
            self.expat.CharacterDataHandler = self.characters

    def end(self, tag: str) -> None:
        element = self.open.pop()
        if not self.open:
            return
        parent = self.open[-1]
        if tag == "dim":
            self.expat.CharacterDataHandler = None
            parent.dims.append("".join(self.text))
            return
        converter = self.converters.get((parent.tag, tag))
        try:
            parent.children.append(element if converter is None else converter(element))
        except ModelReadError as error:
            raise self.with_layer(error) from error

    def characters(self, text: str) -> None:
        """Collect the text of a `<dim>`, the only text that is read."""
        self.text.append(text)
        found = "".join(self.text)
        if len(found) > MAX_TEXT:
            raise self.with_layer(ModelReadError(f"<dim> must be a number, found {found[:MAX_TEXT]!r}..."))
