// The page of a model: header, sections and keys.

function modelHeader() {
  const { name, format, opsets, nodes, producer, bytes: size } = data.model;
  const opset = Object.entries(opsets).map(([domain, version]) => `${domain ? `${shown(domain, 40)} ` : "opset "}${version}`).join(", ");
  const facts = [shown(format, 60), opset, counted(nodes, "node"), counted(data.coverage.tensors, "tensor"), size === null ? "" : bytes(size), producer ? `by ${shown(producer, 60)}` : ""];
  const links = [["interface", "Interface"], ["sizes", "Sizes"], ["contract", "Contract"], ["accesses", "Accesses"], ["tensors", "Tensors"], ["model", "Model"], ["cost", "Cost"]];
  return header(nameElement(name, 90), facts, links);
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
  modelHeader(),
  make(
    "main", {}, interfaceSection(), sizesSection(), contractSection(), findingsSection(), accessesSection(), tensorsSection(), modelSection(), costSection(),
  ),
  panel,
  make("footer", {}, "Made by gather-infer from the file alone; this page loads nothing. Keys: / searches, arrows move in tables and graphs, + − 0 scale graphs, Escape closes."),
);
addEventListener("keydown", keys);
document.documentElement.dataset.ready = "true";
