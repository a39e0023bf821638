"""Layers, ports and edges of the XML as checked records."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final

from gather_infer.domains import EXTENSION_SETS, NEWEST_OPENVINO
from gather_infer.errors import ModelReadError
from gather_infer.openvino.ir.document import Element, ElementConverter, layer_label
from gather_infer.openvino.ir.ir_element_types import DYNAMIC, element_of
from gather_infer.openvino.ir.shape_syntax import port_dim

_OPSET = re.compile(r"opset([1-9][0-9]{0,3})")
_COMMA = re.compile(r"(?<!\\),")
_TYPED: Final = frozenset(("Parameter", "Const"))
_STRUCTURAL: Final = frozenset(("Parameter", "Const", "Result", "If", "Loop", "TensorIterator"))
_LEGACY_OPERATORS: Final = frozenset(
    (
        "ExperimentalDetectronDetectionOutput", "ExperimentalDetectronGenerateProposalsSingleImage",
        "ExperimentalDetectronPriorGridGenerator", "ExperimentalDetectronROIFeatureExtractor",
        "ExperimentalDetectronTopKROIs", "GRUCell", "Proposal", "RNNCell",
    )
)  # fmt: skip
"""Operators of opset 6 that OpenVINO also reads from `experimental` and `extension`, its only operators there."""

_LEGACY_OPSET: Final = 6
_CONTROL: Final = frozenset(
    ("body", "port_map", "back_edges", "then_body", "then_port_map", "else_body", "else_port_map")
)

RtInfo = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output of a layer.

    id        text by which edges refer to the port, unique among the inputs or the outputs of the layer
    element   OpenVINO's name of the element type, `dynamic` if unknown
    dims      a size per axis, None for an unknown size; None without any `<dim>`, for a scalar or an unknown rank
    names     tensor names of the port
    rt_info   keys and values of its `<rt_info>`
    """

    id: str
    element: str
    dims: tuple[int | None, ...] | None
    names: tuple[str, ...] = ()
    rt_info: RtInfo = ()


@dataclass(frozen=True, slots=True)
class IRLayer:
    """A layer of the main network or of a body.

    type      operator name, such as `Gather`
    version   name of the operator set, such as `opset8` or `extension`
    opset     the number in `version`; None for an extension set, which has no numbers
    data      the attributes of `<data>`
    names     names in `output_names`
    control   tag -> element, for the elements that only layers with bodies have, such as `port_map`
    """

    id: str
    name: str
    type: str
    version: str
    opset: int | None
    data: dict[str, str]
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    rt_info: RtInfo
    names: tuple[str, ...]
    control: dict[str, Element] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """Label of the layer in messages."""
        return layer_label(self.name, self.id)

    def error(self, text: object) -> ModelReadError:
        return ModelReadError(f"{self.label}: {text}")

    @contextmanager
    def error_context(self) -> Iterator[None]:
        """Context that prefixes a ModelReadError raised in it with the label of the layer."""
        try:
            yield
        except ModelReadError as error:
            text = str(error)
            raise error if text.startswith(self.label) else self.error(text) from error

    def attribute(self, name: str) -> str:
        """The attribute `name` of `<data>`. Raises ModelReadError when the attribute is missing."""
        value = self.data.get(name)
        if value is None:
            raise self.error(f"{self.type} has no attribute {name!r}")
        return value

    def single_port(self, kind: str) -> Port:
        """The single port of `kind` "input" or "output". Raises ModelReadError when the layer has none or several."""
        ports = self.inputs if kind == "input" else self.outputs
        if len(ports) != 1:
            raise self.error(f"{self.type} must have one {kind}, has {len(ports)}")
        return ports[0]


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge from output port `source` to input port `target`, each as (layer id, port id)."""

    source: tuple[str, str]
    target: tuple[str, str]


def _read_layer(element: Element) -> IRLayer:
    name, layer_id, kind = (element.require(key) for key in ("name", "id", "type"))
    try:
        if not kind:
            raise ModelReadError("the type is empty")
        version = element.attributes.get("version", "")
        held = element.first("data")
        data = {} if held is None else held.attributes
        outputs = _ports(element, "output")
        if kind in _TYPED and "element_type" in data:  # the type of the port is a copy of it
            outputs = tuple(replace(port, element=element_of(data["element_type"])) for port in outputs)
        return IRLayer(
            layer_id,
            name,
            kind,
            version,
            _opset(version, kind),
            data,
            _ports(element, "input"),
            outputs,
            tuple(_rt_info(element)),
            split_names(element.attributes.get("output_names", "")),
            {child.tag: child for child in element.children if isinstance(child, Element) and child.tag in _CONTROL},
        )
    except ModelReadError as error:
        raise ModelReadError(f"{layer_label(name, layer_id)}: {error}") from error


def _opset(version: str, kind: str) -> int | None:
    """The opset number in `version`, such as 8 for `opset8`; None for operator `kind` of an extension set.

    An operator that older files have in an extension set gets its opset. Raises ModelReadError for any other text.
    """
    if version in EXTENSION_SETS:
        if kind in _LEGACY_OPERATORS and version != "ie_internal_opset":
            return _LEGACY_OPSET
        if kind in _STRUCTURAL:
            raise ModelReadError(f"{kind} is of an opset, found version {version!r}")
        return None
    found = _OPSET.fullmatch(version)
    if found is None or int(found[1]) > NEWEST_OPENVINO:
        known = f"opset1 to opset{NEWEST_OPENVINO}, {', '.join(EXTENSION_SETS)}"
        raise ModelReadError(f"the opset must be one of {known}, found {version!r}")
    return int(found[1])


def _ports(layer: Element, tag: str) -> tuple[Port, ...]:
    held = layer.first(tag)
    ports = tuple(child for child in held.children if isinstance(child, Port)) if held is not None else ()
    if len({port.id for port in ports}) < len(ports):
        raise ModelReadError(f"two ports of <{tag}> have the same id")
    return ports


def _read_port(element: Element) -> Port:
    return Port(
        element.require("id"),
        element_of(element.attributes.get("precision", DYNAMIC)),
        tuple(map(port_dim, element.dims)) or None,
        split_names(element.attributes.get("names", "")),
        tuple(_rt_info(element)),
    )


def _read_edge(element: Element) -> Edge:
    source, target = ((element.require(f"{end}-layer"), element.require(f"{end}-port")) for end in ("from", "to"))
    return Edge(source, target)


ELEMENT_CONVERTERS: Final[dict[tuple[str, str], ElementConverter]] = {
    ("layers", "layer"): _read_layer,
    ("input", "port"): _read_port,
    ("output", "port"): _read_port,
    ("edges", "edge"): _read_edge,
}
"""(tag of parent, tag of element) -> converter of the element to a record, applied while the file is read."""


def split_names(text: str) -> tuple[str, ...]:
    r"""The non-empty names in a comma-separated list; `a\,b,c` holds the names `a,b` and `c`."""
    if not text:
        return ()
    found = (part.replace("\\,", ",") for part in _COMMA.split(text))
    return tuple(name for name in found if name)


def _rt_info(element: Element) -> Iterator[tuple[str, str]]:
    held = element.first("rt_info")
    return iter(()) if held is None else flattened(held)


def flattened(rt_info: Element) -> Iterator[tuple[str, str]]:
    """The (key, value) pairs of an `<rt_info>`; the keys of nested elements are joined by dots."""
    pending = [("", child) for child in reversed(rt_info.children) if isinstance(child, Element)]
    while pending:
        above, element = pending.pop()
        named = element.tag in ("attribute", "info") and "name" in element.attributes
        key = above + (element.attributes["name"] if named else element.tag)
        rest = {k: v for k, v in element.attributes.items() if not (named and k in ("name", "version"))}
        children = [child for child in element.children if isinstance(child, Element)]
        if "value" in rest or not (rest or children):
            yield key, rest.pop("value", "")
        yield from ((f"{key}.{name}", value) for name, value in rest.items())
        pending += [(f"{key}.", child) for child in reversed(children)]
