// A table that has elements for the visible rows only.

const OVERSCAN = 6;
const PRINTED = 400;

class RowTable {
  // columns  {title, class, cell(row, fits), key(row)}; a column with `key` sorts; `fits` characters of a name fit in
  //          the first wide column
  // open     called with a row
  constructor({ label, columns, count, open, rowClass, visible = 14 }) {
    Object.assign(this, { columns, open, rowClass, visible });
    this.all = Array.from({ length: count }, (_, row) => row);
    this.order = this.all;
    this.accepts = null;
    this.sorted = null;
    this.active = -1;
    this.nameColumn = columns.findIndex((column) => column.class === "wide");
    this.id = `rows-${(RowTable.number = (RowTable.number ?? 0) + 1)}`;
    this.head = make("div", { class: "row head", role: "row" }, columns.map((column, at) => this.heading(column, at)));
    this.space = make("div", { class: "space", role: "rowgroup" });
    this.element = make(
      "div",
      {
        class: "table", role: "grid", tabindex: 0, "aria-label": label, id: this.id,
        on: { scroll: () => this.render(), keydown: (event) => this.pressed(event) },
      },
      make("div", { role: "rowgroup", class: "head-group" }, this.head), this.space,
    );
    new ResizeObserver(() => this.resized()).observe(this.element);
    addEventListener("beforeprint", () => this.render(true));
    addEventListener("afterprint", () => this.update());
    this.update();
  }

  heading(column, at) {
    const attributes = { role: "columnheader", class: `cell ${column.class ?? ""}` };
    if (!column.key) return make("div", attributes, column.title);
    return make("div", attributes, button(column.title, () => this.sortBy(at), { class: "sort" }));
  }

  sortBy(at) {
    const ascending = !(this.sorted && this.sorted.at === at && this.sorted.ascending);
    this.sorted = { at, ascending };
    [...this.head.children].forEach((cell, i) => {
      if (i === at) cell.setAttribute("aria-sort", ascending ? "ascending" : "descending");
      else cell.removeAttribute("aria-sort");
    });
    this.update();
  }

  filter(accepts) {
    this.accepts = accepts;
    this.element.scrollTop = 0;
    this.active = -1;
    this.update();
  }

  update() {
    let order = this.accepts ? this.all.filter(this.accepts) : this.all;
    if (this.sorted) {
      const { at, ascending } = this.sorted;
      const keys = new Map(order.map((row) => [row, this.columns[at].key(row)]));
      const sign = ascending ? 1 : -1;
      order = [...order].sort((a, b) => {
        const [one, other] = [keys.get(a), keys.get(b)];
        return (one < other ? -1 : one > other ? 1 : a - b) * sign;
      });
    }
    this.order = order;
    this.element.setAttribute("aria-rowcount", order.length + 1);
    this.resized();
  }

  resized() {
    this.height = parseFloat(getComputedStyle(this.element).getPropertyValue("--row")) || 36;
    this.space.style.height = `${this.order.length * this.height}px`;
    const rows = Math.max(2, Math.min(this.order.length, this.visible));
    this.element.style.maxHeight = `${rows * this.height + 46}px`;
    this.render();
    const width = this.space.firstChild?.children[this.nameColumn]?.clientWidth;
    const fits = Math.max(16, Math.floor((width || 300) / 7.4));
    if (fits !== this.fits) {
      this.fits = fits;
      this.render();
    }
  }

  render(isPrinting = false) {
    const first = isPrinting ? 0 : Math.max(0, Math.floor(this.element.scrollTop / this.height) - OVERSCAN);
    const seen = Math.ceil((this.element.clientHeight || this.visible * this.height) / this.height);
    const last = isPrinting ? PRINTED : first + seen + 2 * OVERSCAN;
    const rows = this.order.slice(first, last).map((row, i) => this.row(row, first + i));
    if (!this.order.length) rows.push(make("div", { class: "empty", role: "row" }, make("div", { role: "gridcell" }, "None.")));
    this.space.replaceChildren(...rows);
    if (isPrinting) this.space.style.height = "auto";
    const current = this.active >= first && this.active < last ? `${this.id}-${this.active}` : null;
    if (current) this.element.setAttribute("aria-activedescendant", current);
    else this.element.removeAttribute("aria-activedescendant");
  }

  row(row, at) {
    const classes = ["row", this.rowClass?.(row) ?? "", at === this.active ? "active" : ""];
    const element = make(
      "div",
      {
        class: classes.filter(Boolean).join(" "), role: "row", id: `${this.id}-${at}`, "aria-rowindex": at + 2,
        on: { click: () => this.choose(at) },
      },
      this.columns.map((column) => make("div", { class: `cell ${column.class ?? ""}`, role: "gridcell" }, column.cell(row, this.fits))),
    );
    element.style.transform = `translateY(${at * this.height}px)`;
    return element;
  }

  choose(at) {
    this.active = at;
    this.render();
    this.open(this.order[at]);
  }

  pressed(event) {
    const page = Math.max(1, Math.floor(this.element.clientHeight / this.height) - 2);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key === "Enter" && event.target === this.element && this.active >= 0) {
      this.open(this.order[this.active]);
    } else if (event.key in steps && this.order.length) {
      this.active = Math.max(0, Math.min(this.order.length - 1, this.active + steps[event.key]));
      const top = this.active * this.height;
      const room = this.element.clientHeight - this.head.offsetHeight - this.height;
      if (top < this.element.scrollTop) this.element.scrollTop = top;
      else if (top > this.element.scrollTop + room) this.element.scrollTop = top - room;
      this.render();
    } else {
      return;
    }
    event.preventDefault();
  }
}

// A bar whose parts, {kind, count, title, text}, filter a table: `choose` is called with a kind, or null for all.
function filterBar(label, parts, choose) {
  let chosen = null;
  const total = parts.reduce((sum, { count }) => sum + count, 0);
  const press = (kind) => {
    chosen = chosen === kind ? null : kind;
    for (const each of bar.children) each.setAttribute("aria-pressed", String(each.dataset.kind === chosen));
    choose(chosen);
  };
  const bar = make("div", { class: "bar-filter", role: "group", "aria-label": label }, parts.map(({ kind, count, title, text = kind }) => button(
    make("strong", {}, digits(count)), () => press(kind), { class: kind, "data-kind": kind, "aria-pressed": "false", title }, ` ${text}`,
  )));
  parts.forEach(({ count }, i) => { bar.children[i].style.flexGrow = String(Math.max(1, (12 * count) / total)); });
  return bar;
}
