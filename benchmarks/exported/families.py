"""Specs of the inputs of the networks of `benchmarks/networks`, which draw them by functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from networks import detection, features, images, network, sequences, transformers_tiny

from exported.architecture import restricted
from fixtures.feeds import Bindings, Input, Spec

Pair = tuple[int, int]

WORDS = (3, transformers_tiny.WORDS)
IDS = Input("int64", ("batch", "seq"), WORDS)
PADDING = Input("int64", ("batch", "seq"), (0, 2), "padding")
PIXELS = Input("float32", ("batch", 3, "height", "width"))
SQUARE = Input("float32", ("batch", 3, 32, 32))
TOKENS = Input("int64", ("batch", "seq"), (0, 50))


@dataclass(frozen=True, slots=True)
class Family:
    """Inputs, and the sizes of the symbols at a network's pair of sizes."""

    inputs: dict[str, Input]
    sizes: Callable[[int, int], Bindings]
    constraints: tuple[str, ...] = ()

    def spec(self, pairs: tuple[Pair, ...]) -> Spec:
        """The spec at these pairs; a symbol that has one value at all of them is a number."""
        rows = [self.sizes(*pair) for pair in pairs]
        varying = [symbol for symbol in rows[0] if len({row[symbol] for row in rows}) > 1]
        return restricted(Spec(self.inputs, self.constraints, tuple(rows)), varying)


def batch_and_seq(batch: int, seq: int) -> Bindings:
    return {"batch": batch, "seq": seq}


def image_sizes(batch: int, size: int) -> Bindings:
    """Height and width differ except at the middle one of the sizes 32, 48 and 64."""
    return {"batch": batch, "height": size, "width": 96 - size}


def only_batch(batch: int, _: int) -> Bindings:
    return {"batch": batch}


def _cache(layers: int, heads: int, head_dim: int) -> dict[str, Input]:
    return {
        f"{part}{layer}": Input("float32", ("batch", heads, "past", head_dim))
        for layer in range(layers)
        for part in ("key", "value")
    }


IMAGE = Family({"image": PIXELS}, image_sizes)
FIXED_IMAGE = Family({"image": SQUARE}, only_batch)
PICTURE = Family({"pixel_values": PIXELS}, image_sizes)
FIXED_PICTURE = Family({"pixel_values": SQUARE}, only_batch)
TEXT = Family({"input_ids": IDS, "attention_mask": PADDING}, batch_and_seq)
UNPADDED = Family({"input_ids": IDS}, batch_and_seq)
BOTH = Family(
    {**TEXT.inputs, "decoder_input_ids": Input("int64", ("batch", "target"), WORDS)},
    lambda batch, seq: {"batch": batch, "seq": seq, "target": seq - 2},
)
CONTINUED = Family(
    {
        "input_ids": IDS,
        "attention_mask": Input("int64", ("batch", "past + seq"), (0, 2), "mask"),
        **_cache(layers=2, heads=2, head_dim=8),
    },
    lambda batch, seq: {"batch": batch, "past": seq, "seq": 3 if batch == 2 else batch},
)
SOUND = Family(
    {"input_values": Input("float32", ("batch", "samples"))}, lambda batch, seq: {"batch": batch, "samples": 64 * seq}
)

FAMILIES: dict[network.Feeds, Family] = {
    transformers_tiny.text: TEXT,
    transformers_tiny.unpadded: UNPADDED,
    transformers_tiny.both: BOTH,
    transformers_tiny.past: CONTINUED,
    transformers_tiny.sound: SOUND,
    transformers_tiny.speech: Family(
        {
            "input_features": Input("float32", ("batch", "frames", 8)),
            "decoder_input_ids": Input("int64", ("batch", "target"), WORDS),
        },
        lambda batch, seq: {"batch": batch, "frames": 8 * seq, "target": seq},
    ),
    transformers_tiny.spectra: Family({"input_values": Input("float32", ("batch", 64, 32))}, only_batch),
    transformers_tiny.both_kinds: Family({**TEXT.inputs, **FIXED_PICTURE.inputs}, batch_and_seq),
    network.sequence: Family({"x": Input("float32", ("batch", "seq", 16))}, batch_and_seq),
    network.signal: Family(
        {"x": Input("float32", ("batch", 4, "samples"))}, lambda batch, seq: {"batch": batch, "samples": 8 * seq}
    ),
    network.tokens: Family({"tokens": TOKENS}, batch_and_seq),
    network.points: Family(
        {"points": Input("float32", ("batch", "points", 3))},
        lambda batch, count: {"batch": batch, "points": 3 * count},
    ),
    network.graph: Family(
        {
            "x": Input("float32", ("nodes", 8)),
            "edges": Input("int64", (2, "edges"), (0, "nodes")),
        },
        lambda nodes, edges: {"nodes": 4 * nodes, "edges": 3 * edges},
    ),
    sequences.pair: Family(
        {"tokens": TOKENS, "target": Input("int64", ("batch", "target"), (0, 50))},
        lambda batch, seq: {"batch": batch, "seq": seq, "target": seq + 2},
    ),
    sequences.wave: Family(
        {"wave": Input("float32", ("batch", "samples"))}, lambda batch, seq: {"batch": batch, "samples": 32 * seq}
    ),
    images.volume: Family(
        {"volume": Input("float32", ("batch", 1, 8, "height", "width"))},
        lambda batch, size: {"batch": batch, "height": size // 2, "width": (96 - size) // 2},
    ),
    images.bytes_of: Family({"image": Input("uint8", ("batch", "height", "width", 3), (0, 256))}, image_sizes),
    features.recommended: Family(
        {
            "first": TOKENS,
            "second": TOKENS,
            "dense": Input("float32", ("batch", 4)),
        },
        batch_and_seq,
    ),
    features.bags: Family(
        {
            "ids": Input("int64", ("values",), (0, 50)),
            "offsets": Input("int64", ("bags",), (0, "values + 1"), "offsets"),
        },
        lambda batch, seq: {"values": 3 * batch + seq, "bags": batch},
    ),
    features.fields: Family({"fields": Input("int64", ("batch", 4), (0, 50))}, only_batch),
    features.history: Family({"tokens": TOKENS, "candidate": Input("int64", ("batch",), (1, 50))}, batch_and_seq),
    detection.pairs: Family(
        {"a": Input("float32", ("first", 4)), "b": Input("float32", ("second", 4))},
        lambda first, second: {"first": 4 * first, "second": second},
    ),
    detection.scored: Family(
        {"boxes": Input("float32", ("boxes", 4)), "scores": Input("float32", ("boxes",))},
        lambda first, second: {"boxes": first * second},
    ),
    detection.regions: Family(
        {"image": PIXELS, "boxes": Input("float32", ("batch", "boxes", 4))},
        lambda batch, size: {**image_sizes(batch, size), "boxes": size // 8},
    ),
}


def spec_of(feeds: network.Feeds, pairs: tuple[Pair, ...]) -> Spec | None:
    """The spec of a network's inputs; None for feeds that are not described here."""
    if feeds in (network.image, transformers_tiny.picture):
        is_fixed = len({size for _, size in pairs}) == 1
        families = (IMAGE, FIXED_IMAGE) if feeds is network.image else (PICTURE, FIXED_PICTURE)
        return families[is_fixed].spec(pairs)
    family = FAMILIES.get(feeds)
    return None if family is None else family.spec(pairs)
