// The frame of a page: its head with the links to the sections, and a section.

function section(id, title, note, ...content) {
  return make("section", { id, "aria-labelledby": `${id}-title` }, make("h2", { id: `${id}-title` }, title), note ? make("p", { class: "note" }, note) : "", content);
}

function themeButton() {
  const theme = button("Dark", () => {
    const isDark = getComputedStyle(document.documentElement).colorScheme === "dark"
      || (document.documentElement.dataset.theme === undefined && matchMedia("(prefers-color-scheme: dark)").matches);
    document.documentElement.dataset.theme = isDark ? "light" : "dark";
    theme.textContent = isDark ? "Dark" : "Light";
  }, { class: "quiet", "aria-label": "Switch between dark and light", id: "theme" });
  if (matchMedia("(prefers-color-scheme: dark)").matches) theme.textContent = "Light";
  return theme;
}

// links are pairs of the id of a section and a text.
function header(title, facts, links) {
  return make(
    "header", {},
    make("div", { class: "title" }, make("h1", {}, title), make("p", { class: "note" }, facts.filter(Boolean).join(" · "))),
    make("nav", { "aria-label": "Sections" }, links.map(([id, text]) => make("a", { href: `#${id}` }, text)), themeButton()),
  );
}
