# ruff: noqa: E501  (a fault per line)
"""Faults planted in `gather_infer.unfreezing`: its tests have to fail with each of them.

python -m tests.oracle.unfreezing_faults [--only N ...] [--first N] [--count N]
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.oracle.source_faults import Fault, FaultTable

TESTS: Final = (
    "tests/unfreezing/test_unfreeze.py",
    "tests/unfreezing/test_images.py",
    "tests/unfreezing/test_like.py",
    "tests/unfreezing/test_lengths.py",
)


FIRST: Final = {
    "other_places": ("tests/unfreezing/test_images.py",),
    "unknown_sizes": ("tests/unfreezing/test_images.py",),
    "windows": ("tests/unfreezing/test_images.py",),
    "counterpart": ("tests/unfreezing/test_like.py",),
    "explained_constants": ("tests/unfreezing/test_like.py",),
    "positions": ("tests/unfreezing/test_lengths.py",),
    "position_masks": ("tests/unfreezing/test_lengths.py",),
    "tables": ("tests/unfreezing/test_lengths.py",),
    "counts": ("tests/unfreezing/test_lengths.py",),
}
"""Module -> the tests that are most likely to fail with a fault in it."""

FAULTS: Final = tuple(
    Fault(*each)
    for each in (
        # walk
        ("walk", "if finding.severity is Severity.ERROR:", "if finding.severity is None:", "errors of a rule do not matter"),
        ("walk", "if self._is_broken(node, [(constraint.left, constraint.relation, constraint.right)]):", "if not constraint:", "constraints do not matter"),
        ("walk", "if self._is_broken(node, implied.any_of):", "if not implied:", "implied constraints do not matter"),
        ("walk", "        if wanted is not None:\n", "        if wanted is not None and not wanted:\n", "shapes decide where a Reshape has the size"),
        ("walk", "self.factors[name] = tuple(held[axis] for axis in perm)", "self.factors[name] = tuple(held)", "a Transpose keeps the order of the sizes"),
        ("walk", "return max(held, key=len, default=whole(dim))", "return whole(dim)", "merged axes are forgotten behind other operators"),
        ("walk", "            self._producers[name] = changed\n", "            pass\n", "copies are made of the nodes before their edits"),
        ("walk", "self.upper_bounds[name] = min(most - rest, self.upper_bounds.get(name, most - rest))", "self.upper_bounds[name] = max(most - rest, self.upper_bounds.get(name, 0)) + 1", "a table has a row more"),
        ("walk", "            found = found[first:] + found[:first]\n", "            pass\n", "the first place of a size of 1 is taken always"),
        ("walk", "if any(is_free(dim, self.freed) for dim in shape):\n", "if not shape:\n", "nodes in branches fit"),
        ("walk", "if [*values_of(map(dim_of, each), self.samples.other)] == [*values_of(other, self.samples.other)]", "if each", "the second model does not choose between places"),
        ("walk", "            inputs[position] = found\n        return self.with_inputs(node, inputs) if inputs else node", "        return node", "constants that differ are left as they are"),
        ("walk", "return not has_kernel_of_weights(self, node) or self.samples.broken(any_of, is_weight=True)", "return True", "a kernel of weights may not be as large as the image"),
        ("walk", " and self._image_of(tuple(map(dim_of, found[0]))) not in self._images:", ":", "tokens are not made an image again"),
        # axis_factors
        ("axis_factors", "    for factor in reversed([factor for axis in axes for factor in axis]):", "    for factor in [factor for axis in axes for factor in axis]:", "strides grow from the first axis"),
        ("axis_factors", "        if all(factors is not None for factors in found):\n", "        if found:\n", "a place that cuts a size is one"),
        ("axis_factors", "return not is_alone, axis != beside, is_last, not is_outermost, axis", "return axis", "the first axis that can hold a size does"),
        ("axis_factors", "digit.stride % strides[axis] == 0\n", "True\n", "a size can begin in the middle of an axis"),
        ("axis_factors", "sorted(digits, key=lambda each: -each.stride)", "sorted(digits, key=lambda each: each.stride)", "the innermost size of an axis is the first"),
        ("axis_factors", "return (*found, inner) if inner != 1 else tuple(found)", "return (inner, *found) if inner != 1 else tuple(found)", "a freed size is the innermost of its axis"),
        ("axis_factors", "return isinstance(dim, Expr) and not dim.symbols.isdisjoint(free)", "return isinstance(dim, Expr) and dim.is_symbol", "merged sizes are not free"),
        # constant_rows
        ("constant_rows", "if np.array_equal(split, np.broadcast_to(first, split.shape)):", "if split.size:", "all constants have equal rows"),
        ("constant_rows", "        if broadcasts:\n", "        if first.size:\n", "each operator broadcasts"),
        ("constant_rows", "return step if np.array_equal(rows, np.take(rows, [0], axis) + numbers * step) else None", "return step", "all integers are progressions"),
        ("constant_rows", "        if not (step == 1).all():\n", "        if step.size < 0:\n", "all progressions count by 1"),
        ("constant_rows", "        if first.any() or first.size > 1:\n", "        if first.size < 0:\n", "all progressions begin at 0"),
        ("position_masks", "        if any(not np.array_equal(diagonal[0], each) for each in diagonal[1:]):\n            return None\n", "", "all masks compare two positions"),
        ("position_masks", "[at - (array.shape[low] - 1) for at in changes]", "[at - array.shape[low] for at in changes]", "masks are one off"),
        ("position_masks", "return is_first if values[0] else walk.emit(\"Not\", [is_first])", "return is_first", "masks are those of small steps"),
        ("constant_rows", "or not dim.symbols.isdisjoint(walk.row_symbols):", "or dim.symbols.isdisjoint(walk.freed):", "rows of a batch are cut out of a table"),
        ("constant_rows", "        if len(dim.symbols) > 1 or not dim.symbols.isdisjoint(walk.image_symbols):\n            return None  # tables", "        if len(dim.symbols) > 2:\n            return None  # tables", "tables of images are cut"),
        ("constant_rows", "            walk.limit(each, array.shape[at])\n", "", "a table that is cut fits any length"),
        ("constant_rows", "found = walk.emit(\"Expand\", [walk.constant(first), walk.sizes.of_shape(shape)])", "found = walk.constant(first)", "rows are not repeated where the operator needs them"),
        ("constant_rows", "            if held is None or not is_known:\n", "            if held is None or walk.array(inputs[1]) is None:\n", "an Expand to computed sizes is not followed"),
        ("constant_rows", "return bool(np.isclose(numbers[..., None], told, rtol=1e-6, atol=0).any())", "return False", "equal rows do not depend on a length"),
        ("constant_rows", "if not np.array_equal(array, np.broadcast_to(first, array.shape)) or self._tells_size(first, dim):", "if self._tells_size(first, dim):", "all rows along two sizes are equal"),
        # unknown_sizes
        ("unknown_sizes", "self.walk.samples.add_length(name, old)", "pass", "a symbol has no old size"),
        ("unknown_sizes", "            if joined is not None and joined % len(operands[0]) == len(operands[0]) - axis:\n                continue\n", "", "sizes that are joined are equal"),
        ("unknown_sizes", " or list(values_of(mine, old)) != list(values_of(its, old)):", ":", "a size of 1 is equal to each other"),
        ("driver", "return walks[0], walks[0].unknown.fault\n\n", "return walks[0], None\n\n", "sizes of a Resize may be unknown"),
        # operand_edits
        ("operand_edits", "            again = with_row_numbers(walk, changed)\n", "            again = changed\n", "an edited node needs no row numbers"),
        ("operand_edits", "        if is_free(data.shape[-axis], walk.freed):\n", "        if not data.shape:\n", "an Expand keeps the old size"),
        ("operand_edits", "keeps=not any(a.name == \"allowzero\" and a.i for a in node.attribute)", "keeps=True", "a 0 keeps a size where allowzero is 1"),
        ("operand_edits", "                continue  # a weight\n", "                pass\n", "weights of a MatMul are edited"),
        ("operand_edits", "            continue  # it is not the size\n", "            pass\n", "constants that are equal in both models are edited"),
        # row_numbers
        ("row_numbers", "elif not (step in (1, -1) and", "elif not (True or", "any cut fits"),
        ("row_numbers", "if step == 1 and old and start in (0, -old) and (end == old or is_last):", "if step == 1 and old and start in (0, -old) and is_last:", "an end that is the old size stays"),
        ("row_numbers", "            if each.size == 1:\n", "            if each.size == 0:\n", "an index into merged rows needs no row number"),
        ("row_numbers", "        if found is None:\n            raise Blocked(\n", "        if found is None:\n            continue\n            raise Blocked(\n", "any constant index fits"),
        ("row_numbers", "return bool(((rows == 0) | (rows == -1)).all())", "return True", "any index of a length is one of an end"),
        ("row_numbers", "if len(found) == 1:  # with", "if found:  # with", "the first axis of sliding windows is that of positions"),
        ("row_numbers", "step[..., 0 if each.component is None else each.component] = each.stride\n    return walk.rows.numbered", "step[..., 0 if each.component is None else each.component] = 1\n    return walk.rows.numbered", "rows are one element apart"),
        ("row_numbers", "self.sized.update(name for name in node.output if name and walk.array(name) is None)", "self.sized.update(filter(None, node.output))", "known numbers are sizes"),
        ("row_numbers", "            found = walk.rows.with_rows(node.input[0], at, factors)\n            if found", "            found = node.input[0]\n            if found", "scattered data keep the old rows"),
        ("row_numbers", "starts, begins), 2:", "starts, starts), 2:", "a cut from minus the old size stays"),
        ("row_numbers", "walk.emit(\"Mul\", [walk.constant(outer.astype(np.int64)), walk.sizes.of_dim(each.dim)])", "walk.constant(outer.astype(np.int64))", "steps of the length are numbers"),
        # rows
        ("rows", "                if differing is not None:\n                    yield f\"output {name}, row", "                if differing is None:\n                    yield f\"output {name}, row", "equal rows are a fault"),
        ("rows", "mine = self._part(name, found[position], symbol, {symbol: size}, row)", "mine = self._part(name, found[position], symbol, {symbol: size}, 0)", "each row is compared with the first"),
        ("rows", "                faults += differing\n", "", "rows that differ are no fault"),
        ("rows", "                    return found._replace(faults=(why,))", "                    return found", "a difference from the second model is no fault"),
        # driver, counterpart, explained_constants, windows, samples
        ("driver", "placements[name] = placements.get(name, 0) + 1", "break", "no other place of a size of 1 is tried"),
        ("driver", "        if found.refused:\n            dropped[name] = found.why_refused\n", "        if found.blocked is None:\n            dropped[name] = found.why_refused\n", "sizes that are refused are kept"),
        ("driver", "    del copy.graph.value_info[:]\n", "", "declared sizes stay in the model that is walked"),
        ("requested_sizes", "if size == 1 and not is_of_rows(sites[symbol]) and not has_counterpart:", "if size == 0:", "a length of 1 is freed"),
        ("requested_sizes", "return all(site.axis == 0 for site in sites)", "return True", "each size is one of rows"),
        ("counterpart", "if self.pairs[one] != two:", "if not two:", "a value may have two counterparts"),
        ("counterpart", "if held[0].get(name) != held[1].get(name):", "if name not in held[0]:", "attributes may differ"),
        ("counterpart", "if (first.op_type, plain_domain(first.domain)) != (second.op_type, plain_domain(second.domain)):", "if plain_domain(first.domain) != plain_domain(second.domain):", "operators may differ"),
        ("counterpart", "if places[0] != places[1]:", "if places[0] is None and places[1] is not None:", "inputs may be exchanged"),
        ("explained_constants", "is_reciprocal = True", "is_reciprocal = False", "a reciprocal is the number"),
        ("explained_constants", "start, end = (most - dim, most) if axis in from_end else (0, dim)", "start, end = (0, dim)", "a table is read from its begin"),
        ("explained_constants", "if np.array_equal(part, small):", "if part.size:", "the smaller table need not be a part of the larger one"),
        ("windows", "if node.op_type in _POOLING and kernel[axis] == size and size != 1:", "if node.op_type in _POOLING and kernel[axis] > size:", "a kernel of the whole image is a number"),
        ("windows", "if strides[axis] > 1 and abs(after - before) == 1:", "if strides[axis] > 1 and abs(after - before) == 9:", "paddings are numbers"),
        ("windows", "    if len(fitting) != 1:\n        return None\n", "    if not fitting:\n        return None\n", "any size that fits is that of a Resize"),
        ("windows", "        if after == 1:  # it", "        if after == 0:  # it", "a size of 1 is that of the features it is added to"),
        ("windows", "return dim if dim.is_symbol else None", "return dim", "a size behind a stride is that of a Resize"),
        ("windows", "bool((kernel != kernel.flat[0]).any())", "True", "a kernel that takes a mean is a weight"),
        ("windows", "return size is None or size % 2 == 0", "return False", "paddings at the end are numbers"),
        ("windows", " or filled in walk.sizes.held():", ":", "a padding to a size of the network is refused"),
        ("windows", "            return f\"pads {before} and {after}, which may fill {dim} up to a multiple\"\n    return \"\"\n\n\ndef _fills", "            pass\n    return \"\"\n\n\ndef _fills", "paddings of a Conv at the end are numbers"),
        ("windows", "abs(after - before) == 1 and min(before, after) >= 0 and", "abs(after - before) == 9 and", "paddings of a Pad before a stride are numbers"),
        ("samples", "is_weight or r[0] == 1 or not", "is_weight or not", "strides may not leave one position"),
        ("driver", "if blocked is None and not has_same_elements(walk, another):", "if blocked is False:", "a length of 1 may stand in several places"),
        ("other_places", "    if not differing.isdisjoint(value.name for value in graph.output):\n        return False\n    touched", "    touched", "outputs of other shapes are equal"),
        ("other_places", "return all(_has_same_order(walk, node) for node in touched for walk in (one, other))", "return True", "any node keeps the order"),
        ("other_places", "    return moved == sorted(moved)\n", "    return True\n", "a Transpose keeps the order"),
        ("samples", "return not all(_holds(relations, binding) for binding in self.larger)", "return False", "equal sizes of small images are equal"),
        ("samples", "        if not all(_holds(relations, binding) for binding in self._of_rows):\n            return True\n", "", "rows hold at the old size only"),
        # lengths: positions
        ("positions", "return found is not None and _joined(found) == _joined(factors)", "return found is not None", "positions in one axis are those in any other"),
        ("positions", "            if number == self._old(inner):\n                product", "            if number < 0:\n                product", "a number joins positions at any length"),
        ("positions", "        return self.walk.with_inputs(node, {1: self._size(held[place:], node.input[0])})", "        return node", "a number parts positions at any length"),
        ("positions", "return [Positions(perm.index(found.axis), found.columns)]", "return [found]", "a Transpose keeps the components of positions in place"),
        ("positions", "found.columns[start : start + size]", "found.columns[:size]", "each part of a Split has the first components"),
        ("positions", "return [Positions(0, tuple(axes))]", "return [Positions(0, tuple(axes[:1] * len(axes)))]", "NonZero gives positions in the first axis"),
        ("positions", "held[:place] if node.op_type == \"Div\" else held[place:]", "held[place:] if node.op_type == \"Div\" else held[:place]", "the quotient is the position in the inner axis"),
        ("row_numbers", "            if found is None:\n                raise Blocked(walk.label(node), f\"its data have {shape[axis]} rows, its indices {product(held)}\")\n            node", "            found = found and node.input[0]\n            node", "data with scattered positions keep their size"),
        ("row_numbers", "        held = walk.positions.of(node.input[1], component) or _numbered_updates(", "        held = walk.positions.of(node.input[1], component) or None and _numbered_updates(", "data written at all positions keep their size"),
        ("positions", "        if place == 0:\n", "        if place is None:\n", "blocks as long as the old length follow it"),
        # lengths: constants
        ("constant_rows", "            if not is_scaled or are_parts(step, size):\n", "            if not is_scaled:\n", "fractions of the length have a step of their own"),
        ("constant_rows", "            if start:\n", "            if start > 0:\n", "linear biases begin at 0"),
        ("constant_rows", "slice(1) if at != axis and held == size else slice(None)", "slice(None)", "each row of a table of distances begins at a constant or ends at 0"),
        ("position_masks", "if len(changes) not in (1, 2) or (len(changes) == 2 and values[0] != values[-1]):", "if not changes:", "a mask has two limits at most"),
        ("position_masks", "    if len(limits) == 2:\n", "    if len(limits) == 3:\n", "a window has no end"),
        ("position_masks", "    if limit == 0:\n", "    if limit <= 0:\n", "a window ends at the present position"),
        ("position_masks", "    if limit == 1 and walk", "    if limit >= 1 and walk", "later positions of a past are not seen"),
        ("row_numbers", "        if outer.any() and not inner.any():\n", "        if not inner.any():\n", "an index by rows alone has their shape"),
        ("tables", "        return \"its rows may be counted from the last one\"\n", "        pass\n", "tables count from the first row"),
        ("tables", "        return \"its rows are symmetric around the middle\"\n", "        pass\n", "a window function is cut"),
        ("tables", "        return \"its rows have the length as their period\"\n", "        pass\n", "a Fourier transform is cut"),
        ("tables", "        return \"its rows are fractions of the length\"\n", "        pass\n", "fractions of a length are cut"),
        ("constant_rows", "            if why:\n", "            if not why:\n", "tables are cut if they depend on their end"),
        ("constant_rows", "                if steps_of(array, (low, high)) is not None:\n                    dims[other] = each\n", "                dims[other] = each\n", "each table of two positions is one of distances"),
        ("constant_rows", "        if all(not each.is_symbol for each in dims.values()):\n", "        if not dims:\n", "rows of a past are the last ones"),
        ("constant_rows", "        if not is_to_end.any():\n", "        if is_to_end.size:\n", "numbers begin at a constant"),
        ("constant_rows", "        if (right[is_to_end] != 0).any() or (by[~is_to_end] != 0).any() or isinstance(dim, int):\n", "        if isinstance(dim, int):\n", "numbers that come nearer to 0 end there"),
        ("constant_rows", "inputs[1] = walk.sizes.reshape_target(dims, kept or (), keeps=keeps)", "inputs[1] = walk.sizes.reshape_target(dims, kept or ())", "a 0 of a copied target keeps a size always"),
        # lengths: counts, cuts and sorts
        ("counts", "                    return f\"scales a sum over", "                    f\"scales a sum over", "a sum is divided by a number"),
        ("counts", "told = {number for size in scaled for number in (size, size - 1) if number > 1}", "told = scaled", "a variance is divided by a number"),
        ("counts", "                    if 1 < each <= largest:\n", "                    if 1 < each < largest:\n", "the number of all positions is a number"),
        ("counts", "                        self.walk.limit_lengths()\n", "                        pass\n", "a large number holds at any length"),
        ("counts", "and not told.isdisjoint(array.ravel().tolist()):", "and not told:", "an attention reads as many positions at any length"),
        ("operand_edits", "    walk.limit_lengths()\n", "", "a sort is one at any length"),
        ("row_numbers", " or rest < 1 or rest == size:", " or rest < 1:", "half of an axis is the length or the past"),
        ("row_numbers", "            return 0, -rest\n", "            return 0, size\n", "a cut to the old length stays"),
        ("rows", "                    if size != old and self._is_open(found):\n                        continue\n", "", "an expert without tokens is a fault"),
    )
)  # fmt: skip

TABLE: Final = FaultTable(Path("gather_infer", "unfreezing"), FAULTS, TESTS, FIRST)


if __name__ == "__main__":
    raise SystemExit(TABLE.main("unfreeze"))
