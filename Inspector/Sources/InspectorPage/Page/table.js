import { el, setAttribute, setText } from "./dom.js";

/**
 * A table that can be sorted by its columns, and that updates its rows in place.
 *
 * A column has the properties `key`, `title`, `value(row)` to sort by, `text(row)` or `fill(cell, row)`, `numeric`, `class`,
 * `hint`, and `quiet` for no heading on a phone. Rows have keys and keep their elements, so that focus and selection stay.
 */
export class Table {
  constructor(host, caption, columns, { sort, descending = false, keyOf = (row) => row.id, rowClass = () => "", empty = "Nothing." }) {
    Object.assign(this, { columns, sort, descending, keyOf, rowClass, most: 200, sortedAt: -Infinity, rows: new Map(), order: [] });
    this.heads = columns.map((column) => {
      const button = el("button", { type: "button", title: column.hint, onclick: () => this.sortBy(column) }, column.title);
      return el("th", { scope: "col", "data-key": column.key, class: [column.numeric ? "num" : "", column.quiet ? "quiet" : ""].join(" ") }, button);
    });
    // Rows outside of the visible area are not filled: the layout of a thousand rows takes more time than everything else.
    this.watch = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        const shown = this.rows.get(target.rowKey);
        if (!shown || shown.element !== target) continue;
        shown.isSeen = isIntersecting;
        if (isIntersecting && shown.row) this.fill(shown, shown.row);
      }
    }, { rootMargin: "200px" });
    this.body = el("tbody", { role: "rowgroup" });
    this.empty = el("p", { class: "empty", hidden: true }, empty);
    this.more = el("button", { type: "button", class: "more", hidden: true, onclick: () => { this.most *= 5; this.sortedAt = -Infinity; this.update(this.last); } });
    // The roles are explicit, because a table that is displayed as a grid loses its implicit roles.
    this.table = el("table", { role: "table", "aria-label": caption }, el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, ...this.heads)), this.body);
    host.append(el("div", { class: "scroll" }, this.table, this.empty), this.more);
  }

  sortBy(column) {
    this.descending = this.sort === column.key ? !this.descending : Boolean(column.numeric);
    this.sort = column.key;
    this.sortedAt = -Infinity;
    this.update(this.last);
  }

  /** Shows rows. The order changes at most once a second, so that the user can click a row. */
  update(rows) {
    this.last = rows;
    const time = performance.now();
    const keys = new Set(rows.map(this.keyOf));
    if (time - this.sortedAt > 1000 || keys.size !== this.order.length || this.order.some((key) => !keys.has(key))) {
      this.sortedAt = time;
      const column = this.columns.find((each) => each.key === this.sort);
      const sign = this.descending ? -1 : 1;
      const compare = (a, b) => {
        const [left, right] = [column.value(a), column.value(b)];
        if (left === right) return this.keyOf(a) < this.keyOf(b) ? -1 : 1;
        if (left === null || left === undefined) return 1;
        if (right === null || right === undefined) return -1;
        return sign * (typeof left === "string" ? left.localeCompare(right) : left - right);
      };
      this.order = [...rows].sort(compare).map(this.keyOf);
      this.place(new Map(rows.map((row) => [this.keyOf(row), row])));
      for (const [index, head] of this.heads.entries()) {
        const isSorted = this.columns[index].key === this.sort;
        setAttribute(head, "aria-sort", isSorted ? (this.descending ? "descending" : "ascending") : null);
      }
      this.empty.hidden = rows.length > 0;
      this.more.hidden = rows.length <= this.most;
      setText(this.more, `Show more of ${rows.length.toLocaleString("en")} rows`);
    }
    for (const row of rows) {
      const shown = this.rows.get(this.keyOf(row));
      if (!shown) continue;
      const isNew = shown.row === undefined;
      shown.row = row;
      if (isNew || shown.isSeen) this.fill(shown, row);
    }
  }

  place(rows) {
    const wanted = this.order.slice(0, this.most);
    const keep = new Set(wanted);
    for (const [key, shown] of this.rows) {
      if (keep.has(key)) continue;
      this.watch.unobserve(shown.element);
      shown.element.remove();
      this.rows.delete(key);
    }
    let next = this.body.firstChild;
    for (const key of wanted) {
      let shown = this.rows.get(key);
      if (!shown) {
        const cells = this.columns.map((column) => el("td", { role: "cell", "data-key": column.key, "data-title": column.title, class: [column.numeric ? "num" : "", column.class ?? ""].join(" ") }));
        shown = { element: el("tr", { role: "row" }, ...cells), cells };
        shown.element.rowKey = key;
        this.rows.set(key, shown);
        this.watch.observe(shown.element);
      }
      if (shown.element === next) next = next.nextSibling;
      else {
        // Moving an element removes its focus, so the focus is restored afterwards.
        const hadFocus = shown.element.contains(document.activeElement) ? document.activeElement : null;
        this.body.insertBefore(shown.element, next);
        hadFocus?.focus({ preventScroll: true });
      }
    }
  }

  fill(shown, row) {
    setAttribute(shown.element, "class", this.rowClass(row));
    for (const [index, column] of this.columns.entries()) {
      const cell = shown.cells[index];
      if (column.fill) column.fill(cell, row);
      else {
        const text = column.text(row);
        setText(cell, text);
        cell.classList.toggle("none", text === "–" || text === "0");
      }
      if (column.alarm) cell.classList.toggle("alarm", column.alarm(row));
    }
  }
}
