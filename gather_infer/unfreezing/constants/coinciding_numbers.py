"""Constant numbers that are equal to an old length, or made of it, where no shape contradicts another length.

A score divided by the logarithm of the number of positions, the diagonal `n - 1` of a Trilu, the depth of a OneHot:
such a number follows the length, or is one of the network. The file does not tell which, so that the model is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from onnx import NodeProto

from gather_infer.tensor import SymbolicTensor
from gather_infer.unfreezing.factors.axis_factors import is_free
from gather_infer.unfreezing.indices.row_numbers import ADDRESSING, SCATTERING, SIZED_BY_OPERAND, addressed_dims

if TYPE_CHECKING:
    from gather_infer.unfreezing.walk import UnfreezingWalk

Array = np.ndarray[Any, Any]

_SCALING: Final = frozenset({"Mul", "Div", "Pow"})
_ARITHMETIC: Final = _SCALING | {"Add", "Sub", "Mod", "Min", "Max", "Clip", "Less", "LessOrEqual", "Greater",
                                 "GreaterOrEqual", "Equal"}  # fmt: skip
_SMALLEST: Final = 5
_USUAL: Final = tuple(
    number**power for number in (2, 3, 4, 127.5, 128, 255) for power in ((1, -1, 0.5, -0.5) if number <= 4 else (1, -1))
)
"""Floats of most networks, such as the 0.5 of a GELU and the 255 of pixels, also where a size gives them, too."""
SMALLEST_INTEGER: Final = 3
_SMALLEST_BY_ONE: Final = 16
"""Of the last position as a float: 6 is that of 7, and a number of activations."""
_SMALLEST_OF_SEVERAL: Final = 8
_MOST_OF_SEVERAL: Final = 16
_MOST_POSITIONS: Final = 1 << 16


_STRIDES: Final = (8.0, 16.0, 32.0, 64.0)
"""Factors of coordinates in cells of a network over images. What makes them fractions of the image is a divisor."""


def number_of(array: Array | None) -> float | None:
    """The one number that a constant holds, once or in each element; None if there are several, or none."""
    if array is None or not array.size or array.dtype.kind not in "iuf":
        return None
    first = array.ravel()[0]
    return float(first) if np.isfinite(first) and (array == first).all() else None


def numbers_of(size: int) -> Iterator[float]:
    """Numbers that are made of a size: itself, its root, its logarithm, and their reciprocals."""
    for number in (float(size), float(np.sqrt(size)), float(np.log(size))):
        if number:
            yield from (number, 1 / number)


def is_one_of(number: float, told: Iterable[float]) -> bool:
    return bool(np.isclose(abs(number), [*told], rtol=1e-6, atol=0).any())


def problem_of_numbers(walk: UnfreezingWalk, node: NodeProto) -> str:
    """Why a number of a node may follow a length; "" if none does."""
    lengths = {name: size for name, size in walk.freed.items() if name not in walk.row_symbols and size > 1}
    if not lengths or walk.counterpart is not None or node.domain not in ("", "ai.onnx"):
        return ""
    sources = [*_sources_of_index(walk, node)]
    problems = (_problem_of_arithmetic(walk, each, lengths) for each in (node, *sources))
    problems_of_index = (_problem_of_index(walk, each, lengths) for each in sources)
    return next(filter(None, (*problems, *problems_of_index)), "") or _problem_of_places(walk, node, lengths)


def _sources_of_index(walk: UnfreezingWalk, node: NodeProto) -> Iterator[NodeProto]:
    """The nodes that compute an index from inputs without a freed size, of which a number keeps it in bounds."""
    if node.op_type not in ADDRESSING or len(node.input) < 2 or not addressed_dims(walk, node):
        return
    pending, seen = [node.input[1]], {node.input[1]}
    while pending:
        name = pending.pop()
        producer = walk.producer(name)
        if producer is None or not walk.environment.values.keys() >= {*filter(None, producer.output)}:
            continue
        if name not in walk.emitted:
            yield producer
        new = {name for name in producer.input if name and name not in walk.dependent} - seen
        pending += sorted(new)
        seen |= new


def _problem_of_index(walk: UnfreezingWalk, node: NodeProto, lengths: Mapping[str, int]) -> str:
    """Why a constant whose elements become positions in a length may hold the last one, or the length."""
    if node.op_type in _ARITHMETIC:
        return ""
    read = node.input[:1] if node.op_type in (*SIZED_BY_OPERAND, *ADDRESSING) else node.input
    if node.op_type in SCATTERING:
        read = [node.input[0], node.input[2]]
    told = {number for size in lengths.values() if size >= SMALLEST_INTEGER for number in (size, size - 1)}
    for array in (walk.array(name) for name in read if name):
        found = told.intersection(array.ravel().tolist()) if array is not None and array.dtype.kind in "iu" else ()
        if found:
            return f"reads positions with the number {min(found)}, which may follow the length"
    return ""


def _problem_of_arithmetic(walk: UnfreezingWalk, node: NodeProto, lengths: Mapping[str, int]) -> str:
    sizes = lengths.values()
    numbers = {float(a.f) for a in node.attribute if node.op_type == "Gemm" and a.name in ("alpha", "beta")}
    for at, name in enumerate(node.input if node.op_type in _ARITHMETIC else ()):
        array = walk.array(name) if name else None
        number = number_of(array)
        if array is not None and _begins_at_length(array, sizes):
            return f"reads numbers from {array.ravel()[0]:g} on, which may follow the length"
        if array is not None and number is None:
            found = _size_among(array, sizes)
            if found is not None:
                return f"reads the number {found:g} beside others, which may follow the length"
        if array is None or number is None:
            continue
        if array.dtype.kind == "f":
            numbers |= {number} if node.op_type in _SCALING else set()  # others are compared with sums and positions
        elif not _is_of_positions(walk, node, at):
            last = {size - 1 for size in sizes if size >= SMALLEST_INTEGER and node.op_type not in _SCALING}
            if abs(number) in last | {size for size in sizes if size >= SMALLEST_INTEGER}:
                return f"reads the number {number:g}, which may follow the length"
    images = {size for name, size in lengths.items() if name in walk.image_symbols}  # no score is scaled by their roots
    told_floats = [
        each for size in sizes if size >= _SMALLEST
        for each in ((size, 1 / size) if size in images else numbers_of(size))
    ]  # fmt: skip
    told_floats += [each for size in sizes if size >= _SMALLEST_BY_ONE for each in _numbers_of_ends(size)]
    large = [size for size in sizes if size >= _SMALLEST_OF_SEVERAL]
    told_floats += [one / other for one in large for other in large if one != other]
    usual = [*_USUAL, *_numbers_of_features(walk, node), *(_STRIDES if images and node.op_type == "Mul" else ())]
    for number in numbers:
        is_usual = is_one_of(number, usual)
        if told_floats and is_one_of(number, told_floats) and not is_usual:
            return f"reads the number {number:g}, which may follow the length"
    return ""


def _numbers_of_features(walk: UnfreezingWalk, node: NodeProto) -> list[float]:
    """Numbers that scale the products of features: roots of the sizes that stay, of the data and of a MatMul beside."""
    if node.op_type not in ("Mul", "Div"):
        return []
    beside = [producer for name in node.input if (producer := walk.producer(name)) is not None]
    names = [*node.input, *(name for each in beside if each.op_type == "MatMul" for name in each.input)]
    facts = [walk.environment.values.get(name) for name in names if name]
    shapes = [fact.shape or () for fact in facts if isinstance(fact, SymbolicTensor)]
    sizes = {dim for shape in shapes for dim in shape if isinstance(dim, int) and dim > 1}
    return [size**power for size in sizes for power in (0.5, -0.5, 0.25, -0.25)]


def reads_length(walk: UnfreezingWalk, node: NodeProto) -> bool:
    """Whether a node without a freed size reads positions from a length on, or scales by the sizes of an image."""
    sizes = {size for name, size in walk.freed.items() if name not in walk.row_symbols and size >= SMALLEST_INTEGER}
    if not sizes or walk.counterpart is not None or node.op_type not in _ARITHMETIC:
        return False
    arrays = [walk.array(name) for name in node.input if name]
    constants = [array for array in arrays if array is not None]
    if len(constants) == len(arrays):
        return False
    return any(
        _begins_at_length(array, sizes) or (number_of(array) is None and _size_among(array, sizes) is not None)
        for array in constants
    )


def _numbers_of_ends(size: int) -> list[float]:
    """The last position and the middle, by which coordinates are scaled."""
    last = size - 1
    return [last, 1 / last, last / 2, 2 / last, size / 2]


def _size_among(array: Array, sizes: Collection[int]) -> float | None:
    """The element of a few numbers that is made of a length, such as those that scale boxes; None if none is."""
    if array.dtype.kind not in "iuf" or not 1 < array.size <= _MOST_OF_SEVERAL:
        return None
    large = [size for size in sizes if size >= _SMALLEST_OF_SEVERAL]
    told = [each for size in large for each in (size, 1 / size, *_numbers_of_ends(size))]
    return next((float(each) for each in array.ravel() if told and is_one_of(float(each), told)), None)


def _begins_at_length(array: Array, sizes: Collection[int]) -> bool:
    """Whether whole numbers count from a length on, as positions after a past do."""
    numbers = array.ravel()
    if array.dtype.kind not in "iuf" or not 2 <= numbers.size <= _MOST_POSITIONS or numbers[0] not in sizes:
        return False
    return bool((numbers == numbers[0] + np.arange(numbers.size)).all())


def _is_of_positions(walk: UnfreezingWalk, node: NodeProto, at: int) -> bool:
    """Whether a number joins or parts positions, which are followed: `row*7 + column`, `index // 7`."""
    others = [name for place, name in enumerate(node.input) if place != at and name]
    return node.op_type in ("Mul", "Div", "Mod") and any(walk.positions.of(name) is not None for name in others)


def _problem_of_places(walk: UnfreezingWalk, node: NodeProto, lengths: dict[str, int]) -> str:
    """Why a number that cuts an axis of a length, or is the size of one, may follow it."""
    fact = walk.environment.values.get(node.input[0]) if node.input else None
    shape = (fact.shape or ()) if isinstance(fact, SymbolicTensor) else ()
    free = [axis for axis, dim in enumerate(shape) if is_free(dim, lengths)]
    attributes = {a.name: a for a in node.attribute}
    told = {number for size in lengths.values() for number in (size, size - 1) if number > 1}
    if node.op_type == "OneHot":
        number, held = number_of(walk.array(node.input[1])), walk.positions.of(node.input[0])
        is_of_network = held is not None and not any(is_free(factor, lengths) for factor in held)
        is_told = number in lengths.values() and not is_of_network
        return f"has {number:g} classes, which may follow the length" if is_told else ""
    if node.op_type in ("Loop", "Scan"):
        given = node.input[1:] if node.op_type == "Loop" else node.input
        states = [walk.array(name) for name in given if name]
        counts = [number_of(array) for array in states if array is not None and array.dtype.kind in "iu"]
        number = next((each for each in counts if each in told and max(lengths.values()) >= SMALLEST_INTEGER), None)
        return "" if number is None else f"begins with the number {number:g}, which may follow the length"
    if not free:
        return ""
    if node.op_type in ("Trilu", "EyeLike"):
        given = number_of(walk.array(node.input[1])) if len(node.input) > 1 and node.input[1] else None
        number = given if given is not None else float(attributes["k"].i) if "k" in attributes else 0.0
        return f"begins at diagonal {number:g}, which may follow the length" if abs(number) > 1 else ""
    if node.op_type == "Split":
        axis = (attributes["axis"].i if "axis" in attributes else 0) % len(shape)
        has_sizes = len(node.input) > 1 and node.input[1]
        count = len(node.output)
        is_one_each = axis in free and count > 1 and count in lengths.values() and not has_sizes
        return f"splits a length into {count} parts, which may follow it" if is_one_each else ""
    if node.op_type == "TopK":
        axis = (attributes["axis"].i if "axis" in attributes else -1) % len(shape)
        halves = {half for size in lengths.values() for half in (size // 2, (size + 1) // 2) if half > 1}
        number = number_of(walk.array(node.input[1]))
        is_part = axis in free and number in (told - set(lengths.values())) | halves
        return f"takes {number:g} positions, which may follow the length" if is_part else ""
    if node.op_type == "CenterCropPad":
        axes = [axis % len(shape) for axis in attributes["axes"].ints] if "axes" in attributes else range(len(shape))
        return "crops or pads a length to a number" if not set(axes).isdisjoint(free) else ""
    if node.op_type in ("DFT", "STFT") and len(node.input) > 1 and node.input[1]:
        number = number_of(walk.array(node.input[1]))
        return "" if number is None else f"reads {number:g} positions, which may follow the length"
    return ""
