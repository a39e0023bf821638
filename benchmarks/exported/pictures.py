"""Models of images and videos: transformers' classes that benchmarks/networks does not have."""

from __future__ import annotations

from typing import Any

import torch
import transformers
from networks.network import IMAGES
from networks.transformers_tiny import PICTURE, TEXT
from torch import Tensor, nn

from exported import families
from exported.architecture import Architecture, grid
from exported.families import IDS, PADDING
from exported.tiny import headed, model
from fixtures.feeds import Input, Spec

FIXED = families.FIXED_PICTURE.spec(((2, 32), (1, 32), (3, 32)))
SIZED = families.PICTURE.spec(IMAGES)
BATCHES = grid("batch", (2,), (1,), (3,))
LARGE = Spec({"pixel_values": Input("float32", ("batch", 3, 64, 64))}, (), BATCHES)
TEXT_AND_IMAGE = Spec(
    {"input_ids": IDS, "attention_mask": PADDING, "pixel_values": Input("float32", ("batch", 3, 32, 32))},
    (),
    grid("batch seq", (2, 7), (1, 5), (3, 12)),
)
TWO_SIDED = Spec(
    {
        "input_ids": Input("int64", ("texts", "seq"), (3, 100)),
        "attention_mask": Input("int64", ("texts", "seq"), (0, 2), "padding"),
        "pixel_values": Input("float32", ("images", 3, 32, 32)),
    },
    (),
    grid("texts seq images", (2, 7, 3), (1, 5, 4), (3, 12, 1)),
)
VIDEO = Spec({"pixel_values": Input("float32", ("batch", 4, 3, 32, 32))}, (), BATCHES)

RESNET = {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 1], "layer_type": "basic"}
SWIN = {"image_size": 64, "patch_size": 4, "embed_dim": 8, "depths": [1, 1, 1, 1], "num_heads": [1, 2, 2, 4],
        "window_size": 4, "out_features": ["stage1", "stage2", "stage3", "stage4"]}  # fmt: skip
LEVELS = RESNET | {"hidden_sizes": [8, 8, 16, 16], "depths": [1, 1, 1, 1],
                   "out_features": ["stage1", "stage2", "stage3", "stage4"]}  # fmt: skip
DETR = {
    "d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2, "decoder_attention_heads": 2,
    "encoder_ffn_dim": 24, "decoder_ffn_dim": 24, "num_queries": 6, "num_labels": 4, "use_timm_backbone": False,
    "use_pretrained_backbone": False, "backbone": None,
}  # fmt: skip


class Detector(nn.Module):
    """A detector's classes and boxes: one of the DETR family, with a residual network as its backbone."""

    def __init__(self, name: str, config: str, features: tuple[str, ...], **options: Any) -> None:
        super().__init__()
        backbone = transformers.ResNetConfig(**{**LEVELS, "out_features": list(features)})
        made = getattr(transformers, config)(**{**DETR, "backbone_config": backbone, **options})
        self.inner = getattr(transformers, name)(made)

    def forward(self, pixel_values: Tensor) -> tuple[Tensor, Tensor]:
        found = self.inner(pixel_values=pixel_values)
        return found.logits, found.pred_boxes


class Masks(nn.Module):
    """The base model of MaskFormer or Mask2Former over Swin: features of pixels, states of the queries, masks."""

    def __init__(self, name: str, config: str, **options: Any) -> None:
        super().__init__()
        made = getattr(transformers, config)(backbone_config=transformers.SwinConfig(**SWIN), **options)
        self.inner = getattr(transformers, name)(made)

    def forward(self, pixel_values: Tensor) -> tuple[Tensor, ...]:
        found = self.inner(pixel_values=pixel_values)
        masks = getattr(found, "masks_queries_logits", ())
        return found.pixel_decoder_last_hidden_state, found.transformer_decoder_last_hidden_state, *masks


class Segmenter(nn.Module):
    """UPerNet over ConvNeXt."""

    def __init__(self) -> None:
        super().__init__()
        stages = ["stage1", "stage2", "stage3", "stage4"]
        backbone = transformers.ConvNextConfig(hidden_sizes=[8, 8, 12, 16], depths=[1, 1, 1, 1], out_features=stages)
        config = transformers.UperNetConfig(
            backbone_config=backbone, hidden_size=16, num_labels=5, auxiliary_in_channels=12, auxiliary_channels=8,
            pool_scales=[1, 2], use_pretrained_backbone=False, backbone=None,
        )  # fmt: skip
        self.inner = transformers.UperNetForSemanticSegmentation(config)

    def forward(self, pixel_values: Tensor) -> Tensor:
        return self.inner(pixel_values).logits


class Restored(nn.Module):
    """ViT-MAE: the order in which patches are masked is an input."""

    def __init__(self) -> None:
        super().__init__()
        options = {"decoder_hidden_size": 16, "decoder_num_hidden_layers": 1, "decoder_num_attention_heads": 2,
                   "decoder_intermediate_size": 24}  # fmt: skip
        self.inner = model("ViTMAEForPreTraining", "ViTMAEConfig", **PICTURE, **options)()

    def forward(self, pixel_values: Tensor, noise: Tensor) -> tuple[Tensor, ...]:
        found = self.inner(pixel_values=pixel_values, noise=noise)
        return found.logits, found.mask, found.ids_restore


class Prompted(nn.Module):
    """SAM's decoder: masks from features of an image and points."""

    def __init__(self) -> None:
        super().__init__()
        vision = {
            "hidden_size": 16,
            "output_channels": 8,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "image_size": 32,
            "patch_size": 8,
            "mlp_dim": 24,
            "global_attn_indexes": [0],
            "num_pos_feats": 4,
        }
        prompt = {"hidden_size": 8, "image_size": 32, "patch_size": 8, "mask_input_channels": 4}
        mask = {"hidden_size": 8, "mlp_dim": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
                "iou_head_hidden_dim": 8}  # fmt: skip
        config = transformers.SamConfig(vision_config=vision, prompt_encoder_config=prompt, mask_decoder_config=mask)
        self.inner = transformers.SamModel(config)

    def forward(self, image_embeddings: Tensor, points: Tensor) -> tuple[Tensor, Tensor]:
        labels = torch.ones_like(points[..., 0]).long()
        found = self.inner(image_embeddings=image_embeddings, input_points=points, input_labels=labels)
        return found.iou_scores, found.pred_masks


SAM_VISION = {
    "hidden_size": 16,
    "output_channels": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "image_size": 32,
    "patch_size": 4,
    "mlp_dim": 24,
    "global_attn_indexes": [1],
    "window_size": 3,
    "num_pos_feats": 4,
}
"""The first layer attends within windows that do not divide the 8 x 8 patches."""
CLIPS = {"text_config": TEXT, "vision_config": PICTURE, "projection_dim": 16}
PYRAMID = {"hidden_sizes": [8, 8, 16, 16], "depths": [1, 1, 1, 1]}


def pictured(auto: str, kind: str, spec: Spec = FIXED, **options: Any) -> Architecture:
    return Architecture(headed(auto, kind, options), spec, by_name=True)


def detector(name: str, config: str, *features: str, **options: Any) -> Architecture:
    return Architecture(lambda: Detector(name, config, features or ("stage4",), **options), LARGE)


def two_sided(name: str, config: str, **options: Any) -> Architecture:
    return Architecture(model(name, config, **CLIPS | options), TWO_SIDED, by_name=True)


PICTURES: dict[str, Architecture] = {
    "beit-classes": pictured("AutoModelForImageClassification", "beit", **PICTURE, use_relative_position_bias=True),
    "convnext-classes": pictured(
        "AutoModelForImageClassification", "convnext", SIZED, hidden_sizes=[8, 16], depths=[1, 1], num_stages=2
    ),
    "efficientnet-hf": pictured(
        "AutoModel", "efficientnet", SIZED, image_size=32, width_coefficient=0.25, depth_coefficient=0.3, hidden_dim=320
    ),
    "levit": pictured("AutoModel", "levit", LARGE, image_size=64, hidden_sizes=[16, 24, 32], depths=[1, 1, 1],
                      num_attention_heads=[2, 3, 4], key_dim=[8, 8, 8]),
    "hiera": pictured("AutoModel", "hiera", LARGE, image_size=[64, 64], embed_dim=8, depths=[1, 1, 1, 1],
                      num_heads=[1, 2, 2, 4], mlp_ratio=2.0),
    "donut-swin": pictured("AutoModel", "donut-swin", FIXED, image_size=32, patch_size=4, embed_dim=8, depths=[2, 1],
                           num_heads=[1, 2], window_size=4),
    "hgnet-v2": pictured("AutoModelForImageClassification", "hgnet_v2", SIZED, embedding_size=8, depths=[1, 1, 1, 1],
                         hidden_sizes=[8, 8, 16, 16], stem_channels=[3, 8, 8], stage_in_channels=[8, 8, 8, 16],
                         stage_mid_channels=[4, 4, 8, 8], stage_out_channels=[8, 8, 16, 16],
                         stage_num_blocks=[1, 1, 1, 1], stage_numb_of_layers=[2, 2, 2, 2]),
    "bit": pictured("AutoModel", "bit", SIZED, embedding_size=8, num_groups=2, **PYRAMID),
    "swiftformer": pictured("AutoModel", "swiftformer", LARGE, embed_dims=[8, 8, 16, 16], depths=[1, 1, 1, 1],
                            image_size=64),
    "textnet": pictured("AutoModel", "textnet", SIZED, stem_out_channels=8, hidden_sizes=[8, 8, 8, 8, 8]),
    "vitdet": pictured("AutoModel", "vitdet", LARGE, **PICTURE | {"image_size": 64}, window_size=3,
                       window_block_indices=[0], use_relative_position_embeddings=True, pretrain_image_size=64),
    "mobilevitv2": pictured("AutoModel", "mobilevitv2", LARGE, image_size=64, width_multiplier=0.125,
                            n_attn_blocks=[1, 1, 1]),
    "pvt-v2": pictured("AutoModel", "pvt_v2", SIZED, **PYRAMID, num_attention_heads=[1, 1, 2, 2],
                       mlp_ratios=[2, 2, 2, 2]),
    "glpn": pictured("AutoModelForDepthEstimation", "glpn", LARGE, **PYRAMID, num_attention_heads=[1, 1, 2, 2],
                     decoder_hidden_size=8, mlp_ratios=[2, 2, 2, 2]),
    "dpt": pictured("AutoModelForDepthEstimation", "dpt", FIXED,
                    **PICTURE | {"num_hidden_layers": 4}, backbone_out_indices=[0, 1, 2, 3],
                    neck_hidden_sizes=[8, 8, 8, 8], fusion_hidden_size=8, is_hybrid=False),
    "segformer-masks": pictured("AutoModelForSemanticSegmentation", "segformer", SIZED, **PYRAMID,
                                num_attention_heads=[1, 1, 2, 2], decoder_hidden_size=16, mlp_ratios=[2, 2, 2, 2]),
    "mobilevit-masks": pictured("AutoModelForSemanticSegmentation", "mobilevit", LARGE, image_size=64,
                                hidden_sizes=[16, 20, 24], neck_hidden_sizes=[4, 8, 8, 12, 16, 20, 24],
                                num_attention_heads=2, aspp_out_channels=8, atrous_rates=[1, 2, 3], output_stride=16),
    "upernet": Architecture(Segmenter, LARGE),
    "maskformer": Architecture(
        lambda: Masks("MaskFormerModel", "MaskFormerConfig", fpn_feature_size=32, mask_feature_size=32,
                      decoder_config=transformers.DetrConfig(**DETR)),
        LARGE,
    ),
    "mask2former": Architecture(
        lambda: Masks("Mask2FormerModel", "Mask2FormerConfig", feature_size=32, mask_feature_size=32,
                      hidden_dim=32, encoder_feedforward_dim=24, encoder_layers=1, decoder_layers=2, num_queries=6,
                      num_attention_heads=2, dim_feedforward=24, num_labels=4),
        LARGE,
    ),
    "conditional-detr": detector("ConditionalDetrForObjectDetection", "ConditionalDetrConfig"),
    "deformable-detr": detector(
        "DeformableDetrForObjectDetection", "DeformableDetrConfig", "stage2", "stage3", "stage4",
        d_model=32, decoder_layers=2, num_feature_levels=3, disable_custom_kernels=True,
    ),
    "deformable-detr-two-stages": detector(
        "DeformableDetrForObjectDetection", "DeformableDetrConfig", "stage2", "stage3", "stage4",
        d_model=32, decoder_layers=2, num_feature_levels=3, disable_custom_kernels=True, two_stage=True,
        two_stage_num_proposals=10, with_box_refine=True,
    ),
    "table-transformer": detector("TableTransformerForObjectDetection", "TableTransformerConfig"),
    "detr-hf": detector("DetrForObjectDetection", "DetrConfig"),
    "dab-detr": detector("DabDetrForObjectDetection", "DabDetrConfig", hidden_size=16),
    "yolos-boxes": pictured("AutoModelForObjectDetection", "yolos", FIXED, **PICTURE | {"image_size": [32, 32]},
                            num_detection_tokens=5, num_labels=4),
    "rt-detr": Architecture(
        lambda: Detector(
            "RTDetrForObjectDetection", "RTDetrConfig", ("stage2", "stage3", "stage4"),
            encoder_hidden_dim=16, encoder_in_channels=[8, 16, 16], encode_proj_layers=[2],
            decoder_in_channels=[16] * 3, hidden_expansion=0.5, num_feature_levels=3, decoder_n_points=2,
            anchor_image_size=None, num_denoising=0, freeze_backbone_batch_norms=False,
        ),
        LARGE,
    ),
    "sam-vision": Architecture(
        model("SamVisionModel", "SamVisionConfig", **SAM_VISION), FIXED, by_name=True
    ),
    "sam-masks": Architecture(
        Prompted,
        Spec(
            {
                "image_embeddings": Input("float32", ("batch", 8, 4, 4)),
                "points": Input("float32", ("batch", "sets", "points", 2)),
            },
            (), grid("batch sets points", (2, 3, 4), (1, 2, 1), (3, 1, 5)),
        ),
    ),
    "owlvit": Architecture(model("OwlViTModel", "OwlViTConfig", **CLIPS), TWO_SIDED, by_name=True),
    "siglip": Architecture(
        model("SiglipModel", "SiglipConfig", text_config=TEXT | {"projection_size": 32}, vision_config=PICTURE),
        TWO_SIDED, by_name=True,
    ),
    "chinese-clip": two_sided("ChineseCLIPModel", "ChineseCLIPConfig"),
    "clipseg": two_sided("CLIPSegModel", "CLIPSegConfig"),
    "altclip": two_sided("AltCLIPModel", "AltCLIPConfig", text_config=TEXT | {"project_dim": 32}),
    "metaclip-2": two_sided("MetaClip2Model", "MetaClip2Config", text_config=TEXT | {"eos_token_id": 99}),
    "blip": Architecture(
        model("BlipModel", "BlipConfig", text_config=TEXT | {"encoder_hidden_size": 32}, vision_config=PICTURE,
              projection_dim=16),
        TWO_SIDED, by_name=True,
    ),
    "blip-matching": Architecture(
        model("BlipForImageTextRetrieval", "BlipConfig", text_config=TEXT | {"encoder_hidden_size": 32},
              vision_config=PICTURE, projection_dim=16, image_text_hidden_size=16),
        TEXT_AND_IMAGE, by_name=True,
    ),
    "vit-mae": Architecture(
        Restored,
        Spec({**FIXED.inputs, "noise": Input("float32", ("batch", 16))}, (), FIXED.bindings),
    ),
    "swin2sr": pictured("AutoModelForImageToImage", "swin2sr", SIZED, embed_dim=12, depths=[1, 1], num_heads=[2, 2],
                        window_size=4, image_size=32, upscale=2),
    "superpoint": Architecture(
        model("SuperPointForKeypointDetection", "SuperPointConfig", encoder_hidden_sizes=[8, 8, 8, 8],
              decoder_hidden_size=8, keypoint_decoder_dim=65, descriptor_decoder_dim=8),
        LARGE, by_name=True,
    ),
    "vitpose": Architecture(
        lambda: transformers.VitPoseForPoseEstimation(
            transformers.VitPoseConfig(
                backbone_config=transformers.VitPoseBackboneConfig(
                    **PICTURE | {"image_size": [32, 32], "patch_size": [8, 8]}, out_features=["stage2"]
                ),
                num_labels=5, use_pretrained_backbone=False,
            )
        ),
        FIXED, by_name=True,
    ),
    "videomae": Architecture(
        model("VideoMAEModel", "VideoMAEConfig", **PICTURE, num_frames=4, tubelet_size=2), VIDEO, by_name=True
    ),
    "timesformer": Architecture(
        model("TimesformerModel", "TimesformerConfig", **PICTURE, num_frames=4), VIDEO, by_name=True
    ),
    "vivit": Architecture(
        model("VivitModel", "VivitConfig", **PICTURE, num_frames=4, tubelet_size=[2, 8, 8]), VIDEO, by_name=True
    ),
    "imagegpt": Architecture(
        headed("AutoModel", "imagegpt", TEXT), families.UNPADDED.spec(((2, 7), (1, 5), (3, 12))), by_name=True
    ),
    "blip-vision": Architecture(model("BlipVisionModel", "BlipVisionConfig", **PICTURE), FIXED, by_name=True),
}  # fmt: skip
