// The report of `check`: findings and contract.

const SEVERITIES = ["error", "warning", "note"];
const SEVERITY_TITLES = {
  error: "Some inputs that the declarations allow make a run fail, or a runtime refuses the file.",
  warning: "A run may fail, a tool refuses the file, or a declaration is wrong.",
  note: "Worth knowing.",
};

const countOf = (model, severity) => model.diagnostics.filter((finding) => finding.severity === severity).length;

function findingsTable(model) {
  const found = model.diagnostics;
  const places = found.map(({ location }) => location.node || location.value || "the model");
  const filters = { severity: null, code: "" };
  const table = new RowTable({
    label: "Findings", count: found.length, visible: 12, open: (row) => openFinding(model, found[row]),
    columns: [
      { title: "Severity", class: "verdict", cell: (row) => badge(found[row].severity), key: (row) => SEVERITIES.indexOf(found[row].severity) },
      { title: "Code", class: "code", cell: (row) => make("code", {}, found[row].code), key: (row) => found[row].code },
      { title: "Message", class: "message", cell: (row) => shown(found[row].message, 300), key: (row) => found[row].message },
      { title: "Node or value", class: "wide", cell: (row, fits) => nameElement(places[row], fits), key: (row) => places[row] },
    ],
  });
  table.element.classList.add("findings");
  const status = make("p", { class: "note", role: "status" });
  const apply = () => {
    const { severity, code } = filters;
    table.filter(severity || code ? (row) => (!severity || found[row].severity === severity) && (!code || found[row].code === code) : null);
    status.textContent = severity || code ? `${digits(table.order.length)} of ${counted(found.length, "finding")}` : counted(found.length, "finding");
  };
  const bar = filterBar("Show findings by severity", SEVERITIES.map((kind) => ({ kind, count: countOf(model, kind), text: countOf(model, kind) === 1 ? kind : `${kind}s`, title: SEVERITY_TITLES[kind] })).filter(({ count }) => count), (kind) => {
    filters.severity = kind;
    apply();
  });
  const numbers = new Map();
  for (const { code } of found) numbers.set(code, (numbers.get(code) ?? 0) + 1);
  const codes = [...numbers.keys()].sort();
  const select = make("select", { "aria-label": "Show findings by code", on: { change: () => { filters.code = select.value; apply(); } } },
    make("option", { value: "" }, "all codes"), codes.map((code) => make("option", { value: code }, `${code} (${numbers.get(code)}) ${shown(data.codes[code].meaning, 70)}`)));
  apply();
  return [bar, codes.length > 1 ? make("div", { class: "filters" }, select) : "", status, table.element];
}

function openFinding(model, finding) {
  const { location } = finding;
  const operator = location.op_type ? `${location.domain ? `${location.domain}.` : ""}${location.op_type}${location.version ? `-${location.version}` : ""}` : "";
  const drawing = model.drawings[location.node];
  const { meaning, advice } = data.codes[finding.code];
  openPanel(
    `${finding.severity} ${finding.code}`, location.node || location.value || "the model",
    make("p", { class: "message" }, shown(finding.message, 2000)),
    terms(
      operator && ["Operator", shown(operator)], location.value && ["Value", nameElement(location.value)],
      finding.detail.length && ["Because", listOf(finding.detail, (line) => shown(line, 600), 12)],
      [`${finding.code} is`, withCode(meaning)], ["Advice", withCode(advice)],
    ),
    drawing ? [make("h3", {}, "Where it is"), drawingElement(`Graph around ${shown(location.node, 80)}`, drawing)] : location.node && Object.keys(model.drawings).length ? make("p", { class: "muted" }, `Not drawn: the report draws ${digits(Object.keys(model.drawings).length)} nodes, those of the most severe findings first.`) : "",
  );
}

reports.check = {
  summary: (model) => {
    const counts = SEVERITIES.map((severity) => [severity, countOf(model, severity)]).filter(([, count]) => count);
    return counts.length ? counts.map(([severity, count]) => counted(count, severity)).join(", ") : "no findings";
  },
  state: (model) => (model.fails ? "fails" : "passes"),
  sections: (model, id) => {
    const accesses = Object.entries(model.accesses).filter(([, count]) => count);
    const verdicts = accesses.length ? make("p", { class: "counts-line" }, "Accesses by index: ", accesses.map(([kind, count]) => [badge(`${kind}`), `${digits(count)} `])) : "";
    const line = ({ text, tight, nodes }) => make(
      "span", { class: "line" }, shown(text, 400), tight ? "" : make("span", { class: "badge", title: "A run that breaks it may still succeed" }, "sufficient"),
      make("span", { class: "muted" }, nodes.length ? nameElement(nodes[0]) : "", nodes.length > 1 ? ` and ${nodes.length - 1} more` : ""),
    );
    return [
      part(id, "findings", "Findings", model.diagnostics.length ? "A part of the bar filters; a row opens the reason, the advice and the graph around the node." : "None.", model.diagnostics.length ? findingsTable(model) : ""),
      part(
        id, "contract", "Contract", model.sentences.length || model.open.length ? "What inputs must satisfy for a run to succeed." : model.checked ? "No condition: for all inputs, no index is out of bounds and no shapes clash." : "Not derived: the model was not checked.",
        verdicts, listOf(model.sentences, line, LEFT_OUT), model.open.length ? [make("h3", {}, "Open: a run may still fail here"), listOf(model.open, (text) => shown(text, 500))] : "",
      ),
    ];
  },
};
