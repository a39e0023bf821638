"""Models of the package transformers, of tiny configurations and random weights."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from networks.network import BATCHES, IMAGES, Network

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "critical")  # it advises on configurations that are meant so
logging.getLogger("transformers").setLevel(logging.CRITICAL)

WORDS = 100
TEXT: dict[str, Any] = {
    "vocab_size": WORDS, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48,
    "max_position_embeddings": 64, "use_cache": False, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
    "decoder_start_token_id": 1, "type_vocab_size": 2,
    # the same under the names of older configurations
    "d_model": 32, "n_embd": 32, "n_head": 4, "n_layer": 2, "n_positions": 64, "n_ctx": 64, "n_inner": 48,
    "embedding_size": 32, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48, "emb_dim": 32,
    "d_ff": 48, "d_kv": 8, "num_layers": 2, "num_heads": 4, "num_decoder_layers": 2, "encoder_layers": 2,
    "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48, "ffn_dim": 48, "word_embed_proj_dim": 32, "ffn_hidden_size": 48,
}  # fmt: skip
GROUPED = {"num_key_value_heads": 2, "head_dim": 8}
EXPERTS = GROUPED | {
    "moe_intermediate_size": 16, "num_local_experts": 4, "num_experts": 4, "n_routed_experts": 4,
    "num_experts_per_tok": 2, "num_experts_per_token": 2, "shared_expert_intermediate_size": 16,
}  # fmt: skip
PICTURE: dict[str, Any] = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48, "image_size": 32,
    "patch_size": 8, "num_channels": 3,
}  # fmt: skip
STAGES: dict[str, Any] = {"num_channels": 3, "image_size": 32}
SOUND: dict[str, Any] = TEXT | {
    "conv_dim": (16, 16), "conv_stride": (4, 2), "conv_kernel": (8, 4), "num_feat_extract_layers": 2,
    "num_conv_pos_embeddings": 8, "num_conv_pos_embedding_groups": 4,
}  # fmt: skip


def made(kind: str, options: Mapping[str, Any]) -> Callable[[], nn.Module]:
    """A base model."""

    def make() -> nn.Module:
        from transformers import AutoConfig, AutoModel

        config = AutoConfig.for_model(kind, **options)
        return AutoModel.from_config(config)

    return make


def expert_model(kind: str, form: str, options: Mapping[str, Any]) -> Callable[[], nn.Module]:
    """A mixture of experts; `form` is how transformers computes it: batched_mm, grouped_mm or eager."""

    def make() -> nn.Module:
        from transformers import AutoConfig, AutoModel

        return AutoModel.from_config(AutoConfig.for_model(kind, **options), experts_implementation=form)

    return make


def text(batch: int, length: int) -> dict[str, Tensor]:
    """Tokens with a mask that pads the first sequence at its end."""
    mask = torch.ones(batch, length, dtype=torch.int64)
    mask[0, length - 2 :] = 0
    return {"input_ids": torch.randint(3, WORDS, (batch, length)), "attention_mask": mask}


def unpadded(batch: int, length: int) -> dict[str, Tensor]:
    return {"input_ids": torch.randint(3, WORDS, (batch, length))}


def both(batch: int, length: int) -> dict[str, Tensor]:
    return text(batch, length) | {"decoder_input_ids": torch.randint(3, WORDS, (batch, length - 2))}


def picture(batch: int, size: int) -> dict[str, Tensor]:
    return {"pixel_values": torch.randn(batch, 3, size, size)}


def sound(batch: int, length: int) -> dict[str, Tensor]:
    return {"input_values": torch.randn(batch, 64 * length)}


def whisper(batch: int, length: int) -> dict[str, Tensor]:
    return {
        "input_features": torch.randn(batch, 8, 64),
        "decoder_input_ids": torch.randint(3, WORDS, (batch, length)),
    }


def speech(batch: int, length: int) -> dict[str, Tensor]:
    return {
        "input_features": torch.randn(batch, 8 * length, 8),
        "decoder_input_ids": torch.randint(3, WORDS, (batch, length)),
    }


def spectra(batch: int, _: int) -> dict[str, Tensor]:
    return {"input_values": torch.randn(batch, 64, 32)}


def both_kinds(batch: int, length: int) -> dict[str, Tensor]:
    return text(batch, length) | picture(batch, 32)


def past(batch: int, length: int) -> dict[str, Tensor]:
    """One more token behind `length` that were seen."""
    mask = torch.ones(batch, length + 1, dtype=torch.int64)
    held = {f"{part}{k}": torch.randn(batch, 2, length, 8) for k in range(2) for part in ("key", "value")}
    return {"input_ids": torch.randint(3, WORDS, (batch, 1)), "attention_mask": mask, **held}


class Continued(nn.Module):
    """A decoder that reads keys and values of the tokens before, and gives those of all."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, input_ids: Tensor, attention_mask: Tensor, *held: Tensor, **named: Tensor) -> tuple[Tensor, ...]:
        from transformers import DynamicCache

        held = held or tuple(named.values())
        cache = DynamicCache()
        for k, (keys, values) in enumerate(zip(held[0::2], held[1::2], strict=True)):
            cache.update(keys[:, :, :0], values[:, :, :0], k)  # makes the layer
            cache.layers[k].keys, cache.layers[k].values = keys, values
        found = self.inner(input_ids=input_ids, attention_mask=attention_mask, past_key_values=cache, use_cache=True)
        states = [state for layer in found.past_key_values.layers for state in (layer.keys, layer.values)]
        return (found.last_hidden_state, *states)


def encoder(kind: str, **options: Any) -> Network:
    return Network(made(kind, TEXT | options), text, by_name=True)


def decoder(kind: str, **options: Any) -> Network:
    return Network(made(kind, TEXT | GROUPED | options), text, by_name=True)


def translator(kind: str, **options: Any) -> Network:
    return Network(made(kind, TEXT | options), both, by_name=True)


def continued(kind: str, **options: Any) -> Network:
    return Network(lambda: Continued(made(kind, TEXT | GROUPED | options)()), past, by_name=True)


def viewer(kind: str, **options: Any) -> Network:
    return Network(made(kind, PICTURE | options), picture, BATCHES, by_name=True)


def stages(kind: str, **options: Any) -> Network:
    return Network(made(kind, STAGES | options), picture, IMAGES, by_name=True)


def listener(kind: str, **options: Any) -> Network:
    return Network(made(kind, SOUND | options), sound, by_name=True)


def mixture(kind: str, form: str = "batched_mm", **options: Any) -> Network:
    return Network(expert_model(kind, form, TEXT | EXPERTS | options), text, experts=True, by_name=True)


def eager(kind: str) -> Network:
    """A mixture with a loop over the experts that are hit, which a trace unrolls: enough tokens that all are."""
    return replace(mixture(kind, "eager"), bindings=((2, 24), (3, 20), (4, 32)))


ENCODERS = (
    "bert", "roberta", "deberta", "deberta-v2", "electra", "albert", "mpnet", "distilbert", "camembert", "squeezebert",
    "xlm-roberta", "convbert", "roformer", "nystromformer", "rembert", "ernie", "esm", "modernbert", "ibert",
    "megatron-bert", "nomic_bert", "eurobert", "xlm", "splinter", "roberta-prelayernorm", "mobilebert",
)  # fmt: skip
DECODERS = (
    "gpt2", "llama", "mistral", "qwen2", "qwen3", "phi", "phi3", "gemma", "gemma2", "gemma3_text", "opt", "bloom",
    "gpt_neox", "starcoder2", "stablelm", "cohere", "cohere2", "olmo", "olmo2", "granite", "mpt", "persimmon", "xglm",
    "biogpt", "gpt_bigcode", "nemotron", "exaone4", "glm", "glm4", "helium", "smollm3", "arcee", "apertus", "bitnet",
    "diffllama", "openai-gpt",
)  # fmt: skip
TRANSLATORS = ("t5", "bart", "mbart", "pegasus", "marian", "blenderbot", "m2m_100", "umt5", "longt5")
MIXTURES = (
    "mixtral", "qwen2_moe", "qwen3_moe", "olmoe", "phimoe", "granitemoe", "granitemoeshared", "jetmoe", "gpt_oss",
    "ernie4_5_moe", "glm4_moe", "hunyuan_v1_moe", "flex_olmo", "minimax_m2", "afmoe", "solar_open", "aria_text",
    "llama4_text", "jamba", "cohere2_moe", "exaone_moe",
)  # fmt: skip
LATENT = {"kv_lora_rank": 16, "q_lora_rank": 16, "qk_nope_head_dim": 8, "qk_rope_head_dim": 8, "v_head_dim": 8,
          "num_key_value_heads": 4, "n_group": 2, "topk_group": 1, "n_shared_experts": 1,
          "first_k_dense_replace": 1}  # fmt: skip

TRANSFORMERS: dict[str, Network] = (
    {kind: encoder(kind) for kind in ENCODERS}
    | {kind: decoder(kind) for kind in DECODERS}
    | {kind: translator(kind) for kind in TRANSLATORS}
    | {kind: mixture(kind) for kind in MIXTURES}
    | {f"{kind}-eager": eager(kind) for kind in ("mixtral", "qwen3_moe", "olmoe")}
    | {
        "deepseek_v2": mixture("deepseek_v2", **LATENT),
        "deepseek_v3": mixture("deepseek_v3", **LATENT),
        "dots1": mixture("dots1", n_shared_experts=1, first_k_dense_replace=1, n_group=1, topk_group=1),
        "switch_transformers": Network(
            expert_model("switch_transformers", "batched_mm", TEXT | {"num_experts": 4}),
            both, experts=True, by_name=True,
        ),
        "nllb-moe": Network(
            expert_model("nllb-moe", "batched_mm", TEXT | {"num_experts": 4, "encoder_sparse_step": 2}),
            both, experts=True, by_name=True,
        ),
        "fnet": Network(made("fnet", TEXT), unpadded, by_name=True),
        "falcon": encoder("falcon", new_decoder_architecture=True, num_kv_heads=2),
        "falcon-alibi": encoder("falcon", alibi=True, multi_query=False),
        "gpt_neo": encoder("gpt_neo", attention_types=[[["global", "local"], 1]], window_size=4),
        "gptj": encoder("gptj", rotary_dim=8),
        "codegen": encoder("codegen", rotary_dim=8),
        "mamba": Network(made("mamba", TEXT), text, ((2, 7), (1, 7), (3, 7)), by_name=True),  # a trace unrolls its scan
        "mistral-sliding": decoder("mistral", sliding_window=4),
        "gpt2-past": continued("gpt2", hidden_size=16, n_embd=16, num_attention_heads=2, n_head=2),
        "llama-past": continued("llama"),
        "qwen3-past": continued("qwen3"),
        "longformer": encoder("longformer", attention_window=4),
        "big_bird": encoder("big_bird", attention_type="original_full"),
        "xlnet": Network(
            made("xlnet", {"vocab_size": WORDS, "d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 48}),
            text, by_name=True,
        ),
        "vit": viewer("vit"), "deit": viewer("deit"), "beit": viewer("beit", use_relative_position_bias=True),
        "dinov2": viewer("dinov2", mlp_ratio=2), "dinov2_with_registers": viewer("dinov2_with_registers", mlp_ratio=2),
        "dinov2-resized": Network(
            made("dinov2", PICTURE | {"mlp_ratio": 2, "image_size": 40}), picture, IMAGES, by_name=True
        ),
        "dinov2_with_registers-resized": Network(
            made("dinov2_with_registers", PICTURE | {"mlp_ratio": 2, "image_size": 40}), picture, IMAGES, by_name=True
        ),
        "dinov3_vit": viewer("dinov3_vit"), "ijepa": viewer("ijepa"), "vit_msn": viewer("vit_msn"),
        "yolos": viewer("yolos", image_size=[32, 32], num_detection_tokens=5),
        "siglip-vision": viewer("siglip_vision_model"), "clip-vision": viewer("clip_vision_model"),
        "swin": stages("swin", embed_dim=16, depths=[1, 1], num_heads=[2, 4], window_size=4, patch_size=4),
        "swinv2": stages("swinv2", embed_dim=16, depths=[1, 1], num_heads=[2, 4], window_size=4, patch_size=4),
        "convnext": stages("convnext", hidden_sizes=[8, 16], depths=[1, 1], num_stages=2),
        "convnextv2": stages("convnextv2", hidden_sizes=[8, 16], depths=[1, 1], num_stages=2),
        "resnet-hf": stages("resnet", embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1]),
        "regnet": stages("regnet", embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], groups_width=4),
        "mobilenet_v1": stages("mobilenet_v1", depth_multiplier=0.25),
        "mobilenet_v2": stages("mobilenet_v2", depth_multiplier=0.25),
        "mobilevit": stages("mobilevit", hidden_sizes=[16, 20, 24], neck_hidden_sizes=[4, 8, 8, 12, 16, 20, 24],
                            num_attention_heads=2),
        "segformer": stages("segformer", hidden_sizes=[8, 16], depths=[1, 1], num_attention_heads=[1, 2],
                            sr_ratios=[2, 1], num_encoder_blocks=2, patch_sizes=[7, 3], strides=[4, 2],
                            mlp_ratios=[2, 2], decoder_hidden_size=16),
        "poolformer": stages("poolformer", hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1]),
        "pvt": viewer("pvt", hidden_sizes=[8, 16], depths=[1, 1], num_attention_heads=[1, 2],
                      sequence_reduction_ratios=[2, 1], num_encoder_blocks=2,
                      patch_sizes=[4, 2], strides=[4, 2], mlp_ratios=[2, 2]),
        "focalnet": stages("focalnet", embed_dim=8, depths=[1, 1], focal_levels=[2, 2], focal_windows=[3, 3],
                           patch_size=4),
        "whisper": Network(
            made("whisper", TEXT | {"num_mel_bins": 8, "max_source_positions": 32, "max_target_positions": 64}),
            whisper, by_name=True,
        ),
        "speech_to_text": Network(
            made("speech_to_text", TEXT | {"input_feat_per_channel": 8, "conv_channels": 16, "num_conv_layers": 2,
                                           "max_source_positions": 128, "max_target_positions": 64}),
            speech, by_name=True,
        ),
        "wav2vec2": listener("wav2vec2"), "hubert": listener("hubert"), "sew": listener("sew", squeeze_factor=2),
        "unispeech": listener("unispeech"), "data2vec-audio": listener("data2vec-audio", conv_pos_kernel_size=5),
        "wavlm": listener("wavlm"),
        "wav2vec2-layer-norm": listener("wav2vec2", feat_extract_norm="layer", do_stable_layer_norm=True),
        "audio-spectrogram": Network(
            made("audio-spectrogram-transformer", PICTURE | {"max_length": 64, "num_mel_bins": 32}),
            spectra, by_name=True,
        ),
        "clip": Network(
            made("clip", {"text_config": TEXT, "vision_config": PICTURE, "projection_dim": 16}),
            both_kinds, ((2, 7), (1, 5), (3, 12)), by_name=True,
        ),
        "vilt": Network(made("vilt", TEXT | PICTURE), both_kinds, by_name=True),
    }
)  # fmt: skip
