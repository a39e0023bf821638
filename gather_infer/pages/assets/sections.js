// The sections of the page.

const VERDICTS = {
  proved: "Every index is in bounds in every run.",
  conditional: "In bounds under a condition on the inputs.",
  violated: "An index is out of bounds in every run that gets here.",
  undecided: "It depends on data or on unknown sizes.",
};

// Interface

function interfaceSection() {
  const side = (title, tensors) => make(
    "div", {}, make("h3", {}, title),
    make("ul", { class: "interface" }, tensors.filter((tensor) => tensor !== null).map((tensor) => make("li", {}, tensorLink(tensor), typeElement(data.tensors.type[tensor]), make("code", { class: "sized", "data-type": data.tensors.type[tensor] })))),
  );
  const content = make("div", { class: "columns" }, side("Inputs", data.inputs), side("Outputs", data.outputs));
  const update = () => {
    for (const element of content.querySelectorAll(".sized")) element.textContent = sizedText(Number(element.dataset.type));
    for (const dim of content.querySelectorAll(".dim")) dim.tabIndex = 0;
  };
  sizeListeners.push(update);
  update();
  return section("interface", "Interface", "", content);
}

// Sizes

const used = new Set([...data.cost.symbols, ...types.flatMap((type) => type.symbols)]);

function bounds(position) {
  const low = Math.max(0, Number(symbols[position].lower ?? 0));
  const high = symbols[position].upper === null || symbols[position].upper === undefined ? Math.max(4096, 4 * low) : Number(symbols[position].upper);
  return [low, Math.min(high, Number.MAX_SAFE_INTEGER)];
}

function isLegal() {
  return data.constraints.every(([left, relation, right]) => holds([left, relation, right]) !== false)
    && contractLines().every((line) => !line.tight || !line.relations.length || !line.relations.every((each) => holds(each) === false));
}

function chooseSizes() {
  const chosen = [...used];
  for (const wanted of [8, 16, 4, 2, 32, 64, 224, 1, 128, 3, 512]) {
    for (const symbol of chosen) {
      const [low, high] = bounds(symbol);
      const isData = Boolean(symbols[symbol].cause);
      sizes[symbol] = BigInt(Math.min(high, Math.max(low, 1, /batch|^n$/i.test(symbols[symbol].symbol) && !isData ? 1 : wanted)));
      if (sizes[symbol] > BigInt(high)) sizes[symbol] = BigInt(high);
    }
    if (isLegal()) return;
  }
}

let pendingSizes = 0;

function sizesChanged() {
  formulaCache.clear();
  for (const listener of sizeListeners) listener();
  clearTimeout(pendingSizes);
  pendingSizes = setTimeout(() => slowListeners.forEach((listener) => listener()), 120);
}

const slowListeners = [];
const LINEAR = 1024; // a longer range has a logarithmic slider

function slider(position) {
  const [low, high] = bounds(position);
  const isLinear = high - low <= LINEAR;
  const toSize = (at) => (isLinear ? at : Math.round((low + 1) * ((high + 1) / (low + 1)) ** (at / LINEAR)) - 1);
  const toPlace = (size) => (isLinear ? size : Math.round((LINEAR * Math.log((size + 1) / (low + 1))) / Math.log((high + 1) / (low + 1))));
  const name = shown(symbols[position].symbol, 60);
  const set = (size) => {
    if (!Number.isSafeInteger(size) || size < 0) return;
    sizes[position] = BigInt(size);
    range.value = toPlace(Math.min(high, Math.max(low, size)));
    if (box.value !== String(size)) box.value = String(size);
    sizesChanged();
  };
  const range = make("input", {
    type: "range", min: isLinear ? low : 0, max: isLinear ? high : LINEAR, step: 1, "aria-label": `Size of ${name}`, "data-symbol": symbols[position].symbol,
    on: { input: () => set(toSize(Number(range.value))) },
  });
  const box = make("input", { type: "number", min: 0, "aria-label": `Size of ${name} as a number`, on: { change: () => set(Number(box.value)) } });
  range.value = toPlace(Number(sizes[position]));
  box.value = String(sizes[position]);
  return make("div", { class: "slider" }, symbolButton(position), range, box);
}

function sizesSection() {
  const positions = [...used].sort((a, b) => a - b);
  const declared = positions.filter((position) => !symbols[position].cause);
  const generated = positions.filter((position) => symbols[position].cause);
  const sliders = declared.map(slider);
  if (generated.length) {
    const list = make("div", {}, generated.slice(0, 200).map(slider));
    const open = generated.length <= 4 || !declared.length;
    sliders.push(make("details", { open }, make("summary", {}, `${counted(generated.length, "generated symbol")}, sizes that depend on data or are unknown`), list));
  }
  const warning = make("p", { class: "warning", role: "status" });
  const values = make("dl", { class: "totals" });
  const update = () => {
    const broken = data.constraints.find((each) => holds(each) === false);
    const line = contractLines().find((each) => each.tight && each.relations.length && each.relations.every((relation) => holds(relation) === false));
    warning.textContent = broken ? `No run succeeds with these sizes: ${shown(relationText(broken), 200)} (${shown(broken[3], 80)})` : line ? `A run with these sizes fails: ${shown(line.sentence, 200)}` : "";
    const found = totals();
    const least = (quantity) => (data.cost.exact[quantity] ? "" : "at least ");
    const rows = [
      ["Multiply-adds", found.macs === null ? "unknown" : least("macs") + amount(found.macs), found.macs === null ? "" : digits(found.macs), data.cost.macs[0]],
      ["Peak memory", found.peak === null ? "unknown" : least("peak") + bytes(found.peak), found.peak === null ? "" : `${digits(found.peak)} B, live activations`, data.cost.peak[0] ?? ""],
      ["Parameters", bytes(data.cost.parameter_bytes), `${digits(data.cost.parameter_bytes)} B`, ""],
      ["Bytes read and written", found.reads === null || found.writes === null ? "unknown" : bytes(found.reads + found.writes), "", ""],
    ];
    values.replaceChildren(...rows.map(([name, value, exact, text]) => make("div", { class: "total" }, make("dt", {}, name), make("dd", {}, make("strong", {}, value), make("span", { class: "muted" }, exact), text && Number.isNaN(Number(text)) ? make("code", { class: "formula" }, shown(text, 300)) : ""))));
  };
  sizeListeners.push(update);
  update();
  const note = sliders.length ? "Choose sizes: types, cost and memory on the whole page follow." : "Every size in this model is a number.";
  return section("sizes", "Sizes", note, make("div", { class: "sliders" }, sliders), warning, values);
}

// Plots

function costSection() {
  const declared = [...used].filter((position) => !symbols[position].cause).sort((a, b) => a - b);
  return section("cost", "Cost", "At the sizes chosen above; the dashed line is the chosen size.", plotsElement(declared.length ? declared : [...used]));
}

function plotsElement(positions) {
  const box = make("div", { class: "plots" });
  let chosen = positions.length ? steepest(positions) : undefined;
  const figure = (title, plot) => make("figure", {}, make("figcaption", {}, title), plot);
  const select = make(
    "select", { "aria-label": "Symbol of the plots", on: { change: () => { chosen = Number(select.value); update(); } } },
    positions.slice(0, 200).map((position) => make("option", { value: position }, shown(symbols[position].symbol, 60))),
  );
  if (chosen !== undefined) select.value = chosen;
  const picker = make("label", { class: "picker" }, "Plot against ", select);
  const update = () => {
    const parts = [];
    if (chosen !== undefined && sizes[chosen] !== null) {
      const [low, high] = bounds(chosen);
      const top = Math.max(low + 1, Math.min(high, Math.max(Number(sizes[chosen]) * 2, 64)));
      const found = against(chosen, low, top);
      const name = shown(symbols[chosen].symbol, 60);
      const marked = Number(sizes[chosen]);
      parts.push(
        figure("Multiply-adds", linePlot({ label: `Multiply-adds against ${name}`, xs: found.xs, ys: found.macs, xTitle: name, format: amount, marked })),
        figure("Peak memory", linePlot({ label: `Peak memory against ${name}`, xs: found.xs, ys: found.peak, xTitle: name, format: bytes, marked })),
      );
    }
    if (data.cost.nodes.node.length > 1) {
      const live = liveAlongNodes();
      parts.push(figure("Live memory along the nodes", linePlot({ label: "Live memory along the nodes", xs: live.xs, ys: live.ys, xTitle: "node", format: bytes, isArea: true })));
    }
    const macs = byOperator(["macs"]);
    if (macs.length) parts.push(figure("Multiply-adds by operator", barPlot({ label: "Multiply-adds by operator", rows: macs, format: amount })));
    const moved = byOperator(["reads", "writes"]);
    if (moved.length) parts.push(figure("Bytes read and written by operator", barPlot({ label: "Bytes by operator", rows: moved, format: bytes })));
    box.replaceChildren(...parts);
  };
  slowListeners.push(update);
  update();
  return [positions.length > 1 ? picker : "", box];
}

// Contract and findings

function contractSection() {
  const { lines, nonempty, declared, open } = data.contract;
  const box = make("div", {});
  const group = (title, items) => (items.length ? [make("h3", {}, title), listOf(items, (line) => lineElement(line, " ", line.symbols.map(symbolButton)), 30)] : []);
  const update = () => box.replaceChildren(
    ...[
      group("A run fails, or may fail, unless", lines.filter((line) => !line.is_huge_limit)), group("Not empty", nonempty), group("Declared", declared),
      open.length ? [make("h3", {}, "Open: a run may still fail here"), listOf(open, (text) => shown(text, 500), 12)] : [],
      data.assumptions.length ? [make("h3", {}, "Assumed by the types"), listOf(data.assumptions, (each) => shown(`${each.text}: ${each.reason}`, 400), 12)] : [],
    ].flat(Infinity),
  );
  sizeListeners.push(update);
  update();
  const note = lines.length || nonempty.length || open.length ? "What inputs must satisfy for a run to succeed." : "No condition: for all inputs, no index is out of bounds and no shapes clash.";
  return section("contract", "Contract", note, box);
}

function findingsSection() {
  if (!data.findings.length) return "";
  const element = (finding) => make(
    "div", { class: "finding" }, make("span", { class: `badge ${finding.severity}` }, finding.severity), make("code", {}, finding.code), " ",
    make("span", {}, shown(finding.message, 600)), make("div", { class: "muted" }, nameElement(finding.location.node || finding.location.value || "the model")),
  );
  const order = ["error", "warning", "note"];
  const sorted = [...data.findings].sort((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity));
  return section("findings", "Findings", "", listOf(sorted, element, 8));
}

// Accesses

let accessTable = null;

function accessesSection() {
  if (!data.accesses.length) return section("accesses", "Accesses by index", "No node addresses an axis by index.");
  const kindOf = (row) => data.accesses[row].verdict?.kind ?? "undecided";
  const counts = Object.fromEntries(Object.keys(VERDICTS).map((kind) => [kind, 0]));
  data.accesses.forEach((_, row) => { counts[kindOf(row)] += 1; });
  const kinds = Object.keys(VERDICTS).filter((kind) => counts[kind]);
  const labelOf = (row) => data.nodes.label[data.accesses[row].node];
  const typeCell = (tensor) => (tensor === null ? "" : typeElement(data.tensors.type[tensor]));
  const verdictText = (row) => data.accesses[row].verdict?.condition ?? data.accesses[row].verdict?.reason ?? "";
  accessTable = new RowTable({
    label: "Accesses by index", count: data.accesses.length, visible: 10, open: openAccess,
    columns: [
      { title: "Verdict", class: "verdict", cell: (row) => badge(kindOf(row)), key: (row) => ["violated", "undecided", "conditional", "proved"].indexOf(kindOf(row)) },
      { title: "Node", class: "wide", cell: (row, fits) => nameElement(labelOf(row), fits), key: labelOf },
      { title: "Operator", class: "minor", cell: (row) => operatorOf(data.accesses[row].node), key: (row) => operatorOf(data.accesses[row].node) },
      { title: "Data", class: "minor", cell: (row) => typeCell(data.accesses[row].data) },
      { title: "Indices", class: "minor", cell: (row) => typeCell(data.accesses[row].indices) },
      { title: "Condition or reason", class: "wide", cell: (row) => shown(verdictText(row)), key: verdictText },
    ],
  });
  accessTable.element.classList.add("accesses");
  accessTable.sortBy(0);
  const bar = filterBar("Show accesses by verdict", kinds.map((kind) => ({ kind, count: counts[kind], title: VERDICTS[kind] })), (chosen) => accessTable.filter(chosen ? (row) => kindOf(row) === chosen : null));
  selectionListeners.push(() => accessTable.render());
  return section("accesses", "Accesses by index", "Each axis that a node addresses by index, and whether every index stays in bounds. A part of the bar filters; a row opens the graph around its node.", bar, accessTable.element);
}

// Tensors

let tensorTable = null;
const tensorFilter = { text: "", onlyUnknown: false, onlyCarriers: false, nodes: null };
let searchTexts = null;

function searchText(row) {
  searchTexts ??= data.tensors.name.map((_, tensor) => {
    const node = producers[tensor];
    return `${titleOf(tensor)}\n${node >= 0 ? operatorOf(node) : ORIGINS[data.tensors.origin[tensor]]}\n${types[data.tensors.type[tensor]].text}\n${data.texts[data.tensors.cause[tensor]]}`.toLowerCase();
  });
  return searchTexts[row];
}

const search = make("input", { type: "search", id: "search", placeholder: "Search tensors", "aria-label": "Search tensors by name, operator, type or cause", spellcheck: "false" });
const tensorStatus = make("p", { class: "note", role: "status" });

function applyTensorFilter() {
  const words = tensorFilter.text.toLowerCase().split(/\s+/).filter(Boolean);
  const { onlyUnknown, onlyCarriers, nodes } = tensorFilter;
  const isFiltered = words.length || onlyUnknown || onlyCarriers || nodes;
  tensorTable.filter(isFiltered ? (row) =>
    (!onlyUnknown || data.tensors.cause[row] !== 0)
    && (!onlyCarriers || carries(data.tensors.type[row]))
    && (!nodes || (producers[row] >= nodes[0] && producers[row] <= nodes[1]))
    && (!words.length || words.every((word) => searchText(row).includes(word))) : null);
  const total = data.tensors.name.length;
  const parts = [isFiltered ? `${digits(tensorTable.order.length)} of ${counted(total, "tensor")}` : counted(total, "tensor")];
  if (selectedSymbols.size) parts.push(`highlighted: those with ${[...selectedSymbols].map((symbol) => shown(symbols[symbol].symbol, 40)).join(", ")}`);
  if (nodes) parts.push("of one block");
  tensorStatus.textContent = parts.join(" · ");
}

function listCarriers() {
  Object.assign(tensorFilter, { text: "", onlyCarriers: true, nodes: null });
  search.value = "";
  showTensors();
}

function listNodes(first, last) {
  Object.assign(tensorFilter, { text: "", onlyCarriers: false, onlyUnknown: false, nodes: [first, last] });
  search.value = "";
  showTensors();
}

function showTensors() {
  carrierBox.checked = tensorFilter.onlyCarriers;
  unknownBox.checked = tensorFilter.onlyUnknown;
  applyTensorFilter();
  closePanel();
  document.getElementById("tensors").scrollIntoView();
  tensorTable.element.focus({ preventScroll: true });
}

function resetTensors() {
  Object.assign(tensorFilter, { text: "", onlyUnknown: false, onlyCarriers: false, nodes: null });
  search.value = "";
  carrierBox.checked = unknownBox.checked = false;
  applyTensorFilter();
}

const unknownBox = make("input", { type: "checkbox", on: { change: () => { tensorFilter.onlyUnknown = unknownBox.checked; applyTensorFilter(); } } });
const carrierBox = make("input", { type: "checkbox", on: { change: () => { tensorFilter.onlyCarriers = carrierBox.checked; applyTensorFilter(); } } });

function tensorsSection() {
  const columns = data.tensors;
  const operator = (row) => (producers[row] >= 0 ? operatorOf(producers[row]) : ORIGINS[columns.origin[row]]);
  tensorTable = new RowTable({
    label: "Tensors", count: columns.name.length, open: openTensor,
    rowClass: (row) => (selectedSymbols.size && carries(columns.type[row]) ? "carries" : ""),
    columns: [
      { title: "Name", class: "wide", cell: (row, fits) => nameElement(titleOf(row), fits), key: titleOf },
      { title: "Operator", class: "minor", cell: (row) => shown(operator(row), 60), key: operator },
      { title: "Type", class: "wide", cell: (row) => typeElement(columns.type[row]), key: (row) => types[columns.type[row]].text },
      { title: "At these sizes", class: "minor", cell: (row) => make("code", { class: "sized" }, sizedText(columns.type[row])) },
      { title: "Unknown because", class: "minor", cell: (row) => shown(data.texts[columns.cause[row]]), key: (row) => data.texts[columns.cause[row]] || "\uffff" },
    ],
  });
  tensorTable.element.classList.add("tensors");
  let waiting = 0;
  search.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      tensorFilter.text = search.value;
      applyTensorFilter();
    }, 60);
  });
  sizeListeners.push(() => tensorTable.render());
  selectionListeners.push(applyTensorFilter);
  const filters = make("div", { class: "filters" }, search, make("label", {}, unknownBox, "only unknown"), make("label", {}, carrierBox, "only highlighted"), button("Reset", resetTensors, { class: "quiet" }));
  applyTensorFilter();
  return section("tensors", "Tensors", "A row opens the reason for its type; a symbol in a type highlights every tensor that carries it.", filters, tensorStatus, tensorTable.element);
}

function modelSection() {
  return section("model", "Model", "The main graph, with repeated runs of the same operators as one block. A block opens its operators.", overviewGraph());
}
