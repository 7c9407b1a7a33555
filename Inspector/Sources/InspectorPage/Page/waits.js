import { duration, el, number, setText } from "./dom.js";
import { eventName, handlerName, model, now } from "./model.js";
import { Table } from "./table.js";

/** Shows which sends and calls wait for which handlers. */
export class WaitsView {
  constructor(host, choose) {
    const names = (ids) => ids.map(handlerName).join(", ");
    this.table = new Table(host, "Waits", [
      { key: "event", title: "Waits for", class: "name", value: (row) => eventName(row.event), fill(cell, row) {
        if (!cell.firstChild) cell.append(el("button", { type: "button", class: "link name-text", onclick: () => choose(row.event) }), el("span", { class: "under" }));
        setText(cell.children[0], `${eventName(row.event)}${row.sequence === null ? "" : ` #${number(row.sequence)}`}`);
        setText(cell.children[1], row.kind);
      } },
      { key: "since", title: "Since", numeric: true, value: (row) => -row.sinceAt, fill(cell, row) {
        if (!cell.firstChild) cell.append(el("div", { class: "grow" }, el("span"), el("i")));
        const age = Math.max(0, now() - row.sinceAt);
        setText(cell.firstChild.firstChild, duration(age));
        cell.firstChild.firstChild.classList.toggle("alarm", age >= 1e9);
        cell.firstChild.lastChild.style.width = `${Math.min(100, age / 1e8)}%`;
      } },
      { key: "handlers", title: "Handlers", class: "wide", value: (row) => row.waitsFor, text: (row) => `${names(row.handlers)}${row.waitsFor > row.handlers.length ? ` and ${number(row.waitsFor - row.handlers.length)} more` : ""}` || "–" },
      { key: "by", title: "By a call of", class: "wide", value: (row) => row.by, text: (row) => (row.by === null ? "–" : handlerName(row.by)) },
      { key: "deferred", title: "Broken up", class: "wide", hint: "Handlers it does not wait for, since they wait for it: a deadlock otherwise", value: (row) => row.deferred.length, text: (row) => (row.deferred.length === 0 ? "–" : `${names(row.deferred)} waits for this itself`), alarm: (row) => row.deferred.length > 0 },
    ], { sort: "since", descending: true, empty: "Nothing waits.", rowClass: (row) => (row.deferred.length > 0 ? "bad" : "") });
  }

  render() { this.table.update([...model.waits.values()]); }
}
