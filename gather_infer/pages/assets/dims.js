// Dims, types and sizes. A formula is a tree of numbers and operations, evaluated with exact integers.

const symbols = data.symbols;
const sizes = symbols.map(() => null); // the size of each symbol as BigInt
const sizeListeners = [];

function evaluate(tree) {
  if (!Array.isArray(tree)) return BigInt(tree);
  if (tree.length === 1) return sizes[tree[0]];
  let result = null;
  for (let i = 1; i < tree.length; i += 1) {
    const operand = evaluate(tree[i]);
    if (operand === null) return null;
    if (i === 1) result = operand;
    else if (tree[0] === "+") result += operand;
    else if (tree[0] === "*") result *= operand;
    else if (tree[0] === "min") result = operand < result ? operand : result;
    else if (tree[0] === "max") result = operand > result ? operand : result;
    else if (operand === 0n) return null;
    else result = floorDivided(result, operand);
  }
  return result;
}

function floorDivided(numerator, divisor) {
  const quotient = numerator / divisor;
  return numerator % divisor !== 0n && numerator < 0n !== divisor < 0n ? quotient - 1n : quotient;
}

function symbolsOf(tree, found = new Set()) {
  if (Array.isArray(tree)) {
    if (tree.length === 1) found.add(tree[0]);
    else for (const operand of tree.slice(1)) symbolsOf(operand, found);
  }
  return found;
}

const dims = data.dims.map((row) =>
  Array.isArray(row)
    ? { text: row[0], tree: row[1], symbols: [...symbolsOf(row[1])] }
    : { text: String(row), tree: row, symbols: [] },
);

const types = data.types.map((row) => {
  if (row.length === 1) return { text: row[0], dims: null, symbols: [] };
  const [dtype, shape, facts, inFacts] = row;
  const dtypeText = dtype ?? "?";
  const list = shape === null ? "[...]" : `[${shape.map((dim) => dims[dim].text).join(", ")}]`;
  const inShape = (shape ?? []).flatMap((dim) => dims[dim].symbols);
  return {
    text: `${dtypeText}${list}${facts ?? ""}`, dtype: dtypeText, dims: shape, facts: facts ?? "",
    symbols: [...new Set([...inShape, ...(inFacts ?? [])])],
  };
});

// Every relation as a truth value at the current sizes; null if a size in it is not known.
function holds([left, relation, right]) {
  const [a, b] = [evaluate(dims[left].tree), evaluate(dims[right].tree)];
  if (a === null || b === null) return null;
  return relation === "<=" ? a <= b : relation === "<" ? a < b : relation === ">=" ? a >= b : a === b;
}

function relationText([left, relation, right]) {
  return `${dims[left].text} ${relation} ${dims[right].text}`;
}

function sizedDim(dim) {
  const size = evaluate(dims[dim].tree);
  return size === null ? dims[dim].text : digits(size);
}

// The type with numbers in place of its dims; "" where it has no symbols in its shape.
function sizedText(type) {
  const { dims: shape, dtype } = types[type];
  if (!shape || !shape.some((dim) => dims[dim].symbols.length)) return "";
  return `${dtype}[${shape.map(sizedDim).join(", ")}]`;
}

const selectedSymbols = new Set();
const selectionListeners = [];

function selectSymbols(chosen) {
  const same = chosen.length === selectedSymbols.size && chosen.every((symbol) => selectedSymbols.has(symbol));
  selectedSymbols.clear();
  if (!same) for (const symbol of chosen) selectedSymbols.add(symbol);
  for (const listener of selectionListeners) listener();
}

const carries = (type) => types[type].symbols.some((symbol) => selectedSymbols.has(symbol));

// A type whose symbolic dims are buttons.
function typeElement(type) {
  const { dims: shape, dtype, facts, text } = types[type];
  if (shape === null || shape === undefined) return make("code", { class: "type" }, shown(text));
  const parts = shape.map((dim, axis) => [axis ? ", " : "", dimElement(dim)]);
  return make("code", { class: "type" }, dtype, "[", parts, "]", facts ? make("span", { class: "facts" }, shown(facts)) : "");
}

function dimElement(dim) {
  const { text, symbols: found } = dims[dim];
  if (!found.length) return text;
  const chosen = found.some((symbol) => selectedSymbols.has(symbol));
  const pick = (event) => {
    event.stopPropagation();
    openSymbols(found);
  };
  return button(shown(text, 60), pick, { class: chosen ? "dim chosen" : "dim", tabindex: -1 });
}

function symbolButton(symbol) {
  return button(shown(symbols[symbol].symbol, 60), () => openSymbols([symbol]), { class: "dim" });
}
