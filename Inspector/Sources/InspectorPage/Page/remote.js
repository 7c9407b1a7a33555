import { el, number, setText } from "./dom.js";
import { model } from "./model.js";
import { post } from "./server.js";
import { Table } from "./table.js";

const isNumber = (text) => /^\d+$/.test(text);

/** Shows the tables of the app, such as dead letters and backlogs, with a button for each action on a row. */
export class RemoteView {
  constructor(host) {
    this.host = host;
    this.shown = new Map();
    this.empty = el("p", { class: "empty" }, "Neither a queue of dead letters nor a monitor of a backlog is open in this process.");
    host.append(this.empty);
  }

  render() {
    for (const [id, shown] of this.shown) if (!model.tables.has(id)) { shown.section.remove(); this.shown.delete(id); }
    const tables = [...model.tables.values()].sort((a, b) => a.id - b.id);
    for (const [index, table] of tables.entries()) {
      const shown = this.shown.get(table.id) ?? this.add(table);
      if (this.host.children[index] !== shown.section) this.host.insertBefore(shown.section, this.host.children[index]);
      setText(shown.count, table.count > table.rows.length ? `the first ${number(table.rows.length)} of ${number(table.count)}` : "");
      shown.table.update(table.rows.map((row, index) => ({ ...row, index })));
    }
    this.empty.hidden = this.shown.size > 0;
  }

  add(table) {
    const [count, said] = [el("span", { class: "soft" }), el("p", { class: "soft", role: "status" })];
    const section = el("section", { class: "remote" }, el("h2", {}, table.title, " ", count), said);
    const columns = table.columns.map((title, index) => ({
      key: `column${index}`, title, class: index === 0 ? "name" : "wide",
      value: (row) => (isNumber(row.cells[index]) ? Number(row.cells[index]) : row.cells[index]),
      text: (row) => (isNumber(row.cells[index]) ? number(Number(row.cells[index])) : row.cells[index]) || "–",
    }));
    // The order of the app comes first.
    columns[0].value = (row) => row.index;
    if (table.actions.length > 0 && model.control) {
      columns.push({ key: "actions", title: "Actions", value: (row) => row.index, fill: (cell, row) => this.fillActions(cell, table, row, said) });
    }
    const shown = { section, count, table: new Table(section, table.title, columns, { sort: "column0", rowClass: (row) => (row.bad ? "bad" : ""), empty: "None." }) };
    this.shown.set(table.id, shown);
    return shown;
  }

  /** Fills a cell with the buttons of a row. An action needs a second click within 3 s. */
  fillActions(cell, table, row, said) {
    if (cell.firstChild) return;
    cell.append(el("div", { class: "locks" }, ...table.actions.map((action) => {
      const what = `${action}: ${row.cells[0]}, ${table.title}`;
      let until = 0;
      const button = el("button", { type: "button", "aria-label": what, onclick: async () => {
        if (performance.now() > until) {
          until = performance.now() + 3000;
          setText(button, "Sure?");
          setTimeout(() => setText(button, action), 3000);
          return;
        }
        until = 0;
        setText(button, action);
        setText(said, `${action}: at work`);
        try {
          const { count } = await post("perform", { table: table.id, action, rows: [row.id] });
          setText(said, `${action}: done for ${number(count)}`);
        } catch (error) { setText(said, `${action}: ${error.message}`); }
      } }, action);
      return button;
    })));
  }
}
