"""IRs for tests: written by OpenVINO in a process of its own, or by hand, from lines about layers."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from xml.sax.saxutils import quoteattr

WORKER = Path(__file__).with_name("ir_worker.py")
MADE = (
    "mlp", "branches", "counted", "until", "forward", "backward", "pairs", "pairs_backward", "nested", "shapes",
    "scattered", "bags", "reversed_rows", "blocks",
)  # fmt: skip


@dataclass(frozen=True)
class Run:
    feeds: dict[str, Any]
    results: list[Any]


@cache
def _folder() -> TemporaryDirectory[str]:
    """The folder of all models that the worker makes; it is removed when the process ends."""
    folder = TemporaryDirectory(prefix="ir-")
    command = [sys.executable, str(WORKER), folder.name, *MADE]
    subprocess.run(command, capture_output=True, text=True, timeout=240, check=True)
    return folder


def written(name: str) -> Path:
    """The .xml of a model of the worker."""
    return Path(_folder().name) / f"{name}.xml"


def runs(name: str) -> list[Run]:
    """The outputs of OpenVINO for a model of the worker."""
    return [Run(*run) for run in pickle.loads(written(name).with_suffix(".pickle").read_bytes())]


CHILD = """
import pickle, sys, openvino as ov
results = ov.Core().compile_model(sys.argv[1], "CPU", {"INFERENCE_PRECISION_HINT": "f32"})([])
sys.stdout.buffer.write(pickle.dumps([results[k].copy() for k in range(len(results))]))
"""


def computed(path: Path) -> list[Any]:
    """The outputs of OpenVINO for an IR that has no inputs."""
    done = subprocess.run([sys.executable, "-c", CHILD, str(path)], capture_output=True, timeout=120, check=True)
    return list(pickle.loads(done.stdout))


@dataclass(frozen=True)
class Layer:
    """A layer by hand. `ins` and `outs` are ports: `0:FP32:1,-1` is port 0, `0:FP32:1,-1:name` has a name."""

    id: str
    type: str
    ins: tuple[str, ...] = ()
    outs: tuple[str, ...] = ()
    name: str | None = None
    version: str | None = "opset1"
    data: str = ""
    extra: str = ""

    def __str__(self) -> str:
        version = "" if self.version is None else f" version={quoteattr(self.version)}"
        name = quoteattr(self.name if self.name is not None else f"{self.type}_{self.id}")
        parts = [f'<layer id="{self.id}" name={name} type="{self.type}"{version}>']
        parts += [f"<data {self.data}/>"] if self.data else []
        parts += [self.extra] if self.extra else []
        for tag, ports in (("input", self.ins), ("output", self.outs)):
            parts += [f"<{tag}>", *map(_port, ports), f"</{tag}>"] if ports else []
        return "\n".join((*parts, "</layer>"))


def _port(text: str) -> str:
    number, precision, dims, *names = text.split(":")
    held = "".join(f"<dim>{dim}</dim>" for dim in dims.split(",") if dim)
    named = f" names={quoteattr(names[0])}" if names else ""
    return f'<port id="{number}" precision="{precision}"{named}>{held}</port>'


def parameter(number: str, shape: str | None = "2,3", element: str = "f32", **given: Any) -> Layer:
    said = f'element_type="{element}"' + ("" if shape is None else f" shape={quoteattr(shape)}")
    return Layer(number, "Parameter", (), given.pop("outs", ("0:FP32:",)), data=said, **given)


def const(number: str, shape: str, offset: object, size: object, element: str = "f32", **given: Any) -> Layer:
    said = f'element_type="{element}" shape="{shape}" offset="{offset}" size="{size}"'
    return Layer(
        number, "Const", given.pop("ins", ()), given.pop("outs", (f"0:{element.upper()}:",)), data=said, **given
    )


def relu(number: str, **given: Any) -> Layer:
    return Layer(number, "ReLU", ("0:FP32:2,3",), ("1:FP32:2,3",), **given)


def result(number: str, **given: Any) -> Layer:
    return Layer(number, "Result", given.pop("ins", ("0:FP32:2,3",)), **given)


def body(layers: list[Layer], edges: str) -> str:
    """`<layers>` and `<edges>`; an edge is written `0.0>1.0`, from layer and port to layer and port."""
    lines = []
    for edge in edges.split():
        (a, b), (c, d) = (end.split(".") for end in edge.split(">"))
        lines.append(f'<edge from-layer="{a}" from-port="{b}" to-layer="{c}" to-port="{d}"/>')
    return "\n".join(("<layers>", *map(str, layers), "</layers>", "<edges>", *lines, "</edges>"))


def net(layers: list[Layer], edges: str, *, version: object = 11, rest: str = "") -> str:
    return f'<?xml version="1.0"?>\n<net name="n" version="{version}">\n{body(layers, edges)}\n{rest}</net>\n'


def chain(*between: Layer, **given: Any) -> str:
    """A Parameter 0, a ReLU 1 and a Result 2, and other layers beside them."""
    return net([parameter("0"), relu("1"), *between, result("2")], "0.0>1.0 1.1>2.0", **given)


def save(folder: Path, xml: str | bytes, weights: bytes | None = None) -> Path:
    path = folder / "m.xml"
    path.write_bytes(xml.encode() if isinstance(xml, str) else xml)
    if weights is not None:
        path.with_suffix(".bin").write_bytes(weights)
    return path
