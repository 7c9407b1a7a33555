import { age, byID, duration, el, number, rate, setAttribute, setText } from "./dom.js";
import * as data from "./model.js";
import { EventsView } from "./events.js";
import { GraphView } from "./graph.js";
import { WaitsView } from "./waits.js";
import { RemoteView } from "./remote.js";
import { TimelineView } from "./timeline.js";
import { listen } from "./server.js";

const { model } = data;
const choose = (id) => { show("events"); views.events.choose(id); };
const views = {
  events: new EventsView(), graph: new GraphView(byID("graph"), choose), waits: new WaitsView(byID("waits"), choose),
  remote: new RemoteView(byID("remote"), () => isPaused), timeline: new TimelineView(byID("timeline"), () => views.events.chosen),
};

// Tabs, by the tabs pattern of WAI-ARIA.
const tabs = [...byID("tabs").children];
let shown = "events";
function show(name) {
  shown = name;
  for (const tab of tabs) {
    const isShown = tab.id === `tab-${name}`;
    setAttribute(tab, "aria-selected", String(isShown));
    setAttribute(tab, "tabindex", isShown ? null : "-1");
    byID(tab.getAttribute("aria-controls")).hidden = !isShown;
  }
  render();
}
for (const [index, tab] of tabs.entries()) {
  tab.addEventListener("click", () => show(tab.id.slice(4)));
  tab.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const next = step ? tabs[(index + step + tabs.length) % tabs.length] : { Home: tabs[0], End: tabs.at(-1) }[event.key];
    if (!next) return;
    event.preventDefault();
    show(next.id.slice(4));
    next.focus();
  });
}

// Pause and theme.
let isPaused = false;
function pause() {
  isPaused = !isPaused;
  setAttribute(byID("pause"), "aria-pressed", String(isPaused));
  setText(byID("pause"), isPaused ? "Paused" : "Pause");
  render();
}
byID("pause").addEventListener("click", pause);
const themes = ["system", "light", "dark"];
function theme(name) {
  if (name === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  setText(byID("theme"), `Theme: ${name}`);
  views.timeline.draw();
}
let chosenTheme = "system";
try { chosenTheme = localStorage.getItem("theme") ?? "system"; } catch { /* Storage is disabled; the page works without it. */ }
theme(themes.includes(chosenTheme) ? chosenTheme : "system");
byID("theme").addEventListener("click", () => {
  chosenTheme = themes[(themes.indexOf(chosenTheme) + 1) % themes.length];
  theme(chosenTheme);
  try { localStorage.setItem("theme", chosenTheme); } catch { /* Storage is disabled. */ }
});
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, button, canvas")) return;
  if (event.key === "/") { event.preventDefault(); show("events"); byID("search").focus(); }
  if (event.key === " ") { event.preventDefault(); pause(); }
  if (event.key === "Escape") views.events.choose(null);
});

// The header.
const totals = ["Events", "Handlers", "Per second", "Queued"].map((title) => {
  const value = el("dd", {}, "–");
  byID("totals").append(el("div", {}, el("dt", {}, title), value));
  return value;
});

function renderHeader() {
  const silence = (performance.now() - model.receivedAt) / 1000;
  const isSilent = model.connected && model.receivedAt > 0 && silence > 3;
  document.body.className = model.connected && !isSilent ? "live" : model.hello ? "gone stale" : "gone";
  const name = model.hello?.program ?? "inspector";
  setText(byID("program"), name);
  const warnings = model.warnings.size;
  const title = `${warnings > 0 ? `(${warnings}) ` : ""}${name}`;
  if (document.title !== title) document.title = title;
  let status = model.reason;
  if (isSilent) status = `process ${model.hello.pid}: no sign of life for ${Math.floor(silence)} s; it may be stopped`;
  else if (model.connected) status = `process ${model.hello.pid}, running for ${age(data.now())}${model.control ? ", may be locked from here" : ""}`;
  else if (model.hello) status = `${model.reason}; below is what it said last. Waiting for it to return.`;
  setText(byID("status-text"), status);
  let [perSecond, waiting] = [0, 0];
  const queued = data.queued();
  for (const row of model.events.values()) { perSecond += data.rateOf(row.id); waiting += queued.get(row.id); }
  [number(model.events.size), number(model.handlers.size), rate(Math.round(perSecond)), number(waiting)].forEach((text, index) => setText(totals[index], text));
  const bad = [...model.tables.values()].reduce((sum, table) => sum + table.rows.filter((row) => row.bad).length, 0);
  for (const [id, count] of [["events", model.events.size], ["waits", model.waits.size], ["remote", bad]]) {
    setText(byID(`tab-${id}`).querySelector(".count"), count > 0 ? number(count) : "");
  }
}

const warningItems = new Map();
const calm = el("li", { class: "calm" }, "None.");
function renderWarnings() {
  const rows = data.sortedWarnings();
  setText(byID("warning-count"), rows.length > 0 ? String(rows.length) : "");
  const list = byID("warning-list");
  const news = [];
  for (const [id, item] of warningItems) if (!model.warnings.has(id)) { item.remove(); warningItems.delete(id); }
  for (const [index, row] of rows.entries()) {
    let item = warningItems.get(row.id);
    if (!item) {
      const code = el("span", { class: "code" });
      const text = el("button", { type: "button", class: "link text", onclick: () => choose(model.warnings.get(row.id)?.event ?? row.event) });
      item = el("li", { class: data.isBad(row.code) ? "bad" : "" }, code, text, el("span", { class: "num soft age" }));
      warningItems.set(row.id, item);
      news.push(`${row.code}: ${row.text}`);
    }
    if (list.children[index] !== item) list.insertBefore(item, list.children[index] ?? null);
    setText(item.children[0], row.code);
    setText(item.children[1], row.text);
    setText(item.children[2], row.code === "stuck" ? duration(data.now() - data.beganAt(row)) : age(data.now() - row.sinceAt));
  }
  if (rows.length === 0) list.append(calm); else calm.remove();
  if (news.length > 0) setText(byID("news"), `New warnings. ${news.slice(0, 3).join(" ")}`);
}

let isDue = false;
function render() {
  data.beginFrame();
  renderHeader();
  if (isPaused) return;
  renderWarnings();
  views[shown].render();
}
/** Schedules one rendering before the next frame, however many messages arrive until then. */
function due() {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => { isDue = false; render(); });
}
setInterval(due, 1000);
listen({
  link(message) { data.link(message); due(); },
  update(message) { data.update(message); due(); },
  history(message) { data.history(message); due(); },
  lost(reason) { model.connected = false; model.reason = reason; due(); },
});
render();
