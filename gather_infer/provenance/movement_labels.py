"""The axis labels of operators that move elements, and of selections along an axis.

An axis from which elements are taken, or along which tensors are joined, has no shared label: the index changes. If the
whole axis is taken, the label is shared.
"""

from __future__ import annotations

from gather_infer.provenance.axis_labels import AxisLabels, Label, Labels, Role, broadcast_labels, labels, own
from gather_infer.provenance.row_step import RowStep

TAKES = "takes rows by their numbers"


def parameters(step: RowStep) -> tuple[Role, ...]:
    return tuple(Role.SHAPE for _ in step.inputs[1:])


@labels("Transpose")
def transpose(step: RowStep) -> AxisLabels | None:
    rank = step.rank(0)
    if rank is None:
        return None
    x = broadcast_labels(rank)
    order = step.integers("perm") or tuple(reversed(range(rank)))
    if sorted(order) != list(range(rank)):
        return None
    return AxisLabels((x,), (tuple(x[axis] for axis in order),), moves=True)


@labels("Squeeze")
def squeeze(step: RowStep) -> AxisLabels | None:
    shape, made = step.shape(0), step.result(0).shape
    if shape is None or made is None:
        return None
    axes = step.integers("axes") or (step.integers_of(1) if step.has(1) else None)
    if axes is None:
        if step.has(1) or not all(isinstance(dim, int) for dim in shape):
            return None
        axes = tuple(axis for axis, dim in enumerate(shape) if dim == 1)
    gone = {axis % len(shape) for axis in axes}
    x = broadcast_labels(len(shape))
    if any(shape[axis] != 1 for axis in gone) or len(made) != len(shape) - len(gone):
        return None
    return AxisLabels((x, *parameters(step)), (tuple(x[a] for a in range(len(x)) if a not in gone),), moves=True)


@labels("Unsqueeze")
def unsqueeze(step: RowStep) -> AxisLabels | None:
    rank, made = step.rank(0), step.result(0).rank
    axes = step.integers("axes") or (step.integers_of(1) if step.has(1) else None)
    if rank is None or made is None or axes is None:
        return None
    new = {axis % made for axis in axes}
    if len(new) != made - rank:
        return None
    x = broadcast_labels(rank)
    rest = iter(x)
    found = tuple(own("new", axis) if axis in new else next(rest) for axis in range(made))
    return AxisLabels((x, *parameters(step)), (found,), moves=True)


@labels("Expand")
def expand(step: RowStep) -> AxisLabels | None:
    """To the shape of the result, whatever gave it; an axis of size 1 is repeated."""
    shape, made = step.shape(0), step.result(0).shape
    if shape is None or made is None:
        return None
    x, y = broadcast_labels(len(shape)), broadcast_labels(len(made))
    new = frozenset(y[: len(y) - len(x)])
    return AxisLabels((x, *parameters(step)), (y,), moves=True, flat=new)


@labels("Tile")
def tile(step: RowStep) -> AxisLabels | None:
    """An axis whose size stays is not repeated."""
    shape, made = step.shape(0), step.result(0).shape
    if shape is None or made is None or len(made) != len(shape) or step.version < 6:
        return None
    x = broadcast_labels(len(shape))
    y = tuple(label if made[axis] == shape[axis] else own("repeated", axis) for axis, label in enumerate(x))
    return AxisLabels((x, *parameters(step)), (y,))


@labels("Slice")
def slices(step: RowStep) -> AxisLabels | None:
    """An axis is taken as a whole if its size stays and the step is 1."""
    shape, made = step.shape(0), step.result(0).shape
    if shape is None or made is None or len(made) != len(shape):
        return None
    steps = stepped_axes(step, len(shape))
    if steps is None:
        return None
    x = broadcast_labels(len(shape))
    y = tuple(
        label if shape[axis] == made[axis] and axis not in steps else own("sliced", axis)
        for axis, label in enumerate(x)
    )
    return AxisLabels(
        (x, *(Role.PARAMETER if y != x else Role.SHAPE for _ in step.inputs[1:])), (y,), moves=True, action=TAKES
    )


def stepped_axes(step: RowStep, rank: int) -> set[int] | None:
    """The axes that a Slice takes in steps other than 1; None if they are not known."""
    if step.version < 10 or not step.has(4):
        return set()
    found = step.integers_of(4)
    axes = step.integers_of(3) if step.has(3) else tuple(range(len(found or ())))
    if found is None or axes is None or len(axes) != len(found):
        return None
    return {axis % rank for axis, by in zip(axes, found, strict=True) if by != 1 and -rank <= axis < rank}


@labels("Split")
def split(step: RowStep) -> AxisLabels | None:
    rank = step.rank(0)
    axis = None if rank is None else step.axis(rank)
    if rank is None or axis is None:
        return None
    x = broadcast_labels(rank)
    parts = [(*x[:axis], own("part", output), *x[axis + 1 :]) for output in step.outputs]
    return AxisLabels((x, *(Role.PARAMETER for _ in step.inputs[1:])), tuple(parts), action=TAKES)


@labels("Concat")
def concat(step: RowStep) -> AxisLabels | None:
    rank = step.rank(0)
    axis = None if rank is None else step.axis(rank, 1)
    if rank is None or axis is None or any(step.rank(index) != rank for index in step.inputs):
        return None
    x = broadcast_labels(rank)
    if len(step.inputs) == 1:
        return AxisLabels((x,), (x,), moves=True)
    inputs: list[Labels | Role] = [(*x[:axis], own("part", index), *x[axis + 1 :]) for index in step.inputs]
    return AxisLabels(tuple(inputs), ((*x[:axis], own("joined"), *x[axis + 1 :]),), action="joins rows")


@labels("Pad")
def pad(step: RowStep) -> AxisLabels | None:
    """An axis without padding is taken as a whole."""
    rank = step.rank(0)
    if rank is None or step.version < 2:
        return None
    widths = step.integers_of(1) if step.version >= 11 else step.integers("pads")
    axes = step.integers_of(3) if step.has(3) else tuple(range(rank))
    if widths is None or axes is None or len(widths) != 2 * len(axes):
        if step.version < 11 or step.has(3):
            return None
        found = step.elements(1)  # symbolic widths
        if found is None or len(found) != 2 * rank:
            return None
        padded = {axis for axis in range(rank) if found[axis] != 0 or found[axis + rank] != 0}
    else:
        half = len(axes)
        padded = {axes[i] % rank for i in range(half) if widths[i] or widths[i + half]}
    x = broadcast_labels(rank)
    y = tuple(own("padded", axis) if axis in padded else label for axis, label in enumerate(x))
    return AxisLabels((x, *(Role.PARAMETER for _ in step.inputs[1:])), (y,), action="adds rows")


@labels("TopK")
def top_k(step: RowStep) -> AxisLabels | None:
    rank = step.rank(0)
    axis = None if rank is None else step.axis(rank, -1)
    if rank is None or axis is None:
        return None
    x = broadcast_labels(rank)
    y = (*x[:axis], own("top"), *x[axis + 1 :])
    return AxisLabels((x, *(Role.PARAMETER for _ in step.inputs[1:])), tuple(y for _ in step.outputs))


@labels("OneHot")
def one_hot(step: RowStep) -> AxisLabels | None:
    rank = step.rank(0)
    axis = None if rank is None else step.axis(rank + 1, -1)
    if rank is None or axis is None:
        return None
    x = broadcast_labels(rank)
    return AxisLabels((x, Role.PARAMETER, Role.PARAMETER), ((*x[:axis], own("hot"), *x[axis:]),))


@labels("Trilu")
def trilu(step: RowStep) -> AxisLabels | None:
    """Zeros on one side of a diagonal of the last two axes: their numbers matter."""
    rank = step.rank(0)
    if rank is None or rank < 2:
        return None
    x = broadcast_labels(rank)
    return AxisLabels((x, *(Role.PARAMETER for _ in step.inputs[1:])), (x,), frozenset(x[-2:]))


@labels("Resize Upsample")
def resize(step: RowStep) -> AxisLabels | None:
    """An axis whose size stays, and whose scale is 1, is taken as a whole."""
    shape, made = step.shape(0), step.result(0).shape
    if shape is None or made is None or len(made) != len(shape) or step.op_type == "Upsample" or step.version < 11:
        return None
    if step.text("coordinate_transformation_mode") == "tf_crop_and_resize":
        return None
    if step.text("keep_aspect_ratio_policy", "stretch") != "stretch":
        return None
    scaled: set[int] = set()
    if step.has(2) and step.fact(2).shape != (0,):
        axes = step.integers("axes") or tuple(range(len(shape)))
        scales = step.fact(2).values
        numbers = step.constant(2) if scales is None else scales
        if numbers is None or numbers.size != len(axes):
            return None
        scaled = {
            axis % len(shape) for axis, scale in zip(axes, numbers.reshape(-1).tolist(), strict=True) if scale != 1
        }
    x = broadcast_labels(len(shape))
    y = tuple(
        label if made[axis] == shape[axis] and axis not in scaled else own("resized", axis)
        for axis, label in enumerate(x)
    )
    others = [Role.PARAMETER if index == 2 and step.fact(2).shape != (0,) else Role.SHAPE for index in step.inputs[1:]]
    return AxisLabels((x, *others), (y,))


@labels("ReverseSequence")
def reverse_sequence(step: RowStep) -> AxisLabels | None:
    rank = step.rank(0)
    batch, time = step.integer("batch_axis", 1), step.integer("time_axis", 0)
    if rank is None or rank < 2 or {batch, time} != {0, 1}:
        return None
    x: list[Label] = list(broadcast_labels(rank))
    return AxisLabels((tuple(x), (x[batch],)), (tuple(x),), frozenset({x[time]}))


@labels("GatherElements")
def gather_elements(step: RowStep) -> AxisLabels | None:
    """Along one axis; the sizes of the others have to be equal to count as the same."""
    found = _of_elements(step, "data")
    if found is None:
        return None
    axis, x, data = found
    indices = (*x[:axis], own("taken"), *x[axis + 1 :])
    return AxisLabels((data, indices), (indices,))


@labels("ScatterElements")
def scatter_elements(step: RowStep) -> AxisLabels | None:
    found = _of_elements(step, "written")
    if found is None:
        return None
    _, x, written = found
    mixed = frozenset(label for label, other in zip(x, written, strict=True) if label != other)
    return AxisLabels((x, written, written), (x,), mixed)


def _of_elements(step: RowStep, name: str) -> tuple[int, tuple[Label, ...], tuple[Label, ...]] | None:
    """The axis of an operator on elements, the labels of all axes, and those of the operand that may be of other sizes.

    Its labels are its own, called `name`, at that axis and where the sizes of data and indices are not equal.
    """
    data, indices = step.shape(0), step.shape(1)
    if data is None or indices is None or len(data) != len(indices):
        return None
    axis = step.axis(len(data))
    if axis is None:
        return None
    x = tuple(broadcast_labels(len(data)))
    differ = (a == axis or data[a] != indices[a] for a in range(len(x)))
    return axis, x, tuple(own(name, a) if is_own else x[a] for a, is_own in enumerate(differ))


@labels("Gather")
def gather(step: RowStep) -> AxisLabels | None:
    rank, count = step.rank(0), step.rank(1)
    axis = None if rank is None else step.axis(rank)
    if rank is None or count is None or axis is None:
        return None
    x = broadcast_labels(rank)
    y: Labels = tuple(("index", a) for a in range(count))
    data = (*x[:axis], own("data"), *x[axis + 1 :])
    return AxisLabels((data, y), ((*x[:axis], *y, *x[axis + 1 :]),), selected=frozenset({own("data")}), action=TAKES)


@labels("GatherND")
def gather_nd(step: RowStep) -> AxisLabels | None:
    shape, places = step.shape(0), step.shape(1)
    if shape is None or not places:
        return None
    batch, depth = step.integer("batch_dims"), places[-1]
    if not isinstance(depth, int) or batch < 0 or batch + depth > len(shape) or batch > len(places) - 1:
        return None
    shared: list[Label] = [("batch", a) for a in range(batch)]
    middle: list[Label] = [("index", a) for a in range(len(places) - 1 - batch)]
    rest: list[Label] = [("rest", a) for a in range(len(shape) - batch - depth)]
    indexed: list[Label] = [own("data", a) for a in range(depth)]
    inputs = (*shared, *indexed, *rest), (*shared, *middle, own("components"))
    return AxisLabels(inputs, ((*shared, *middle, *rest),), selected=frozenset(indexed), action=TAKES)


@labels("ScatterND")
def scatter_nd(step: RowStep) -> AxisLabels | None:
    shape, places = step.shape(0), step.shape(1)
    depth = places[-1] if places else None
    if shape is None or places is None or not isinstance(depth, int) or depth > len(shape):
        return None
    middle: list[Label] = [("index", a) for a in range(len(places) - 1)]
    rest: list[Label] = [("rest", a) for a in range(len(shape) - depth)]
    written: list[Label] = [("data", a) for a in range(depth)]
    data = (*written, *rest)
    inputs = data, (*middle, own("components")), (*middle, *rest)
    return AxisLabels(inputs, (data,), frozenset(written), action="writes rows by their numbers")
