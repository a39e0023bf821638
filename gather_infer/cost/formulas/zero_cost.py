"""Operators without multiply-adds: elementwise, reductions, data movement, comparisons, random draws, interpolation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


ZERO_COST: Final[Mapping[str, frozenset[str]]] = {
    "": _names(
        """
        Abs Acos Acosh Add Affine And ArgMax ArgMin Asin Asinh Atan Atanh AveragePool BatchNormalization
        Bernoulli BitCast BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor BlackmanWindow Cast CastLike
        Ceil Celu CenterCropPad Clip Col2Im Compress Concat ConcatFromSequence Constant ConstantOfShape Cos
        Cosh Crop CumProd CumSum DepthToSpace DequantizeLinear Div Dropout DynamicQuantizeLinear Elu Equal Erf
        Exp Expand EyeLike Flatten Floor Gather GatherElements GatherND Gelu GlobalAveragePool GlobalLpPool
        GlobalMaxPool Greater GreaterOrEqual GridSample GroupNormalization HammingWindow HannWindow
        HardSigmoid HardSwish Hardmax Identity ImageDecoder ImageScaler InstanceNormalization IsInf IsNaN LRN
        LayerNormalization LeakyRelu Less LessOrEqual Log LogSoftmax LpNormalization LpPool Max MaxPool
        MaxRoiPool MaxUnpool Mean MeanVarianceNormalization MelWeightMatrix Min Mish Mod Mul Multinomial Neg
        NegativeLogLikelihoodLoss NonMaxSuppression NonZero Not OneHot Optional OptionalGetElement
        OptionalHasElement Or PRelu Pad Pow QuantizeLinear RMSNormalization RandomNormal RandomNormalLike
        RandomUniform RandomUniformLike Range Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp
        ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare RegexFullMatch Relu Reshape Resize
        ReverseSequence RoiAlign RotaryEmbedding Round Scatter ScatterElements ScatterND Selu SequenceAt
        SequenceConstruct SequenceEmpty SequenceErase SequenceInsert SequenceLength Shape Shrink Sigmoid Sign
        SimplifiedLayerNormalization Sin Sinh Size Slice Softmax SoftmaxCrossEntropyLoss Softplus Softsign
        SpaceToDepth Split SplitToSequence Sqrt Squeeze StringConcat StringNormalizer StringSplit Sub Sum
        SwiGLU Swish Tan Tanh TensorScatter TfIdfVectorizer ThresholdedRelu Tile TopK Transpose Trilu Unique
        Unsqueeze Upsample Where Xor
        """
    ),
    "ai.onnx.ml": _names(
        """
        ArrayFeatureExtractor Binarizer CastMap CategoryMapper DictVectorizer FeatureVectorizer Imputer
        LabelEncoder Normalizer OneHotEncoder Scaler TreeEnsemble TreeEnsembleClassifier
        TreeEnsembleRegressor ZipMap
        """
    ),
    "ai.onnx.preview.training": _names(
        """
        Adagrad Adam Momentum
        """
    ),
    "com.microsoft": _names(
        """
        BiasAdd BiasDropout BiasGelu BiasSoftmax BiasSplitGelu BifurcationDetector BitmaskBiasDropout
        BitmaskDropout BranchwiseRMSNorm ComplexMul ComplexMulConj CropAndResize DequantizeBFP
        DequantizeLinear DequantizeWithOrder DynamicTimeWarping EmbedLayerNormalization ExpandDims FastGelu
        GatedRMSNorm GatherBlockQuantized GatherND GatherPacked Gelu GemmaRotaryEmbedding GridSample GroupNorm
        IsAllFinite LinearAttentionGate MRotaryEmbedding MaxpoolWithMask MulInteger MurmurHash3 NGramHashMapping
        NGramRepeatBlock NhwcMaxPool Pad QEmbedLayerNormalization QLinearAdd QLinearAveragePool
        QLinearConcat QLinearGlobalAveragePool QLinearLeakyRelu QLinearMul QLinearReduceMean QLinearSigmoid
        QLinearSoftmax QLinearWhere QOrderedGelu QOrderedLayerNormalization QuantizeBFP QuantizeLinear
        QuantizeWithOrder QuickGelu Range ReduceSumInteger RelativePositionBias RemovePadding RestorePadding
        RotaryEmbedding SampleOp ScaledSiLU SimplifiedLayerNormalization SkipGroupNorm
        SkipLayerNormalization SkipSimplifiedLayerNormalization Tokenizer TorchEmbedding Trilu UnfoldTensor
        Unique
        """
    ),
    "openvino": _names(
        """
        Abs Acos Acosh AdaptiveAvgPool AdaptiveMaxPool Add Asin Asinh Assign Atan Atanh AvgPool BGRtoNV12
        BatchNormInference BatchToSpace BitwiseAnd BitwiseLeftShift BitwiseNot BitwiseOr BitwiseRightShift
        BitwiseXor Broadcast Bucketize CTCGreedyDecoder CTCGreedyDecoderSeqLen CTCLoss Ceiling Clamp Col2Im
        Concat ConcatParts Const Convert ConvertLike ConvertPromoteTypes Cos Cosh CumSum
        DeformablePSROIPooling DepthToSpace DetectionOutput Divide Elu EmbeddingBagOffsets
        EmbeddingBagOffsetsSum EmbeddingBagPacked EmbeddingBagPackedSum EmbeddingSegmentsSum Equal Erf
        ErfInv Exp ExperimentalDetectronDetectionOutput ExperimentalDetectronGenerateProposalsSingleImage
        ExperimentalDetectronPriorGridGenerator ExperimentalDetectronROIFeatureExtractor
        ExperimentalDetectronTopKROIs ExtractImagePatches Eye FakeConvert FakeQuantize Floor FloorMod GRN
        Gather GatherElements GatherND GatherTree Gelu GenerateProposals Greater GreaterEqual GridSample
        GroupNormalization HSigmoid HSwish HardSigmoid I420toBGR I420toRGB Identity Interpolate IsFinite
        IsInf IsNaN LRN Less LessEqual Log LogSoftmax LogicalAnd LogicalNot LogicalOr LogicalXor MVN
        MatrixNms MaxPool Maximum Minimum Mish Mod MulticlassNms Multinomial Multiply NMSRotated NV12toBGR
        NV12toRGB Negative NonMaxSuppression NonZero NormalizeL2 NotEqual OneHot PReLU PSROIPooling Pad
        Power PriorBox PriorBoxClustered Proposal RGBtoNV12 ROIAlign ROIAlignRotated ROIPooling
        RandomUniform Range ReLU ReadValue ReduceL1 ReduceL2 ReduceLogicalAnd ReduceLogicalOr ReduceMax
        ReduceMean ReduceMin ReduceProd ReduceSum RegionYolo ReorgYolo Reshape Reverse ReverseSequence Roll
        Round ScatterElementsUpdate ScatterNDUpdate ScatterUpdate SearchSorted SegmentMax Select Selu
        ShapeOf ShuffleChannels Sigmoid Sign Sin Sinh Slice SliceScatter SoftMax SoftPlus SoftSign
        SpaceToBatch SpaceToDepth SparseFillEmptyRows Split Sqrt SquaredDifference Squeeze StridedSlice
        StringTensorPack StringTensorUnpack Subtract Swish Tan Tanh Tile TopK Transpose Unique Unsqueeze
        VariadicSplit Xor
        """
    ),
}
