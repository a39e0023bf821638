// The details of a tensor, a symbol, an access or a block.

const ORIGINS = ["node", "input", "constant", "body input"];
const STEPS = 8; // depth to which a chain is opened at first

const operatorOf = (node) => data.operators[data.nodes.op[node]][0];

const producers = new Int32Array(data.tensors.name.length).fill(-1);
const consumers = new Map();
data.nodes.outputs.forEach((outputs, node) => {
  for (const tensor of outputs) if (tensor !== null) producers[tensor] = node;
});

function consumersOf(tensor) {
  if (!consumers.size) {
    data.nodes.inputs.forEach((inputs, node) => {
      for (const read of new Set(inputs)) if (read !== null) consumers.set(read, [...(consumers.get(read) ?? []), node]);
    });
  }
  return consumers.get(tensor) ?? [];
}

function titleOf(tensor) {
  const scope = data.scopes[data.tensors.scope[tensor]];
  const name = data.tensors.name[tensor];
  return scope ? `${scope}/${name}` : name;
}

function tensorLink(tensor) {
  return button(nameElement(titleOf(tensor)), () => openTensor(tensor), { class: "link" });
}

function nodeLink(node) {
  const output = data.nodes.outputs[node].find((tensor) => tensor !== null);
  const text = [operatorOf(node), " ", nameElement(data.nodes.label[node])];
  return output === undefined ? make("span", {}, text) : button(text, () => openTensor(output), { class: "link" });
}

function sized(type) {
  const text = sizedText(type);
  return text && make("code", { class: "sized" }, text);
}

function openTensor(tensor) {
  if (tensor === undefined) return;
  const type = data.tensors.type[tensor];
  const node = producers[tensor];
  const cause = data.texts[data.tensors.cause[tensor]];
  const readers = consumersOf(tensor);
  const origin = ORIGINS[data.tensors.origin[tensor]];
  openPanel(
    node >= 0 ? "Tensor" : origin === "input" ? "Input" : `Tensor, ${origin}`, titleOf(tensor),
    terms(
      ["Type", typeElement(type)], sized(type) && ["At these sizes", sized(type)],
      node >= 0 && ["Operator", operatorOf(node)], node >= 0 && ["Node", nameElement(data.nodes.label[node])],
      cause && ["Unknown", shown(cause, 600)],
    ),
    make("h3", {}, "Why it has this type"), explanationTree(tensor),
    readers.length ? [make("h3", {}, `Read by ${counted(readers.length, "node")}`), listOf(readers, nodeLink)] : [],
  );
}

function explanationTree(root) {
  if (data.steps.tensor[root] !== root) return make("p", {}, "The page has no steps for this tensor.");
  return make("ul", { class: "tree" }, stepElement(root, new Set(), STEPS, 0));
}

const forwarded = new Set(data.steps.forwarded);

function stepElement(step, seen, depth, skipped) {
  const { tensor: tensors, sources, relevant, facet } = data.steps;
  const tensor = tensors[step];
  const node = tensor === null ? -1 : producers[tensor];
  const repeated = seen.has(step) && sources[step].length > 0;
  seen.add(step);
  const about = relevant[step] ? relevant[step].map((dim) => dims[dim].text).join(", ") : "";
  const what = facet[step] ? "elements" : "shape";
  const line = make(
    "div", { class: "step" },
    node >= 0
      ? [make("span", { class: "operator" }, operatorOf(node)), " ", button(nameElement(data.nodes.label[node]), () => openTensor(tensor), { class: "link" })]
      : [make("span", { class: "operator" }, tensor === null ? "" : ORIGINS[data.tensors.origin[tensor]]), " ", tensor === null ? "" : tensorLink(tensor)],
    make("div", { class: "reason" }, `${what} ${shown(about, 80)} `, tensor === null ? "" : typeElement(data.tensors.type[tensor])),
    node >= 0 ? operandsElement(node, step) : "",
    repeated ? make("div", { class: "reason" }, "see above") : "",
  );
  const item = make("li", {}, skipped ? make("div", { class: "skipped" }, `${counted(skipped, "node")} that only forward ${shown(about, 80) || "dims"}`) : "", line);
  if (repeated || !sources[step].length) return item;
  const below = () => make("ul", {}, sources[step].map((source) => followed(source, seen, depth - 1)));
  if (depth > 0) item.append(below());
  else {
    const more = button("Continue", () => more.replaceWith(make("ul", {}, sources[step].map((source) => followed(source, seen, 3)))), { class: "quiet" });
    item.append(more);
  }
  return item;
}

// The step at the end of a path of nodes that only forward the dims, if at least two are left out.
function followed(step, seen, depth) {
  let [end, skipped] = [step, 0];
  while (forwarded.has(end) && !seen.has(end)) {
    end = data.steps.sources[end][0];
    skipped += 1;
  }
  return skipped >= 2 ? stepElement(end, seen, depth, skipped) : stepElement(step, seen, depth, 0);
}

// Inputs of the node whose elements are known, with their names in the specification.
function operandsElement(node, step) {
  const followedTensors = new Set(data.steps.sources[step].map((source) => data.steps.tensor[source]));
  const formal = data.operators[data.nodes.op[node]][1];
  const shownInputs = data.nodes.inputs[node].map((tensor, at) => ({ tensor, label: formal[at] ?? "" }))
    .filter(({ tensor }) => tensor !== null && !followedTensors.has(tensor) && types[data.tensors.type[tensor]].facts?.startsWith(" ="));
  return shownInputs.length ? make("div", { class: "reason" }, shownInputs.map(({ tensor, label }) => [`${label} `, typeElement(data.tensors.type[tensor]), " "])) : "";
}

function openSymbols(chosen) {
  selectSymbols(chosen);
  if (!selectedSymbols.size) {
    closePanel();
    return;
  }
  const title = chosen.map((symbol) => symbols[symbol].symbol).join(", ");
  openPanel(chosen.length > 1 ? "Symbols" : "Symbol", title, chosen.map((symbol) => symbolElement(symbol, chosen.length > 1)));
}

function symbolElement(position, isTitled) {
  const symbol = symbols[position];
  const places = symbol.interface_dims ?? [];
  const carriers = data.tensors.type.reduce((sum, type) => sum + types[type].symbols.includes(position), 0);
  const limits = contractLines().filter((line) => line.symbols.includes(position));
  const bounds = symbol.lower === undefined ? "" : symbol.upper === null ? `at least ${symbol.lower}` : `${symbol.lower} to ${symbol.upper}`;
  const where = symbol.cause
    ? [`Generated at `, symbol.node === null || symbol.node === undefined ? shown(symbol.cause.node) : nodeLink(symbol.node), `: ${shown(symbol.cause.reason, 400)}`]
    : places.length
      ? listOf(places, (place) => [`axis ${place.axis} of the ${place.kind} `, nameElement(place.name)], 6)
      : "No input or output declares it.";
  return make(
    "section", { class: "symbol" }, isTitled ? make("h3", {}, nameElement(symbol.symbol)) : "",
    terms(
      ["Comes from", where], symbol.equals !== null && symbol.equals !== undefined && ["Equals", shown(String(symbol.equals))],
      bounds && ["In every run", bounds],
      ["Limited by", limits.length ? listOf(limits, (line) => lineElement(line), 8) : "no line of the contract"],
      (symbol.assumptions ?? []).length && ["Assumed", listOf(symbol.assumptions, (each) => `${each.lower === null ? `${each.dim} <= ${each.upper}` : `${each.dim} >= ${each.lower}`}: ${shown(each.reason, 300)}`, 4)],
      ["Carried by", `${counted(carriers, "tensor")}, highlighted in the table`],
    ),
    button("List these tensors", () => listCarriers(), {}),
  );
}

function contractLines() {
  return [...data.contract.lines, ...data.contract.nonempty, ...data.contract.declared];
}

// A line of the contract, with whether it holds at the current sizes.
function lineElement(line, ...marks) {
  const where = line.nodes.length ? [nameElement(line.nodes[0]), line.nodes.length > 1 ? ` and ${line.nodes.length - 1} more` : ""] : [];
  const states = line.relations.map(holds);
  const broken = states.length > 0 && states.every((state) => state === false);
  return make(
    "span", { class: broken ? "line broken" : "line" }, shown(line.sentence, 400),
    line.tight ? "" : make("span", { class: "badge", title: "A run that breaks it may still succeed" }, "sufficient"),
    broken ? make("span", { class: "badge violated" }, "broken at these sizes") : "",
    marks,
    make("span", { class: "muted" }, where),
  );
}

function openAccess(position) {
  const access = data.accesses[position];
  const verdict = access.verdict;
  const witness = Object.entries(verdict?.witness ?? {}).map(([name, value]) => `${shown(name, 60)} = ${value}`).join(", ");
  const states = access.conditions.map(holds);
  const now = !states.length || states.includes(null) ? "" : states.every(Boolean) ? "The condition holds at these sizes." : "The condition is broken at these sizes.";
  openPanel(
    `Access by ${operatorOf(access.node)}`, data.nodes.label[access.node],
    terms(
      verdict && ["Verdict", badge(verdict.kind), ` ${VERDICTS[verdict.kind]}`],
      verdict?.condition && [verdict.tight ? "In bounds only if" : "In bounds if", make("code", {}, shown(verdict.condition, 400)), now ? make("div", { class: "muted" }, now) : ""],
      witness && ["Fails for", make("code", { class: "witness" }, witness)],
      verdict?.reason && ["Reason", shown(verdict.reason, 600)],
      ["Axis", access.axis === null ? "unknown" : String(access.axis), access.component === null ? "" : `, component ${access.component} of the index tuples`],
      verdict && verdict.kind !== "proved" && ["Out of bounds", shown(verdict.outside)],
      access.data !== null && ["Data", tensorLink(access.data), make("div", {}, typeElement(data.tensors.type[access.data]))],
      access.indices !== null && ["Indices", tensorLink(access.indices), make("div", {}, typeElement(data.tensors.type[access.indices]))],
    ),
    access.drawing ? [make("h3", {}, "Where its indices come from"), accessGraph(access)] : make("p", { class: "muted" }, "Not drawn: the page draws the first 2000 accesses."),
  );
}

function accessGraph(access) {
  const { boxes, edges, size } = access.drawing;
  const drawn = boxes.map(([kind, position, x, y, width]) => {
    if (kind === "tensor") {
      const name = data.tensors.name[position];
      const origin = producers[position] >= 0 ? "constant" : ORIGINS[data.tensors.origin[position]];
      return { x, y, width, lines: [name, origin], kind: origin.split(" ").pop(), label: `${origin} ${shown(name)}`, action: () => openTensor(position) };
    }
    const [operator, label] = [operatorOf(position), data.nodes.label[position]];
    const kinds = position === access.node ? "center" : "node";
    const action = () => openTensor(data.nodes.outputs[position].find((tensor) => tensor !== null));
    return { x, y, width, lines: [operator, label], kind: kinds, label: `${operator} ${shown(label)}`, action };
  });
  const lines = edges.map(([start, , tensor, points]) => {
    const { text, facts } = types[data.tensors.type[tensor]];
    return { start, key: tensor, text: facts?.startsWith(" in") ? text.slice(0, -facts.length) : text, points };
  });
  const focus = boxes.findIndex(([kind, position]) => kind === "node" && position === access.node);
  return neighbourhood("Graph around the access", { boxes: drawn, edges: lines, size, focus });
}

function overviewGraph() {
  const { blocks, edges, size } = data.overview;
  const lines = edges.map(([, , number, points]) =>
    points.length ? [svg("path", { class: number > 1 ? "edge wide" : "edge", d: edgePath(points) }), arrow(points)] : [],
  );
  const drawn = blocks.map((block) => {
    const [x, y, width, height] = block.box;
    const texts = block.summary ? [block.label, block.summary] : [block.label, block.kind];
    const kind = block.kind === "block" ? (block.count > 1 ? "repeated" : "node") : block.kind;
    return boxElement({ x, y, width, height, lines: texts, kind, label: texts.map((text) => shown(text)).join(", "), action: () => openBlock(block), cut: head });
  });
  return viewport("The model by repeated blocks", size, [...lines, drawn], 560);
}

function openBlock(block) {
  if (block.kind !== "block") {
    if (block.tensors.length === 1) openTensor(block.tensors[0]);
    else openPanel("Interface", block.label, listOf(block.tensors, tensorLink, 40));
    return;
  }
  const [first, last, end] = block.nodes;
  openPanel(
    block.count > 1 ? "Repeated block" : "Block", block.label,
    terms(
      block.scope && ["Scope", nameElement(block.scope)], ["From", nodeLink(first)],
      [block.count > 1 ? "To, in the first" : "To", nodeLink(last)], block.count > 1 && ["To, in the last", nodeLink(end)],
    ),
    make("h3", {}, "Operators"),
    make("ul", { class: "plain counts" }, block.operators.map(([name, count]) => make("li", {}, make("span", {}, shown(name)), make("span", {}, String(count))))),
    button("List its tensors", () => listNodes(first, block.count > 1 ? last : end), {}),
  );
}
