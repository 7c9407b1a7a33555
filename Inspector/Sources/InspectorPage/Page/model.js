// The state of the app, as its messages report it: see sections 4 and 5 of Inspector/PROTOCOL.md.

const seconds = 120;
const parts = ["events", "handlers", "graph", "waits", "warnings", "tables"];
export const worst = ["stuck", "deferred", "flood", "failing", "dropping", "backlog", "unheard", "many"];
export const isBad = (code) => worst.indexOf(code) >= 0 && worst.indexOf(code) < 4;

/** Computes the rate of a counter: now, and in each of the last seconds. */
class Meter {
  constructor(count, time) {
    this.count = count;
    this.samples = [[time, count]];
    this.slots = new Float64Array(seconds);
    this.second = Math.floor(time / 1e9);
  }
  advance(second) {
    for (let each = Math.max(this.second + 1, second - seconds + 1); each <= second; each += 1) this.slots[each % seconds] = 0;
    this.second = Math.max(this.second, second);
  }
  /** Adds a reading of the counter. The increase since the last reading is spread over the time since the last update. */
  add(count, time, before) {
    const from = Math.min(Math.max(before, this.samples.at(-1)[0]), time);
    if (this.samples.at(-1)[0] < from) this.samples.push([from, this.count]);
    // A count falls if one of several forwards that are one edge is removed. How much the remaining ones counted since `from`
    // is unknown, and taken as nothing. The samples are moved to the new count, so the increases before still count.
    if (count < this.count) {
      const less = this.count - count;
      this.samples = this.samples.map(([at, each]) => [at, each - less]);
    }
    const more = Math.max(0, count - this.count);
    const last = Math.floor(time / 1e9);
    for (let second = Math.max(Math.floor(from / 1e9), last - seconds + 1); second <= last; second += 1) {
      this.advance(second);
      const part = time > from ? (Math.min(time, (second + 1) * 1e9) - Math.max(from, second * 1e9)) / (time - from) : Number(second * 1e9 + 1e9 > time);
      if (second > this.second - seconds) this.slots[second % seconds] += more * part;
    }
    this.count = count;
    this.samples.push([time, count]);
    this.trim(time);
  }
  trim(time) {
    while (this.samples.length > 1 && this.samples[1][0] <= time - 1e9) this.samples.shift();
  }
  now(time) {
    this.trim(time);
    const [from, count] = this.samples[0];
    // A page that was just opened has one sample. It knows the seconds before from the history.
    if (this.samples.length === 1 && time - from < 1e9) return this.slots[(Math.floor(time / 1e9) - 1 + seconds) % seconds];
    // An event that has not changed for more than a second has one sample, too, and the rate 0.
    return (Math.max(0, this.count - count) * 1e9) / Math.max(2e8, time - from);
  }
  /** Returns the rates of the last 119 whole seconds, and the current rate. */
  line(time) {
    const second = Math.floor(time / 1e9);
    this.advance(second);
    return Array.from({ length: seconds }, (_, index) =>
      index === seconds - 1 ? this.now(time) : this.slots[(second + 1 + index) % seconds]);
  }
}

export const model = {
  connected: false, reason: "connecting", hello: null, control: false, time: 0, before: 0, receivedAt: 0, number: null,
  isWhole: false, meters: new Map(), edgeMeters: new Map(),
};
for (const part of parts) model[part] = new Map();

const keyOf = (part, row) => (part === "graph" ? JSON.stringify([row.from, row.to, row.kind, row.label]) : typeof row === "number" ? row : row.id);

export function link(message) {
  model.connected = message.connected;
  model.reason = message.reason ?? "";
  if (!message.connected) return;
  // A new connection counts from 1 again.
  model.number = null;
  if (model.hello === null || model.hello.pid !== message.hello.pid || model.hello.epoch !== message.hello.epoch) forget();
  model.hello = message.hello;
  model.control = message.control;
}

function forget() {
  for (const part of parts) model[part].clear();
  model.meters.clear();
  model.edgeMeters.clear();
  model.time = 0;
}

export function update(message) {
  // To a page that is new or was too slow, the inspector itself sends the whole state as update 0. Update 0 may come between
  // the lines of an update of the app. The remaining lines of that update must not make the page forget its rows.
  const number = message.n === 0 ? message.upTo : message.n;
  // The lines of a whole update name all rows that there are. Only after the last line it is known which rows have gone: their
  // meters go when the next update begins.
  if (message.n === 0 || number !== model.number) {
    if (model.isWhole && number !== model.number) keepMeters();
    model.isWhole = message.whole;
    if (message.whole) for (const part of parts) model[part].clear();
  }
  if (number !== model.number) model.before = model.time;
  model.number = number;
  model.time = message.t;
  model.receivedAt = performance.now();
  for (const part of parts) {
    // `gone` comes before `parts`: a row that went and came back since the last update is in both.
    for (const row of message.gone[part] ?? []) {
      const key = keyOf(part, row);
      model[part].delete(key);
      if (part === "events") model.meters.delete(key);
      if (part === "graph") model.edgeMeters.delete(key);
    }
    for (const row of message.parts[part] ?? []) {
      const key = keyOf(part, row);
      model[part].set(key, row);
      if (part === "events") measure(model.meters, key, row.sequence);
      if (part === "graph" && row.count !== null) measure(model.edgeMeters, key, row.count);
    }
  }
}

/** Removes the meters of rows that have gone. */
function keepMeters() {
  for (const key of model.meters.keys()) if (!model.events.has(key)) model.meters.delete(key);
  for (const key of model.edgeMeters.keys()) if (!model.graph.has(key)) model.edgeMeters.delete(key);
}

function measure(meters, key, count) {
  const meter = meters.get(key);
  if (meter) meter.add(count, model.time, model.before);
  else meters.set(key, new Meter(count, model.time));
}

export function history(message) {
  for (const [id, counts] of Object.entries(message.events)) {
    const meter = model.meters.get(Number(id));
    if (!meter) continue;
    meter.advance(message.second);
    counts.forEach((count, index) => { meter.slots[(message.second + 1 + index) % seconds] = count; });
  }
}

let frame = performance.now();
/** Begins a rendering. All of it shows one time, so that one call has one duration wherever it is shown. */
export const beginFrame = () => { frame = performance.now(); };
/** Returns the estimated time of the app when the last rendering began. */
export const now = () => (model.connected ? model.time + Math.max(0, frame - model.receivedAt) * 1e6 : model.time);
export const rateOf = (id) => model.meters.get(id)?.now(model.time) ?? 0;
export const edgeRateOf = (key) => model.edgeMeters.get(key)?.now(model.time) ?? 0;
export const lineOf = (id) => model.meters.get(id)?.line(model.time) ?? new Array(seconds).fill(0);

export const eventName = (id) => { const row = model.events.get(id); return row ? row.name ?? row.type : `event ${id}`; };
export function handlerName(id) {
  const row = model.handlers.get(id);
  if (!row) return `handler ${id}`;
  return row.name ?? (row.file ? `${row.file.split("/").pop()}:${row.line}` : `handler ${id}`);
}

export function sortedWarnings() {
  const rank = (row) => (worst.indexOf(row.code) + worst.length + 1) % (worst.length + 1);
  return [...model.warnings.values()].sort((a, b) => rank(a) - rank(b) || a.sinceAt - b.sinceAt);
}

/** Returns when the call or the delivery of a warning began, as the tables show it. */
export const beganAt = (warning) => (warning.handler === null ? model.events.get(warning.event)?.busyAt : model.handlers.get(warning.handler)?.runningAt) ?? warning.sinceAt;

/** Returns how many occurrences each event has in its queue and in those of its handlers. */
export function queued() {
  const counts = new Map([...model.events.values()].map((row) => [row.id, row.waiting]));
  for (const row of model.handlers.values()) counts.set(row.event, (counts.get(row.event) ?? 0) + row.waiting);
  return counts;
}

/** Returns the warnings of each event, the worst first. */
export function warningsByEvent() {
  const result = new Map();
  for (const row of sortedWarnings()) result.set(row.event, [...(result.get(row.event) ?? []), row]);
  return result;
}
