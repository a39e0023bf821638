# ruff: noqa: E501  (a fault per line)
"""Faults planted in the edits of whole graphs: the tests of `gather_infer.editing` have to fail with each of them.

python -m tests.oracle.editing_faults [--only N ...] [--first N] [--count N]
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.oracle.source_faults import Fault, FaultTable

TESTS: Final = (
    "tests/editing/test_extract.py",
    "tests/editing/test_outputs.py",
    "tests/editing/test_rename.py",
    "tests/editing/test_compose.py",
    "tests/editing/test_features.py",
    "tests/editing/test_odd_models.py",
    "tests/editing/test_comparison.py",
)
"""The quick ones first."""

FIRST: Final = {
    "renaming": ("tests/editing/test_rename.py",),
    "composition": ("tests/editing/test_compose.py",),
    "contract_proof": ("tests/editing/test_compose.py",),
    "opset_alignment": ("tests/editing/test_compose.py",),
    "output_selection": ("tests/editing/test_outputs.py",),
    "comparison": ("tests/editing/test_comparison.py",),
}
"""Module -> the tests that are most likely to fail with a fault in it."""

FAULTS: Final = (
    # extract
    Fault("extraction", "    if file.proto.training_info:\n", "    if False:\n", "training graphs are cut too"),
    Fault("extraction", "        if not fed.isdisjoint(reads_of(node)):\n", "        if fed.issuperset(reads_of(node)):\n", "a value that a constant takes part in is a constant"),
    Fault("extraction", "if name in fed and name not in made]", "if name in fed]", "nodes read their own results from outside"),
    Fault("extraction", "if name in main.output_set or main.users(name) - inside]", "if main.users(name) - inside]", "an output of the model that no node reads is not read"),
    Fault("extraction", "or main.users(name) - inside]", "or main.users(name)]", "values between the last nodes are outputs"),
    Fault("extraction", "    if is_cut and part.inputs:\n", "    if False and part.inputs:\n", "inputs that lack are left out"),
    Fault("extraction", "        if name not in part.values and name not in names:\n", "        if name not in names:\n", "defaults that are needed are removed"),
    Fault("extraction", "        if producer is not None:  # the node stays for another output\n", "        if False:\n", "a cut value has two producers"),
    Fault("extraction", "        if is_constant(main, name) and name not in main.dropped:\n", "        if False:\n", "an initializer that becomes an input keeps its value"),
    Fault("extraction", "    for name in new if is_in_order else wanted:\n", "    for name in new:\n", "inputs in another order are lost"),
    Fault("extraction", "    for name in new if is_in_order else names:\n", "    for name in new:\n", "outputs in another order are lost"),
    Fault("extraction", "if _symbols(each) <= others]", "if _symbols(each)]", "bounds of sizes that no input has stay"),
    Fault("extraction", "    if any(entry.key == CONTRACT_KEY for entry in before.metadata_props):\n", "    if False:\n", "the contract of the whole model stays"),
    Fault("extraction", "if is_named or name in part.reached]", "if is_named]", "nodes do not start a cut"),
    # the part that is needed
    Fault("retention", "    for body in node.bodies:\n        yield from body.captures()\n", "", "bodies capture nothing"),
    Fault("retention", "        if name in stops:\n            found.reached[name] = None\n            continue\n", "        if name in stops:\n            found.reached[name] = None\n", "the search goes behind a cut"),
    Fault("retention", "    found.values |= annotated\n", "", "scales and zero points of annotations are not needed"),
    Fault("retention", "        if annotation.tensor_name in part.values\n", "        if annotation.tensor_name not in part.values\n", "annotations of other values are needed"),
    Fault("retention", "                pending += _below(function)\n", "", "bodies in functions call nothing"),
    Fault("retention", "                pending.append(function)\n", "", "functions call no functions"),
    Fault("retention", "        if name not in part.values and not (name in main.input_set and model.proto.ir_version >= 4):\n", "        if name not in part.values:\n", "defaults of unread inputs are removed"),
    Fault("retention", "not (name in main.input_set and model.proto.ir_version >= 4)", "name not in main.input_set", "initializers of old files are defaults"),
    Fault("retention", "        if is_lost and name not in main.input_set:\n", "        if not is_lost and name not in main.input_set:\n", "annotations of values that stay are removed"),
    Fault("retention", "    return {name for name in found if model.main.defines(name)}\n", "    return set()\n", "training graphs read nothing"),
    Fault("retention", "return name in graph.initializers or name in graph.sparse", "return name in graph.initializers", "sparse initializers are no constants"),
    # declarations
    Fault("declarations", "        return known if known is not None else self._inferred(", "        return self._inferred(", "inputs that stay lose their declaration") ,
    Fault("declarations", "        if value.type.WhichOneof(\"value\") is None:\n", "        if False:\n", "an input without a type is written"),
    Fault("declarations", "replace_type(value.type, inferred)", "value.type.CopyFrom(inferred)", "denotations are lost"),
    Fault("declarations", "            value.CopyFrom(known)\n", "            pass\n", "doc strings of values are lost"),
    # outputs
    Fault("output_selection", "if name in dropped or (kept and name not in kept):", "if name in dropped:", "keep keeps all"),
    Fault("output_selection", "    if not main.outputs and not new:\n", "    if False:\n", "a model without outputs is written"),
    Fault("output_selection", "roots = dict.fromkeys([*main.outputs, *sorted(training_reads(graph))])", "roots = dict.fromkeys(main.outputs)", "values of training graphs are removed"),
    Fault("output_selection", "is_pruned = bool(main.removed_outputs) and not keep_nodes", "is_pruned = bool(main.removed_outputs)", "keep_nodes keeps none"),
    Fault("output_selection", "if name not in before]", "if True]", "an output is added again"),
    # rename
    Fault("renaming", "        if found.setdefault(old, new) != new:\n", "        if False:\n", "a name gets two new ones"),
    Fault("renaming", "count = 0 if is_global else 1", "count = 0", "each substitution is global"),
    Fault("renaming", "and inputs.get(name) != outputs.get(name):", "and False:", "an input that is an output gets two names"),
    Fault("renaming", "            if graph.defines(new) and not (graph is model.main and new in values):\n", "            if graph is model.main and graph.defines(new) and new not in values:\n", "a name of a body is free"),
    Fault("renaming", "and not (graph is model.main and new in values):", "and new not in values:", "bodies may define new names that were old ones"),
    Fault("renaming", "        if new in symbols and new not in dims:\n", "        if False:\n", "two dims get one name"),
    Fault("renaming", "        other = first.setdefault(new, old)\n", "        other = old\n", "two values get one name"),
    Fault("renaming", "                if after[new] > before[node.name]:\n", "                if False:\n", "two nodes get one name"),
    Fault("renaming", "        if not free_symbols(dim).isdisjoint(new_dims):\n", "        if text in new_dims:\n", "expressions keep old names"),
    Fault("renaming", "            new_dim = substitute(dim, to_new)\n", "            new_dim = symbol(new_dims.get(text, text))\n", "a dim that is an expression stays"),
    Fault("renaming", "symbols |= {old: symbol(new) for old, new in dims.items()}", "symbols |= {}", "bounds keep old names"),
    Fault("renaming", "new = renamed(old, inputs=inputs, dims=dims, nodes=_labels(before, after))", "new = renamed(old, inputs=inputs, dims=dims, nodes={})", "the contract keeps labels of nodes"),
    Fault("renaming", "                held.name = old  # the default too\n", "                pass\n", "defaults are not compared"),
    # compose
    Fault("composition", "        if found.setdefault(name, source) != source:\n", "        if False:\n", "an input has two sources"),
    Fault("composition", "        if None not in (given.dtype, wanted.dtype) and given.dtype is not wanted.dtype:\n", "        if False:\n", "element types need not fit"),
    Fault("composition", "            if len(given.shape) != len(wanted.shape):\n", "            if len(given.shape) > len(wanted.shape):\n", "ranks need not fit"),
    Fault("composition", "isinstance(other, int) and one != other:", "isinstance(other, int) and one > other:", "numbers need not fit"),
    Fault("composition", "    if type(given) is not type(wanted) and is_known:\n", "    if False:\n", "a sequence fits a tensor"),
    Fault("composition", "        if version != _version(a.proto, domain):\n", "        if False:\n", "the lower opset is imported"),
    Fault("composition", "        _filter(graph.initializer, lambda tensor: tensor.name not in self.feeds)\n", "", "the default of a fed input stays"),
    Fault("composition", "(self._is_forced or name in self._taken_values):", "name in self._taken_values:", "a prefix is for clashes alone"),
    Fault("composition", "name not in self.feeds and name not in returned and (self._is_forced or name in self._taken_values)", "name not in self.feeds and name not in returned and self._is_forced", "names may clash"),
    Fault("composition", "if node.name and (self._is_forced or node.name in taken):", "if node.name and self._is_forced:", "names of nodes may clash"),
    Fault("composition", "                if known.get(_key(function), function) != function\n", "                if False\n", "functions of one name are the same"),
    Fault("composition", "                for node in body.node:\n                    node.op_type = changed.get(", "                for node in ():\n                    node.op_type = changed.get(", "calls of renamed functions stay"),
    Fault("composition", "                    found.setdefault(dim.name, size)\n", "                    pass\n", "sizes of both models are not unified"),
    Fault("composition", "            if name in taken:\n                base", "            if False:\n                base", "dims of one name are one dim"),
    Fault("composition", "return f\"{self.prefix}{key}\" if mine.get(key, value) != value else key", "return key", "metadata of the second model replace those of the first"),
    Fault("composition", "        if CONTRACT_KEY in mine:\n", "        if False:\n", "the contract of the first model stays"),
    Fault("composition", "        if text and text != mine.get(DIMS_KEY):\n", "        if False:\n", "bounds of the second model are lost"),
    Fault("composition", "entry.value = joined_location(len(a.joined), entry.value)", "pass", "weights of the second model are read from the first file"),
    Fault("composition", "        refused += [_failure(line)", "        refused += [] and [_failure(line)", "lines that fail do not refuse"),
    Fault("composition", "if line.status is LineStatus.OPEN]", "if line.status is LineStatus.FAILS]", "open lines are proved"),
    Fault("composition", "journal = _without_unread(a, [name for name in removed if name not in prepared.read])", "journal = _without_unread(a, [])", "outputs that feed unread inputs stay"),
    Fault("composition", "    for name in removed:\n        if name in prepared.read:\n", "    for name in ():\n        if name in prepared.read:\n", "outputs that feed the second model stay"),
    Fault("composition", "_without_unread(a, [name for name in removed if name not in prepared.read])", "_without_unread(a, removed)", "outputs that the second model reads are removed as unread"),
    Fault("composition", "        self.read.update(\n", "        set(\n", "values that the second model returns are not read"),
    Fault("composition", "needed_part(graph, [*main.outputs, *unused])", "needed_part(graph, main.outputs)", "what nothing read before is removed"),
    Fault("composition", "    unused += [name for name in (*main.initializers, *main.sparse) if name not in before.values]\n", "", "unread constants are removed"),
    Fault("composition", "    journal.add(*uncalled_functions(graph, _NAME, DEAD_CODE_REASON))\n", "", "functions stay that nothing calls"),
    Fault("composition", "    journal.add(*undefined_annotations(graph, _NAME, DEAD_CODE_REASON))\n", "", "annotations of removed values stay"),
    # the contract of the second model
    Fault("contract_proof", "status = LineStatus.OPEN if requirement.witness is None else LineStatus.FAILS", "status = LineStatus.OPEN", "no line fails"),
    Fault("contract_proof", "LineStatus.INPUT if is_free else None", "LineStatus.INPUT", "all lines are about inputs that stay"),
    Fault("contract_proof", "if about_fed.concerns(line) and unproved.isdisjoint(nodes):", "if about_fed.concerns(line):", "lines that fail are proved too"),
    Fault("contract_proof", "    found = list(_type_lines(base, its.contract, feeds, inference))\n", "    found = []\n", "declared sizes do not matter"),
    Fault("contract_proof", "None if requirement.text in numbers else LineStatus.OPEN", "None", "sizes of one name fail where they differ"),
    Fault("contract_proof", "            if left[finding.code] < 0:\n", "            if left[finding.code] < -1:\n", "an error of the joined model is that of a part"),
    Fault("contract_proof", "for line in () if errors else its", "for line in its", "lines of nodes with an error are proved"),
    Fault("contract_proof", "after[len(after) - len(before) :]", "after[: len(before)]", "nodes of the second model have labels of the first"),
    # opsets
    Fault("opset_alignment", "        if changed:\n", "        if False:\n", "all versions of an operator mean the same"),
    Fault("opset_alignment", "low, high = sorted((mine[domain], its[domain]))\n        found[domain] = high", "low, high = sorted((mine[domain], its[domain]))\n        found[domain] = low", "the lower version is taken"),
    Fault("opset_alignment", "if mine[domain] == low else (second, names[1])", "if mine[domain] == high else (second, names[1])", "the model with the higher version is checked"),
    # comparison
    Fault("comparison", "starts = [name for name in inputs if name not in fed]", "starts = []", "inputs of the subgraph are not computed"),
    Fault("comparison", "return replace(model, proto=proto, path=None, original=None, label=label)", "return replace(model, proto=proto, label=label)", "the file of the original is run"),
    Fault("comparison", "sources.get(v.name, result.renamed.get(v.name, v.name))", "sources.get(v.name, v.name)", "other inputs of the second model keep their names"),
)  # fmt: skip

TABLE: Final = FaultTable(Path("gather_infer", "editing"), FAULTS, TESTS, FIRST)


if __name__ == "__main__":
    raise SystemExit(TABLE.main("the edits of whole graphs"))
