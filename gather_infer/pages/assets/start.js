// The page: header, sections and keys.

function header() {
  const { name, format, opsets, nodes, producer, bytes: size } = data.model;
  const opset = Object.entries(opsets).map(([domain, version]) => `${domain ? `${shown(domain, 40)} ` : "opset "}${version}`).join(", ");
  const facts = [shown(format, 60), opset, counted(nodes, "node"), counted(data.coverage.tensors, "tensor"), size === null ? "" : bytes(size), producer ? `by ${shown(producer, 60)}` : ""];
  const theme = button("Dark", () => {
    const isDark = getComputedStyle(document.documentElement).colorScheme === "dark"
      || (document.documentElement.dataset.theme === undefined && matchMedia("(prefers-color-scheme: dark)").matches);
    document.documentElement.dataset.theme = isDark ? "light" : "dark";
    theme.textContent = isDark ? "Dark" : "Light";
  }, { class: "quiet", "aria-label": "Switch between dark and light", id: "theme" });
  if (matchMedia("(prefers-color-scheme: dark)").matches) theme.textContent = "Light";
  const links = [["interface", "Interface"], ["sizes", "Sizes"], ["contract", "Contract"], ["accesses", "Accesses"], ["tensors", "Tensors"], ["model", "Model"], ["cost", "Cost"]];
  return make(
    "header", {},
    make("div", { class: "title" }, make("h1", {}, nameElement(name, 90)), make("p", { class: "note" }, facts.filter(Boolean).join(" · "))),
    make("nav", { "aria-label": "Sections" }, links.map(([id, text]) => make("a", { href: `#${id}` }, text)), theme),
  );
}

function keys(event) {
  const isTyping = event.target.matches?.("input:not([type=range]):not([type=checkbox]), select");
  if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    closePanel();
    search.focus();
    search.select();
  } else if (event.key === "Escape") {
    if (!panel.hidden) closePanel();
    else if (event.target === search && search.value) resetTensors();
    else if (selectedSymbols.size) selectSymbols([]);
    else document.activeElement?.blur?.();
  }
}

chooseSizes();
document.body.append(
  header(),
  make(
    "main", {}, interfaceSection(), sizesSection(), contractSection(), findingsSection(), accessesSection(), tensorsSection(), modelSection(), costSection(),
  ),
  panel,
  make("footer", {}, "Made by gather-infer from the file alone; this page loads nothing. Keys: / searches, arrows move in tables and graphs, + − 0 scale graphs, Escape closes."),
);
addEventListener("keydown", keys);
document.documentElement.dataset.ready = "true";
