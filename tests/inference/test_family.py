"""The gather family that `inspect` counts is what the rules say of themselves, in their domain."""

from __future__ import annotations

from gather_infer.catalog.family import is_gather
from gather_infer.ops import standard_rules


def test_the_family_is_what_rules_say() -> None:
    for domain, rules in standard_rules().items():
        for op_type, _, _ in rules.entries():
            says = any(entry.traits.gathers for entry in rules.versions(op_type))
            assert is_gather(domain, op_type) == says, f"name the module of {op_type} in catalog/family.py"


def test_names_count_in_their_domain_only() -> None:
    family = [
        ("", "Gather"), ("", "GatherElements"), ("", "GatherND"), ("ai.onnx", "Gather"),
        ("ai.onnx.ml", "ArrayFeatureExtractor"), ("com.microsoft", "GatherND"),
        ("com.microsoft", "GatherBlockQuantized"), ("com.microsoft", "TorchEmbedding"), ("openvino.opset8", "Gather"), ("openvino.opset1", "GatherTree"),
        ("org.openvinotoolkit", "GatherND"),
    ]  # fmt: skip
    others = [
        ("com.acme", "Gather"), ("com.microsoft", "Gather"), ("", "GatherTree"), ("", "ArrayFeatureExtractor"),
        ("openvino", "GatherBlockQuantized"), ("", "ScatterND"), ("", "TopK"),
        ("com.microsoft", "EmbedLayerNormalization"),
    ]  # fmt: skip
    assert [name for name in family if not is_gather(*name)] == []
    assert [name for name in others if is_gather(*name)] == []
