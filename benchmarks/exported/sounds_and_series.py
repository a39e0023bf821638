"""Models of sound, and of time series: transformers' classes that benchmarks/networks does not have."""

from __future__ import annotations

from typing import Any

from networks.network import SEQUENCES
from networks.transformers_tiny import SOUND, TEXT
from torch import Tensor, nn

from exported import families
from exported.architecture import Architecture, grid
from exported.families import IDS, PADDING
from exported.tiny import Part, headed, model
from fixtures.feeds import Input, Spec

SAMPLES = families.SOUND.spec(SEQUENCES)
BATCHES = grid("batch", (2,), (1,), (3,))
SERIES = Spec({"past_values": Input("float32", ("batch", 32, 3))}, (), BATCHES)
FRAMES = grid("batch frames", (2, 17), (1, 24), (3, 40))
MEL = Spec(
    {
        "input_features": Input("float32", ("batch", "frames", 16)),
        "attention_mask": Input("int64", ("batch", "frames"), (0, 2), "padding"),
    },
    (), FRAMES,
)  # fmt: skip
VITS = {
    "vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "ffn_dim": 24,
    "flow_size": 8, "spectrogram_bins": 9, "prior_encoder_num_flows": 2, "prior_encoder_num_wavenet_layers": 1,
    "posterior_encoder_num_wavenet_layers": 1, "upsample_initial_channel": 16, "upsample_rates": [2, 2],
    "upsample_kernel_sizes": [4, 4], "resblock_kernel_sizes": [3], "resblock_dilation_sizes": [[1, 3]],
    "depth_separable_num_layers": 1, "duration_predictor_flow_bins": 4, "duration_predictor_num_flows": 1,
}  # fmt: skip
FORECAST = {
    "prediction_length": 4, "context_length": 12, "lags_sequence": [1, 2, 3], "num_time_features": 2, "d_model": 16,
    "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2, "decoder_attention_heads": 2,
    "encoder_ffn_dim": 24, "decoder_ffn_dim": 24, "use_cache": False,
}  # fmt: skip
HISTORY = Spec(
    {
        "past_values": Input("float32", ("batch", 15)),
        "past_time_features": Input("float32", ("batch", 15, 2)),
        "past_observed_mask": Input("float32", ("batch", 15), (0, 2), "mask"),
        "future_values": Input("float32", ("batch", 4)),
        "future_time_features": Input("float32", ("batch", 4, 2)),
    },
    (), BATCHES,
)  # fmt: skip
HIFIGAN = {
    "upsample_initial_channel": 16, "upsample_rates": [4, 2], "upsample_kernel_sizes": [8, 4],
    "resblock_kernel_sizes": [3], "resblock_dilation_sizes": [[1, 3]],
}  # fmt: skip
PATCHES = {
    "num_input_channels": 3, "context_length": 32, "patch_length": 8, "patch_stride": 4, "d_model": 16,
    "num_hidden_layers": 2, "num_attention_heads": 2, "ffn_dim": 24,
}  # fmt: skip


class SpokenText(nn.Module):
    """SpeechT5's encoder of text and decoder of spectra."""

    def __init__(self) -> None:
        super().__init__()
        options = {**SOUND, "num_mel_bins": 8, "speech_decoder_prenet_units": 16, "speaker_embedding_dim": 12,
                   "max_speech_positions": 64, "max_text_positions": 64, "speech_decoder_postnet_units": 16,
                   "reduction_factor": 1, "encoder_max_relative_position": 8}  # fmt: skip
        self.inner = model("SpeechT5ForTextToSpeech", "SpeechT5Config", **options)()

    def forward(self, input_ids: Tensor, spectra: Tensor, speaker: Tensor) -> Any:
        return self.inner.speecht5(
            input_values=input_ids, decoder_input_values=spectra, speaker_embeddings=speaker, use_cache=False
        ).last_hidden_state


class Codes(nn.Module):
    """Encodec: a signal, its quantised codes, and the signal that is decoded from them."""

    def __init__(self) -> None:
        super().__init__()
        options = {"num_filters": 4, "hidden_size": 8, "upsampling_ratios": [4, 2], "codebook_size": 16,
                   "codebook_dim": 8, "num_lstm_layers": 1, "target_bandwidths": [24.0]}  # fmt: skip
        self.inner = model("EncodecModel", "EncodecConfig", **options)()

    def forward(self, input_values: Tensor) -> Tensor:
        return self.inner.decoder(self.inner.encoder(input_values[:, None]))


class Spoken(nn.Module):
    """VITS without its noise: text encoder, mean of the prior, inverse flow, vocoder."""

    def __init__(self) -> None:
        super().__init__()
        self.vits = model("VitsModel", "VitsConfig", **VITS)()

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, Tensor]:
        mask = attention_mask[..., None].float()
        found = self.vits.text_encoder(input_ids=input_ids, padding_mask=mask, attention_mask=attention_mask)
        means = self.vits.flow(found.prior_means.transpose(1, 2), mask.transpose(1, 2), reverse=True)
        return self.vits.decoder(means), found.prior_log_variances


class Codebooks(nn.Module):
    """MusicGen's decoder: two codes at each step, each with an embedding and a head of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = model(
            "MusicgenForCausalLM", "MusicgenDecoderConfig", vocab_size=40, hidden_size=32, num_hidden_layers=2,
            num_attention_heads=4, ffn_dim=48, num_codebooks=2, max_position_embeddings=64, use_cache=False,
            pad_token_id=0, bos_token_id=0,
        )()  # fmt: skip

    def forward(self, input_ids: Tensor, encoder_hidden_states: Tensor) -> Tensor:
        return self.inner(input_ids=input_ids.flatten(0, 1), encoder_hidden_states=encoder_hidden_states).logits


def listener(kind: str, **options: Any) -> Architecture:
    return Architecture(headed("AutoModel", kind, SOUND | options), SAMPLES, by_name=True)


def recognizer(kind: str, **options: Any) -> Architecture:
    spec = Spec(
        {**SAMPLES.inputs, "attention_mask": Input("int64", ("batch", "samples"), (0, 2), "padding")},
        (), SAMPLES.bindings,
    )  # fmt: skip
    return Architecture(headed("AutoModelForCTC", kind, SOUND | options), spec, by_name=True)


class Observed(nn.Module):
    """A probabilistic forecast: parameters of the distribution of each step."""

    def __init__(self, name: str, config: str, **options: Any) -> None:
        super().__init__()
        self.inner = model(name, config, **FORECAST | options)()

    def forward(self, **named: Tensor) -> Any:
        found = self.inner(**named)
        return found.last_hidden_state, found.loc, found.scale


def forecast(name: str, config: str, **options: Any) -> Architecture:
    return Architecture(lambda: Observed(name, config, **options), HISTORY, by_name=True)


SOUNDS_AND_SERIES: dict[str, Architecture] = {
    "speecht5": Architecture(
        SpokenText,
        Spec(
            {
                "input_ids": IDS,
                "spectra": Input("float32", ("batch", "frames", 8)),
                "speaker": Input("float32", ("batch", 12)),
            },
            (), grid("batch seq frames", (2, 7, 5), (1, 5, 9), (3, 12, 4)),
        ),
    ),
    "speecht5-hifigan": Architecture(
        model("SpeechT5HifiGan", "SpeechT5HifiGanConfig", model_in_dim=8, **HIFIGAN),
        Spec({"spectrogram": Input("float32", ("batch", "frames", 8))}, (), FRAMES),
        by_name=True,
    ),
    "vits": Architecture(
        Spoken,
        Spec({"input_ids": Input("int64", ("batch", "seq"), (0, 40)), "attention_mask": PADDING}, (),
             grid("batch seq", (2, 7), (1, 5), (3, 12))),
    ),
    "encodec": Architecture(Codes, SAMPLES),
    "dac-encoder": Architecture(
        lambda: Part(
            model("DacModel", "DacConfig", encoder_hidden_size=4, downsampling_ratios=[2, 4], decoder_hidden_size=16,
                  upsampling_ratios=[4, 2], hidden_size=16, codebook_size=16, codebook_dim=4),
            "encoder",
        ),
        Spec({"x": Input("float32", ("batch", 1, "samples"))}, (), grid("batch samples", (2, 448), (1, 320), (3, 768))),
    ),
    "hubert-ctc": recognizer("hubert"),
    "wavlm-ctc": recognizer("wavlm"),
    "unispeech-sat": listener("unispeech-sat"),
    "wav2vec2-conformer": listener("wav2vec2-conformer", position_embeddings_type="relative"),
    "wav2vec2-conformer-rotary": listener("wav2vec2-conformer", position_embeddings_type="rotary"),
    "sew-d": listener("sew-d", squeeze_factor=2, max_position_embeddings=64, position_buckets=8),
    "wav2vec2-bert": Architecture(
        headed("AutoModel", "wav2vec2-bert", SOUND | {"feature_projection_input_dim": 16}), MEL, by_name=True
    ),
    "parakeet": Architecture(
        headed("AutoModel", "parakeet_encoder", TEXT | {"num_mel_bins": 16, "subsampling_conv_channels": 8}),
        MEL, by_name=True,
    ),
    "moonshine": Architecture(
        headed("AutoModel", "moonshine", {
            "vocab_size": 100, "hidden_size": 32, "intermediate_size": 48, "encoder_num_hidden_layers": 1,
            "decoder_num_hidden_layers": 1, "encoder_num_attention_heads": 4, "decoder_num_attention_heads": 4,
        }),
        Spec(
            {
                "input_values": Input("float32", ("batch", "samples")),
                "decoder_input_ids": Input("int64", ("batch", "target"), (3, 100)),
            },
            (), grid("batch samples target", (2, 2000, 5), (1, 1600, 3), (3, 3000, 9)),
        ),
        by_name=True,
    ),
    "clap-audio": Architecture(
        model("ClapAudioModel", "ClapAudioConfig", window_size=4, num_mel_bins=16, spec_size=64, hidden_size=16,
              depths=[1, 1], num_attention_heads=[1, 2], patch_embeds_hidden_size=8, num_classes=4, hop_length=8,
              enable_fusion=False, patch_size=4, patch_stride=[4, 4]),
        Spec({"input_features": Input("float32", ("batch", 1, 256, 16))}, (), BATCHES), by_name=True,
    ),
    "musicgen-decoder": Architecture(
        Codebooks,
        Spec(
            {
                "input_ids": Input("int64", ("batch", 2, "seq"), (0, 40)),
                "encoder_hidden_states": Input("float32", ("batch", "encoded", 32)),
            },
            (), grid("batch seq encoded", (2, 7, 5), (1, 5, 9), (3, 12, 1)),
        ),
    ),
    "patchtst": Architecture(model("PatchTSTForPrediction", "PatchTSTConfig", prediction_length=4, **PATCHES), SERIES,
                             by_name=True),
    "patchtst-classes": Architecture(model("PatchTSTForClassification", "PatchTSTConfig", num_targets=3, **PATCHES),
                                     SERIES, by_name=True),
    "patchtsmixer": Architecture(
        model("PatchTSMixerForPrediction", "PatchTSMixerConfig", context_length=32, patch_length=8, patch_stride=8,
              num_input_channels=3, d_model=8, num_layers=2, prediction_length=4),
        SERIES, by_name=True,
    ),
    "time-series-transformer": forecast("TimeSeriesTransformerModel", "TimeSeriesTransformerConfig"),
    "informer": forecast("InformerModel", "InformerConfig", sampling_factor=2, attention_type="full"),
    "autoformer": forecast("AutoformerModel", "AutoformerConfig", moving_average=5, autocorrelation_factor=1),
}  # fmt: skip
