"""Models of transformers that were left aside while the rules of `unfreeze` were written."""

from __future__ import annotations

from typing import Any

import torch
import transformers
from networks.network import IMAGES
from networks.transformers_tiny import EXPERTS, GROUPED, PICTURE, TEXT
from torch import Tensor, nn

from exported import families
from exported.architecture import Architecture, grid
from exported.families import IDS, PADDING, WORDS
from exported.held_out_networks import HELD_OUT_NETWORKS
from exported.tiny import headed, model
from fixtures.feeds import Input, Spec

ROWS = ((2, 7), (1, 5), (3, 12))
PLAIN = families.TEXT.spec(ROWS)
UNPADDED = families.UNPADDED.spec(ROWS)
BOTH = families.BOTH.spec(ROWS)
BATCHES = grid("batch", (2,), (1,), (3,))
SIZED = families.PICTURE.spec(IMAGES)
SMALL = families.FIXED_PICTURE.spec(((2, 32), (1, 32), (3, 32)))
LARGE = Spec({"pixel_values": Input("float32", ("batch", 3, 64, 64))}, (), BATCHES)
SHOWN = Spec(
    {"input_ids": IDS, "attention_mask": PADDING, "pixel_values": Input("float32", ("batch", 3, 32, 32))},
    (), grid("batch seq", *ROWS),
)  # fmt: skip
TWO_SIDED = Spec(
    {
        "input_ids": Input("int64", ("texts", "seq"), WORDS),
        "attention_mask": Input("int64", ("texts", "seq"), (0, 2), "padding"),
        "pixel_values": Input("float32", ("images", 3, 32, 32)),
    },
    (), grid("texts seq images", (2, 7, 3), (1, 5, 4), (3, 12, 1)),
)  # fmt: skip
BACKBONE = {"embedding_size": 8, "hidden_sizes": [8, 8, 16, 16], "depths": [1, 1, 1, 1], "layer_type": "basic"}
LINEAR = {"linear_key_head_dim": 8, "linear_value_head_dim": 8, "linear_num_key_heads": 2, "linear_num_value_heads": 4,
          "layer_types": ["linear_attention", "full_attention"]}  # fmt: skip


class Entities(nn.Module):
    """LUKE: words, and entities at the positions of words."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = model("LukeModel", "LukeConfig", **TEXT | {"entity_vocab_size": 20, "entity_emb_size": 16})()

    def forward(self, input_ids: Tensor, attention_mask: Tensor, entities: Tensor, places: Tensor) -> Any:
        found = self.inner(
            input_ids=input_ids, attention_mask=attention_mask, entity_ids=entities, entity_position_ids=places,
            entity_attention_mask=torch.ones_like(entities),
        )  # fmt: skip
        return found.last_hidden_state, found.entity_last_hidden_state


class Spaced(nn.Module):
    """BROS: words at boxes, whose corners are sorted."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = model("BrosModel", "BrosConfig", **TEXT | {"hidden_size": 64})()

    def forward(self, input_ids: Tensor, attention_mask: Tensor, bbox: Tensor) -> Any:
        return self.inner(input_ids=input_ids, attention_mask=attention_mask, bbox=bbox).last_hidden_state


class Found(nn.Module):
    """A detector's classes and boxes."""

    def __init__(self, name: str, config: str, backbone: Any, **options: Any) -> None:
        super().__init__()
        self.inner = getattr(transformers, name)(getattr(transformers, config)(backbone_config=backbone, **options))

    def forward(self, pixel_values: Tensor) -> tuple[Tensor, Tensor]:
        found = self.inner(pixel_values=pixel_values)
        return found.logits, found.pred_boxes


class Patches(nn.Module):
    """Pix2Struct's encoder: flattened patches, with their rows and columns in front."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = model(
            "Pix2StructVisionModel", "Pix2StructVisionConfig", hidden_size=32, patch_embed_hidden_size=14, d_ff=48,
            d_kv=8, num_hidden_layers=2, num_attention_heads=4, seq_len=20,
        )()  # fmt: skip

    def forward(self, patches: Tensor, places: Tensor) -> Tensor:
        return self.inner(flattened_patches=torch.cat([places.float(), patches], -1)).last_hidden_state


class Clips(nn.Module):
    """V-JEPA 2: the encoder of tubes of a video, with rotary positions on three axes."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = model(
            "VJEPA2Model", "VJEPA2Config", patch_size=8, crop_size=32, frames_per_clip=4, hidden_size=32,
            num_attention_heads=2, num_hidden_layers=2, mlp_ratio=2, pred_hidden_size=24, pred_num_attention_heads=2,
            pred_num_hidden_layers=1, pred_num_mask_tokens=2,
        )()  # fmt: skip

    def forward(self, pixel_values_videos: Tensor) -> Tensor:
        return self.inner(pixel_values_videos=pixel_values_videos, skip_predictor=True).last_hidden_state


class Grouped(nn.Module):
    """GroupViT: tokens of groups gather the patches; the scores of texts and images."""

    def __init__(self) -> None:
        super().__init__()
        vision = PICTURE | {
            "num_hidden_layers": 3, "depths": [1, 1, 1], "num_group_tokens": [4, 2, 0], "num_output_groups": [4, 2, 2],
        }  # fmt: skip
        options = {"projection_dim": 16, "projection_intermediate_dim": 24}
        self.inner = model(
            "GroupViTModel", "GroupViTConfig", text_config=TEXT | {"eos_token_id": 99}, vision_config=vision, **options
        )()

    def forward(self, input_ids: Tensor, attention_mask: Tensor, pixel_values: Tensor) -> tuple[Tensor, Tensor]:
        found = self.inner(input_ids=input_ids, attention_mask=attention_mask, pixel_values=pixel_values)
        return found.logits_per_image, found.text_embeds


class Bridged(nn.Module):
    """BridgeTower: towers of words and of patches, joined at several layers."""

    def __init__(self) -> None:
        super().__init__()
        vision = {key: value for key, value in PICTURE.items() if key not in ("num_attention_heads",)}
        self.inner = model(
            "BridgeTowerModel", "BridgeTowerConfig", hidden_size=32, num_attention_heads=4, num_hidden_layers=1,
            text_config=TEXT, vision_config=vision | {"hidden_size": 64},
        )()  # fmt: skip

    def forward(self, input_ids: Tensor, attention_mask: Tensor, pixel_values: Tensor) -> Any:
        return self.inner(input_ids=input_ids, attention_mask=attention_mask, pixel_values=pixel_values)


class Vocoder(nn.Module):
    """UnivNet: kernels of the convolutions are predicted from the spectrum, at each of its frames."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = model(
            "UnivNetModel", "UnivNetConfig", model_in_channels=8, model_hidden_channels=4, num_mel_bins=8,
            resblock_kernel_sizes=[3], resblock_stride_sizes=[4], resblock_dilation_sizes=[[1, 3]],
            kernel_predictor_num_blocks=1, kernel_predictor_hidden_channels=8,
        )()  # fmt: skip

    def forward(self, spectrum: Tensor, noise: Tensor) -> Tensor:
        return self.inner(input_features=spectrum, noise_sequence=noise).waveforms


class Forecast(nn.Module):
    """TimesFM's decoder: patches of a series, scaled by the first one, as tokens of a causal transformer."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = model(
            "TimesFmModel", "TimesFmConfig", patch_length=4, context_length=32, horizon_length=8, num_hidden_layers=2,
            hidden_size=32, intermediate_size=32, head_dim=8, num_attention_heads=4,
        )()  # fmt: skip

    def forward(self, past_values: Tensor, freq: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        padding = torch.zeros_like(past_values).long()
        found = self.inner(past_values=past_values, past_values_padding=padding, freq=freq)
        return found.last_hidden_state, found.loc, found.scale


class Compressed(nn.Module):
    """Mimi: a signal, the states of a transformer at a low rate, and the signal from them, without codes."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = model(
            "MimiModel", "MimiConfig", sampling_rate=1600, hidden_size=16, num_filters=4, upsampling_ratios=[4, 2],
            codebook_size=16, codebook_dim=8, vector_quantization_hidden_dimension=8, num_hidden_layers=1,
            num_attention_heads=2, num_key_value_heads=2, head_dim=8, intermediate_size=24, sliding_window=6,
            upsample_groups=16, frame_rate=100.0, use_cache=False,
        )()  # fmt: skip

    def forward(self, input_values: Tensor) -> Tensor:
        return self.inner.decoder(self.inner.encoder(input_values[:, None]).latents)[0]


def text(auto: str, kind: str, spec: Spec = PLAIN, **options: Any) -> Architecture:
    return Architecture(headed(auto, kind, TEXT | options), spec, by_name=True)


def pictured(auto: str, kind: str, spec: Spec = SMALL, **options: Any) -> Architecture:
    return Architecture(headed(auto, kind, options), spec, by_name=True)


HELD_OUT: dict[str, Architecture] = {
    "canine": text("AutoModel", "canine", num_hash_buckets=50, local_transformer_stride=8, downsampling_rate=2,
                   upsampling_kernel_size=2),
    "bros": Architecture(
        Spaced,
        Spec({**PLAIN.inputs, "bbox": Input("float32", ("batch", "seq", 4))}, (), PLAIN.bindings),
    ),
    "luke": Architecture(
        Entities,
        Spec(
            {
                **PLAIN.inputs,
                "entities": Input("int64", ("batch", "entities"), (0, 20)),
                "places": Input("int64", ("batch", "entities", 4), (0, "seq")),
            },
            (), grid("batch seq entities", (2, 7, 3), (1, 5, 2), (3, 12, 4)),
        ),
    ),
    "markuplm": text("AutoModel", "markuplm", xpath_unit_hidden_size=8, max_depth=4, max_xpath_tag_unit_embeddings=20,
                     max_xpath_subs_unit_embeddings=20, tag_pad_id=19, subs_pad_id=19),
    "xmod": text("AutoModel", "xmod", languages=["en_XX", "de_DE"], default_language="en_XX"),
    "mamba2": text("AutoModel", "mamba2", num_heads=8, head_dim=8, state_size=8, n_groups=2, chunk_size=4),
    "recurrent-gemma": text("AutoModel", "recurrent_gemma", UNPADDED, lru_width=32, attention_window_size=4,
                            block_types=["recurrent", "attention"], num_key_value_heads=2, head_dim=8),
    "qwen3-next": text("AutoModel", "qwen3_next", **EXPERTS | LINEAR),
    "doge": text("AutoModel", "doge", **GROUPED, keep_window_size=4),
    "prophetnet": Architecture(
        model("ProphetNetModel", "ProphetNetConfig", vocab_size=100, hidden_size=32, encoder_ffn_dim=48,
              decoder_ffn_dim=48, num_encoder_layers=1, num_decoder_layers=1, num_encoder_attention_heads=4,
              num_decoder_attention_heads=4, max_position_embeddings=64, num_buckets=8, relative_max_distance=16,
              use_cache=False),
        BOTH, by_name=True,
    ),
    "fsmt": text("AutoModel", "fsmt", BOTH, src_vocab_size=100, tgt_vocab_size=100, langs=["en", "de"]),
    "pegasus-x": text("AutoModel", "pegasus_x", BOTH, num_global_tokens=3, block_size=4),
    "cvt": pictured("AutoModel", "cvt", SIZED, embed_dim=[8, 16], num_heads=[1, 2], depth=[1, 2], patch_sizes=[7, 3],
                    patch_stride=[4, 2], patch_padding=[2, 1], mlp_ratio=[2.0, 2.0], attention_drop_rate=[0.0, 0.0],
                    drop_rate=[0.0, 0.0], drop_path_rate=[0.0, 0.0], qkv_bias=[True, True], cls_token=[False, True],
                    qkv_projection_method=["dw_bn", "dw_bn"], kernel_qkv=[3, 3], padding_kv=[1, 1], stride_kv=[2, 2],
                    padding_q=[1, 1], stride_q=[1, 1]),
    "pp-lcnet": pictured("AutoModelForImageClassification", "pp_lcnet", SIZED, scale=0.25),
    "depth-anything": Architecture(
        lambda: transformers.DepthAnythingForDepthEstimation(
            transformers.DepthAnythingConfig(
                backbone_config=transformers.Dinov2Config(
                    **PICTURE | {"mlp_ratio": 2, "num_hidden_layers": 4},
                    out_features=["stage1", "stage2", "stage3", "stage4"], reshape_hidden_states=False,
                ),
                patch_size=8, reassemble_hidden_size=32, neck_hidden_sizes=[8, 8, 8, 8], fusion_hidden_size=8,
                head_hidden_size=8,
            )
        ),
        SMALL, by_name=True,
    ),
    "d-fine": Architecture(
        lambda: Found(
            "DFineForObjectDetection", "DFineConfig",
            transformers.HGNetV2Config(
                embedding_size=8, depths=[1, 1, 1, 1], hidden_sizes=[8, 8, 16, 16], stem_channels=[3, 8, 8],
                stage_in_channels=[8, 8, 8, 16], stage_mid_channels=[4, 4, 8, 8], stage_out_channels=[8, 8, 16, 16],
                stage_num_blocks=[1, 1, 1, 1], stage_numb_of_layers=[2, 2, 2, 2],
                out_features=["stage2", "stage3", "stage4"],
            ),
            d_model=16, encoder_hidden_dim=16, encoder_in_channels=[8, 16, 16], encoder_ffn_dim=24,
            encoder_attention_heads=2, decoder_in_channels=[16] * 3, decoder_layers=2, decoder_attention_heads=2,
            decoder_ffn_dim=24, decoder_n_points=2, num_queries=6, num_denoising=0, num_labels=4, max_num_bins=8,
            lqe_hidden_dim=8, hidden_expansion=0.5, freeze_backbone_batch_norms=False,
        ),
        LARGE,
    ),
    "lw-detr": Architecture(
        lambda: Found(
            "LwDetrForObjectDetection", "LwDetrConfig",
            transformers.LwDetrViTConfig(
                hidden_size=16, num_hidden_layers=2, num_attention_heads=2, mlp_ratio=2, image_size=64,
                pretrain_image_size=64, patch_size=8, num_windows=4, window_block_indices=[0],
                out_features=["stage1", "stage2"],
            ),
            projector_scale_factors=[1.0], d_model=16, decoder_ffn_dim=24, decoder_n_points=2, decoder_layers=2,
            decoder_self_attention_heads=2, decoder_cross_attention_heads=2, num_queries=6, group_detr=1, num_labels=4,
        ),
        LARGE,
    ),
    "vitmatte": Architecture(
        lambda: transformers.VitMatteForImageMatting(
            transformers.VitMatteConfig(
                backbone_config=transformers.VitDetConfig(
                    **PICTURE | {"image_size": 64, "patch_size": 16, "num_channels": 4}, pretrain_image_size=64,
                    window_size=3, window_block_indices=[0], use_relative_position_embeddings=True,
                    out_features=["stage2"],
                ),
                hidden_size=32, convstream_hidden_sizes=[4, 8, 8], fusion_hidden_sizes=[16, 8, 8, 4],
            )
        ),
        Spec({"pixel_values": Input("float32", ("batch", 4, 64, 64))}, (), BATCHES), by_name=True,
    ),
    "mgp-str": Architecture(
        model("MgpstrForSceneTextRecognition", "MgpstrConfig", image_size=[32, 64], patch_size=8, max_token_length=5,
              num_character_labels=12, num_bpe_labels=20, num_wordpiece_labels=16, hidden_size=32, num_hidden_layers=2,
              num_attention_heads=4, mlp_ratio=2.0),
        Spec({"pixel_values": Input("float32", ("batch", 3, 32, 64))}, (), BATCHES), by_name=True,
    ),
    "v-jepa-2": Architecture(
        Clips, Spec({"pixel_values_videos": Input("float32", ("batch", 4, 3, 32, 32))}, (), BATCHES)
    ),
    "groupvit": Architecture(Grouped, TWO_SIDED, by_name=True),
    "bridgetower": Architecture(Bridged, SHOWN, by_name=True),
    "pix2struct-vision": Architecture(
        Patches,
        Spec(
            {
                "patches": Input("float32", ("batch", "patches", 14)),
                "places": Input("int64", ("batch", "patches", 2), (0, 20)),
            },
            (), grid("batch patches", (2, 9), (1, 7), (3, 16)),
        ),
    ),
    "univnet": Architecture(
        Vocoder,
        Spec(
            {"spectrum": Input("float32", ("batch", "frames", 8)), "noise": Input("float32", ("batch", "frames", 8))},
            (), grid("batch frames", (2, 9), (1, 7), (3, 16)),
        ),
    ),
    "timesfm": Architecture(
        Forecast,
        Spec({"past_values": Input("float32", ("batch", 32)), "freq": Input("int64", ("batch", 1), (0, 3))},
             (), BATCHES),
    ),
    "mimi": Architecture(
        Compressed,
        Spec({"input_values": Input("float32", ("batch", "samples"))}, (),
             grid("batch samples", (2, 96), (1, 64), (3, 160))),
    ),
    **HELD_OUT_NETWORKS,
}  # fmt: skip
