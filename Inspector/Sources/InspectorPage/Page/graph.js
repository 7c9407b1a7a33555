import { el, rate, setAttribute, setText, svg } from "./dom.js";
import { edgeRateOf, eventName, handlerName, model } from "./model.js";

const [width, height, gapX, gapY, margin, most] = [190, 40, 130, 16, 16, 150];

/**
 * Returns the edges of the graph. A lane is shown only if several handlers share it, because a lane of one handler connects
 * nothing. Each of these handlers gets an edge from its event.
 */
function connections() {
  const [lanes, reached] = [new Map(), new Set()];
  for (const row of model.graph.values()) {
    if (row.kind === "lane") lanes.set(row.to, (lanes.get(row.to) ?? 0) + 1);
    else reached.add(row.to);
  }
  const shown = [...model.graph.entries()].filter(([, row]) => row.kind !== "lane" || lanes.get(row.to) > 1);
  for (const [, row] of [...shown]) {
    const handler = row.kind === "lane" && !reached.has(row.from) ? model.handlers.get(Number(row.from.split(":")[1])) : undefined;
    if (!handler) continue;
    const edge = { from: `event:${handler.event}`, to: row.from, kind: "handler", count: null, label: null };
    shown.push([JSON.stringify([edge.from, edge.to, edge.kind, edge.label]), edge]);
  }
  return shown;
}

/** Shows which events forward to which, in columns from left to right. The width of a line is its rate. */
export class GraphView {
  constructor(host, choose) {
    Object.assign(this, { choose, known: "", edges: [], nodes: [] });
    this.note = el("p", { class: "soft bar" });
    this.picture = svg("svg", { role: "img", "aria-label": "Graph of events; the table below says the same" });
    this.frame = el("div", { class: "picture", tabindex: "0", role: "group", "aria-label": "Graph" }, this.picture);
    this.list = el("tbody");
    this.empty = el("p", { class: "empty" }, "No event passes anything on: no forwards, buses, keys, shared lanes or bridges.");
    this.details = el("details", { class: "more" }, el("summary", {}, "As a table"), el("div", { class: "scroll" },
      el("table", { "aria-label": "Connections" }, el("thead", {}, el("tr", {}, ...["From", "To", "Kind", "Per second"].map((title) => el("th", { scope: "col" }, title)))), this.list)));
    host.append(this.note, this.frame, this.empty, this.details);
  }

  render() {
    const entries = connections();
    const isEmpty = entries.length === 0;
    for (const each of [this.frame, this.details, this.note]) each.hidden = isEmpty;
    this.empty.hidden = !isEmpty;
    const known = entries.map(([key]) => key).sort().join();
    if (known !== this.known) {
      this.known = known;
      const chosen = entries.sort(([a], [b]) => edgeRateOf(b) - edgeRateOf(a)).slice(0, most);
      setText(this.note, entries.length > most ? `The ${most} busiest of ${entries.length} connections. The width of a line is its rate.` : "The width of a line is its rate; dashed lines are not counted.");
      this.layOut(chosen);
    }
    for (const edge of this.edges) {
      const value = edgeRateOf(edge.key);
      setAttribute(edge.path, "stroke-width", (1.2 + 2.4 * Math.log10(1 + value)).toFixed(1));
      setAttribute(edge.path, "class", value > 0 ? "edge" : "edge still");
      const text = [edge.row.label, edge.row.count === null ? null : `${rate(value)}/s`].filter(Boolean).join("  ");
      setText(edge.text, text.length > 24 ? `${text.slice(0, 23)}…` : text);
      setText(edge.cell, edge.row.count === null ? "–" : rate(value));
    }
    for (const node of this.nodes) setText(node.text, short(nameOf(node.id)));
  }

  /** Gives each node a column: one more than the largest column of its predecessors. Edges that go back are ignored. */
  layOut(entries) {
    const nexts = new Map();
    for (const [, row] of entries) {
      if (!nexts.has(row.from)) nexts.set(row.from, []);
      if (!nexts.has(row.to)) nexts.set(row.to, []);
      nexts.get(row.from).push(row.to);
    }
    const [state, order] = [new Map(), []];
    for (const root of nexts.keys()) {
      // A depth-first search with an explicit stack: the app's chains may be too long for recursion.
      const stack = state.has(root) ? [] : [[root, 0]];
      if (stack.length > 0) state.set(root, "open");
      while (stack.length > 0) {
        const top = stack.at(-1);
        const next = nexts.get(top[0])[top[1]];
        top[1] += 1;
        if (next === undefined) { state.set(top[0], "done"); order.push(top[0]); stack.pop(); }
        else if (!state.has(next)) { state.set(next, "open"); stack.push([next, 0]); }
      }
    }
    order.reverse();
    const place = new Map(order.map((id, index) => [id, index]));
    const column = new Map(order.map((id) => [id, 0]));
    for (const id of order) {
      for (const next of nexts.get(id)) if (place.get(next) > place.get(id)) column.set(next, Math.max(column.get(next), column.get(id) + 1));
    }
    const columns = [];
    for (const id of order) (columns[column.get(id)] ??= []).push(id);
    const at = new Map();
    for (const [index, ids] of columns.entries()) {
      // Each node is placed at the height of its predecessors, if there is room.
      const wish = (id) => {
        const before = entries.filter(([, row]) => row.to === id && at.has(row.from)).map(([, row]) => at.get(row.from).y);
        return before.length === 0 ? Infinity : before.reduce((sum, y) => sum + y, 0) / before.length;
      };
      const wishes = new Map(ids.map((id) => [id, wish(id)]));
      ids.sort((a, b) => (wishes.get(a) === wishes.get(b) ? 0 : wishes.get(a) - wishes.get(b)));
      let y = margin + 24;
      for (const id of ids) {
        if (Number.isFinite(wishes.get(id))) y = Math.max(y, wishes.get(id));
        at.set(id, { x: margin + index * (width + gapX), y });
        y += height + gapY;
      }
    }
    this.draw(entries, at, columns.length);
  }

  draw(entries, at, count) {
    const bottom = Math.max(...[...at.values()].map((place) => place.y)) + height + margin;
    const right = margin * 2 + count * width + (count - 1) * gapX + 40;
    for (const [name, value] of [["width", right], ["height", bottom], ["viewBox", `0 0 ${right} ${bottom}`]]) this.picture.setAttribute(name, value);
    this.picture.replaceChildren();
    this.list.replaceChildren();
    this.edges = entries.map(([key, row]) => {
      const [from, to] = [at.get(row.from), at.get(row.to)];
      const [x1, y1, x2, y2] = [from.x + width, from.y + height / 2, to.x, to.y + height / 2];
      const isBack = x2 <= from.x;
      const bend = isBack ? 36 : (x2 - x1) / 2;
      const d = isBack
        ? `M${x1},${y1}C${x1 + bend},${y1 - 56} ${x2 - bend},${y2 - 56} ${x2},${y2}`
        : `M${x1},${y1}C${x1 + bend},${y1} ${x2 - bend},${y2} ${x2},${y2}`;
      const path = svg("path", { class: "edge", d });
      const long = !isBack && x2 - x1 > gapX;
      const text = svg("text", { class: "edge-label", x: long ? x1 + gapX / 2 : (x1 + x2) / 2, y: (long ? y1 + (y2 - y1) * 0.15 : (y1 + y2) / 2 - (isBack ? 40 : 0)) - 6, "text-anchor": "middle" });
      this.picture.append(path);
      const cell = el("td", { class: "num", "data-title": "Per second" });
      this.list.append(el("tr", {}, el("td", { "data-title": "From" }, nameOf(row.from)), el("td", { "data-title": "To" }, nameOf(row.to)), el("td", { "data-title": "Kind" }, [row.kind, row.label].filter(Boolean).join(" ")), cell));
      return { key, row, path, text, cell };
    });
    this.nodes = [...at.entries()].map(([id, { x, y }]) => {
      const [kind, number] = split(id);
      const isEvent = kind === "event";
      const text = svg("text", { x: 10, y: 17 });
      const group = svg("g", { class: isEvent ? "node event" : "node", transform: `translate(${x},${y})` });
      group.append(svg("rect", { width, height, rx: 6 }), text, svg("text", { class: "kind", x: 10, y: 32 }, short(kind === "out" ? "to another process" : kind)), svg("title", {}, nameOf(id)));
      if (isEvent) {
        for (const [name, value] of [["tabindex", "0"], ["role", "button"], ["aria-label", nameOf(id)]]) group.setAttribute(name, value);
        group.addEventListener("click", () => this.choose(Number(number)));
        group.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); this.choose(Number(number)); } });
      }
      this.picture.append(group);
      return { id, text };
    });
    // Labels are drawn last, above everything else.
    for (const edge of this.edges) this.picture.append(edge.text);
  }
}

const short = (text) => ([...text].length > 25 ? `${[...text].slice(0, 24).join("")}…` : text);
const split = (id) => [id.slice(0, id.indexOf(":")), id.slice(id.indexOf(":") + 1)];

function nameOf(id) {
  const [kind, rest] = split(id);
  if (kind === "event") return eventName(Number(rest));
  if (kind === "handler") return handlerName(Number(rest));
  return kind === "out" ? rest : `${kind} ${rest}`;
}
