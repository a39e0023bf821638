// The reports of `fold`, `optimize` and `convert`: sizes, and each change with its surroundings before and after.

const MODEL_SIDES = ["Before", "After"];

function sizesSection({ before, after }, id, note) {
  const names = [...new Set([...Object.keys(before.operators), ...Object.keys(after.operators)])];
  const countIn = (side, name) => side.operators[name] ?? 0;
  const change = (a, b, format) => (a === b ? "" : `${b > a ? "+" : "−"}${format(Math.abs(b - a))}`);
  const isFirst = (name) => (name.endsWith("Gather") || name === "Shape" ? 0 : 1);
  names.sort((a, b) => isFirst(a) - isFirst(b) || Math.abs(countIn(before, b) - countIn(after, b)) - Math.abs(countIn(before, a) - countIn(after, a)) || (a < b ? -1 : 1));
  const row = (title, a, b, format = digits) => [title, format(a), format(b), change(a, b, format)];
  const changed = names.filter((name) => isFirst(name) === 0 || countIn(before, name) !== countIn(after, name));
  const same = names.filter((name) => !changed.includes(name));
  return part(id, "sizes", "Sizes", note, pagedTable(["", "before", "after", "change"], [
    row("nodes", before.nodes, after.nodes), row("initializers", before.initializers, after.initializers), row("bytes of constants", before.bytes, after.bytes, bytes),
    ...changed.map((name) => row(shown(name, 80), countIn(before, name), countIn(after, name))),
  ], 1), same.length ? make("p", { class: "muted" }, `Unchanged: ${same.map((name) => `${shown(name, 80)} ${digits(countIn(before, name))}`).join(", ")}.`) : "");
}

// The table of the changes, and below it the drawings of the chosen one. `kinds` are the texts that a list filters by.
function changesElement({ changes }, columns, kindOf, describe) {
  const detail = make("div", { class: "change", role: "region", "aria-label": "The chosen change" });
  const open = (row, isChosen = true) => {
    const change = changes[row];
    detail.replaceChildren(
      make("h3", {}, shown(change.op_type, 80), " ", nameElement(change.node)), terms(...describe(change)),
      change.pair
        ? pairElement(MODEL_SIDES, change.pair, ["It was made by another change.", "Nothing is in its place."])
        : make("p", { class: "muted" }, "Not drawn: at most 60 changes are, one of each kind first, and only where one of the models has the node."),
    );
    if (isChosen) detail.scrollIntoView({ block: "nearest" });
  };
  const table = new RowTable({ label: "Changes", count: changes.length, visible: 10, open, columns });
  table.element.classList.add("changes");
  const numbers = new Map();
  for (const change of changes) numbers.set(kindOf(change), (numbers.get(kindOf(change)) ?? 0) + 1);
  const status = make("p", { class: "note", role: "status" });
  const apply = (kind) => {
    table.filter(kind ? (row) => kindOf(changes[row]) === kind : null);
    status.textContent = kind ? `${digits(table.order.length)} of ${counted(changes.length, "change")}` : counted(changes.length, "change");
  };
  const select = make("select", { "aria-label": "Show changes by kind", on: { change: () => apply(select.value) } },
    make("option", { value: "" }, "all kinds"), [...numbers].sort((a, b) => b[1] - a[1]).map(([kind, count]) => make("option", { value: kind }, `${shown(kind, 80)} (${count})`)));
  apply("");
  const firstDrawn = changes.findIndex(({ pair }) => pair && pair[0] && pair[1]);
  if (firstDrawn >= 0) open(firstDrawn, false);
  return [make("div", { class: "filters" }, numbers.size > 1 ? select : ""), status, table.element, make("p", { class: "note legend" }, make("span", { class: "badge removed" }, "only before"), make("span", { class: "badge added" }, "only after"), "dashed, and with a thick frame, in the drawings"), detail];
}

function listOfNodes([total, ...nodes]) {
  return total ? listOf([...nodes, ...(total > nodes.length ? [`and ${digits(total - nodes.length)} more`] : [])], (title) => nameElement(title), 6) : "none that were not changed again";
}

function verificationSection({ verification, proof, proof_sentence: text }, id) {
  if (!verification && !proof) return "";
  const outputs = proof ? proof.outputs.map(({ verdict, name, class: kind, reason }) => [verdictLabel(verdict), nameElement(name), shown(reason || (kind ?? ""), 400)]) : [];
  return part(
    id, "verification", "Verification", "",
    verification ? listOf(verification.lines, (line) => shown(line.trim(), 400)) : "",
    proof ? [make("h3", {}, "Proof"), make("p", {}, `${sentenceOf(text)}.`), pagedTable(["Verdict", "output", "class, or reason"], outputs, 3)] : "",
  );
}

function notesSection({ diagnostics }, id) {
  const line = (finding) => make("div", { class: "finding" }, badge(finding.severity), make("code", {}, finding.code), " ", shown(finding.message, 400), make("div", { class: "muted" }, nameElement(finding.location.node || finding.location.value || "the model")));
  return diagnostics.length ? part(id, "notes", "Findings", "In the original, and nodes that were left alone.", listOf(diagnostics, line, 20)) : "";
}

const stateOfChange = ({ verification, proof }) => ((verification && !verification.ok) || (proof && proof.verdict !== "proved") ? "differs" : verification || proof ? "verified" : "changed");
const nodesOf = ({ before, after }) => `${digits(before.nodes)} nodes before, ${digits(after.nodes)} after`;
const signed = (number) => (number > 0 ? `+${digits(number)}` : number < 0 ? `−${digits(-number)}` : "0");

const rewriting = {
  summary: (model) => `${nodesOf(model)}, ${counted(model.changes.length, "rewrite")}`,
  state: stateOfChange,
  sections: (model, id) => {
    const { changes } = model;
    const columns = [
      { title: "Rule", class: "rule", cell: (row) => shown(changes[row].rule, 60), key: (row) => changes[row].rule },
      { title: "Node", class: "wide", cell: (row, fits) => nameElement(changes[row].node, fits), key: (row) => changes[row].node },
      { title: "Law", class: "message", cell: (row) => shown(changes[row].law, 300), key: (row) => changes[row].law },
      { title: "Nodes", class: "minor", cell: (row) => signed(changes[row].nodes), key: (row) => changes[row].nodes },
    ];
    const describe = (change) => [
      ["Rule", shown(change.rule, 80)], ["Law", shown(change.law, 600)], ["Nodes", `${signed(change.nodes)}${change.bytes ? `, ${bytes(change.bytes)} of new constants` : ""}`],
      ["Removed", listOfNodes(change.removed)], ["Added", listOfNodes(change.added)],
    ];
    const floats = model.floats ? `Floats of ${counted(model.floats.nodes.length, "node")} were computed by ${model.floats.runtime}: outputs may differ by ${model.floats.tolerance}, relative to max(1, |original|).` : "";
    return [
      sizesSection(model, id, floats),
      part(id, "changes", "Rewrites", changes.length ? "In the order in which they were applied. A row shows its nodes before and after." : "None.", changes.length ? changesElement(model, columns, (change) => change.rule, describe) : ""),
      verificationSection(model, id), notesSection(model, id),
    ].filter(Boolean);
  },
};
reports.fold = rewriting;
reports.optimize = rewriting;

const INDICES = { proved: "proved in bounds", guarded: "guarded: zeros for an index out of bounds, as in OpenVINO", assumed: "assumed in bounds, where OpenVINO gives zeros" };

reports.convert = {
  summary: nodesOf,
  state: stateOfChange,
  sections: (model, id) => {
    const { changes, kept, weights, variables, assumptions, trusted_annotations: trusted } = model;
    const inOnnx = (row) => [...changes[row].operators, ...(changes[row].fused_into ? [`in ${changes[row].fused_into}`] : [])].join(", ") || "constant";
    const columns = [
      { title: "Operator", class: "rule", cell: (row) => shown(`${changes[row].op_type}-${changes[row].version}`, 60), key: (row) => changes[row].op_type },
      { title: "Node", class: "wide", cell: (row, fits) => nameElement(changes[row].node, fits), key: (row) => changes[row].node },
      { title: "In ONNX", class: "message", cell: (row) => shown(inOnnx(row), 300), key: inOnnx },
      { title: "Indices", class: "minor", cell: (row) => changes[row].indices ?? "", key: (row) => changes[row].indices ?? "" },
    ];
    const describe = (change) => [
      ["Operator", shown(`${change.op_type}-${change.version}`, 80)], ["In ONNX", shown(inOnnx(changes.indexOf(change)), 600)],
      change.indices && ["Indices", INDICES[change.indices]], change.draws && ["Numbers", "drawn by ONNX's generator, which differ from OpenVINO's"],
    ];
    const assumed = changes.filter(({ indices }) => indices === "assumed").map(({ node }) => `indices of ${node} are in bounds`);
    const lines = [...assumed, ...assumptions.map(({ text, reason }) => `${text}: ${reason}`), ...trusted.map(({ name, node }) => `the declared type of ${name}, an output of ${node}, which has no rule`)];
    return [
      sizesSection(model, id, ""),
      part(id, "changes", "Converted nodes", changes.length ? "A row shows the layer before, and its nodes after." : "The model has no OpenVINO nodes.", changes.length ? changesElement(model, columns, (change) => `${change.op_type}-${change.version}${change.indices ? `, indices ${change.indices}` : ""}`, describe) : ""),
      lines.length ? part(id, "assumed", "Assumed", "", listOf(lines, (line) => shown(line, 500), 20)) : "",
      kept.length ? part(id, "kept", "Not converted", "", pagedTable(["Node", "operator", "because"], kept.map(({ node, op_type: name, version, reason }) => [nameElement(node), shown(`${name}-${version}`, 80), shown(reason, 400)]), 3)) : "",
      weights.length ? part(id, "weights", "Compressed weights", "", pagedTable(["Weight", "format"], weights.map(({ name, format }) => [nameElement(name), format]), 2)) : "",
      variables.length ? part(id, "state", "State", "State of the model as inputs and outputs.", pagedTable(["Variable", "input", "output", "first run"], variables.map(({ name, past, present, initial }) => [nameElement(name), nameElement(past ?? ""), nameElement(present ?? ""), initial]), 4)) : "",
      verificationSection(model, id), notesSection(model, id),
    ].filter(Boolean);
  },
};
