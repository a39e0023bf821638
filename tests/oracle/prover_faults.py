# ruff: noqa: E501  (a fault per line)
"""Faults planted in the prover: the tests of `gather_infer.equality` have to fail with each of them.

    python -m tests.oracle.prover_faults [--only N ...] [--first N] [--count N]

Each fault is planted in a copy of the package in a temporary folder. The tests that are quick, and those of the module
with the fault, run first; the first failure ends them.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import gather_infer

REPO: Final = Path(__file__).parents[2]
PACKAGE: Final = Path(gather_infer.__file__).parent
"""The package, which may be an installed one."""
PROVER: Final = Path("gather_infer", "equality")
LINKED: Final = ("tests", "fixtures", "cli", "docs", "pyproject.toml")
"""Beside the copy of the package; nothing is written there."""

TESTS: Final = (
    "tests/equality/test_runs.py",
    "tests/equality/test_control_flow.py",
    "tests/equality/test_parameters.py",
    "tests/equality/test_pieces.py",
    "tests/equality/test_transported_bounds.py",
    "tests/equality/test_obligations.py",
    "tests/equality/test_laws.py",
    "tests/equality/test_named_laws.py",
    "tests/equality/test_certificate.py",
    "tests/equality/test_contract_change.py",
    "tests/equality/test_diff.py",
    "tests/equality/test_operator_versions.py",
)
"""The quick ones first."""

FIRST: Final = {
    "certificate": ("tests/equality/test_certificate.py",),
    "given": ("tests/equality/test_certificate.py",),
    "named_laws": ("tests/equality/test_named_laws.py",),
    "transported_bounds": ("tests/equality/test_transported_bounds.py",),
    "obligations": ("tests/equality/test_obligations.py",),
    "proof": ("tests/equality/test_obligations.py",),
}
"""Module -> the tests that are most likely to fail with a fault in it."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault in a module of the prover.

    old, new  the text, which occurs there once, and the one in its place
    wrong     the error that it is
    """

    module: str
    old: str
    new: str
    wrong: str

    @property
    def path(self) -> Path:
        return PROVER / f"{self.module}.py"

    def planted(self, text: str) -> str:
        """The text of the module with the fault. Raises ValueError unless `old` occurs once."""
        if text.count(self.old) != 1:
            raise ValueError(f"{self.path}: {text.count(self.old)} occurrences of {self.old!r}")
        return text.replace(self.old, self.new)


FAULTS: Final = (
    # index maps
    Fault(
        "movement",
        'is_legal and view.integer("is_test", 1) != 0 else None',
        "is_legal else None",
        "a Dropout of opset 6 is one outside of training",
    ),
    Fault("movement", "term.bits < int(one", "term.bits <= int(one", "a Dropout takes a ratio of 1"),
    Fault("movement", "index[old] = view.frame.variables[new]", "index[new] = view.frame.variables[old]", "Transpose by the inverse permutation"),
    Fault("movement", "target[offset:], view.frame.variables[offset:], strict", "target[offset:], view.frame.variables[: data.rank], strict", "Expand adds axes at the end"),
    Fault("movement", "view.frame.simplify(variable % dim)", "view.frame.simplify(variable // dim)", "Tile takes the number of the copy for the position in it"),
    Fault("movement", "first + index[axis] * step", "first - index[axis] * step", "the sign of the step of a Slice"),
    Fault("movement", "steps = view.integers_of(4) if view.has(4) else (1,) * len(starts)", "steps = (1,) * len(starts)", "the steps of a Slice are left out"),
    Fault("movement", "axes = view.integers_of(3) if view.has(3) else tuple(range(len(starts)))", "axes = tuple(range(len(starts)))", "the axes of a Slice are left out"),
    Fault("movement", "begin = first if step == 1 else None", "begin = first", "a Slice of pieces with a step reads neighbours"),
    Fault("movement", "begin: Dim | None = 0", "begin: Dim | None = 1", "a Slice along another axis begins at the second element of pieces"),
    Fault("movement", "start = size + start\n", "start = size + start - 1\n", "negative starts of a Slice are one off"),
    Fault("movement", "start = maximum(0, start) if step > 0 else start", "start = start + 0", "a start before the first element is not clamped"),
    Fault("movement", "begin = begin + result.shape[axis]", "begin = begin + (view.results[0].shape or result.shape)[axis]", "all parts of a Split are as long as the first"),
    Fault("movement", "index[axis] = begin + index[axis]", "index[axis] = index[axis]", "each part of a Split begins at the first element"),
    Fault("movement", "view.version >= 18 and", "view.version >= 19 and", "a Split of opset 18 need not know the number of its parts"),
    Fault("movement", "view.pool.at(indices, variables[axis : axis + indices.rank], frame)", "view.pool.at(indices, variables[: indices.rank], frame)", "Gather reads the indices at the position on the first axes"),
    Fault("movement", "at = view.pool.index_symbol(term, data.shape[axis], frame)", "at = view.pool.index_symbol(term, data.shape[0], frame)", "negative indices of a Gather count from the end of axis 0"),
    Fault("movement", "axis = offset + indices.axis", "axis = indices.axis", "pieces of the indices of a Gather stay on their axis"),
    Fault("movement", "index[axis] = view.pool.index_symbol(term, data.shape[axis], view.frame)", "index[axis] = view.pool.index_symbol(term, indices.shape[axis], view.frame)", "negative indices of GatherElements count from the end of the indices"),
    Fault("movement", "data.shape[batch + column]", "data.shape[column]", "negative indices of GatherND count from the end of the batch axes"),
    Fault("movement", "view.pool.at(indices, (*head, column), frame)", "view.pool.at(indices, (*head, columns - 1 - column), frame)", "GatherND reads its tuples backwards"),
    Fault("movement", "place: list[Dim] = list(variables[:batch])", "place: list[Dim] = [0] * batch", "GatherND reads the first batch only"),
    Fault("movement", "view.pool.literal(DType.FLOAT32, 0))", "view.pool.literal(DType.FLOAT32, 1 << 31))", "ConstantOfShape fills with -0.0"),
    Fault("movement", "start + view.frame.variables[0] * delta", "start + view.frame.variables[0]", "the delta of a Range is left out"),
    Fault("movement", "pads[number], pads[number + len(axes)]", "pads[2 * number], pads[2 * number + 1]", "the pads of an axis are neighbours in the list"),
    Fault("movement", 'pads is None or view.text("mode", "constant") != "constant" or', "pads is None or", "each mode of Pad is constant"),
    Fault("movement", "axes = view.integers_of(3) if view.has(3) else tuple(range(data.rank))", "axes = tuple(range(data.rank))", "the axes of a Pad are left out"),
    Fault("movement", "for size in (before, None, after):", "for size in (after, None, before):", "the pads of an axis are exchanged"),
    Fault("movement", "if value is not None\n                    else", "if value is not None and number == 0\n                    else", "the value of a Pad is for its first axis only"),
    Fault("movement", '("align_corners", "asymmetric",', '("align_corners", "tf_crop_and_resize", "asymmetric",', "a Resize of a region is one of the whole"),
    Fault("movement", "((bits & 0x7F800000) != 0x7F800000).all() and", "", "a linear Resize keeps infinities"),
    Fault("pieces", "if part.term is None and part.axis == axis:", "if part.term is None:", "pieces along another axis are joined"),
    Fault("pieces", "index[axis] = first[0] + index[axis]", "index[axis] = index[axis]", "two copies are one piece of double length"),
    Fault("pieces", "np.concatenate(grids, axes.index(axis))", "np.concatenate(grids, 0)", "constants are joined along the first axis"),
    Fault("pieces", "place[axis] = low - start + frame.variables[axis]", "place[axis] = low + frame.variables[axis]", "a piece counts from the begin of the whole"),
    Fault("pieces", "            start = stop\n            continue", "            continue", "pieces before a cut have no length"),
    Fault("pieces", "not any(axis in axes_of(dim) or _has_term(dim) for", "not any(_has_term(dim) for", "a diagonal through pieces begins anew in each"),
    Fault("pieces", "not any(axis in axes_of(dim) or _has_term(dim) for", "not any(axis in axes_of(dim) for", "run-time indices beside pieces begin anew in each"),
    Fault("pieces", "{len(shape) - each.rank + each.axis for", "{each.axis for", "pieces of a tensor of smaller rank are along the axis of that number"),
    Fault("pieces", "index[own] = begin + index[own]", "index[own] = index[own]", "an operand beside pieces begins anew in each"),
    Fault("pieces", "known_eq(operand.shape[own], shape[axis], pool.facts) is not True:", "known_eq(operand.shape[own], shape[axis], pool.facts) is False:", "an operand that may be repeated is cut"),
    Fault("reshape", "        if number:\n", "        if number > 1:\n", "the second digit of a position is not reduced"),
    Fault("reshape", "axes[number + 1 :])", "axes[number:])", "the stride of an axis contains the axis"),
    Fault("reshape", "total = total * size + variable", "total = total * variables[0][1] + variable", "all strides are powers of the first size"),
    Fault("view", "return self.attributes.get(name, default)", "return self.attributes.get(name) or default", "an attribute of 0 has its default"),
    Fault("arrays", "return on_grid(dim.num, variables) // on_grid(dim.den, variables)", "return -(-on_grid(dim.num, variables) // on_grid(dim.den, variables))", "positions in constants are rounded up"),
    Fault("arrays", "np.take(grid, [0], axis=axis)).all())", "np.take(grid, [0], axis=axis)).any())", "a constant whose first element occurs is repeated"),
    Fault("arrays", "bool((numbers == expected).all())", "bool((numbers == expected).any())", "integers are affine if two are"),
    Fault("arrays", "term.index != tuple(axis_symbol(axis) for axis in held)", "len(term.index) != len(held)", "a constant read at other positions is the constant"),
    # operators on elements
    Fault("pointwise", "if is_number(b, 0.0) or _is_integer(b, 0):", "if is_number(b, 0.0, negative=True) or _is_integer(b, 0):", "x - (-0.0) is x"),
    Fault("pointwise", "if is_number(one, 0.0, negative=True) or", "if is_number(one, 0.0) or", "x + 0.0 is x"),
    Fault("pointwise", "    return _polynomial(call, lambda x, y: x * y)", "    if is_number(b, 0.0):\n        return b\n    return _polynomial(call, lambda x, y: x * y)", "x * 0.0 is 0.0, of a NaN too"),
    Fault("pointwise", '@_simplifies("Sub")', '@_simplifies("Sub", is_commutative=True)', "Sub is commutative"),
    Fault("pointwise", '@_simplifies("Min Max", is_idempotent=True, mixes_zeros=True)', '@_simplifies("Min Max", is_idempotent=True, is_commutative=True)', "Max is commutative, of 0.0 and -0.0 too"),
    Fault("pointwise", "return self.is_exact and not (self.mixes_zeros and", "return self.is_exact and not (not self.mixes_zeros and", "Max of zeros is exact"),
    Fault("pointwise", "and all(operand is first for operand in operands):", "and operands[-1] is first:", "Max(x, z, x) is x"),
    Fault("pointwise", "truncdiv(numbers[0], numbers[1], call.frame.scope)", "numbers[0] // numbers[1]", "Div rounds down"),
    Fault("pointwise", 'numbers is None or call.attr("fmod") or', "numbers is None or", "Mod with fmod has the sign of the divisor"),
    Fault("pointwise", "exact=True, is_commutative=True)\n_register(\n", "exact=True, is_commutative=True, is_idempotent=True)\n_register(\n", "BitwiseXor is idempotent"),
    Fault("pointwise", "(other,), call.frame) if one.bits else other", "(other,), call.frame) if not one.bits else other", "Xor with false negates"),
    Fault("pointwise", "_connective(call, absorbing=1)", "_connective(call, absorbing=0)", "Or is And"),
    Fault("pointwise", 'return call.operands[call.operator[1] == "Max"]', 'return call.operands[call.operator[1] == "Min"]', "Max of integers in order is the smaller one"),
    Fault("pointwise", "_compared(call, known_lt)", "_compared(call, known_le)", "Less is LessOrEqual"),
    Fault("pointwise", "lambda a, b, scope: known_lt(b, a, scope)", "lambda a, b, scope: known_le(b, a, scope)", "Greater is GreaterOrEqual"),
    Fault("pointwise", "lambda a, b, scope: known_le(b, a, scope)", "lambda a, b, scope: known_lt(b, a, scope)", "GreaterOrEqual is Greater"),
    Fault("pointwise", "return a if condition.bits else b", "return b if condition.bits else a", "Where exchanges its operands"),
    Fault("pointwise", "held = (condition.operands[0], b, a)", "held = (condition.operands[0], a, b)", "Where of a negation does not exchange its operands"),
    Fault("pointwise", "DType.BFLOAT16: (8, 8)", "DType.BFLOAT16: (11, 8)", "bfloat16 holds float16"),
    Fault("pointwise", "return INTEGER_RANGE[wide][0] <= INTEGER_RANGE[narrow][0] and", "return", "unsigned types hold negative numbers"),
    Fault("pointwise", "if call.dtype is DType.BOOL or _holds(call.dtype, inner.dtype):", "if call.dtype is not DType.BOOL or inner.dtype:", "a Cast by way of another type is a Cast to any type"),
    Fault("pointwise", "        and first.operator == operator\n", "", "an idempotent operator changes no result of another"),
    Fault("pointwise", "return call.truth(not operand.bits)", "return call.truth(bool(operand.bits))", "Not of a constant is the constant"),
    Fault("pointwise", "return call.integer(-operand.dim)", "return call.integer(operand.dim)", "Neg of an integer is the integer"),
    Fault("pointwise", "frame.variables[len(result) - len(shape) :], strict", "frame.variables[: len(shape)], strict", "operands of smaller rank are aligned at the first axis"),
    Fault("operators", 'if attribute.name == "ceil_mode"}', 'if attribute.name == "ceil"}', "versions of MaxPool with ceil_mode are the same"),
    Fault("operators", "if name not in implied or implied[name] != value)", "if name not in implied)", "attributes with a default are left out"),
    Fault("operators", 'return ("float", value.hex()) if isinstance(value, float) else value', "return value", "an attribute of -0.0 is one of 0.0"),
    Fault("operators", '"axis": axis + rank}', '"axis": axis + rank - 1}', "an axis from the end is one off"),
    Fault("operators", 'name in ("saturate", "round_mode")', 'name == "round_mode"', "a Cast saturates whatever it says"),
    Fault("operators", "return bool(onnx.defs.get_schema(op_type, version or 1, domain).deprecated)", "return False", "no operator is deprecated"),
    Fault("operators", "return {**defaults, **given}", "return {**given, **defaults}", "attributes have their default"),
    Fault("operator_versions", "return starts[at - 1] if at else since", "return starts[0] if at else since", "all versions are the same"),
    Fault("operator_versions", '(1, 13): "Hardmax', '(1,): "Hardmax', "Softmax of rows is Softmax of everything behind an axis"),
    Fault("canonical_calls", '        if view.integer("noop_with_empty_axes"):\n            return None\n', "", "a reduction of no axes reduces all"),
    Fault("canonical_calls", 'normalized({"axes": tuple(axes), **others})', "normalized(others)", "the axes of a reduction are left out"),
    Fault("canonical_calls", '{"select_last_index": view.integer("select_last_index")}', "{}", "ArgMax selects the first index whatever it says"),
    Fault("canonical_calls", "named = (*operator[:2], 1)", 'named = (operator[0], "Reduce", 1)', "all reductions are the same"),
    Fault("canonical_calls", "isinstance(operand.term, Literal) and operand.term.bits == 0", "isinstance(operand.term, Literal)", "a constant initial state is one of zeros"),
    Fault("canonical_calls", "or call.operands[1] is not indices:", "or False:", "a ScatterND overwrites other positions"),
    Fault("canonical_calls", 'dict(attributes).get("reduction", "none") != "none" or', "", "a ScatterND that adds overwrites"),
    Fault("canonical_calls", "return term.source.call if is_whole else None", "return term.source.call", "a ScatterND of moved data overwrites"),
    Fault("canonical_calls", '("SAME_UPPER", "SAME_LOWER") and op_type == "Conv" and', '("SAME_UPPER", "SAME_LOWER") and', "a ConvTranspose is padded as a Conv"),
    Fault("canonical_calls", '    if attributes.get("dilations", ones) != ones:\n        return None\n', "", "dilated windows are padded as others"),
    Fault("canonical_calls", 'begins.append(less if attributes["auto_pad"] == "SAME_UPPER" else more)', 'begins.append(more if attributes["auto_pad"] == "SAME_UPPER" else less)', "an odd pad is at the other end"),
    Fault("canonical_calls", ' and "ceil_mode" not in attributes:', ":", "windows beyond the end with auto_pad=VALID"),
    Fault("canonical_calls", '("output_padding", zeros)):', '("output_padding", zeros), ("output_padding", attributes.get("output_padding"))):', "the padding of the output is left out"),
    Fault("dims", "if other is simple or known_eq(other, simple, self.facts) is True:", "if other is simple or known_eq(other, simple, self.facts) is not False:", "dims that are equal at two samples are equal"),
    Fault("dims", "{monomial: -k for monomial, k in terms_of(difference) if k < 0}", "{monomial: k for monomial, k in terms_of(difference) if k < 0}", "the sign of a dim in an equation"),
    Fault("dims", "known_eq(atom, times * other, self.facts) is True", "known_eq(atom, times * other, self.facts) is not False", "a quotient is a multiple of another without a remainder"),
    # terms
    Fault("pool", '("tensor", dtype, shape, axis, held)', '("tensor", dtype, axis, held)', "the key of a tensor lacks the shape"),
    Fault("pool", '("tensor", dtype, shape, axis, held)', '("tensor", dtype, shape, held)', "the key of a tensor lacks the axis of its pieces"),
    Fault("pool", '("apply", operator, attributes, dtype, operands)', '("apply", operator, dtype, operands)', "the key of a pointwise operator lacks the attributes"),
    Fault("pool", '("call", self.context, operator, attributes, operands, bodies)', '("call", self.context, operator, operands, bodies)', "the key of a call lacks the attributes"),
    Fault("pool", '("call", self.context, operator, attributes, operands, bodies)', '("call", self.context, operator, attributes, operands)', "the key of a call lacks the bodies"),
    Fault("pool", "found = call.results.get(output)", "found = call.results.get(0)", "all outputs of a call are the first"),
    Fault("pool", "self._frames.get((self.context, extents))\n        if found is None:\n            found = self._frames[self.context, extents]", "self._frames.get((0, extents))\n        if found is None:\n            found = self._frames[0, extents]", "facts of a branch hold outside"),
    Fault("pool", "at - begin, *place", "at, *place", "the position in a piece counts from the begin of the whole"),
    Fault("pool", "known_lt(at, end, frame.scope) is True", "known_le(at, end, frame.scope) is True", "a piece contains the element behind it"),
    Fault("pool", "np.where(numbers < 0, numbers + size, numbers)", "np.where(numbers < 0, numbers + size - 1, numbers)", "negative constant indices are one off"),
    Fault("pool", "array[tuple(slice(size) for size in sizes)]", "array[tuple(slice(-size, None) for size in sizes)]", "a constant is cut at its begin"),
    Fault("pool", "known_le(lo, dim, frame.scope) is True and known_le(dim, hi, frame.scope) is True else", "known_le(lo, dim, frame.scope) is True else", "an int32 does not wrap around"),
    Fault("pool", "dim.symbols.isdisjoint(self.element_types) and", "", "a sum or product of elements does not wrap around"),
    Fault("pool", "return size + number\n", "return size + number - 1\n", "a negative index is one off"),
    Fault("pool", '("index", term, size)', '("index", term)', "the key of an index lacks the size of the axis"),
    Fault("pool", "frame.scope.add_fact(size - 1 - found)", "frame.scope.add_fact(size - 2 - found)", "no index is that of the last element"),
    Fault("pool", "frame.scope.add_fact(hi - name)", "frame.scope.add_fact(hi - 1 - name)", "no element is the largest one"),
    Fault("pool", "frame.scope.add_fact(name - lo)", "frame.scope.add_fact(name - lo - 1)", "no element is the smallest one"),
    Fault("pool", "(dim - lo) % (hi - lo + 1) + lo", "(dim - lo) % (hi - lo) + lo", "the width of an integer type is one less"),
    Fault("pool", "grid.shape[at] == 1 or", "grid.shape[at] <= 2 or", "an axis of two constants is repeated"),
    Fault("pool", 'held = tuple(bits.flat) if bits.dtype.hasobject else', "held = bits.size if bits.dtype.hasobject else", "the key of constant texts lacks the texts"),
    Fault("frames", "extent - 1 - variable", "extent - 2 - variable", "no position is the last one"),
    Fault("frames", "isinstance(extent, int) and extent == 0 for", "isinstance(extent, int) and extent <= 1 for", "a tensor with an axis of size 1 has no elements"),
    # facts and obligations
    Fault("model_facts", "or known_le(0, lo := self.dim(known.lo), self.table.facts) is not True:", "or (lo := self.dim(known.lo)) is None:", "a lower bound below 0 is one of a size"),
    Fault("model_facts", "return lo, self.dim(known.hi) if", "return lo, self.dim(known.hi) - 1 if", "upper bounds are one off"),
    Fault("access_facts", "        if access.node.graph != MAIN:\n            continue\n", "        if access.node.graph != MAIN and access.node.position >= len(inference.model.proto.graph.node):\n            continue\n", "accesses of a branch are made in each run"),
    Fault("access_facts", "(condition.relation == \"<\")", "(condition.relation != \"=\")", "a size exceeds what an access needs"),
    Fault("access_facts", "return condition.left - condition.right\n", "return condition.left - condition.right - 1\n", "a size exceeds what an access needs, the other way round"),
    Fault("access_facts", "if known_le(0, fact, empty) is not True:", "if known_le(0, fact, empty) is False and known_le(1, fact, empty) is True:", "a run without elements reads something"),
    Fault("transported_bounds", "facts.add_fact(constraint.right - constraint.left)", "facts.add_fact(constraint.right - constraint.left - 1)", "a size is below its largest"),
    Fault("transported_bounds", 'name: f"{bounds.lo}..', 'name: f"{bounds.lo + 1}..', "the second model need not run at the smallest size"),
    Fault("given", '"" if end is None else str(end)', '"" if not end else str(end)', "a bound of 0 is none"),
    Fault("obligations", "            if not self._is_shared(constraint.node) and not self._follows((relation,)):", "            if not self._is_shared(constraint.node) and not constraint:", "no requirement is an obligation"),
    Fault("obligations", "            if not self._is_shared(implied.node) and not self._follows(implied.any_of):", "            if not self._is_shared(implied.node) and not implied.any_of:", "no requirement of several is an obligation"),
    Fault("obligations", "            if not self._is_shared(unchecked.node):", "            if not unchecked.reason:", "no unchecked requirement is an obligation"),
    Fault("obligations", "if verdict(access).kind is not VerdictKind.PROVED:", "if verdict(access).kind is VerdictKind.VIOLATED:", "an index that may be out of bounds is no obligation"),
    Fault("obligations", "            if finding.is_failure:  #", "            if finding.is_failure and node is None:  #", "failing nodes are no obligation"),
    Fault("obligations", "            if holder.bodies and execution.key is not None and holder not in self._shared:", "            if holder.bodies and execution.key is None and holder not in self._shared:", "bodies are no obligation"),
    Fault("obligations", "if shape is None or len(shape) != 1:", "if shape is not None and len(shape) > 1:", "a Reshape to a scalar target runs"),
    Fault("obligations", "known_eq(size, given, self.facts) is not True:", "known_eq(size, given, self.facts) is False:", "a declared number may be any size that is not known"),
    Fault("obligations", "if first != size and (is_new or is_other_new):", "if first != size and is_new and is_other_new:", "a declared name is compared with new ones only"),
    Fault("obligations", "(*graph.proto.input, *graph.proto.output, *graph.proto.value_info)", "(*graph.proto.input, *graph.proto.value_info)", "declared sizes of outputs are no obligation"),
    Fault("obligations", "if dim.dim_param or dim.dim_value > 0:", "if dim.dim_param or dim.dim_value > 1:", "a declared size of 1 is no obligation"),
    Fault("obligations", '(known_eq if kind == "==" else known_le)(left', "known_le(left", "equal sizes need not be equal"),
    Fault("obligations", "if frozenset(relations) in self._disjunctions:", "if self._disjunctions:", "one requirement of several implies all"),
    Fault("obligations", "        if access.node.graph != MAIN or access.addressing is None:", "        if access.addressing is None:", "an access in a branch is made in each run"),
    Fault("obligations", "if found is not None and found is not dtype and (name, dtype) not in known:", "if found is None and (name, dtype) not in known:", "parameters of bodies may be declared with other types"),
    Fault("obligations", " and not (access.addressing and access.addressing.may_skip)", "", "an index that an operator may skip is read"),
    Fault("obligations", "column), size, addressing.indexing", "column), 0, addressing.indexing", "the key of an access lacks the size of the axis"),
    Fault("obligations", "column), size, addressing.indexing", "column), size, 0", "the key of an access lacks the way of indexing"),
    Fault("obligations", "if axis in read or known_le(1, shape[axis], self.facts) is not True]", "if axis in read]", "indices repeated along an axis of size 0 are read"),
    Fault("obligations", "(*pool.frame(shape).variables, column)", "(*pool.frame(shape).variables, 0)", "all columns of an access are the first"),
    Fault("obligations", "pending += [pool.index_terms[name][0] for", "pending += [pool.index_terms[name][0] for _ in () for", "indices looked up at run time are all equal"),
    Fault("executions", "        yield found.context\n", "", "both branches are executed in the same runs"),
    Fault("executions", "        yield found.key\n", "", "all nodes of a body are the same"),
    # translation
    Fault("translation", "operator, operands = (\"\", \"Cast\", 13), operands[:1]", "operator, attributes, operands = (\"\", \"Cast\", 13), {}, operands[:1]", "a CastLike saturates whatever it says"),
    Fault("translation", "(entry_.is_exact_for(view.dtype) or self.opens_inexact)", "(entry_.is_exact_for(view.dtype) or not self.laws)", "each proof is of the strongest class"),
    Fault("translation", "keyed = without_defaults(node, attributes)", "keyed = without_defaults(node, {})", "pointwise operators have no attributes"),
    Fault("translation", "f\"{id(self)}/{node.graph.path}/{node.order_key}\"", "f\"{node.graph.path}/{node.order_key}\"", "both models draw the same random numbers"),
    Fault("translation", "f\"{id(self)}/{node.graph.path}/{node.order_key}\"", "f\"{id(self)}/{node.graph.path}\"", "all nodes of a model draw the same random numbers"),
    Fault("translation", "(call, output, axis), dim,", "(call, output, 0), dim,", "all sizes of a result are the same"),
    Fault("translation", "and -(1 << 63) <= trips.dim <= 0:", "and -(1 << 63) <= trips.dim <= 1:", "a Loop of one iteration has none"),
    Fault("translation", "self._truth(operands[1]) is False", "self._truth(operands[1]) is True", "a Loop whose condition is true has no iteration"),
    Fault("translation", "unchanged = operands[2:] if", "unchanged = operands[1:] if", "the carried values of a Loop are one off"),
    Fault("translation", 'wanted = "then_branch" if truth else "else_branch"', 'wanted = "else_branch" if truth else "then_branch"', "then and else are exchanged"),
    Fault("translation", "        return (*key, self.loops[key])\n", "        return key\n", "facts of a Loop hold in others with the same operands"),
    Fault("translation", "return len(body.inputs), context, tuple", "return len(body.inputs), 0, tuple", "a body is the same in other runs, in which other facts hold"),
    Fault("translation", "key = self.pool.context, operator, operands\n", "key = self.pool.context, operator\n", "facts of a branch hold under other conditions"),
    Fault("translation", '("context", name, place)', '("context", place)', "facts of a branch hold in the other one"),
    Fault("translation", 'f"{prefix}{at}")', 'f"{prefix}")', "all parameters of a body are the same"),
    Fault("translation", 'f"\\4{len(body.path.steps)}."', 'f"\\4"', "parameters of nested bodies are the same"),
    Fault("translation", "tuple(operands), len(node.outputs)\n", "len(node.outputs)\n", "nodes fail in the same runs whatever they read"),
    Fault("translation", "                        self.meanings.nonzero.add(dim)\n", "", "a size computed for -1 has its meaning where others are 0"),
    # named laws
    Fault("named_laws", 'view.attr("alpha", 1.0) != 1 or', "", "alpha is left out"),
    Fault("named_laws", 'view.attr("beta", 1.0) != 1)', 'view.attr("beta", 1.0) == 0)', "beta is left out"),
    Fault("named_laws", 'if view.integer("transB") else weights', 'if view.integer("transA") else weights', "transB is transA"),
    Fault("named_laws", '("", "Gemm") and Law.GEMM_BIAS in laws', '("", "Gemm") and laws', "a law that nobody has named"),
    Fault("named_laws", "    if not view.has(2):\n", "    if found:\n", "the bias is left out"),
    # the proof
    Fault("proof", "or self.dims.form(side.facts.dim(theirs)) != self.dims.form(dim):", "or None:", "the second model may take other sizes"),
    Fault("proof", "if (least is not None and known_le(least, dim, self.facts) is not True) or (", "if (", "the second model may take larger sizes only"),
    Fault("proof", "most is not None and known_le(dim, most, self.facts) is not True\n", "most is not None and known_le(dim, most, self.facts) is None\n", "the second model may take no size of the first"),
    Fault("proof", "or not np.array_equal(one.plain, two.plain):", ":", "the default of an input may differ"),
    Fault("proof", "if other not in its:", "if other not in its and not mine:", "an input of the second model needs no default"),
    Fault("proof", "forms = [self.dims.form(substitute(dim, a.facts.renamed)) for dim in mine]\n            others = [self.dims.form(substitute(dim, b.facts.renamed)) for dim in its]", "forms = [self.dims.form(a.facts.dim(dim)) for dim in mine]\n            others = [self.dims.form(b.facts.dim(dim)) for dim in its]", "shapes are compared in the runs that the proof is about"),
    Fault("proof", "        if forms != others:\n            return False\n", "", "shapes may differ where a size has no name"),
    Fault("proof", "if known_le(product(forms), 0, zero) is not True and not", "if known_le(product(forms), 0, zero) is False and not", "an output is empty where a size has no name"),
    Fault("proof", "if model.has_duplicates or model.dangling or any(", "if model.has_duplicates or any(", "a name without a producer has a value"),
    Fault("proof", 'yield f"the first model fails: {finding.message}"', 'yield from ()', "a first model that fails is equal to all"),
    Fault("proof", "if (self.facts.is_contradictory or self.dims.is_undefined) and not failures:", "if self.dims.is_undefined and not failures:", "facts may be contradictory"),
    Fault("comparison", "if not names_sizes or prover.is_empty_where_unnamed(proof, name, other):", "if names_sizes or prover.is_empty_where_unnamed(proof, name, other):", "runs in which a size has no name are left out"),
    Fault("comparison", "    if obligations:\n", "    if obligations and kind is None:\n", "open obligations do not matter"),
    Fault("comparison", "return _is_other_type(mine.element, its.element)", "return False", "sequences of other elements are of one type"),
    Fault("comparison", "            if mine.dtype is not its.dtype:\n", "            if mine.dtype is None:\n", "inputs may be of other types"),
    Fault("comparison", "rules=rules, assume=False, progress", "rules=rules, assume=True, progress", "assumptions are facts"),
    Fault("comparison", "if name in found or not other or not proof.is_equal(name, other):", "if name in found or not other or not proof.is_equal(name, name):", "outputs of one name are compared"),
    # certificates
    Fault("certificate", "if _STRENGTH.index(again.proof_class) < _STRENGTH.index(claim.proof_class):", "if _STRENGTH.index(again.proof_class) > _STRENGTH.index(claim.proof_class):", "a weaker proof will do"),
    Fault("certificate", "if its.sha256 != wanted.sha256:", "if its.sha256[:8] > wanted.sha256[:8]:", "some other files have the hash"),
    Fault("certificate", "if data.sha256 != mine[data.name]:", "if data.sha256 == wanted.sha256:", "other external data will do"),
    Fault("certificate", "for pair in shown if pair not in claimed]", "for pair in shown if pair not in shown]", "an output may lack in a certificate"),
    Fault("certificate", "if not _SHA256.fullmatch(", "if not _SHA256.match(", "a hash may have more digits"),
    Fault("certificate", "all(each.verdict is DiffVerdict.PROVED for each", "any(each.verdict is DiffVerdict.PROVED for each", "one proved output is enough"),
    Fault("certificate", "if again.verdict is not DiffVerdict.PROVED:", "if again.verdict is DiffVerdict.DIFFERENT:", "an output need not be proved again"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Result:
    """The run of the tests with a fault.

    test     the test that failed; "" if none did
    seconds  the time that it took
    """

    test: str
    seconds: float


def tests_for(module: str) -> list[str]:
    """The files of tests, in the order in which they are run for a fault in a module."""
    return [file for file in dict.fromkeys((*FIRST.get(module, ()), *TESTS)) if (REPO / file).exists()]


def run_tests(folder: Path, tests: Iterable[str]) -> Result:
    """Run tests on the copy of the package in a folder, until one fails."""
    begin = time.monotonic()
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--tb=no", *tests]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    failed = re.search(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$", done.stdout, re.MULTILINE)
    if done.returncode and failed is None:
        raise RuntimeError(done.stdout + done.stderr)
    return Result(failed[1] if done.returncode and failed else "", time.monotonic() - begin)


def results(faults: Sequence[Fault]) -> Iterator[Result]:
    """The results of the faults, each planted in a copy of the package in a temporary folder."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(PACKAGE, folder / "gather_infer")
        for each in LINKED:
            (folder / each).symlink_to(REPO / each)
        for fault in faults:
            file = folder / fault.path
            text = file.read_text(encoding="utf-8")
            _write(file, fault.planted(text))
            try:
                yield run_tests(folder, tests_for(fault.module))
            finally:
                _write(file, text)


def _write(file: Path, text: str) -> None:
    """Write a module; a compiled one of the same second and size would be taken for its own."""
    file.write_text(text, encoding="utf-8")
    for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*.pyc"):
        compiled.unlink()


def main() -> int:
    parser = argparse.ArgumentParser(description="Plant faults in the prover, and run its tests.")
    parser.add_argument("--only", type=int, nargs="+", default=None, metavar="N", help="the faults with these numbers")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="the number of the first fault")
    parser.add_argument("--count", type=int, default=len(FAULTS), metavar="N", help="how many faults")
    options = parser.parse_args()
    numbers = options.only or range(len(FAULTS))[options.first : options.first + options.count]
    lived = []
    for number, found in zip(numbers, results([FAULTS[number] for number in numbers]), strict=True):
        fault = FAULTS[number]
        verdict = f"caught by {found.test}" if found.test else "LIVED"
        print(f"{number:4} {fault.module}: {fault.wrong}: {verdict} ({found.seconds:.0f} s)", flush=True)
        if not found.test:
            lived.append(number)
    print(f"{len(numbers) - len(lived)} of {len(numbers)} caught; lived: {lived or 'none'}")
    return 1 if lived else 0


if __name__ == "__main__":
    raise SystemExit(main())
