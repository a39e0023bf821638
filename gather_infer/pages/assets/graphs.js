// Drawings of graphs, laid out when the page was made.

const SMALLEST_SCALE = 0.15;
const LARGEST_SCALE = 3;

// An SVG that the pointer, the wheel and the keys move and scale, with its buttons.
// `focus` is the height at which a drawing that does not fit opens.
function viewport(label, [width, height], layers, tallest, focus = 0) {
  const margin = 24;
  const full = { x: -margin, y: -margin, width: width + 2 * margin, height: height + 2 * margin };
  const view = { ...full };
  const picture = svg("svg", { class: "graph", tabindex: 0, role: "group", "aria-label": label }, layers);
  const frame = () => ({ width: picture.clientWidth || 800, height: picture.clientHeight || 400 });
  const show = () => picture.setAttribute("viewBox", `${view.x} ${view.y} ${view.width} ${view.height}`);
  const zoom = (factor, atX = view.x + view.width / 2, atY = view.y + view.height / 2) => {
    const scale = frame().width / (view.width / factor);
    if (scale > LARGEST_SCALE || (scale < SMALLEST_SCALE && factor < 1)) return;
    view.x = atX - (atX - view.x) / factor;
    view.y = atY - (atY - view.y) / factor;
    view.width /= factor;
    view.height /= factor;
    show();
  };
  const move = (dx, dy) => {
    view.x += dx;
    view.y += dy;
    show();
  };
  // Text stays readable: the whole drawing if it fits at 60 % or more, else the part around the focus.
  const fit = () => {
    const room = frame();
    const scale = Math.max(0.6, Math.min(1.1, room.width / full.width, room.height / full.height));
    view.width = room.width / scale;
    view.height = room.height / scale;
    view.x = full.x - (view.width - full.width) / 2;
    view.y = full.height < view.height ? full.y - (view.height - full.height) / 2 : Math.min(Math.max(full.y, focus - view.height * 0.6), full.y + full.height - view.height);
    show();
  };
  picture.style.height = `${Math.min(tallest, Math.max(160, full.height))}px`;
  const keys = {
    "+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(0.8), 0: fit,
    ArrowLeft: () => move(-view.width / 8, 0), ArrowRight: () => move(view.width / 8, 0),
    ArrowUp: () => move(0, -view.height / 8), ArrowDown: () => move(0, view.height / 8),
  };
  picture.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in keys)) return;
    event.preventDefault();
    keys[event.key]();
  });
  picture.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && document.activeElement !== picture) return; // the page scrolls
    event.preventDefault();
    const box = picture.getBoundingClientRect();
    const x = view.x + ((event.clientX - box.left) / box.width) * view.width;
    const y = view.y + ((event.clientY - box.top) / box.height) * view.height;
    zoom(event.deltaY < 0 ? 1.15 : 1 / 1.15, x, y);
  }, { passive: false });
  let from = null;
  picture.addEventListener("pointerdown", (event) => {
    from = { x: event.clientX, y: event.clientY };
  });
  addEventListener("pointermove", (event) => {
    if (!from || !event.buttons) return;
    const scale = view.width / frame().width;
    move((from.x - event.clientX) * scale, (from.y - event.clientY) * scale);
    from = { x: event.clientX, y: event.clientY };
  });
  addEventListener("pointerup", () => {
    from = null;
  });
  new ResizeObserver(fit).observe(picture);
  show();
  const controls = make(
    "div", { class: "controls" },
    button("+", () => zoom(1.25), { "aria-label": "Zoom in" }), button("−", () => zoom(0.8), { "aria-label": "Zoom out" }),
    button("Fit", fit, { "aria-label": "Fit the drawing" }),
  );
  return make("div", { class: "graph-frame" }, picture, controls);
}

function edgePath(points) {
  const path = [`M ${points[0]} ${points[1]}`];
  for (let i = 2; i < points.length; i += 2) {
    const [x, y, nextX, nextY] = [points[i - 2], points[i - 1], points[i], points[i + 1]];
    const middle = (y + nextY) / 2;
    path.push(x === nextX ? `L ${nextX} ${nextY}` : `C ${x} ${middle} ${nextX} ${middle} ${nextX} ${nextY}`);
  }
  return path.join(" ");
}

function arrow(points) {
  const [x, y] = points.slice(-2);
  return svg("path", { class: "arrow", d: `M ${x} ${y} l -4 -7 l 8 0 z` });
}

// A box; it is a button if it has an `action`.
function boxElement({ x, y, width, height, lines, kind, label, action = null, cut = tail }) {
  const fits = (i) => Math.floor((width - 16) / (i ? 6.4 : 7.6));
  const texts = lines.map((line, i) => {
    const top = y + height / 2 + (lines.length === 1 ? 4 : i ? 16 : -3);
    return svg("text", { x: x + width / 2, y: top, class: i ? "second" : "first" }, cut(line, fits(i)));
  });
  const press = (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    action();
  };
  const asButton = action ? { role: "button", tabindex: 0, on: { click: action, keydown: press } } : {};
  return svg("g", { class: `box ${kind}`, ...asButton }, svg("rect", { x, y, width, height, rx: 8 }, svg("title", {}, label)), texts);
}

// The end of a name, which differs where beginnings are equal.
function tail(text, fits) {
  const name = shown(text, 400);
  return name.length > fits ? `…${name.slice(-(fits - 1))}` : name;
}

function head(text, fits) {
  const name = shown(text, 400);
  return name.length > fits ? `${name.slice(0, fits - 1)}…` : name;
}

const BOX_HEIGHT = 46;

// A graph of boxes {x, y, width, lines, kind, label, action} and edges {start, key, text, points}. The text of an edge is
// printed once for each `key`, below the box that it starts at; `focus` is the box that a tall drawing opens at.
function neighbourhood(label, { boxes, edges, size, focus = 0 }, tallest = 520) {
  const labelled = new Set();
  const lines = edges.map(({ start, key, text, points }) => {
    if (!points.length) return [];
    const parts = [svg("path", { class: "edge", d: edgePath(points) }), arrow(points)];
    if (text && !labelled.has(`${start} ${key}`)) {
      labelled.add(`${start} ${key}`);
      parts.push(svg("text", { class: "label", x: points[0] + 6, y: points[1] + 15 }, head(text, Math.floor((boxes[start].width + 20) / 6))));
    }
    return parts;
  });
  const drawn = boxes.map((box) => boxElement({ height: BOX_HEIGHT, ...box }));
  return viewport(label, size, [...lines, drawn], tallest, boxes[focus].y + BOX_HEIGHT);
}
