import { el, number, setText } from "./dom.js";
import { eventName, handlerName, model, rateOf, warningsByEvent } from "./model.js";
import { TimelinePicture } from "./timeline-picture.js";
import { post } from "./server.js";

/** Records a trace of some events for some seconds, shows it, and saves it. */
export class TimelineView {
  constructor(host, chosen) {
    Object.assign(this, { chosen, picks: new Map(), isRunning: false, text: null });
    this.choices = el("fieldset", {}, el("legend", {}, "Events"));
    this.seconds = el("select", { "aria-label": "How long" }, ...[1, 2, 5, 10].map((value) => el("option", { value, selected: value === 2 }, `${value} s`)));
    this.record = el("button", { type: "button", class: "primary", id: "record", onclick: () => this.run() }, "Record");
    this.save = el("button", { type: "button", disabled: true, onclick: () => this.download() }, "Save trace");
    this.status = el("span", { role: "status", class: "soft" }, "Tracing costs the app something, so only the chosen events are traced, for the chosen time.");
    this.span = el("p", { id: "span", "aria-live": "polite" });
    this.picture = new TimelinePicture((span, lane) => this.describe(span, lane));
    host.append(this.choices, el("div", { class: "bar" }, this.record, this.seconds, this.save, this.status), this.picture.canvas, this.span);
    this.picture.canvas.hidden = true;
  }

  draw() { this.picture.draw(); }

  render() {
    const ids = [...model.events.keys()];
    const known = ids.join();
    if (known !== this.known) {
      this.known = known;
      const warned = warningsByEvent();
      // The selected event comes first, then events with warnings, then the busiest ones.
      const score = (id) => (id === this.chosen() ? 3e9 : 0) + (warned.has(id) ? 2e9 : 0) + rateOf(id);
      const shown = ids.sort((a, b) => score(b) - score(a)).slice(0, 100);
      const before = new Set([...this.picks].filter(([, box]) => box.checked).map(([id]) => id));
      if (before.size === 0) for (const id of shown.slice(0, 5)) before.add(id);
      this.picks = new Map(shown.map((id) => [id, el("input", { type: "checkbox", checked: before.has(id) })]));
      const legend = el("legend", {}, ids.length > 100 ? `Events (100 of ${number(ids.length)}: the chosen one, those with warnings, the busiest)` : "Events");
      this.choices.replaceChildren(legend, ...shown.map((id) => el("label", {}, this.picks.get(id), el("span", {}, eventName(id)))));
    }
    this.record.disabled = this.isRunning || !model.connected;
  }

  async run() {
    const events = [...this.picks].filter(([, box]) => box.checked).map(([id]) => id);
    if (events.length === 0) return setText(this.status, "Choose an event first.");
    this.isRunning = true;
    this.render();
    try {
      const seconds = Number(this.seconds.value);
      // With the seconds, so that the inspector stops the trace if this page is closed meanwhile.
      const { trace } = await post("trace/start", { events, megabytes: 4, seconds });
      for (let left = seconds; left > 0; left -= 1) {
        setText(this.status, `Recording, ${left} s left`);
        await new Promise((resume) => setTimeout(resume, 1000));
      }
      const file = await post("trace/stop", { trace, events });
      this.text = JSON.stringify(file);
      this.save.disabled = false;
      this.picture.canvas.hidden = false;
      const { calls, occurrences } = this.picture.show(file);
      const lost = file.otherData.overwritten;
      setText(this.status, `${number(occurrences)} occurrences, ${number(calls)} calls${lost > 0 ? `; ${number(lost)} older records were overwritten` : ""}`);
      setText(this.span, "Drag or use the arrow keys to move, + and − to zoom, 0 for all, n and p for the next and the previous bar.");
    } catch (error) {
      setText(this.status, error.message);
    }
    this.isRunning = false;
    this.render();
  }

  download() {
    const url = URL.createObjectURL(new Blob([this.text], { type: "application/json" }));
    el("a", { href: url, download: `trace-${new Date().toISOString().slice(0, 19).replaceAll(":", "-")}.json` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  }

  describe(span, lane) {
    if (!span) return;
    const { args } = span;
    const size = span.dur === undefined ? "" : `, ${span.dur < 1000 ? `${span.dur} µs` : `${(span.dur / 1000).toFixed(2)} ms`}`;
    const of = span.cat === "occurrence"
      ? `occurrence ${args.sequence}${args.payload === undefined ? "" : `, ${args.payload}`}${args.cause === null || args.cause === undefined ? "" : `, sent by call ${args.cause}`}`
      : `${span.cat} for occurrence ${args.sequence} of ${eventName(args.event)}${args.outcome ? `, ${args.outcome}` : ""}, handler ${handlerName(args.handler)}`;
    setText(this.span, `${span.name}: ${of}${size}, on ${lane}`);
  }
}
