"""The architectures by name. None of the fixtures' is among them."""

from __future__ import annotations

from networks.table import NETWORKS
from networks.transformers_tiny import TRANSFORMERS

from exported.architecture import Architecture
from exported.families import spec_of
from exported.hand_written import HAND_WRITTEN
from exported.held_out import HELD_OUT
from exported.pictures import PICTURES
from exported.sounds_and_series import SOUNDS_AND_SERIES
from exported.texts import TEXTS

FIXTURES = {
    "bert", "gpt2", "gpt2-past", "llama", "llama-past", "t5", "whisper", "clip", "clip-vision", "swin", "wav2vec2",
    "wav2vec2-layer-norm", "vit", "dlrm", "dlrm-mean", "detr", "beam-step", "bag-sum", "bag-mean",
}  # fmt: skip
"""Networks whose architecture the fixtures have."""
SCRIPTED = {name for name, network in NETWORKS.items() if network.is_scripted}
"""Networks with loops at run time, which the exporters' traces unroll."""


def _networks() -> dict[str, Architecture]:
    found: dict[str, Architecture] = {}
    for name, network in (TRANSFORMERS | NETWORKS).items():  # those of transformers first
        spec = spec_of(network.feeds, network.bindings)
        if spec is not None and name not in FIXTURES | SCRIPTED:
            found[name] = Architecture(network.make, spec, network.by_name)
    return found


FURTHER = TEXTS | PICTURES | SOUNDS_AND_SERIES | HAND_WRITTEN | HELD_OUT
_NETWORKS = _networks()
assert not FURTHER.keys() & _NETWORKS.keys(), "names are unique"
ARCHITECTURES: dict[str, Architecture] = {
    name.replace("_", "-"): architecture for name, architecture in (FURTHER | _NETWORKS).items()
}
