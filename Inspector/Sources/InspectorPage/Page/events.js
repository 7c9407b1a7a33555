import { byID, drawSpark, el, number, rate, setText, spark } from "./dom.js";
import { eventName, isBad, lineOf, model, queued, rateOf, warningsByEvent, worst } from "./model.js";
import { Detail } from "./detail.js";
import { Table } from "./table.js";

/** Shows the table of events, and beside it the selected event. */
export class EventsView {
  constructor() {
    this.chosen = null;
    this.detail = new Detail(byID("detail"), () => this.choose(null), (id) => this.choose(id));
    this.warnings = new Map();
    this.queued = new Map();
    // The rank is one digit: 0 for the worst warning, 8 for a warning that this version does not know, 9 for none.
    const rank = (row) => (this.warnings.has(row.id) ? (worst.indexOf(this.warnings.get(row.id)[0].code) + 9) % 9 : 9);
    const columns = [
      { key: "name", title: "Event", class: "name", value: (row) => `${rank(row)} ${row.name ?? row.type}`, fill: (cell, row) => this.fillName(cell, row), hint: "Those with warnings first" },
      { key: "rate", title: "Per second", numeric: true, value: (row) => rateOf(row.id), text: (row) => rate(rateOf(row.id)) },
      { key: "line", title: "Last two minutes", class: "wide", quiet: true, value: (row) => Math.max(...lineOf(row.id)), fill: (cell, row) => this.fillLine(cell, row), hint: "Sorts by the highest rate" },
      { key: "waiting", title: "Queued", numeric: true, value: (row) => this.queued.get(row.id), text: (row) => number(this.queued.get(row.id)), alarm: (row) => this.queued.get(row.id) >= 1024, hint: "Occurrences in the queues of the event and of its handlers" },
      { key: "handlers", title: "Handlers", numeric: true, value: (row) => row.handlers, text: (row) => number(row.handlers) },
      { key: "sequence", title: "Sequence", numeric: true, value: (row) => row.sequence, text: (row) => number(row.sequence), hint: "Deliveries begun" },
      { key: "unheard", title: "Unheard", numeric: true, value: (row) => row.unheard, text: (row) => number(row.unheard), hint: "Occurrences that reached nobody, if they are counted" },
    ];
    this.table = new Table(byID("event-table"), "Events", columns, {
      sort: "name", empty: "No events.",
      rowClass: (row) => [this.warnings.has(row.id) ? (isBad(this.warnings.get(row.id)[0].code) ? "bad" : "warn") : "", row.id === this.chosen ? "chosen" : ""].join(" "),
    });
    byID("search").addEventListener("input", () => { this.table.sortedAt = -Infinity; this.render(); });
    byID("search").addEventListener("keydown", (event) => { if (event.key === "Escape") { event.target.value = ""; this.render(); } });
    byID("event-table").addEventListener("keydown", (event) => {
      const row = event.target.closest("tr");
      const next = row && { ArrowDown: row.nextElementSibling, ArrowUp: row.previousElementSibling }[event.key];
      if (!next) return;
      event.preventDefault();
      next.querySelector("button").focus();
    });
  }

  choose(id) {
    const isNew = id !== this.chosen;
    this.chosen = id;
    this.render();
    if (id !== null && isNew && matchMedia("(max-width: 1279px)").matches) byID("detail").scrollIntoView({ block: "start" });
  }

  matching() {
    const words = byID("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const all = [...model.events.values()];
    if (words.length === 0) return all;
    const texts = new Map(all.map((row) => [row.id, `${row.name ?? ""} ${row.type} ${row.kind}`]));
    for (const row of model.handlers.values()) {
      if (texts.has(row.event)) texts.set(row.event, `${texts.get(row.event)} ${row.name ?? ""} ${row.file ?? ""} ${row.ownerType ?? ""} ${(row.tags ?? []).join(" ")}`);
    }
    return all.filter((row) => { const text = texts.get(row.id).toLowerCase(); return words.every((word) => text.includes(word)); });
  }

  render() {
    this.warnings = warningsByEvent();
    this.queued = queued();
    const rows = this.matching();
    setText(byID("found"), rows.length === model.events.size ? "" : `${rows.length} of ${model.events.size}`);
    this.table.update(rows);
    byID("events").querySelector(".columns").classList.toggle("split", this.chosen !== null);
    this.detail.render(this.chosen, this.warnings.get(this.chosen) ?? []);
  }

  fillName(cell, row) {
    if (!cell.firstChild) {
      cell.append(el("button", { type: "button", class: "link name-text", onclick: () => this.choose(this.chosen === row.id ? null : row.id) }), el("span", { class: "marks" }), el("span", { class: "under" }));
    }
    const [button, marks, under] = cell.children;
    setText(button, row.name ?? row.type);
    setText(under, [row.name ? row.type : "", row.kind === "event" ? "" : row.kind, row.of ? `of ${eventName(row.of)}` : ""].filter(Boolean).join(" · "));
    const wanted = [...new Set((this.warnings.get(row.id) ?? []).map((each) => each.code)), ...(row.locked ? ["locked"] : []), ...(row.finished ? ["finished"] : [])];
    if (marks.dataset.of === wanted.join()) return;
    marks.dataset.of = wanted.join();
    marks.replaceChildren(...wanted.map((text) => el("span", { class: `mark ${isBad(text) ? "bad" : worst.includes(text) ? "warn" : ""}` }, text)));
  }

  fillLine(cell, row) {
    const picture = cell.firstChild ?? cell.appendChild(spark("rate"));
    // A chart of two minutes needs one drawing a second. Drawing a thousand charts takes noticeable time.
    const second = Math.floor(model.time / 1e9);
    if (picture.drawnAt === second) return;
    picture.drawnAt = second;
    const line = lineOf(row.id);
    drawSpark(picture, line);
    const label = `Highest ${rate(Math.max(...line))} per second`;
    if (picture.getAttribute("aria-label") !== label) {
      picture.setAttribute("aria-label", label);
      cell.title = label;
    }
  }
}
