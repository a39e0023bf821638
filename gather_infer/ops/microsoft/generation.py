"""Rules for text generation of com.microsoft: searches that run a decoder subgraph, and operators of decoding loops."""

from __future__ import annotations

from gather_infer.access import Indexing
from gather_infer.errors import SpecViolation
from gather_infer.ops.microsoft.attention import agree, dim_at, shape_of
from gather_infer.ops.microsoft.matmul import size_attribute
from gather_infer.ops.microsoft.signature import HALF_OR_SINGLE, Inferred, contrib
from gather_infer.ops.semantics.elementwise import same_shape
from gather_infer.ops.semantics.indices import check_bounds, describe, known_numbers
from gather_infer.ops.semantics.operands import element_dim
from gather_infer.ops.semantics.preconditions import fill, known_value, merge_shape, require_rank
from gather_infer.rules import OpCall, RuleSet
from gather_infer.symbolic import Dim
from gather_infer.tensor import DType, Shape, SymbolicTensor, ValueRange

rules = RuleSet("com.microsoft")

DECODER = (
    "decoder:graph! encoder:graph init_decoder:graph decoder_start_token_id:int eos_token_id:int! pad_token_id:int! "
    "model_type:int no_repeat_ngram_size:int vocab_size:int"
)
BEAMS = (
    "input_ids:F max_length:int32 min_length?:int32 num_beams:int32 num_return_sequences:int32 length_penalty?:T "
    "repetition_penalty?:T vocab_mask?:int32 prefix_vocab_mask?:int32 attention_mask?:int32 decoder_input_ids?:int32 "
    "logits_processor?:int32"
)
SCORED = "-> sequences:int32 sequences_scores?:T scores?:T"
PROMPTS = HALF_OR_SINGLE | {DType.INT32}
WHISPER = (
    "beginning_timestamp_token_id:int decoder_output_cross_qk:int no_speech_token_id:int no_timestamps_token_id:int "
    "start_of_lm_token_id:int transcribe_token_id:int translate_token_id:int"
)


@contrib(rules, "BeamSearch", f"{BEAMS} {SCORED}", f"{DECODER} early_stopping:int", F=PROMPTS, T=HALF_OR_SINGLE)
def beam_search(op: OpCall) -> Inferred:
    """Beam search: the best sequences, the score of each sequence, and the scores of all tokens at each step.

    input_ids         [B, S], or features of rank 3 that an encoder subgraph reads
    sequences         [B, num_return_sequences, max_length]
    sequences_scores  [B, num_return_sequences]
    scores            [max_length - S, B, num_beams, vocab_size]; the first dim is unknown unless model_type is 0
    """
    return _searched(op)


@contrib(
    rules, "WhisperBeamSearch",
    f"{BEAMS} cross_qk_layer_head?:int32 extra_decoding_ids?:int32 temperature?:T {SCORED} cross_qk?:float32 "
    "non_speech_probs?:T",
    f"{DECODER} {WHISPER} early_stopping:int", F=PROMPTS, T=HALF_OR_SINGLE,
)  # fmt: skip
def whisper_beam_search(op: OpCall) -> Inferred:
    """As BeamSearch, with audio features [B, bins, frames] as input_ids.

    cross_qk          [B, num_return_sequences, heads, T, F], the cross-attention scores of the heads that
                      cross_qk_layer_head lists; T and F are unknown
    non_speech_probs  [B]
    """
    sequences, scored, scores = _searched(op)
    assert isinstance(sequences, tuple) and isinstance(scored, tuple), "they are shapes"
    kept = require_rank(shape_of(op.optional_tensor(12)), 2, "cross_qk_layer_head")
    heads, length, frames = fill(op, (dim_at(kept, 0), None, None), "they are those of the decoder")
    return [sequences, scored, scores, (*scored, heads, length, frames), sequences[:1]]


def _searched(op: OpCall) -> Inferred:
    prompt = op.tensor(0).shape
    require_rank(prompt, (2, 3), "input_ids")
    b: Dim = op.fresh("input_ids has no known rank") if prompt is None else prompt[0]
    most, returned = _positive(op, 1, "max_length"), _positive(op, 4, "num_return_sequences")
    beams = _positive(op, 3, "num_beams")
    steps: Dim = op.fresh("the number of steps depends on the data")
    if prompt is not None and len(prompt) == 2 and op.attr("model_type", 0) == 0:
        steps = most - prompt[1]
        op.add_implied_fact(steps)
    return [(b, returned, most), (b, returned), (steps, b, beams, _vocabulary(op))]


def _positive(op: OpCall, index: int, name: str) -> Dim:
    size = element_dim(op, known_value(op.tensor(index)), name)
    if size == 0:
        raise SpecViolation(f"{name} must be 1 or more, is 0")
    return size


def _vocabulary(op: OpCall) -> Dim:
    size = op.attr("vocab_size", -1)
    return size if size > 0 else op.fresh("vocab_size is that of the decoder's logits")


@contrib(
    rules, "GreedySearch",
    "input_ids:int32 max_length:int32 min_length?:int32 repetition_penalty?:float32 vocab_mask?:int32 "
    "prefix_vocab_mask?:int32 attention_mask?:int32 -> sequences:int32", DECODER,
)  # fmt: skip
def greedy_search(op: OpCall) -> Inferred:
    """input_ids [B, S] -> sequences [B, max_length]"""
    return [_greedy(op)]


@contrib(
    rules, "Sampling",
    "input_ids:int32 max_length:int32 min_length?:int32 repetition_penalty?:float32 vocab_mask?:int32 "
    "prefix_vocab_mask?:int32 attention_mask?:int32 presence_mask?:int32 seed?:int32 "
    "-> sequences:int32 filtered_logits?:float32",
    DECODER + " custom:int filter_value:float min_tokens_to_keep:int presence_penalty:float temperature:float "
    "top_p:float",
    deterministic=False,
)  # fmt: skip
def sampling(op: OpCall) -> Inferred:
    """input_ids [B, S] -> sequences [B, max_length], filtered_logits [B, vocab_size]"""
    shape = _greedy(op)
    return [shape, (shape[0], _vocabulary(op))]


def _greedy(op: OpCall) -> Shape:
    prompt = require_rank(op.tensor(0).shape, 2, "input_ids")
    (b,) = fill(op, (dim_at(prompt, 0),), "input_ids has no known shape")
    return (b, _positive(op, 1, "max_length"))


@contrib(
    rules, "NGramRepeatBlock", "input_ids:int64 scores:float32 -> scores_out:float32", "ngram_size:int!",
    addresses={0: 1},
)  # fmt: skip
def n_gram_repeat_block(op: OpCall) -> Inferred:
    """input_ids [B, S], scores [B, V] -> scores_out [B, V]

    Token ids index the axis of length V. The operator reads only ids that follow a repeated n-gram, so an id out of
    bounds is not always an error.
    """
    size_attribute(op, "ngram_size")
    ids, scores = require_rank(op.tensor(0).shape, 2, "input_ids"), require_rank(op.tensor(1).shape, 2, "scores")
    if scores is None:
        return [None]
    check_bounds(
        op, op.tensor(0), known_numbers(op, 0), scores[1], Indexing(from_end=False),
        axis=1, data=describe(op.tensor(1), "scores"), position=0, may_skip=True,
    )  # fmt: skip
    b = agree(op, scores[0], dim_at(ids, 0), "the batch of scores and input_ids")
    return [fill(op, (b, scores[1]), "the shape of scores is not known")]


@contrib(
    rules, "BifurcationDetector",
    "src_tokens:int64 cur_tokens:int64 prev_suffix_match_idx:int64 pred_tokens?:int64 "
    "-> tokens:int64 suffix_match_idx:int64",
    "max_ngram_size:int min_ngram_size:int",
)  # fmt: skip
def bifurcation_detector(op: OpCall) -> Inferred:
    """cur_tokens [n] -> tokens [n], or [m] with m >= n when pred_tokens is given; suffix_match_idx, a scalar.

    Appends the predicted tokens that are kept to the current tokens. suffix_match_idx is the end of a match in
    src_tokens [s], or -1.
    """
    source = require_rank(op.tensor(0).shape, 1, "src_tokens")
    current = require_rank(op.tensor(1).shape, 1, "cur_tokens")
    require_rank(shape_of(op.optional_tensor(3)), 1, "pred_tokens")
    index = SymbolicTensor(DType.INT64, (), None, ValueRange(-1, dim_at(source, 0)))
    if not op.has(3):
        return [fill(op, (dim_at(current, 0),), "cur_tokens has no known shape"), index]
    length = op.fresh("how many predicted tokens are kept depends on the data")
    if current is not None:
        op.add_implied_fact(length - current[0])
    return [(length,), index]


@contrib(
    rules, "NGramHashMapping",
    "input_ids:M multipliers:M vocab_sizes:M past_ids?:M head_offsets?:M eos_token_id?:M segment_ids?:int32 "
    "-> hash_ids:M present_ids?:M",
    "max_ngram_size:int! n_head_per_ngram:int! pad_id:int! reset_on_eos:int",
    M=frozenset({DType.INT32, DType.INT64}), unchecked_sizes=(1, 2), operands={2: "sizes >= 1"}
)  # fmt: skip
def n_gram_hash_mapping(op: OpCall) -> Inferred:
    """input_ids, segment_ids [B, S], past_ids [B, n - 1] -> hash_ids [B, S, (n - 1) * heads], present_ids [B, n - 1]

    n is the attribute max_ngram_size, heads the attribute n_head_per_ngram.
    """
    n, heads = size_attribute(op, "max_ngram_size"), size_attribute(op, "n_head_per_ngram")
    if n < 2:
        raise SpecViolation(f"max_ngram_size must be 2 or more, is {n}")
    ids = require_rank(op.tensor(0).shape, 2, "input_ids")
    if op.has(6):
        ids = same_shape(op, ids, require_rank(op.tensor(6).shape, 2, "segment_ids"))
    past = merge_shape(op, shape_of(op.optional_tensor(3)), (dim_at(ids, 0), n - 1), "past_ids")
    b, s = fill(op, (past[0], dim_at(ids, 1)), "the shape of input_ids is not known")
    return [(b, s, (n - 1) * heads), (b, n - 1)]
