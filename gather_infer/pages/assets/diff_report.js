// The report of `diff`: verdict, outputs, first difference, and what else differs.

const sentenceOf = (text) => text.charAt(0).toUpperCase() + text.slice(1);
const SIDES = ["In the first model", "In the second model"];
const BADGES = { proved: "proved", runs: "conditional", different: "violated", unknown: "undecided", not_comparable: "violated" };

function verdictLabel(verdict) {
  return make("span", { class: `badge ${BADGES[verdict]}` }, verdict === "runs" ? "equal in runs" : verdict.replace("_", " "));
}

function requirementList(title, entries) {
  const line = ({ text, nodes, witness }) => make(
    "span", { class: "line" }, make("code", {}, shown(text, 400)),
    make("span", { class: "muted" }, nodes.length ? nameElement(nodes[0]) : "", witness && Object.keys(witness).length ? [nodes.length ? "; " : "", "fails for ", Object.entries(witness).map(([name, value]) => `${shown(name, 60)} = ${value}`).join(", ")] : ""),
  );
  return entries.length ? [make("h3", {}, title), listOf(entries, line)] : [];
}

function outputsElement({ outputs, laws }) {
  const isRenamed = outputs.some(({ name, other }) => other && other !== name);
  const cells = ({ name, other, verdict, class: kind, reason }) => [
    verdictLabel(verdict), nameElement(name), ...(isRenamed ? [nameElement(other)] : []),
    shown(reason || (kind ? `${kind}${kind === "named laws" ? `: ${laws.join(", ")}` : ""}` : ""), 600),
  ];
  return pagedTable(["Verdict", "output", ...(isRenamed ? ["in the second model"] : []), "class of the proof, or reason"], outputs.map(cells), 4);
}

function firstDifferenceSection(model, id) {
  const { first_difference: first, drawings } = model;
  if (!first) return "";
  return part(
    id, "first", "First difference", `The first node, in the order of the second model, whose result no value of the first model is proved equal to, on the way to ${shown(first.output, 80)}.`,
    terms([SIDES[0], nameElement(first.first || "no node corresponds")], [SIDES[1], nameElement(first.second)], first.differences.length && ["Differences", listOf(first.differences, (text) => shown(text, 600))]),
    pairElement(SIDES, drawings, ["The node has no counterpart.", "The node has no counterpart."]),
  );
}

function changesSections(model, id) {
  const { interface: lines, opsets, nodes, operators, weights, costs } = model;
  const changed = Object.entries(operators);
  const weight = ({ name, differing, elements, largest, reason }) => [nameElement(name), reason ? shown(reason, 300) : `${digits(differing)} of ${counted(elements, "element")}`, largest === null || reason ? "" : largest.toPrecision(3)];
  const contract = model.contracts ?? { narrowing: [], widening: [] };
  return [
    lines.length || Object.keys(opsets).length ? part(id, "interface", "Interface", "", listOf([...lines, ...Object.entries(opsets).map(([domain, [a, b]]) => `opset of ${domain || "ai.onnx"}: ${a} in the first model, ${b} in the second`)], (text) => shown(text, 600))) : "",
    part(id, "contract", "Contract", sentenceOf(model.contract_sentence ?? "each input that the first model takes, the second takes, and the other way round.") , requirementList("The second model requires", contract.narrowing), requirementList("The first model requires", contract.widening), model.obligations.length ? [make("h3", {}, "Not proved to run wherever the first model runs"), listOf(model.obligations, (text) => shown(text, 600))] : ""),
    weights.length ? part(id, "weights", "Weights", "Initializers that both models have by name, with other elements.", pagedTable(["Weight", "differs in", "by at most"], weights.map(weight), 2)) : "",
    changed.length ? part(id, "operators", "Operators", "Numbers of nodes, where they differ.", pagedTable(["", "first", "second"], [["all nodes", ...nodes.map(digits)], ...changed.map(([name, counts]) => [shown(name, 80), ...counts.map(digits)])], 1)) : "",
    costs.length ? part(id, "cost", "Cost", "", pagedTable(["", "first", "second"], costs.map(([quantity, one, other, exact]) => [quantity + (exact ? "" : ", as far as known"), make("code", {}, shown(one, 300)), make("code", {}, shown(other, 300))]), 3)) : "",
  ];
}

function runsSection({ runs, runs_sentence: text, witness }, id) {
  if (!runs) return "";
  const sizesOf = (binding) => Object.entries(binding ?? {}).map(([name, size]) => `${shown(name, 60)} = ${size}`).join(", ");
  const mismatch = (each) => [nameElement(each.output ?? ""), sizesOf(each.binding), each.index ? `[${each.index.join(", ")}]` : "", shown(each.original ?? "", 60), shown(each.rewritten ?? "", 60), shown(each.reason ?? "", 300)];
  return part(
    id, "runs", "Runs", runs.failure ? shown(runs.failure, 600) : `${text}.`,
    runs.mismatches.length ? pagedTable(["Output", "sizes", "element", "first", "second", ""], runs.mismatches.map(mismatch), 6) : "",
    witness ? [make("h3", {}, "Inputs for which the outputs differ"), pagedTable(["Input", "type", "elements"], witness.map(([name, type, elements]) => [nameElement(name), make("code", {}, type), make("code", {}, shown(elements, 600))]), 3)] : "",
  );
}

reports.diff = {
  summary: (model) => model.sentence,
  state: (model) => (model.equal ? "equal" : "different"),
  sections: (model, id) => [
    part(id, "outputs", "Outputs", `${sentenceOf(model.sentence)}.`, outputsElement(model)),
    firstDifferenceSection(model, id), ...changesSections(model, id), runsSection(model, id),
  ].filter(Boolean),
};
