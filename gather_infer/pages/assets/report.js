// The report of a command: header, and the sections of each model.

const report = reports[data.command] ?? { summary: () => "", sections: () => [] };
const isSingle = data.models.length === 1;
const titleOfModel = (model) => model.names.map((name) => shown(name, 90)).join(" and ");
const stateOf = (model) => (model.error === undefined ? report.state(model) : "not read");
const summaryOf = (model) => (model.error === undefined ? report.summary(model) : shown(model.error, 300));
const sectionsOf = (model, id) => (model.error === undefined ? report.sections(model, id) : [part(id, "error", "Error", "", make("p", {}, shown(model.error, 2000)))]);

// A model among several: its sections are made when it is opened.
function modelElement(model, at) {
  const box = make("div", {});
  const element = make(
    "details", { class: "model", id: `model-${at}`, on: { toggle: () => { if (element.open && !box.firstChild) box.append(...sectionsOf(model, `m${at}-`)); } } },
    make("summary", {}, make("h2", {}, nameElement(model.names.join(" and "), 90)), " ", badge(stateOf(model)), make("span", { class: "muted" }, summaryOf(model))), box,
  );
  return element;
}

function modelsSection() {
  const elements = data.models.map(modelElement);
  const states = data.models.map(stateOf);
  const table = new RowTable({
    label: "Models", count: data.models.length, visible: 12, open: (row) => {
      elements[row].open = true;
      elements[row].scrollIntoView();
      elements[row].querySelector("summary").focus({ preventScroll: true });
    },
    columns: [
      { title: "State", class: "verdict", cell: (row) => badge(states[row]), key: (row) => states[row] },
      { title: "Model", class: "wide", cell: (row, fits) => nameElement(titleOfModel(data.models[row]), fits), key: (row) => titleOfModel(data.models[row]) },
      { title: "Result", class: "message", cell: (row) => summaryOf(data.models[row]), key: (row) => summaryOf(data.models[row]) },
    ],
  });
  table.element.classList.add("models");
  const kinds = [...new Set(states)].sort().map((kind) => ({ kind, count: states.filter((state) => state === kind).length, title: "" }));
  const bar = filterBar("Show models by state", kinds, (kind) => {
    table.filter(kind ? (row) => states[row] === kind : null);
    elements.forEach((element, row) => { element.hidden = Boolean(kind) && states[row] !== kind; });
  });
  return section("models", "Models", "A part of the bar filters; a row opens the model.", kinds.length > 1 ? bar : "", table.element, elements);
}

function keys(event) {
  if (event.key === "Escape" && !panel.hidden) closePanel();
}

const content = isSingle ? sectionsOf(data.models[0], "") : [modelsSection()];
const facts = isSingle ? [stateOf(data.models[0]), summaryOf(data.models[0])] : [counted(data.models.length, "model")];
if (data.exit_code !== undefined) facts.push(`exit code ${data.exit_code}`);
if (data.accepted) facts.push(`${counted(data.accepted, "finding")} accepted by the baseline`);
if (data.outdated) facts.push(`${counted(data.outdated, "entry").replace("entrys", "entries")} of the baseline without a finding`);
document.body.append(
  header(nameElement(data.title, 120), [...new Set(facts)], content.map((each) => [each.id, each.querySelector("h2").textContent])),
  make("main", {}, content),
  panel,
  make("footer", {}, "Made by gather-infer from the files alone; this page loads nothing. Keys: arrows move in tables and graphs, Enter opens a row, + − 0 scale graphs, Escape closes."),
);
addEventListener("keydown", keys);
document.documentElement.dataset.ready = "true";
