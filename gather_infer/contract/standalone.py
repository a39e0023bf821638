"""Check feeds against the tables of a contract with numpy alone.

Generated guards contain this source, so it imports nothing of the package. A check takes one minimum and one maximum
per array; only arrays of objects are read element by element.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple
from warnings import warn

import numpy as np

_ML_DTYPES_SUFFIX = {"float8e8m0": "fnu", "float6e2m3": "fn", "float6e3m2": "fn", "float4e2m1": "fn"}
"""What ml_dtypes adds to ONNX's names of types: its name is `float4_e2m1fn`."""

Sizes = Mapping[str, int]
Size = Callable[[Sizes], int]
End = Size | None


class Input(NamedTuple):
    """A model input. `dims` holds, for each axis, the required size, or the name to which the size is bound.

    A `dtype` or `dims` of None is not checked.
    """

    dtype: str | None
    dims: tuple[int | str, ...] | None
    optional: bool


class Solved(NamedTuple):
    """The equation `size == factor*name + rest`, solved for `name`.

    `size` is the name of an axis, `needs` holds the names that `rest` reads, `text` is the whole dim.
    """

    needs: tuple[str, ...]
    size: str
    name: str
    factor: int
    rest: Size
    text: str


class Equal(NamedTuple):
    """The equation `size == dim`.

    `size` is the name of an axis, `needs` holds the names that `dim` reads, `text` is the dim.
    """

    needs: tuple[str, ...]
    size: str
    dim: Size
    text: str


class OfSizes(NamedTuple):
    """A condition on sizes; `needed` is False if it is only sufficient, so that a run that breaks it may succeed.

    `where` holds conditions on inputs of one element; the line applies when all of them hold.
    """

    line: int
    needs: tuple[str, ...]
    where: tuple[tuple[str, str, int], ...]
    holds: Callable[[Sizes], bool]
    text: str
    nodes: str
    needed: bool


class OfElements(NamedTuple):
    """A condition on the elements of an input: on all, or on those at index `column` of the last axis."""

    line: int
    input: str
    column: int | None
    needs: tuple[str, ...]
    low: End
    high: End
    text: str
    nodes: str
    needed: bool


class Tables(NamedTuple):
    """The compiled contract. `shown` maps names to their quoted forms, `ranges` integer types to their bounds."""

    inputs: Mapping[str, Input]
    solved: tuple[Solved, ...]
    equal: tuple[Equal, ...]
    sizes: tuple[OfSizes, ...]
    elements: tuple[OfElements, ...]
    shown: Mapping[str, str]
    ranges: Mapping[str, tuple[int, int]]


class Found(NamedTuple):
    """A violation; `line` is the position of the violated line, None when feeds do not fit the types of the inputs."""

    text: str
    input: str = ""
    line: int | None = None
    needed: bool = True


def violations(tables: Tables, feeds: Mapping[str, Any]) -> Iterator[Found]:
    """Yield every violation by `feeds`, which maps input names to arrays or nested lists."""
    for name in feeds:
        if name not in tables.inputs:
            yield Found(f"{name} is no input of the model", str(name))
    arrays: dict[str, Any] = {}
    sizes: dict[str, int] = {}
    for name, spec in tables.inputs.items():
        value = feeds.get(name)
        if name not in feeds:
            if not spec.optional:
                yield Found(f"{name} is missing", name)
        elif value is None:
            if spec.dtype is not None or not spec.optional:  # a runtime takes None for an optional type only
                yield Found(f"{name} is None", name)
        elif spec.dtype is not None:
            array, wrong = _array(tables, name, spec.dtype, value)
            if wrong:
                yield Found(f"{name}{wrong}", name)
            if array is None:
                continue
            if spec.dims is not None and array.ndim != len(spec.dims):
                yield Found(f"{name} must be of rank {len(spec.dims)}, is of rank {array.ndim}", name)
                continue
            arrays[name] = array
            yield from _named(tables, name, array.shape, sizes, arrays)
    yield from _solved(tables, sizes)
    for equal in tables.equal:
        wanted = _value(equal.dim, equal.needs, sizes) if equal.size in sizes else None
        if wanted is not None and wanted != sizes[equal.size]:
            at = _at(tables, equal.needs, sizes)
            yield Found(f"{equal.size} = {sizes[equal.size]}: must be {equal.text}{at}", _owner(equal.size))
    for line in tables.sizes:
        is_about = all(name in sizes for name in line.needs) and all(_is_so(arrays, *when) for when in line.where)
        if is_about and not _holds(line.holds, sizes):
            bound = ", ".join(f"{_shown(tables, name)} = {sizes[name]}" for name in line.needs)
            yield Found(f"{bound}: {_must(line.needed)} {line.text}{line.nodes}", "", line.line, line.needed)
    yield from _elements(tables, arrays, sizes)


def refusals(tables: Tables, feeds: Mapping[str, Any], *, strict: bool) -> list[str]:
    """The texts of the violations for which `feeds` are refused: those of necessary lines, or of all lines if `strict`.

    If there are none, issue a warning for each violated line that is not necessary.
    """
    found = list(violations(tables, feeds))
    refused = [each.text for each in found if each.needed or strict]
    for each in () if refused else found:
        warn(each.text, stacklevel=3)
    return refused


def _must(needed: bool) -> str:
    return "must be" if needed else "is known to work only for"


def _array(tables: Tables, name: str, dtype: str, value: Any) -> tuple[Any, str]:
    """`value` as an array, None when it cannot be converted; and the text of the error, empty when the type fits."""
    try:
        array = np.asarray(value)
    except (ValueError, TypeError, OverflowError, RuntimeError) as error:
        if isinstance(value, (list, tuple)):
            return None, ": its rows differ in length, or its elements are of several types"
        return None, f" is no array: {error}"
    if isinstance(value, (list, tuple, bool, int, float)):
        return _of_list(tables, dtype, array)
    if dtype == "string":
        return array, "" if _is_text(array) else f" must be string, is {array.dtype.name}"
    known = _dtype(dtype)
    if known is not None:
        fits = array.dtype == known
    else:
        fits = array.dtype.name.replace("_", "") in (dtype, dtype + _ML_DTYPES_SUFFIX.get(dtype, ""))
    if fits:
        return array, ""
    order = " in another byte order" if array.dtype.name == dtype else ""
    return array, f" must be {dtype}, is {array.dtype.name}{order}"


@cache
def _dtype(name: str) -> np.dtype[Any] | None:
    """The numpy type of a name; None for types that only ml_dtypes adds."""
    try:
        return np.dtype(name)
    except TypeError:
        return None


def _of_list(tables: Tables, dtype: str, array: Any) -> tuple[Any, str]:
    """As `_array`, for the array of a list, tuple or Python number, whose elements must be in the range of the type."""
    kind = array.dtype.kind
    if array.size == 0 and kind != "O":
        return array, ""
    if dtype == "string":
        return array, "" if _is_text(array) else f" must be string, is {array.dtype.name}"
    if dtype == "bool":
        return array, "" if kind == "b" else f" must be bool, is {array.dtype.name}"
    bounds = tables.ranges.get(dtype)
    if bounds is None:
        fits = kind in "iuf" or (kind == "c" and "complex" in dtype)
        return array, "" if fits else f" must be {dtype}, is {array.dtype.name}"
    if kind == "f" and not bool(np.all(np.isfinite(array) & (np.trunc(array) == array))):
        return array, f" must be {dtype}, has fractions"
    if kind not in "iuf":
        return array, f" must be {dtype}, is {array.dtype.name}"
    for value, outside in ((array.min(), int(array.min()) < bounds[0]), (array.max(), int(array.max()) > bounds[1])):
        if outside:
            return None, f"{_index(array, value)} = {int(value)}: must be {dtype}, which is {bounds[0]} to {bounds[1]}"
    return array.astype(np.int64 if bounds[0] < 0 else np.uint64) if kind == "f" else array, ""


def _is_text(array: Any) -> bool:
    return array.dtype.kind == "U" or (array.dtype.kind == "O" and all(isinstance(item, str) for item in array.flat))


def _named(
    tables: Tables, name: str, shape: tuple[int, ...], sizes: dict[str, int], arrays: Mapping[str, Any]
) -> Iterator[Found]:
    """Bind dim names to the sizes of one input; yield a violation for a size that differs from an earlier binding."""
    dims = tables.inputs[name].dims or ()
    for axis, (size, wanted) in enumerate(zip(shape, dims, strict=False)):  # no dims: unknown rank
        if isinstance(wanted, str):
            known = sizes.setdefault(wanted, size)
            if known != size:
                first = next(
                    f"{other}.{position}"
                    for other in arrays
                    for position, dim in enumerate(tables.inputs[other].dims or ())
                    if dim == wanted
                )
                text = f"must be {_shown(tables, wanted)}, which is {known} by {first}"
                yield Found(f"{name}.{axis} = {size}: {text}", name)
        elif wanted != size:
            yield Found(f"{name}.{axis} = {size}: must be {wanted}", name)


def _solved(tables: Tables, sizes: dict[str, int]) -> Iterator[Found]:
    """Bind the names that occur only in compound dims; yield a violation where no integer >= 0 solves the equation."""
    for solved in tables.solved:
        rest = _value(solved.rest, solved.needs, sizes) if solved.size in sizes else None
        if rest is not None:
            quotient, remainder = divmod(sizes[solved.size] - rest, solved.factor)
            if remainder or quotient < 0:
                text = f"{solved.size} = {sizes[solved.size]}: must be {solved.text}"
                yield Found(text, _owner(solved.size))
            else:
                sizes.setdefault(solved.name, quotient)


def _elements(tables: Tables, arrays: Mapping[str, Any], sizes: Sizes) -> Iterator[Found]:
    """Yield a violation for each violated line, with the smallest element if it is too small, else the largest."""
    # minima and maxima are cached by input and column, because several lines may bound the same elements
    parts: dict[tuple[str, int | None], Any] = {}
    least: dict[tuple[str, int | None], int] = {}
    most: dict[tuple[str, int | None], int] = {}
    for line in tables.elements:
        key = line.input, line.column
        if key not in parts:
            parts[key] = _part(arrays.get(line.input), line.column)
        part = parts[key]
        low = None if line.low is None else _value(line.low, line.needs, sizes)
        high = None if line.high is None else _value(line.high, line.needs, sizes)
        is_unknown = (line.low is not None and low is None) or (line.high is not None and high is None)
        if part is None or is_unknown:
            continue
        value = None
        if low is not None:
            if key not in least:
                least[key] = int(part.min())
            value = least[key] if least[key] < low else None
        if high is not None and value is None:
            if key not in most:
                most[key] = int(part.max())
            value = most[key] if most[key] > high else None
        if value is not None:
            where = _index(part, value, line.column)
            shown = str(bool(value)).lower() if part.dtype.kind == "b" else str(value)
            text = f"{_must(line.needed)} {line.text}{_at(tables, line.needs, sizes)}{line.nodes}"
            yield Found(f"{line.input}{where} = {shown}: {text}", line.input, line.line, line.needed)


def _part(array: Any, column: int | None) -> Any:
    """The integers or bools of an array, or of one column; None when there are none to check."""
    if array is None or array.dtype.kind not in "iub":
        return None
    if column is not None:
        if not array.ndim or array.shape[-1] <= column:
            return None
        array = array[..., column]
    return array if array.size else None


def _index(array: Any, value: Any, column: int | None = None) -> str:
    """The first index of `value` in `array`, as `[3, 17]`; empty for a scalar. `column` is appended if given."""
    index = [int(i) for i in np.unravel_index(int(np.argmax(array == value)), array.shape)]
    if column is not None:
        index.append(column)
    return f"[{', '.join(map(str, index))}]" if index else ""


def _value(size: Size, needs: tuple[str, ...], sizes: Sizes) -> int | None:
    """`size` evaluated at `sizes`; None when a name in `needs` is not bound or a divisor is 0."""
    if not all(name in sizes for name in needs):
        return None
    try:
        return size(sizes)
    except ZeroDivisionError:
        return None


def _holds(holds: Callable[[Sizes], bool], sizes: Sizes) -> bool:
    try:
        return holds(sizes)
    except ZeroDivisionError:
        return True  # the line does not apply where a divisor is 0


def _is_so(arrays: Mapping[str, Any], name: str, relation: str, number: int) -> bool:
    """Whether the only element of input `name` satisfies the relation; False for an input of several elements."""
    array = arrays.get(name)
    if array is None or array.size != 1 or array.dtype.kind not in "iub":
        return False
    element = int(array.reshape(-1)[0])
    if relation == "<":
        return element < number
    if relation == ">=":
        return element >= number
    return (element == number) is (relation == "==")


def _at(tables: Tables, names: tuple[str, ...], sizes: Sizes) -> str:
    """The sizes bound to `names`, as a suffix: `, seq = 5`."""
    return "".join(f", {_shown(tables, name)} = {sizes[name]}" for name in names)


def _shown(tables: Tables, name: str) -> str:
    return tables.shown.get(name, name)


def _owner(axis: str) -> str:
    """The name of the input of an axis: `mask` for `mask.1`."""
    return axis.rpartition(".")[0]
