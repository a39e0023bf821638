// Parts of the report of a command.

const LEFT_OUT = 60; // entries of a list that are shown at first
const reports = {}; // by command: {sections(model, id), summary(model)}, which the scripts of the reports add

const BOX_KINDS = { center: "center", removed: "removed", added: "added", node: "node", input: "input", constant: "constant" };

// A graph around nodes, from the boxes and edges of a drawing.
function drawingElement(label, { boxes, edges, size, focus }) {
  return neighbourhood(label, {
    boxes: boxes.map(([kind, first, second, x, y, width]) => {
      const mark = kind === "removed" || kind === "added" ? `${kind}: ` : "";
      return { x, y, width, lines: [first, second], kind: BOX_KINDS[kind] ?? "node", label: `${mark}${shown(first)} ${shown(second)}` };
    }),
    edges: edges.map(([start, key, text, points]) => ({ start, key, text: shown(text), points })),
    size, focus,
  });
}

// Two drawings side by side, one below the other where there is no room; null where a model has no such nodes.
function pairElement(titles, drawings, missing) {
  return make("div", { class: "pair" }, titles.map((title, i) => make(
    "figure", {}, make("figcaption", {}, title), drawings[i] ? drawingElement(title, drawings[i]) : make("p", { class: "muted" }, missing[i]),
  )));
}

// A table of which LEFT_OUT rows are shown at first. The cells from the column `numbers` on are aligned to the right.
function pagedTable(headings, rows, numbers) {
  const cells = (tag, row) => make("tr", {}, row.map((cell, i) => make(tag, { class: i >= numbers ? "number" : null, scope: tag === "th" ? "col" : null }, cell)));
  const body = make("tbody", {}, rows.slice(0, LEFT_OUT).map((row) => cells("td", row)));
  const table = make("table", { class: "plain-table" }, make("thead", {}, cells("th", headings)), body);
  const frame = make("div", { class: "scrolls", tabindex: 0, role: "region", "aria-label": headings.filter(Boolean).join(", ") }, table);
  if (rows.length <= LEFT_OUT) return frame;
  const more = button(`${digits(rows.length - LEFT_OUT)} more`, () => {
    more.replaceWith();
    body.append(...rows.slice(LEFT_OUT).map((row) => cells("td", row)));
  }, { class: "quiet" });
  return [frame, more];
}

// A text of ours in which backticks mark code.
function withCode(text) {
  return text.split("`").map((each, i) => (i % 2 ? make("code", {}, each) : each));
}

// Sections with ids that begin with `id`, so that several models have sections of their own.
function part(id, name, title, note, ...content) {
  return section(`${id}${name}`, title, note, ...content);
}
