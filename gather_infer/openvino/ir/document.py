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
"""Largest nesting depth of elements. A body takes three levels, so bodies nest at most 20 deep."""

MAX_TEXT: Final = 32
"""Largest length in characters of the text in a `<dim>`, the only element whose text is read."""


@dataclass(slots=True)
class Element:
    """An XML element.

    line       line of its start tag in the file
    children   child elements in file order; a child with a converter is replaced by the record that the converter made
    dims       the texts of `<dim>` children, which are not in `children`
    """

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Any] = field(default_factory=list)
    dims: list[str] = field(default_factory=list)

    def all(self, tag: str) -> Iterator[Element]:
        """The child elements with tag `tag` that no converter replaced, in file order."""
        return (child for child in self.children if isinstance(child, Element) and child.tag == tag)

    def first(self, tag: str) -> Element | None:
        return next(self.all(tag), None)

    def require(self, name: str) -> str:
        """The value of the attribute `name`. Raises ModelReadError when the attribute is missing."""
        value = self.attributes.get(name)
        if value is None:
            raise ModelReadError(f"line {self.line}: <{self.tag}> has no attribute {name!r}")
        return value


ElementConverter = Callable[[Element], object]


def read_document(path: Path, converters: Mapping[tuple[str, str], ElementConverter]) -> Element:
    """The root element of the XML file at `path`.

    converters   (tag of parent, tag of element) -> function from the completely read element to its replacement

    Raises ModelReadError when the file is not XML, has a DTD, or nests deeper than MAX_DEPTH; OSError when it cannot be
    read.
    """
    parser = _XmlParser(converters)
    for chunk in streamed(path):
        parser.feed(chunk, last=False)
    parser.feed(b"", last=True)
    assert parser.root is not None, "expat has seen a root element"
    return parser.root


def layer_label(name: str, layer_id: str) -> str:
    """Label of a layer in messages, such as `layer 'conv1' (id 7)`; long names are shortened."""
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
        """`error`, prefixed with the label of the innermost open layer unless it already begins with a layer label."""
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
        """Collect the text of a `<dim>`. Raises ModelReadError when it is longer than MAX_TEXT."""
        self.text.append(text)
        found = "".join(self.text)
        if len(found) > MAX_TEXT:
            raise self.with_layer(ModelReadError(f"<dim> must be a number, found {found[:MAX_TEXT]!r}..."))
