import { el, number, setText } from "./dom.js";
import { model } from "./model.js";
import { post } from "./server.js";
import { Table } from "./table.js";

/** Shows the tables of the app, such as dead letters and backlogs, with a button for each action on a row. */
export class RemoteView {
  constructor(host, isPaused) {
    this.host = host;
    this.isPaused = isPaused;
    this.shown = new Map();
    this.empty = el("p", { class: "empty" }, "Neither a queue of dead letters nor a monitor of a backlog is open in this process.");
    host.append(this.empty);
  }

  render() {
    // Another process uses the same ids for other tables.
    const app = `${model.hello?.pid} ${model.hello?.epoch} ${model.control}`;
    for (const [id, shown] of this.shown) if (app !== this.app || !model.tables.has(id)) { shown.section.remove(); this.shown.delete(id); }
    this.app = app;
    const tables = [...model.tables.values()].sort((a, b) => a.id - b.id);
    for (const [index, table] of tables.entries()) {
      const shown = this.shown.get(table.id) ?? this.add(table);
      if (this.host.children[index] !== shown.section) this.host.insertBefore(shown.section, this.host.children[index]);
      setText(shown.count, table.count > table.rows.length ? `the first ${number(table.rows.length)} of ${number(table.count)}` : "");
      shown.table.update(table.rows.map((row, place) => ({ ...row, place })));
    }
    this.empty.hidden = this.shown.size > 0;
  }

  add(table) {
    const [count, said] = [el("span", { class: "soft" }), el("p", { class: "soft", role: "status" })];
    const section = el("section", { class: "remote" }, el("h2", {}, table.title, " ", count), said);
    const columns = table.columns.map((title, index) => ({
      key: `column${index}`, title, class: index === 0 ? "name" : "wide",
      // Numbers are sorted as numbers. The first column is sorted as the app does.
      value: (row) => (index === 0 ? row.place : row.cells[index].replace(/^\d+$/, (digits) => digits.padStart(20, "0"))),
      text: (row) => row.cells[index] || "–",
    }));
    if (table.actions.length > 0 && model.control) {
      columns.push({ key: "actions", title: "Actions", value: (row) => row.place, fill: (cell, row) => this.fillActions(cell, table, row, said) });
    }
    const shown = { section, count, table: new Table(section, table.title, columns, { sort: "column0", rowClass: (row) => (row.bad ? "bad" : ""), empty: "None." }) };
    this.shown.set(table.id, shown);
    return shown;
  }

  /** Fills a cell with the buttons of a row. An action needs a second click, from half a second to 3 s after the first. */
  fillActions(cell, table, row, said) {
    if (cell.firstChild) return;
    const { epoch } = model.hello;
    const buttons = table.actions.map((action) => {
      let [askedAt, timer, latest] = [-Infinity, 0, 0];
      const reset = () => { clearTimeout(timer); askedAt = -Infinity; setText(button, action); };
      const button = el("button", { type: "button", "aria-label": `${action}: ${row.cells[0]}, ${table.title}`, onclick: async () => {
        const age = performance.now() - askedAt;
        if (this.isPaused()) { reset(); return setText(said, "The page is paused, so its rows may be old."); }
        if (age < 500) return;
        if (age > 3000) {
          clearTimeout(timer);
          [askedAt, timer, latest] = [performance.now(), setTimeout(reset, 3000), model.tables.get(table.id)?.latest ?? 0];
          return setText(button, "Sure?");
        }
        reset();
        setText(said, `${action}: at work`);
        for (const each of buttons) each.disabled = true;
        try {
          const { count } = await post("perform", { epoch, table: table.id, latest, action, rows: [row.id] });
          setText(said, `${action}: done for ${number(count)}`);
        } catch (error) { setText(said, `${action}: ${error.message}`); }
        for (const each of buttons) each.disabled = false;
      } }, action);
      return button;
    });
    cell.append(el("div", { class: "locks" }, ...buttons));
  }
}
