"""One architecture through one exporter, in a process of its own: the file, and its entry in the manifest."""

from __future__ import annotations

import copy
import hashlib
import logging
import re
import warnings
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
import onnxscript
import torch
import transformers
from torch import Tensor, nn

from exported.architecture import restricted, with_batch
from exported.manifest import Entry, described
from exported.table import ARCHITECTURES
from fixtures.export import named_dims, redraw, run_exporter_on, without_machine_paths
from fixtures.feeds import Bindings, Feeds, Size, Spec, draw_feeds, evaluate

MOST_BYTES = 3_000_000
TOLERANCE = 1e-3
"""Of a difference between onnxruntime and torch, in units of torch's element or of 1 where that is less."""
OPSETS = {"torchscript": (14, 16, 17, 18), "dynamo": (18, 20, 21, 23)}
"""An architecture's own is chosen by its name; where TorchScript lacks an operator at it, the newest is next."""

Array: TypeAlias = npt.NDArray[Any]


class Named(nn.Module):
    """The module with all tensors of its result as a flat tuple."""

    def __init__(self, module: nn.Module, names: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.module, self.names = module, names

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        return tuple(tensor for _, tensor in named_tensors(self.result(*tensors)))

    def result(self, *tensors: Tensor) -> Any:
        if not self.names:
            return self.module(*tensors)
        return self.module(**dict(zip(self.names, tensors, strict=True)))


def named_tensors(value: Any, name: str = "") -> Iterator[tuple[str, Tensor]]:
    """The tensors of nested tuples and dictionaries: `hidden_states.0`; anything else counts as none."""
    if isinstance(value, Tensor):
        yield name or "output", value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from named_tensors(each, f"{name}.{key}" if name else str(key))
    elif isinstance(value, (tuple, list)):
        for place, each in enumerate(value):
            yield from named_tensors(each, f"{name}.{place}" if name else f"output.{place}")


@dataclass(frozen=True, slots=True)
class Attempt:
    """A way to export: the spec with the symbols that stay, the opset, and whether sizes are a `torch.export.Dim`."""

    spec: Spec
    opset: int
    has_dims: bool

    def entry(self) -> Entry:
        """The manifest's description of the attempt."""
        return {
            "opset": self.opset,
            "dims_by": "Dim" if self.has_dims else "name",
            "symbols": list(self.spec.bindings[0]),
        }


def export(name: str, exporter: str, batch: int | None, is_static: bool, path: Path) -> Entry:
    """Write the file and return its entry: of the first attempt that agrees with torch, or the first that exports."""
    quiet()
    architecture = ARCHITECTURES[name]
    seed = zlib.crc32(name.encode())
    spec = architecture.spec
    if batch is not None:
        if "batch" not in spec.bindings[0]:
            raise ValueError("none of the inputs' sizes is a batch")
        spec = with_batch(spec, batch)
    torch.manual_seed(seed)
    module = Named(architecture.build().eval(), tuple(spec.inputs) if architecture.by_name else ())
    redraw(module, seed)
    found: tuple[onnx.ModelProto, Entry] | None = None
    earlier: list[Entry] = []
    for attempt in attempts(spec, exporter, seed, is_static):
        try:
            model, entry = exported(module, attempt, exporter)
        except Exception as error:  # noqa: BLE001 (whatever an exporter raises is recorded)
            earlier.append(attempt.entry() | {"failure": first_line(error)})
            continue
        if found is None or entry["verifies"]:
            found = model, entry
        if entry["verifies"]:
            break
        earlier.append(
            attempt.entry() | {"failure": next(run["failure"] for run in entry["verified"] if run["failure"])}
        )
    if found is None:
        *earlier, last = earlier
        return {"error": last["failure"], "earlier": earlier}
    model, entry = found
    data = model.SerializeToString(deterministic=True)
    if len(data) > MOST_BYTES:
        raise ValueError(f"the file has {len(data)} bytes, more than {MOST_BYTES}")
    path.write_bytes(data)
    return {
        "error": None,
        "seed": seed,
        "bytes": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
        **entry,
        "earlier": earlier,
    }


def quiet() -> None:
    for name in ("torch.onnx", "transformers", "onnxscript", "torch"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)


def attempts(spec: Spec, exporter: str, seed: int, is_static: bool) -> Iterator[Attempt]:
    """All sizes dynamic, by Dim and by name; then the batch alone, which also fits forwards that check sizes."""
    choices = OPSETS[exporter]
    opset = choices[seed % len(choices)]
    newest = opset if exporter == "dynamo" else choices[-1]
    if is_static:
        yield Attempt(restricted(spec, ()), opset, has_dims=False)
        if newest != opset:
            yield Attempt(restricted(spec, ()), newest, has_dims=False)
        return
    if exporter == "dynamo":
        yield Attempt(spec, opset, has_dims=True)
    yield Attempt(spec, opset, has_dims=False)
    if newest != opset:
        yield Attempt(spec, newest, has_dims=False)
    if "batch" in spec.bindings[0] and len(spec.bindings[0]) > 1:
        yield Attempt(restricted(spec, ("batch",)), newest, has_dims=False)


def exported(module: Named, attempt: Attempt, exporter: str) -> tuple[onnx.ModelProto, Entry]:
    spec = attempt.spec
    feeds = draw_feeds(spec, spec.bindings[0], seed=0)
    outputs = declared_outputs(module, spec)
    dims = named_dims(spec) if attempt.has_dims else {}
    copied = copy.deepcopy(module)  # TorchScript folds BatchNorm into the weights of the module that it is given
    model = run_exporter_on(copied, feeds, spec, outputs, exporter=exporter, opset=attempt.opset, dims=dims)
    model = without_machine_paths(model)
    verified = verification(module, model, spec)
    return model, {
        "exporter": exporter,
        "versions": versions(),
        **attempt.entry(),
        "inputs": {
            value.name: described(spec.inputs[value.name]) for value in model.graph.input
        },  # TorchScript drops some
        "constraints": list(spec.constraints),
        "bindings": list(spec.bindings),
        "outputs": {value.name: declared(value) for value in model.graph.output},
        "nodes": len(model.graph.node),
        "verified": verified,
        "verifies": all(run["failure"] is None for run in verified),
    }


def versions() -> dict[str, str]:
    modules = (torch, transformers, onnx, onnxscript, onnxruntime)
    return {module.__name__: str(module.__version__).partition("+")[0] for module in modules}


def declared(value: onnx.ValueInfoProto) -> Entry:
    tensor = value.type.tensor_type
    dims = [dim.dim_param or (dim.dim_value if dim.HasField("dim_value") else None) for dim in tensor.shape.dim]
    return {"dtype": onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type).name, "dims": dims}


def declared_outputs(module: Named, spec: Spec) -> dict[str, tuple[Size, ...]]:
    """The outputs' dims; one that differs between torch's runs is the size that it equals in all, or a new symbol."""
    runs: list[tuple[Bindings, list[tuple[str, Tensor]]]] = []
    for sizes in spec.bindings:
        try:
            with torch.no_grad():
                result = module.result(*arguments_of(draw_feeds(spec, sizes, seed=0)))
        except Exception:  # networks raise what they please
            if not runs:  # the example has to run; at other sizes the verification reports the failure
                raise
            continue
        runs.append((sizes, list(named_tensors(result))))
    known = list(spec.bindings[0]) + [
        size for given in spec.inputs.values() for size in given.shape if " + " in str(size)
    ]
    outputs: dict[str, tuple[Size, ...]] = {}
    for place, (name, first) in enumerate(runs[0][1]):
        shapes = [tuple(found[place][1].shape) for _, found in runs if len(found) > place]
        dims: list[Size] = []
        for axis, size in enumerate(first.shape):
            values = [shape[axis] for shape in shapes if len(shape) == first.dim()]
            equal = (text for text in known if values == [evaluate(text, sizes) for sizes, _ in runs])
            dims.append(size if len(set(values)) == 1 else next(equal, f"{name}_dim_{axis}"))
        outputs[f"output.{name}" if name in spec.inputs else name] = tuple(dims)
    return outputs


def arguments_of(feeds: Feeds) -> tuple[Tensor, ...]:
    return tuple(torch.from_numpy(feed) for feed in feeds.values())


def verification(module: Named, model: onnx.ModelProto, spec: Spec) -> list[Entry]:
    """At each of the bindings, or twice where there is one: how far onnxruntime, not optimising, is from torch."""
    listed = spec.bindings if len(spec.bindings) > 1 else spec.bindings * 2
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # noqa: BLE001 (onnxruntime's own have no common base)
        return [
            {"bindings": sizes, "difference": None, "failure": f"does not load: {first_line(error)}"}
            for sizes in listed
        ]
    runs: list[Entry] = []
    for seed, sizes in enumerate(listed, start=1):
        feeds = draw_feeds(spec, sizes, seed)
        entry: Entry = {"bindings": sizes, "seed": seed, "difference": None, "failure": None}
        kept = {value.name: feeds[value.name] for value in session.get_inputs()}
        try:
            with torch.no_grad():
                wanted = [tensor.numpy() for tensor in module(*arguments_of(feeds))]
            results = [np.asarray(array) for array in session.run(None, kept)]
        except Exception as error:  # noqa: BLE001 (the same, and torch's)
            runs.append({**entry, "failure": first_line(error)})
            continue
        failure, difference = compared(results, wanted)
        runs.append({**entry, "failure": failure, "difference": difference})
    return runs


def compared(results: list[Array], wanted: list[Array]) -> tuple[str | None, float | None]:
    """How results differ from torch's, None where they agree, and the largest difference of elements."""
    if len(results) != len(wanted):
        return f"{len(results)} outputs, not {len(wanted)}", None
    largest = 0.0
    for place, (got, want) in enumerate(zip(results, wanted, strict=True)):
        if got.shape != want.shape or got.dtype != want.dtype:
            return f"output {place} is {got.dtype}{list(got.shape)}, not {want.dtype}{list(want.shape)}", None
        a, b = got.astype(np.float64), want.astype(np.float64)
        with np.errstate(invalid="ignore"):
            gaps = np.abs(a - b) / np.maximum(1, np.abs(b))
        gaps = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.nan_to_num(gaps, nan=np.inf, posinf=np.inf))
        gap = float(gaps.max(initial=0.0))
        if gap > (TOLERANCE if want.dtype.kind == "f" else 0):
            return f"output {place} differs by {gap:.1e}", gap if np.isfinite(gap) else None
        largest = max(largest, gap)
    return None, largest


def first_line(error: BaseException) -> str:
    """The first line of the innermost cause's message, without paths of the machine."""
    while error.__cause__ is not None:
        error = error.__cause__
    text = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    text = re.sub(r"(/[\w.+-]+){2,}/", "", text)
    return f"{type(error).__name__}: {text}"[:300]
