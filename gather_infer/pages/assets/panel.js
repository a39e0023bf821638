// The panel with details, and the parts of its content.

const LISTED = 12;

const panel = make("aside", { class: "panel", "aria-label": "Details", hidden: true, tabindex: -1 });
let opener = null;

function openPanel(kind, title, ...content) {
  if (panel.hidden) opener = document.activeElement;
  const head = make("div", { class: "panel-head" }, make("p", { class: "eyebrow" }, kind), button("Close", closePanel, { class: "quiet" }));
  panel.replaceChildren(head, make("h2", {}, nameElement(title)), ...content.flat().filter(Boolean));
  panel.hidden = false;
  panel.scrollTop = 0;
  document.body.classList.add("with-panel");
  panel.focus({ preventScroll: true });
}

function closePanel() {
  if (panel.hidden) return;
  panel.hidden = true;
  document.body.classList.remove("with-panel");
  opener?.focus?.({ preventScroll: true });
}

function terms(...pairs) {
  return make("dl", { class: "terms" }, pairs.filter(Boolean).map(([term, ...values]) => [make("dt", {}, term), make("dd", {}, values)]));
}

function listOf(items, link, longest = LISTED) {
  const list = make("ul", { class: "plain" }, items.slice(0, longest).map((item) => make("li", {}, link(item))));
  if (items.length <= longest) return list;
  const more = button(`${items.length - longest} more`, () => {
    more.replaceWith();
    list.append(...items.slice(longest).map((item) => make("li", {}, link(item))));
  }, { class: "quiet" });
  return [list, more];
}

function badge(kind) {
  return make("span", { class: `badge ${kind}` }, kind);
}
