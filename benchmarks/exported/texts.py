"""Models of texts, some with images or tables beside: transformers' classes that benchmarks/networks does not have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from networks.transformers_tiny import GROUPED, PICTURE, TEXT, continued
from torch import Tensor, nn
from transformers.cache_utils import DynamicCache, EncoderDecoderCache

from exported import families
from exported.architecture import Architecture, grid
from exported.families import IDS, PADDING, WORDS
from exported.tiny import Boxed, headed, model
from fixtures.feeds import Input, Spec

ROWS = ((2, 7), (1, 5), (3, 12))
PLAIN = families.TEXT.spec(ROWS)
UNPADDED = families.UNPADDED.spec(ROWS)
BOTH = families.BOTH.spec(ROWS)
CORNERS = Input("int64", ("batch", "seq", 2), (0, 32))
PAGE = Spec({**PLAIN.inputs, "corner": CORNERS, "extent": CORNERS}, (), PLAIN.bindings)
WIDE = TEXT | {"hidden_size": 48}


class Reader(nn.Module):
    """A decoder's step with a cache, which reads an encoder's states."""

    def __init__(self, make: Callable[[], nn.Module]) -> None:
        super().__init__()
        self.decoder = make().get_decoder()

    def forward(self, input_ids: Tensor, encoder_hidden_states: Tensor, *past: Tensor) -> tuple[Tensor, ...]:
        pairs = list(zip(past[::2], past[1::2], strict=True))
        cache = EncoderDecoderCache(DynamicCache(pairs), DynamicCache())
        result = self.decoder(
            input_ids=input_ids, encoder_hidden_states=encoder_hidden_states, past_key_values=cache, use_cache=True
        )
        states = (part for layer in cache.self_attention_cache.layers for part in (layer.keys, layer.values))
        return (result.last_hidden_state, *states)


class Table(nn.Module):
    """TAPAS: tokens with seven kinds of types, of which some are rows and columns."""

    def __init__(self) -> None:
        super().__init__()
        options = {**TEXT, "type_vocab_sizes": [3, 6, 6, 2, 6, 6, 6]}
        self.tapas = model("TapasModel", "TapasConfig", **options)()

    def forward(self, input_ids: Tensor, attention_mask: Tensor, types: Tensor) -> Any:
        zeros = torch.zeros_like(types[..., :1])
        kinds = torch.cat([zeros + 1, types, zeros, types, zeros], -1)
        return self.tapas(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=kinds)


def with_past(kind: str, **options: Any) -> Architecture:
    """A decoder's step with a cache of two heads, 8 wide."""
    return Architecture(continued(kind, **options).make, families.CONTINUED.spec(ROWS), by_name=True)


def small(**options: Any) -> dict[str, Any]:
    """Options of a decoder whose two heads are 8 wide."""
    sizes = dict.fromkeys(("hidden_size", "n_embd", "d_model", "word_embed_proj_dim"), 16)
    heads = dict.fromkeys(("num_attention_heads", "n_head"), 2)
    return sizes | heads | options


def reader(name: str, config: str, **options: Any) -> Architecture:
    cache = {
        f"past_key_values.{layer}.{part}": Input("float32", ("batch", 4, "past", 8))
        for layer in range(2)
        for part in ("key", "value")
    }
    inputs = {"input_ids": IDS, "encoder_hidden_states": Input("float32", ("batch", "encoded", 32)), **cache}
    rows = grid("batch past seq encoded", (2, 7, 3, 5), (1, 0, 4, 1), (3, 9, 1, 12))
    return Architecture(lambda: Reader(model(name, config, **TEXT, **options)), Spec(inputs, (), rows))


def text(auto: str, kind: str, spec: Spec = PLAIN, **options: Any) -> Architecture:
    return Architecture(headed(auto, kind, TEXT | options), spec, by_name=True)


CHOICES = Spec(
    {name: Input(given.dtype, ("batch", 3, "seq"), given.legal, given.fill) for name, given in PLAIN.inputs.items()},
    (),
    PLAIN.bindings,
)
STATES = Input("float32", ("batch", "steps", 5))
NUMBERS = Input("float32", ("batch", "steps", 1))
DECISIONS = Spec(
    {
        "states": STATES,
        "actions": Input("float32", ("batch", "steps", 3)),
        "rewards": NUMBERS,
        "returns_to_go": NUMBERS,
        "timesteps": Input("int64", ("batch", "steps"), (0, 20)),
        "attention_mask": Input("int64", ("batch", "steps"), (0, 2), "padding"),
    },
    (),
    grid("batch steps", *ROWS),
)
SEEN = Spec(
    {
        **PLAIN.inputs,
        "visual_feats": Input("float32", ("batch", "boxes", 16)),
        "visual_pos": Input("float32", ("batch", "boxes", 4)),
    },
    (),
    grid("batch seq boxes", (2, 7, 4), (1, 5, 9), (3, 12, 1)),
)
VISUAL = Spec(
    {
        **PLAIN.inputs,
        "visual_embeds": Input("float32", ("batch", "boxes", 16)),
        "visual_attention_mask": Input("int64", ("batch", "boxes"), (0, 2), "padding"),
    },
    (),
    grid("batch seq boxes", (2, 7, 4), (1, 5, 9), (3, 12, 1)),
)
PAGE_AND_PICTURE = Spec({**PAGE.inputs, "pixel_values": Input("float32", ("batch", 3, 32, 32))}, (), PAGE.bindings)
FUNNEL = {
    "vocab_size": 100, "block_sizes": [1, 1], "d_model": 32, "n_head": 4, "d_head": 8, "d_inner": 48,
    "num_decoder_layers": 1, "max_position_embeddings": 64,
}  # fmt: skip
PERCEIVER = {
    "num_latents": 6, "d_latents": 16, "d_model": 12, "num_blocks": 1, "num_self_attends_per_block": 2,
    "num_self_attention_heads": 4, "num_cross_attention_heads": 2,
}  # fmt: skip

TEXTS: dict[str, Architecture] = {
    "funnel": Architecture(model("FunnelModel", "FunnelConfig", **FUNNEL), PLAIN, by_name=True),
    "tapas": Architecture(
        Table,
        Spec({**PLAIN.inputs, "types": Input("int64", ("batch", "seq", 2), (0, 5))}, (), PLAIN.bindings),
        by_name=True,
    ),
    "layoutlm": Architecture(
        lambda: Boxed(model("LayoutLMModel", "LayoutLMConfig", **TEXT, max_2d_position_embeddings=64)()),
        PAGE, by_name=True,
    ),
    "lilt": Architecture(
        lambda: Boxed(model("LiltModel", "LiltConfig", **WIDE, max_2d_position_embeddings=64)()), PAGE, by_name=True
    ),
    "layoutlmv3": Architecture(
        lambda: Boxed(
            model("LayoutLMv3Model", "LayoutLMv3Config", **TEXT, input_size=32, patch_size=8, coordinate_size=6,
                  shape_size=4)()
        ),
        PAGE_AND_PICTURE, by_name=True,
    ),
    "lxmert": Architecture(
        model("LxmertModel", "LxmertConfig", **TEXT, l_layers=1, x_layers=1, r_layers=1, visual_feat_dim=16),
        SEEN, by_name=True,
    ),
    "visual-bert": Architecture(
        model("VisualBertModel", "VisualBertConfig", **TEXT, visual_embedding_dim=16), VISUAL, by_name=True
    ),
    "decision-transformer": Architecture(
        model("DecisionTransformerModel", "DecisionTransformerConfig", state_dim=5, act_dim=3, hidden_size=32,
              max_ep_len=20, n_layer=2, n_head=4, n_positions=64, vocab_size=1),
        DECISIONS, by_name=True,
    ),
    "perceiver": Architecture(
        model("PerceiverModel", "PerceiverConfig", **PERCEIVER),
        Spec({"inputs": Input("float32", ("batch", "seq", 12)), "attention_mask": PADDING}, (), PLAIN.bindings),
        by_name=True,
    ),
    "mistral-past": with_past("mistral"),
    "qwen2-past": with_past("qwen2"),
    "gemma-past": with_past("gemma"),
    "gemma2-past": with_past("gemma2"),
    "phi3-past": with_past("phi3"),
    "stablelm-past": with_past("stablelm"),
    "starcoder2-past": with_past("starcoder2"),
    "granite-past": with_past("granite"),
    "olmo2-past": with_past("olmo2"),
    "gpt-neox-past": with_past("gpt_neox", **small()),
    "opt-past": with_past("opt", **small()),
    "bloom-past": with_past("bloom", **small()),
    "gptj-past": with_past("gptj", **small(rotary_dim=4)),
    "mixtral-past": with_past("mixtral", num_local_experts=4),
    "bart-decoder-past": reader("BartModel", "BartConfig"),
    "marian-decoder-past": reader("MarianModel", "MarianConfig"),
    "pegasus-decoder-past": reader("PegasusModel", "PegasusConfig"),
    "trocr-decoder": Architecture(
        model("TrOCRForCausalLM", "TrOCRConfig", **TEXT, cross_attention_hidden_size=32),
        Spec(
            {"input_ids": IDS, "encoder_hidden_states": Input("float32", ("batch", "encoded", 32))},
            (), grid("batch seq encoded", (2, 7, 5), (1, 5, 9), (3, 12, 1)),
        ),
        by_name=True,
    ),
    "roberta-classes": text("AutoModelForSequenceClassification", "roberta", num_labels=3),
    "xlm-roberta-tags": text("AutoModelForTokenClassification", "xlm-roberta", num_labels=7),
    "distilbert-answers": text("AutoModelForQuestionAnswering", "distilbert"),
    "electra-choices": text("AutoModelForMultipleChoice", "electra", CHOICES),
    "mpnet-words": text("AutoModelForMaskedLM", "mpnet"),
    "qwen2-words": text("AutoModelForCausalLM", "qwen2", **GROUPED),
    "phi-words": text("AutoModelForCausalLM", "phi"),
    "gpt-neo-classes": text(
        "AutoModelForSequenceClassification", "gpt_neo", attention_types=[[["global", "local"], 1]], window_size=4
    ),
    "mt5": text("AutoModel", "mt5", BOTH),
    "plbart": text("AutoModel", "plbart", BOTH),
    "blenderbot-small": text("AutoModel", "blenderbot-small", BOTH),
    "led": text("AutoModel", "led", BOTH, attention_window=4, max_encoder_position_embeddings=64),
    "ctrl": text("AutoModel", "ctrl", dff=48),
    "rwkv": text("AutoModel", "rwkv", UNPADDED, attention_hidden_size=32, context_length=64),
    "falcon-mamba": text("AutoModel", "falcon_mamba"),
    "xlm-roberta-xl": text("AutoModel", "xlm-roberta-xl"),
    "flaubert": text("AutoModel", "flaubert"),
    "roc-bert": text("AutoModel", "roc_bert", shape_vocab_size=20, pronunciation_vocab_size=20),
    "olmo3": text("AutoModel", "olmo3", **GROUPED),
    "seed-oss": text("AutoModel", "seed_oss", **GROUPED),
    "lfm2": text("AutoModel", "lfm2", **GROUPED, layer_types=["conv", "full_attention"]),
    "modernbert-decoder": text("AutoModel", "modernbert-decoder"),
    "vilt-answers": Architecture(
        headed("AutoModelForVisualQuestionAnswering", "vilt", TEXT | PICTURE | {"num_labels": 5}),
        Spec(
            {**PLAIN.inputs, "pixel_values": Input("float32", ("batch", 3, 32, 32))}, (), PLAIN.bindings
        ),
        by_name=True,
    ),
}  # fmt: skip
assert WORDS[1] == TEXT["vocab_size"], "every word has a row"
