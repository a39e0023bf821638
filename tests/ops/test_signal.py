"""Signal processing, RoI pooling, losses and TfIdfVectorizer against their specifications."""

# ruff: noqa: E501 -- a case is a line

from __future__ import annotations

from typing import Any

import pytest

from gather_infer.context import Context
from gather_infer.errors import SpecViolation
from gather_infer.ops.onnx import loss, ngram, signal, vision
from gather_infer.symbolic import known_le, symbol
from gather_infer.tensor import DType, SymbolicTensor
from tests.ops.call import UNRANKED, call
from tests.ops.facts import known

B, C, L, N, R = map(symbol, "BCLNR")
F32, I64 = DType.FLOAT32, DType.INT64


UNKNOWN = SymbolicTensor(I64, ())
DFT = {
    # id:               (inputs,                                     attributes,                      result)
    "complex":          ([(2, 9, 5, 2)],                             {},                              (2, 9, 5, 2)),
    "real":             ([(2, 9, 5, 1)],                             {},                              (2, 9, 5, 2)),
    "length":           ([(2, 9, 5, 1), known(7)],                  {},                              (2, 9, 7, 2)),
    "axis":             ([(2, 9, 5, 1), known(7), known(1)],       {},                              (2, 7, 5, 2)),
    "onesided":         ([(B, L, 5, 1), None, known(1)],            {"onesided": 1},                 (B, L//2 + 1, 5, 2)),
    "onesided, length": ([(2, 9, 5, 1), known(7), known(1)],       {"onesided": 1},                 (2, 4, 5, 2)),
    "inverse":          ([(2, 9, 5, 2)],                             {"inverse": 1},                  (2, 9, 5, 2)),
    "onesided inverse": ([(2, 9, 5, 2), None, known(1)],            {"inverse": 1, "onesided": 1},   (2, 16, 5, 1)),
    "the same, length": ([(2, 9, 5, 2), known(6), known(1)],       {"inverse": 1, "onesided": 1},   (2, 6, 5, 1)),
    "symbolic length":  ([(2, 9, 5, 1), known(L)],                  {},                              (2, 9, L, 2)),
    "no signal":        ([(2, 0, 1)],                                {},                              (2, 0, 2)),
    "unranked":         ([UNRANKED],                                 {},                              None),
}  # fmt: skip


@pytest.mark.parametrize("inputs, attributes, result", DFT.values(), ids=DFT)
def test_dft(inputs: Any, attributes: dict[str, Any], result: Any) -> None:
    assert call(signal.rules, "DFT", inputs, version=20, **attributes) == [SymbolicTensor(F32, result)]


def test_dft_17_has_axis_1() -> None:
    assert call(signal.rules, "DFT", [(2, 9, 5, 1), known(7)], version=17)[0].shape == (2, 7, 5, 2)
    assert call(signal.rules, "DFT", [(2, 9, 5, 1), known(7)], version=17, axis=2)[0].shape == (2, 9, 7, 2)


def test_dft_with_unknown_values() -> None:
    (found,) = call(signal.rules, "DFT", [(2, 9, 5, 1), UNKNOWN], version=20)
    assert found.shape[:2] == (2, 9) and found.shape[2].is_symbol and found.shape[3] == 2
    (found,) = call(signal.rules, "DFT", [(2, 9, 5, 1), None, UNKNOWN], version=20)
    assert found.shape == (2, 9, 5, 2), "no axis changes its length"
    (found,) = call(signal.rules, "DFT", [(2, 9, 5, 1), None, UNKNOWN], version=20, onesided=1)
    assert found.rank == 4 and found.shape[0].is_symbol and found.shape[3] == 2


DFT_BAD = {
    "axis":       ([(2, 9, 5, 1), None, known(3)], "axis = 3 is outside [-4, -2] and [0, 2]"),
    "last axis":  ([(2, 9, 5, 1), None, known(-1)], "axis = -1 is outside"),
    "parts":      ([(2, 9, 3)], "the last dim of input must be 1 (real) or 2 (complex), is 3"),
    "rank":       ([(2,)], "input must have rank 2 or more, has rank 1"),
    "dft_length": ([(2, 9, 1), known(0)], "dft_length must be 1 or more, is 0"),
    "not scalar": ([(2, 9, 1), SymbolicTensor(I64, (2, 2))], "dft_length must be a scalar"),
}  # fmt: skip


def test_a_onesided_dft_goes_between_real_and_complex() -> None:
    for parts, inverse, what in (
        (2, 0, "forward transform takes no complex"),
        (1, 1, "inverse transform takes no real"),
    ):
        with pytest.raises(SpecViolation, match=f"a onesided {what} input"):
            call(signal.rules, "DFT", [(2, 9, parts), None, known(1)], version=20, onesided=1, inverse=inverse)


@pytest.mark.parametrize("inputs, message", DFT_BAD.values(), ids=DFT_BAD)
def test_dft_violations(inputs: Any, message: str) -> None:
    with pytest.raises(SpecViolation) as caught:
        call(signal.rules, "DFT", inputs, version=20)
    assert message in caught.value.message


STFT = {
    # id:               (inputs,                                         attributes,      result)
    "window":           ([(2, 128, 1), known(8), (16,)],                {},              (2, 15, 9, 2)),
    "frame_length":     ([(2, 128, 1), known(8), None, known(16)],     {},              (2, 15, 9, 2)),
    "both":             ([(2, 128, 1), known(8), (16,), known(16)],    {},              (2, 15, 9, 2)),
    "neither":          ([(2, 128, 1), known(8)],                       {},              (2, 1, 65, 2)),
    "not onesided":     ([(2, 128, 2), known(8), (16,)],                {"onesided": 0}, (2, 15, 16, 2)),
    "no parts":         ([(2, 128), known(8), (16,)],                   {},              (2, 15, 9, 2)),
    "symbolic":         ([(B, L, 1), known(8), (16,)],                  {},              (B, L//8 - 1, 9, 2)),
}  # fmt: skip


@pytest.mark.parametrize("inputs, attributes, result", STFT.values(), ids=STFT)
def test_stft(inputs: Any, attributes: dict[str, Any], result: Any) -> None:
    assert call(signal.rules, "STFT", inputs, version=17, **attributes) == [SymbolicTensor(F32, result)]


def test_stft_implies_that_a_frame_fits() -> None:
    context = Context()
    call(signal.rules, "STFT", [(B, L, 1), known(8), (16,)], version=17, context=context)
    assert known_le(16, L, context.scope) is True
    (found,) = call(signal.rules, "STFT", [UNRANKED, UNKNOWN], version=17)
    assert found.rank == 4 and found.shape[3] == 2


STFT_BAD = {
    "window":     ([(2, 128, 1), known(8), (15,), known(16)], "must be equal, are 16 and 15"),
    "too short":  ([(2, 10, 1), known(8), (16,)], "a frame must be as long as the signal at most, 10, is 16"),
    "step":       ([(2, 10, 1), known(0), (16,)], "frame_step must be 1 or more, is 0"),
    "rank":       ([(10,), known(8), (16,)], "signal must have rank 3, has rank 1"),
}  # fmt: skip


@pytest.mark.parametrize("inputs, message", STFT_BAD.values(), ids=STFT_BAD)
def test_stft_violations(inputs: Any, message: str) -> None:
    with pytest.raises(SpecViolation) as caught:
        call(signal.rules, "STFT", inputs, version=17)
    assert message in caught.value.message


@pytest.mark.parametrize("op_type", ["HannWindow", "HammingWindow", "BlackmanWindow"])
def test_window_functions(op_type: str) -> None:
    assert call(signal.rules, op_type, [known(7)], version=17) == [SymbolicTensor(F32, (7,))]
    assert call(signal.rules, op_type, [known(0)], version=17)[0].shape == (0,)
    assert call(signal.rules, op_type, [known(L)], version=17, output_datatype=11) == [
        SymbolicTensor(DType.FLOAT64, (L,))
    ]
    assert call(signal.rules, op_type, [UNKNOWN], version=17)[0].rank == 1
    with pytest.raises(SpecViolation, match="size must be 0 or more, is -1"):
        call(signal.rules, op_type, [known(-1)], version=17)
    with pytest.raises(SpecViolation, match="output_datatype = 99 is not an element type"):
        call(signal.rules, op_type, [known(1)], version=17, output_datatype=99)


def test_mel_weight_matrix() -> None:
    edge = SymbolicTensor(F32, ())
    (found,) = call(signal.rules, "MelWeightMatrix", [known(8), known(17), known(16000), edge, edge], version=17)
    assert found == SymbolicTensor(F32, (9, 8))


def test_max_roi_pool() -> None:
    assert call(vision.rules, "MaxRoiPool", [(N, C, 9, 9), (R, 5)], pooled_shape=(2, 3))[0].shape == (R, C, 2, 3)
    (found,) = call(vision.rules, "MaxRoiPool", [UNRANKED, UNRANKED], pooled_shape=(2, 3))
    assert found.rank == 4 and found.shape[2:] == (2, 3)
    with pytest.raises(SpecViolation, match="axis 1 of rois"):
        call(vision.rules, "MaxRoiPool", [(N, C, 9, 9), (R, 4)], pooled_shape=(2, 3))


def test_roi_align() -> None:
    batch = SymbolicTensor(I64, (R,))
    inputs = [(N, C, 9, 9), (R, 4), batch]
    assert call(vision.rules, "RoiAlign", inputs, output_height=2, output_width=3)[0].shape == (R, C, 2, 3)
    assert call(vision.rules, "RoiAlign", inputs)[0].shape == (R, C, 1, 1)
    assert call(vision.rules, "RoiAlign", [UNRANKED, UNRANKED, batch])[0].shape[0] is R
    with pytest.raises(SpecViolation, match="axis 0 of rois"):
        call(vision.rules, "RoiAlign", [(N, C, 9, 9), (3, 4), SymbolicTensor(I64, (2,))])


LABELS = SymbolicTensor(I64, (N, L))


@pytest.mark.parametrize("op_type", ["NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"])
def test_losses(op_type: str) -> None:
    assert call(loss.rules, op_type, [(N, C, L), LABELS])[0].shape == ()
    assert call(loss.rules, op_type, [(N, C, L), LABELS], reduction="none")[0].shape == (N, L)
    assert call(loss.rules, op_type, [UNRANKED, LABELS], reduction="none")[0].shape == (N, L)
    with pytest.raises(SpecViolation, match="must have rank 2, has rank 1"):
        call(loss.rules, op_type, [(N, C, L), SymbolicTensor(I64, (N,))])
    with pytest.raises(SpecViolation, match="must be equal, are 5 and 4"):
        call(loss.rules, op_type, [(N, 5), SymbolicTensor(I64, (N,)), (4,)])
    with pytest.raises(SpecViolation, match="reduction = 'max' is not one of none, sum, mean"):
        call(loss.rules, op_type, [(N, 5), SymbolicTensor(I64, (N,))], reduction="max")


def test_log_prob_has_the_shape_of_the_scores() -> None:
    inputs = [(N, C, L), SymbolicTensor(I64, (4, L)), (9,)]
    _, log_prob = call(loss.rules, "SoftmaxCrossEntropyLoss", inputs, outputs=2)
    assert log_prob == SymbolicTensor(F32, (4, 9, L))


def test_tf_idf_vectorizer() -> None:
    def shape(*dims: Any) -> Any:
        x = SymbolicTensor(DType.STRING, dims)
        return call(ngram.rules, "TfIdfVectorizer", [x], ngram_indexes=(0, 4, 2))[0].shape

    assert shape(7) == (5,)
    assert shape(N, 7) == (N, 5)
    with pytest.raises(SpecViolation, match="X must have rank 1 or 2, has rank 3"):
        shape(1, 2, 3)
    with pytest.raises(SpecViolation, match="ngram_indexes must have elements"):
        call(ngram.rules, "TfIdfVectorizer", [(4,)], ngram_indexes=())
