// Plots: lines against a symbol or along the nodes, and bars.

const PLOT = { width: 640, height: 220, left: 76, right: 14, top: 12, bottom: 40 };
const BARS = 10;

function ticks(low, high, number) {
  if (high <= low) return [low];
  const raw = (high - low) / number;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= raw) ?? raw;
  const found = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high * 1.0001; tick += step) found.push(tick);
  return found;
}

// Ticks at round numbers of the unit that `format` prints: powers of 1024 for bytes.
function valueTicks(most, format) {
  if (format !== bytes) return ticks(0, most, 4);
  const unit = 1024 ** Math.floor(Math.log(most) / Math.log(1024));
  return ticks(0, most / unit, 4).map((tick) => tick * unit);
}

// xs and ys are numbers; `marked` is the x of a vertical line.
function linePlot({ label, xs, ys, xTitle, format, isArea, marked, xFormat = (x) => digits(Math.round(x)) }) {
  const { width, height, left, right, top, bottom } = PLOT;
  const [low, high] = [xs[0], xs[xs.length - 1]];
  const most = Math.max(...ys, 1);
  const x = (value) => left + (high > low ? (value - low) / (high - low) : 0.5) * (width - left - right);
  const y = (value) => top + (1 - value / most) * (height - top - bottom);
  const points = xs.map((value, i) => `${x(value).toFixed(1)} ${y(ys[i]).toFixed(1)}`);
  const path = `M ${points.join(" L ")}`;
  const parts = [
    valueTicks(most, format).map((tick) => [
      svg("line", { class: "grid", x1: left, x2: width - right, y1: y(tick), y2: y(tick) }),
      svg("text", { class: "tick", x: left - 8, y: y(tick) + 4, "text-anchor": "end" }, format(tick)),
    ]),
    ticks(low, high, 6).map((tick) => svg("text", { class: "tick", x: x(tick), y: height - bottom + 18, "text-anchor": "middle" }, xFormat(tick))),
    svg("text", { class: "axis", x: (left + width - right) / 2, y: height - 4, "text-anchor": "middle" }, xTitle),
    isArea ? svg("path", { class: "area", d: `${path} L ${x(high)} ${y(0)} L ${x(low)} ${y(0)} Z` }) : "",
    svg("path", { class: "line", d: path }),
  ];
  if (marked !== undefined && marked >= low && marked <= high) {
    parts.push(svg("line", { class: "mark", x1: x(marked), x2: x(marked), y1: top, y2: y(0) }));
  }
  return svg("svg", { class: "plot", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, parts);
}

// rows are {name, value}, the largest first.
function barPlot({ label, rows, format }) {
  const visible = rows.slice(0, BARS);
  const rest = rows.slice(BARS);
  if (rest.length) visible.push({ name: `${rest.length} more`, value: rest.reduce((sum, row) => sum + row.value, 0) });
  const [line, left, right, width] = [26, 190, 84, 640];
  const most = Math.max(...visible.map((row) => row.value), 1);
  const parts = visible.map(({ name, value }, i) => {
    const length = Math.max(1, (value / most) * (width - left - right));
    const base = i * line + 17;
    return [
      svg("text", { class: "tick", x: left - 10, y: base, "text-anchor": "end" }, tail(name, 26)),
      svg("rect", { class: "bar", x: left, y: i * line + 5, width: length, height: 16, rx: 3 }),
      svg("text", { class: "tick", x: left + length + 8, y: base }, format(value)),
    ];
  });
  return svg("svg", { class: "plot", viewBox: `0 0 ${width} ${visible.length * line + 6}`, role: "img", "aria-label": label }, parts);
}

const number = (value) => (value === null ? 0 : Number(value));
const formulaCache = new Map();

function formula(position) {
  if (position === null) return null;
  if (!formulaCache.has(position)) formulaCache.set(position, evaluate(data.cost.formulas[position]));
  return formulaCache.get(position);
}

function peak() {
  const [, points] = data.cost.peak;
  return points.reduce((most, point) => {
    const live = formula(point);
    return most === null || live === null ? null : live > most ? live : most;
  }, 0n);
}

function totals() {
  return { macs: formula(data.cost.macs[1]), peak: peak(), reads: formula(data.cost.reads[1]), writes: formula(data.cost.writes[1]) };
}

// Multiply-adds and peak memory at sizes of one symbol from `low` to `high`.
function against(symbol, low, high) {
  const kept = sizes[symbol];
  const steps = Math.min(64, Math.max(1, high - low));
  const found = { xs: [], macs: [], peak: [] };
  for (let i = 0; i <= steps; i += 1) {
    const size = Math.round(low + ((high - low) * i) / steps);
    sizes[symbol] = BigInt(size);
    formulaCache.clear();
    found.xs.push(size);
    found.macs.push(number(formula(data.cost.macs[1])));
    found.peak.push(number(peak()));
  }
  sizes[symbol] = kept;
  formulaCache.clear();
  return found;
}

// The symbol whose growth costs most at the current sizes.
function steepest(positions) {
  const growth = (position) => {
    const kept = sizes[position];
    sizes[position] = kept * 16n;
    formulaCache.clear();
    const cost = number(formula(data.cost.macs[1])) + number(peak());
    sizes[position] = kept;
    return cost;
  };
  const costs = new Map(positions.slice(0, 40).map((position) => [position, growth(position)]));
  formulaCache.clear();
  return [...costs].reduce((best, each) => (each[1] > best[1] ? each : best), [positions[0], -1])[0];
}

function byOperator(quantities) {
  const sums = new Map();
  data.cost.nodes.node.forEach((node, i) => {
    const value = quantities.reduce((sum, quantity) => sum + number(formula(data.cost.nodes[quantity][i])), 0);
    const name = operatorOf(node);
    sums.set(name, (sums.get(name) ?? 0) + value);
  });
  return [...sums].map(([name, value]) => ({ name, value })).filter((row) => row.value > 0).sort((a, b) => b.value - a.value);
}

// Live memory in bins of neighbouring nodes, the largest of each bin.
function liveAlongNodes() {
  const live = data.cost.nodes.live;
  const bins = Math.min(400, live.length);
  const values = Array.from({ length: bins }, () => 0);
  live.forEach((position, i) => {
    const bin = Math.floor((i * bins) / live.length);
    values[bin] = Math.max(values[bin], number(formula(position)));
  });
  return { xs: values.map((_, bin) => Math.floor((bin * live.length) / bins)), ys: values };
}
