"""Rules of ai.onnx.ml: classical models on rows of features.

Inputs are [N, C], N rows of C features; a 1-D input is one row. Where the page of
an operator does not specify the shape of a result, the rule infers the shape that onnxruntime returns.
"""

from __future__ import annotations

from collections.abc import Sequence

from gather_infer.access import Indexing
from gather_infer.errors import SpecViolation
from gather_infer.ops.onnx.gather import gather
from gather_infer.ops.semantics.indices import check_call, require_type
from gather_infer.ops.semantics.preconditions import refuse_empty, refuse_other_ranks, require_min_rank, require_rank
from gather_infer.rules import OpCall, RuleSet
from gather_infer.symbolic import Dim, product, total
from gather_infer.tensor import DType, MapType, SequenceType, Shape, SymbolicTensor, Value, format_shape

rules = RuleSet("ai.onnx.ml")

FEATURES = frozenset({DType.FLOAT32, DType.FLOAT64, DType.INT64, DType.INT32, DType.STRING})


# selection by index


@rules.rule("ArrayFeatureExtractor", since=1, addresses={1: 0}, checks_types=True, moves=0, gathers=True)
def array_feature_extractor(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx_aionnxml_ArrayFeatureExtractor.html

    Gather along the last axis. The indices Y, of any rank, are flattened; a negative index is out of bounds.

    X       [..., s]
    Y       n elements in [0, s - 1]
    result  [..., n]; [1, n] for a 1-D X, as in onnxruntime and in onnx's shape inference
    """
    check_call(op, inputs=2, attributes=())
    data, indices = op.tensor(0), op.tensor(1)
    require_type(data, FEATURES, "X")
    require_min_rank(data.shape, 1, "X")
    require_type(indices, frozenset({DType.INT64}), "Y", code="GI308")
    taken = gather(op, data, indices, axis=-1, indexing=Indexing(from_end=False))
    if data.shape is None:
        return [taken]
    refuse_empty(op, *(indices.shape or ()))
    n: Dim = op.fresh("the rank of Y is not known") if indices.shape is None else product(indices.shape)
    shape = (1, n) if len(data.shape) == 1 else (*data.shape[:-1], n)
    values = None if taken.values is None else taken.values.reshape([d for d in shape if isinstance(d, int)])
    return [taken.with_(shape=shape, values=values)]


# elementwise operators


def _features(x: SymbolicTensor) -> Dim | None:
    """The number of features C of `x`, [N, C] or [C]; None when its rank is unknown or neither 1 nor 2."""
    return x.shape[-1] if x.shape is not None and len(x.shape) in (1, 2) else None


def _require_columns(op: OpCall, count: int, of: str) -> None:
    """Require that input 0, X, has `count` features; `of` is the name of the attribute that determines `count`."""
    features = _features(op.tensor(0))
    if features is not None:
        op.require((features, "==", count), otherwise=f"X must have {count} features for {of}, has {features}")


@rules.rule("Binarizer")
@rules.rule("Imputer")
def same_type(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx_aionnxml_Binarizer.html, onnx_aionnxml_Imputer.html

    X -> element type and shape of X
    """
    x = op.tensor(0)
    return [SymbolicTensor(x.dtype, x.shape)]


@rules.rule("Normalizer")
@rules.rule("Scaler")
def to_float(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx_aionnxml_Normalizer.html, onnx_aionnxml_Scaler.html

    The result is float32, in the shape of X. Attributes offset and scale of Scaler hold one number, or one per feature.
    """
    if op.op_type == "Normalizer":
        refuse_other_ranks(op, op.tensor(0).shape, (1, 2), "X")
    for name in ("offset", "scale"):
        if op.op_type == "Scaler" and len(op.attr(name, ())) > 1:
            _require_columns(op, len(op.attr(name)), name)
    return [SymbolicTensor(DType.FLOAT32, op.tensor(0).shape)]


@rules.rule("CategoryMapper")
def category_mapper(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx_aionnxml_CategoryMapper.html: maps strings to integers or vice versa

    Raises SpecViolation unless `cats_int64s` and `cats_strings` are nonempty and have the same length.
    """
    integers, strings = op.attr("cats_int64s", ()), op.attr("cats_strings", ())
    if not integers or len(integers) != len(strings):
        raise SpecViolation(
            f"cats_int64s and cats_strings must be pairs, have {len(integers)} and {len(strings)} elements", "GI106"
        )
    return [_mapped(op.tensor(0))]


def _mapped(x: SymbolicTensor) -> SymbolicTensor:
    other = {DType.STRING: DType.INT64, DType.INT64: DType.STRING}
    return SymbolicTensor(None if x.dtype is None else other.get(x.dtype), x.shape)


@rules.rule("LabelEncoder", since=1)
def label_encoder_1(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx_aionnxml_LabelEncoder.html (version 1: strings to indices or vice versa)"""
    return [_mapped(op.tensor(0))]


@rules.rule("LabelEncoder", since=2)
def label_encoder(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx_aionnxml_LabelEncoder.html

    Version 2 has attributes for keys and values; version 4 adds tensor attributes.

    Raises SpecViolation when not exactly one `values_*` attribute is given, or `default_tensor` does not have one
    element of the type of the values.
    """
    x = op.tensor(0)
    values = op.attr("values_tensor")
    types = {"values_strings": DType.STRING, "values_int64s": DType.INT64, "values_floats": DType.FLOAT32}
    given = [name for name in (*types, "values_tensor") if op.attr(name) is not None]
    if len(given) != 1:
        raise SpecViolation(f"exactly one values attribute must be given, found {', '.join(given) or 'none'}", "GI106")
    dtype = values.dtype if isinstance(values, SymbolicTensor) else types.get(given[0])
    default = op.attr("default_tensor")
    if isinstance(default, SymbolicTensor) and dtype is not None and default.dtype != dtype:
        raise SpecViolation(f"default_tensor must be {dtype} like the values, is {default.dtype}", "GI106")
    if isinstance(default, SymbolicTensor) and default.shape is not None and product(default.shape) != 1:
        raise SpecViolation(f"default_tensor must have one element, has shape {format_shape(default.shape)}", "GI106")
    return [SymbolicTensor(dtype, x.shape)]


@rules.rule("OneHotEncoder")
def one_hot_encoder(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx_aionnxml_OneHotEncoder.html

    X       any shape
    result  X.shape + [number of categories], float32
    """
    x = op.tensor(0)
    count = _exactly_one(op, "cats_int64s", "cats_strings")
    if not op.attr("zeros", 1):
        op.add_unchecked("whether every element is a category is known only at run time")
    return [SymbolicTensor(DType.FLOAT32, None if x.shape is None else (*x.shape, count))]


def _exactly_one(op: OpCall, *names: str) -> int:
    """The length of the one attribute of `names` that is present. Raises SpecViolation when none or several are."""
    given = [name for name in names if op.attr(name) is not None]
    if len(given) != 1:
        found = ", ".join(given) or "none"
        raise SpecViolation(f"exactly one of {' and '.join(names)} must be given, found {found}", "GI106")
    return len(op.attr(given[0]))


# models on rows


def rows(op: OpCall, x: SymbolicTensor) -> Dim:
    """The number of rows of `x`: N for [N, C], 1 for [C], a new symbol for an unknown rank.

    Raises SpecViolation for a scalar.
    """
    if x.shape is None:
        return op.fresh("the rank of the input is not known")
    require_min_rank(x.shape, 1, "X")
    return 1 if len(x.shape) == 1 else x.shape[0]


@rules.rule("LinearRegressor")
def linear_regressor(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx_aionnxml_LinearRegressor.html: the result is [N, targets], float32"""
    refuse_other_ranks(op, op.tensor(0).shape, (1, 2), "X")
    _require_coefficients(op, op.attr("targets", 1))
    return [SymbolicTensor(DType.FLOAT32, (rows(op, op.tensor(0)), max(0, op.attr("targets", 1))))]


def _require_coefficients(op: OpCall, each: int) -> None:
    """Require that attribute `coefficients`, if present, has at least `each` numbers per feature of X."""
    features, coefficients = _features(op.tensor(0)), op.attr("coefficients", ())
    if features is not None and coefficients and each > 0:
        message = f"there must be {each} coefficients for each of {features} features, are {len(coefficients)}"
        op.require((features * each, "<=", len(coefficients)), otherwise=message)


def _require_vectors(op: OpCall, count: int) -> None:
    """Require that X has as many features as one of the `count` support vectors has components.

    When `count` is 0, X must have as many features as `coefficients` has numbers per class.
    """
    vectors = op.attr("support_vectors", ())
    if count > 0 and vectors:
        _require_columns(op, len(vectors) // count, "support_vectors")
    elif count == 0 and op.attr("coefficients", ()):
        classes = len(op.attr("classlabels_ints", ()) or op.attr("classlabels_strings", ())) or 1
        _require_columns(op, len(op.attr("coefficients", ())) // classes, "coefficients")


@rules.rule("SVMRegressor")
def svm_regressor(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx_aionnxml_SVMRegressor.html: the result is [N, 1], float32"""
    refuse_other_ranks(op, op.tensor(0).shape, (1, 2), "X")
    _require_vectors(op, op.attr("n_supports", 0))
    return [SymbolicTensor(DType.FLOAT32, (rows(op, op.tensor(0)), 1))]


@rules.rule("TreeEnsembleRegressor")
def tree_ensemble_regressor(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx_aionnxml_TreeEnsembleRegressor.html: the result is [N, n_targets], float32"""
    n = rows(op, op.tensor(0))
    _require_tree_features(op)
    targets = op.attr("n_targets")
    size: Dim = op.fresh("n_targets is not given") if targets is None else max(0, targets)
    return [SymbolicTensor(DType.FLOAT32, (n, size))]


def _require_tree_features(op: OpCall) -> None:
    """Require that X has every feature that an inner tree node compares, by its index in `nodes_featureids`."""
    features, modes = op.attr("nodes_featureids", ()), op.attr("nodes_modes", ())
    if len(features) == len(modes):
        inner = [feature for feature, mode in zip(features, modes, strict=True) if mode != "LEAF"]
        _require_features(op, op.tensor(0), inner)


@rules.rule("TreeEnsemble", since=5)
def tree_ensemble(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx_aionnxml_TreeEnsemble.html

    X       [N, F]
    result  [N, n_targets], element type of X

    Raises SpecViolation when attributes of the nodes differ in length, attributes of the leaves differ in length, or
    `nodes_splits` or `leaf_weights` has another element type than X.
    """
    x = op.tensor(0)
    n = rows(op, x)
    _same_length(op, "nodes_splits", "nodes_featureids", "nodes_modes", "nodes_truenodeids", "nodes_falsenodeids",
                 "nodes_trueleafs", "nodes_falseleafs")  # fmt: skip
    _same_length(op, "leaf_targetids", "leaf_weights")
    for name in ("nodes_splits", "leaf_weights"):
        numbers = op.attr(name)
        if isinstance(numbers, SymbolicTensor) and x.dtype is not None and numbers.dtype != x.dtype:
            raise SpecViolation(f"{name} must be {x.dtype} like X, is {numbers.dtype}", "GI106")
    _require_features(op, x, op.attr("nodes_featureids", ()))
    targets = op.attr("n_targets")
    size: Dim = op.fresh("n_targets is not given") if targets is None else max(0, targets)
    return [SymbolicTensor(x.dtype, (n, size))]


def _require_features(op: OpCall, x: SymbolicTensor, features: Sequence[int]) -> None:
    """Require that every index in `features` is below the number of features C of `x`, [N, C] or [C]."""
    if x.shape is not None and len(x.shape) in (1, 2) and features:
        most, count = max(features), x.shape[-1]
        op.require((most + 1, "<=", count), otherwise=f"X must have more than {most} features, has {count}")


def _same_length(op: OpCall, *names: str) -> None:
    """Raise SpecViolation when two of the attributes `names`, each a list or a 1-D tensor, differ in length."""
    lengths: dict[str, object] = {}
    for name in names:
        given = op.attr(name)
        if isinstance(given, SymbolicTensor) and given.shape is not None and len(given.shape) == 1:
            lengths[name] = given.shape[0]
        elif isinstance(given, tuple):
            lengths[name] = len(given)
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise SpecViolation(f"the attributes must have one length, have {listed}", "GI106")


@rules.rule("LinearClassifier")
@rules.rule("SVMClassifier")
@rules.rule("TreeEnsembleClassifier")
def classifier(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx_aionnxml_LinearClassifier.html,
    onnx_aionnxml_SVMClassifier.html, onnx_aionnxml_TreeEnsembleClassifier.html

    X       [N, C]
    labels  [N], strings if attribute classlabels_strings is present, else int64
    scores  [N, K], float32; K depends on the kind of model and may be a new symbol
    """
    n = rows(op, op.tensor(0))
    if op.op_type == "TreeEnsembleClassifier":
        _require_tree_features(op)
    elif op.op_type == "LinearClassifier":
        _require_coefficients(op, len(op.attr("intercepts", ())))
    else:
        _require_vectors(op, sum(op.attr("vectors_per_class", ())))
    integers = op.attr("classlabels_ints", ()) or op.attr("classlabels_int64s", ())
    strings = op.attr("classlabels_strings", ())
    scores = _scores(op, len(strings) or len(integers))
    columns = op.fresh("how many scores there are depends on the kind of model") if scores is None else scores
    labels = SymbolicTensor(DType.STRING if strings else DType.INT64, (n,))
    return [labels, SymbolicTensor(DType.FLOAT32, (n, columns))][: len(op.outputs)]


def _scores(op: OpCall, labels: int) -> int | None:
    """The number of scores per row of a classifier with `labels` class labels.

    TreeEnsembleClassifier  `labels`, if it is at least 2
    LinearClassifier        one per intercept; 2 for two labels with one intercept
    SVMClassifier           C = len(vectors_per_class) >= 2: C if C = 2 or prob_a is present, else C*(C - 1)/2

    None in all other cases: the page does not specify the number, and onnxruntime rejects the model.
    """
    match op.op_type:
        case "TreeEnsembleClassifier":
            return labels if labels > 1 else None
        case "LinearClassifier":
            rows = len(op.attr("intercepts", ()))
            return 2 if rows == 1 and labels == 2 else rows or None
    classes = len(op.attr("vectors_per_class", ()))
    if classes <= 2 or op.attr("prob_a", ()):
        return classes if classes > 1 else None
    return classes * (classes - 1) // 2


# maps and vectors


CAST_MAP = {"TO_FLOAT": DType.FLOAT32, "TO_STRING": DType.STRING, "TO_INT64": DType.INT64}


@rules.rule("CastMap")
def cast_map(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx_aionnxml_CastMap.html

    result  [1, n] for a map with n entries; [1, max_map] when map_form is SPARSE
    """
    _require_map(op)
    target = op.attr("cast_to", "TO_FLOAT")
    if target not in CAST_MAP:
        raise SpecViolation(f"cast_to must be one of {', '.join(CAST_MAP)}, is {target!r}", "GI106")
    is_sparse = op.attr("map_form", "DENSE") == "SPARSE"
    n: Dim = max(0, op.attr("max_map", 1)) if is_sparse else op.fresh("the number of entries of the map")
    return [SymbolicTensor(CAST_MAP[target], (1, n))]


@rules.rule("DictVectorizer")
def dict_vectorizer(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx_aionnxml_DictVectorizer.html: the result is [1, length of the vocabulary]"""
    mapping = _require_map(op)
    count = _exactly_one(op, "int64_vocabulary", "string_vocabulary")
    value = mapping.value if mapping is not None else None
    return [SymbolicTensor(value.dtype if isinstance(value, SymbolicTensor) else None, (1, count))]


def _require_map(op: OpCall) -> MapType | None:
    """The type of input 0, a map; None when it is unknown. Raises SpecViolation (GI211) when input 0 is not a map."""
    value = op.value(0)
    if isinstance(value, MapType):
        return value
    if value != SymbolicTensor():
        raise SpecViolation(f"input 0 must be a map, is {value}", "GI211")
    return None


@rules.rule("FeatureVectorizer")
def feature_vectorizer(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx_aionnxml_FeatureVectorizer.html

    Xi      [N, Ci], or [Ci] for one row
    result  [N, C0 + C1 + ...], float32; attribute `inputdimensions`, if present, holds the Ci

    Raises SpecViolation when `inputdimensions` does not have one element per input.
    """
    tensors = [op.tensor(i) for i in range(len(op.inputs))]
    widths: Sequence[int] | None = op.attr("inputdimensions")
    if widths is not None and len(widths) != len(tensors):
        raise SpecViolation(f"inputdimensions must have {len(tensors)} elements, has {len(widths)}", "GI106")
    n: Dim | None = None
    columns: list[Dim] = []
    for i, x in enumerate(tensors):
        if x.shape is not None:
            require_min_rank(x.shape, 1, f"input {i}")
            found: Dim = 1 if len(x.shape) == 1 else x.shape[0]
            n = found if n is None else op.require_equal(n, found, "the rows of the inputs")
        if widths is not None:
            columns.append(max(0, widths[i]))
        elif x.shape is not None and len(x.shape) <= 2:
            columns.append(x.shape[-1])
        else:
            columns.append(op.fresh("the number of features of an input is not known"))
    if n is None:
        n = op.fresh("the rank of the input is not known")
    refuse_empty(op, n)
    return [SymbolicTensor(DType.FLOAT32, (n, total(columns)))]


@rules.rule("ZipMap")
def zip_map(op: OpCall) -> list[Value]:
    """https://onnx.ai/onnx/operators/onnx_aionnxml_ZipMap.html

    X       [N, C], or [C] for one row; C is the number of class labels
    result  a sequence of N maps from label to float32
    """
    x = op.tensor(0)
    count = _exactly_one(op, "classlabels_int64s", "classlabels_strings")
    shape: Shape | None = x.shape
    require_rank(shape, (1, 2), "X")
    if shape is not None:
        message = f"there must be {shape[-1]} class labels, as many as scores in a row, found {count}"
        op.require((shape[-1], "==", count), otherwise=message)
    key = DType.STRING if op.attr("classlabels_strings") is not None else DType.INT64
    length = None if shape is None else 1 if len(shape) == 1 else shape[0]
    return [SequenceType(MapType(key, SymbolicTensor(DType.FLOAT32, ())), length)]
