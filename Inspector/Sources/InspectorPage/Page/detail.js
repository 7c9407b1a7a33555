import { age, drawSpark, duration, el, number, rate, setText, spark } from "./dom.js";
import { edgeRateOf, eventName, handlerName, isBad, lineOf, model, now, rateOf } from "./model.js";
import { post } from "./server.js";
import { Table } from "./table.js";

/** Shows one event: its last two minutes, its handlers, and the events that it forwards to. */
export class Detail {
  constructor(host, close, choose) {
    Object.assign(this, { host, choose, id: null });
    this.title = el("h2");
    this.type = el("p", { class: "soft" });
    this.picture = spark("rate");
    this.top = el("span", { class: "top" });
    this.facts = el("dl", { class: "facts" });
    this.locks = el("div", { class: "locks" });
    this.failed = el("p", { class: "error", role: "alert" });
    this.ways = el("ul");
    this.waysTitle = el("h3", {}, "Goes to and comes from");
    const tableHost = el("div");
    host.append(
      el("div", { class: "head" }, el("div", {}, this.title, this.type), el("button", { type: "button", onclick: close }, "Close")),
      el("div", { class: "chart" }, this.top, this.picture), el("div", { class: "axis", "aria-hidden": "true" }, el("span", {}, "2 min ago"), el("span", {}, "now")),
      this.facts, this.locks, this.failed, el("h3", {}, "Handlers"), tableHost, this.waysTitle, this.ways);
    this.table = new Table(tableHost, "Handlers", this.columns(), { sort: "name", empty: "No handlers.", rowClass: (row) => this.rowClass(row) });
  }

  columns() {
    const digits = (key, title, hint, alarm) => ({ key, title, hint, alarm, numeric: true, value: (row) => row[key], text: (row) => number(row[key]) });
    return [
      { key: "name", title: "Handler", class: "name", value: (row) => `${this.rank(row)} ${handlerName(row.id)}`, hint: "Those with warnings first", fill: (cell, row) => this.fillName(cell, row) },
      { key: "runningAt", title: "Running since", numeric: true, value: (row) => (row.runningAt === null ? null : -row.runningAt), fill: (cell, row) => this.fillRunning(cell, row) },
      digits("waiting", "Queued", "On its lane", (row) => row.waiting >= 1024),
      { key: "p99Ns", title: "Duration", class: "wide", hint: "From p50 to p99 while a timeline records the event, on a scale from 1 µs to 10 s; sorts by p99", numeric: true, value: (row) => row.p99Ns, fill: fillDuration },
      digits("calls", "Calls"),
      digits("failed", "Failed", "If they are counted", (row) => row.failed > 0),
      digits("dropped", "Dropped", "The lane was full, or a newer occurrence took the place", (row) => this.warnings.some((each) => each.code === "dropping" && each.handler === row.id)),
      digits("skipped", "Skipped"),
      digits("held", "Held", "Kept by a lock"),
      { key: "owner", title: "Owner", value: (row) => row.owner, text: (row) => (row.owner === "none" ? "–" : [row.ownerType ?? "", row.owner].filter(Boolean).join(" ")), alarm: (row) => row.owner === "gone" },
      { key: "control", title: "Lock", value: (row) => row.locked, fill: (cell, row) => this.fillLock(cell, row.event, row.id, row.locked) },
    ];
  }

  /** Returns 0 for a handler with a bad warning, 1 for one with another warning, and 2 for all others. */
  rank(row) {
    return { bad: 0, warn: 1 }[this.rowClass(row)] ?? 2;
  }

  rowClass(row) {
    const codes = this.warnings.filter((each) => each.handler === row.id).map((each) => each.code);
    return codes.length === 0 ? "" : codes.some(isBad) ? "bad" : "warn";
  }

  render(id, warnings) {
    const row = model.events.get(id);
    this.host.hidden = id === null;
    this.warnings = warnings;
    if (id === null) return;
    if (id !== this.id) { this.id = id; this.table.sortedAt = -Infinity; setText(this.failed, ""); }
    if (!row) return setText(this.title, `${eventName(id)} is gone`);
    setText(this.title, row.name ?? row.type);
    setText(this.type, [row.name ? row.type : "", row.kind, row.of ? `of ${eventName(row.of)}` : "", row.locked ? "locked" : "", row.finished ? "finished" : ""].filter(Boolean).join(" · "));
    const line = lineOf(id);
    drawSpark(this.picture, line);
    setText(this.top, `${rate(Math.max(...line))} per second`);
    const facts = {
      "Per second": rate(rateOf(id)), Sequence: number(row.sequence), Queued: number(row.waiting), Unheard: number(row.unheard),
      Number: String(row.id), Age: age(now() - row.madeAt),
    };
    if (row.busyAt !== null) facts["Delivering for"] = duration(now() - row.busyAt);
    this.showFacts(facts);
    this.locks.hidden = !model.control;
    if (model.control) this.fillLock(this.locks, id, null, row.locked);
    this.table.update([...model.handlers.values()].filter((each) => each.event === id));
    this.showWays(id);
  }

  showFacts(facts) {
    const names = Object.keys(facts).join();
    if (this.facts.dataset.of !== names) {
      this.facts.dataset.of = names;
      this.facts.replaceChildren(...Object.keys(facts).map((name) => el("div", {}, el("dt", {}, name), el("dd"))));
    }
    Object.values(facts).forEach((value, index) => setText(this.facts.children[index].lastChild, value));
  }

  showWays(id) {
    const node = `event:${id}`;
    const ways = [...model.graph.entries()].filter(([, edge]) => edge.from === node || edge.to === node);
    this.waysTitle.hidden = ways.length === 0;
    const texts = ways.map(([key, edge]) => {
      const isOut = edge.from === node;
      const other = isOut ? edge.to : edge.from;
      const [kind, number] = [other.slice(0, other.indexOf(":")), Number(other.slice(other.indexOf(":") + 1))];
      return { other: kind === "event" ? number : null, text: `${isOut ? "→" : "←"} ${kind === "event" ? eventName(number) : other} (${[edge.kind, edge.label].filter(Boolean).join(" ")})`, rate: edge.count === null ? "" : ` ${rate(edgeRateOf(key))} per second` };
    });
    const known = JSON.stringify(texts.map((each) => each.text));
    if (this.ways.dataset.of !== known) {
      this.ways.dataset.of = known;
      this.ways.replaceChildren(...texts.map((each) => el("li", {}, each.other === null ? el("span", {}, each.text) : el("button", { type: "button", class: "link", onclick: () => this.choose(each.other) }, each.text), el("span", { class: "soft num" }))));
    }
    texts.forEach((each, index) => setText(this.ways.children[index].lastChild, each.rate));
  }

  fillName(cell, row) {
    if (!cell.firstChild) cell.append(el("span", { class: "name-text" }), el("span", { class: "marks" }), el("span", { class: "under" }));
    setText(cell.children[0], handlerName(row.id));
    const marks = [row.once ? "once" : "", row.locked ? "locked" : "", ...(row.tags ?? [])].filter(Boolean);
    if (cell.children[1].dataset.of !== marks.join()) {
      cell.children[1].dataset.of = marks.join();
      cell.children[1].replaceChildren(...marks.map((text) => el("span", { class: "mark" }, text)));
    }
    setText(cell.children[2], [row.file && row.name ? `${row.file}:${row.line}` : "", row.delivery, row.lane === null ? "" : `lane ${row.lane}`].filter(Boolean).join(" · "));
  }

  fillRunning(cell, row) {
    if (!cell.firstChild) cell.append(el("div", { class: "grow" }, el("span"), el("i")));
    const [text, bar] = cell.firstChild.children;
    const time = row.runningAt === null ? null : Math.max(0, now() - row.runningAt);
    cell.classList.toggle("none", time === null);
    text.classList.toggle("alarm", time !== null && time >= 1e9);
    setText(text, time === null ? "–" : `${duration(time)}${row.running > 1 ? ` ×${row.running}` : ""}`);
    bar.style.width = time === null ? "0" : `${Math.min(100, time / 1e8)}%`;
  }

  /** Fills a cell with a button to unlock an event or a handler, or with one to lock it and a choice of what the lock holds. */
  fillLock(host, event, handler, isLocked) {
    const state = `${event} ${handler} ${isLocked} ${model.control}`;
    if (host.dataset.of === state) return;
    host.dataset.of = state;
    const what = handler === null ? "the event" : handlerName(handler);
    if (!model.control) { host.classList.add("none"); return host.replaceChildren(isLocked ? "locked" : "–"); }
    host.classList.remove("none");
    const send = async (path, keys) => {
      try { setText(this.failed, ""); await post(path, { event, handler, ...keys }); } catch (error) { setText(this.failed, error.message); }
    };
    if (isLocked) return host.replaceChildren(el("div", { class: "locks" }, el("button", { type: "button", "aria-label": `Unlock ${what}`, onclick: () => send("unlock", {}) }, "Unlock")));
    const options = [["nothing", "hold nothing"], ["latest", "hold the latest"], ["1000", "hold 1,000"]];
    const select = el("select", { "aria-label": `What a lock of ${what} holds` }, ...options.map(([value, text]) => el("option", { value }, text)));
    const holding = () => (select.value === "1000" ? 1000 : select.value);
    host.replaceChildren(el("div", { class: "locks" }, el("button", { type: "button", "aria-label": `Lock ${what}`, onclick: () => send("lock", { holding: holding() }) }, "Lock"), select));
  }
}

/** Draws a bar from p50 to p99 on a logarithmic scale. */
function fillDuration(cell, row) {
  if (!cell.firstChild) cell.append(el("span"), el("div", { class: "range" }, el("i")));
  const [text, range] = cell.children;
  const isKnown = row.p50Ns !== null && row.p99Ns !== null;
  cell.classList.toggle("none", !isKnown);
  setText(text, isKnown ? `${duration(row.p50Ns)} – ${duration(row.p99Ns)}` : "–");
  range.hidden = !isKnown;
  range.style.display = isKnown ? "" : "none";
  if (!isKnown) return;
  const place = (value) => Math.min(100, Math.max(0, (Math.log10(Math.max(1, value)) - 3) * (100 / 7)));
  range.firstChild.style.left = `${place(row.p50Ns)}%`;
  range.firstChild.style.width = `${Math.max(1, place(row.p99Ns) - place(row.p50Ns))}%`;
  cell.title = `p50 ${duration(row.p50Ns)}, p99 ${duration(row.p99Ns)}, of ${row.timed} calls`;
}
