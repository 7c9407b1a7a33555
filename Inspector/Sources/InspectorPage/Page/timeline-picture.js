import { el } from "./dom.js";

const [lineHeight, header, most] = [18, 24, 40];

/** Draws a trace in Chrome's format: rows with bars, and arrows between them. */
export class TimelinePicture {
  constructor(tell) {
    Object.assign(this, { tell, spans: [], arrows: [], rows: [], chosen: null });
    this.canvas = el("canvas", { tabindex: "0", role: "application", "aria-label": "Timeline. Arrow keys move, plus and minus zoom, n and p go from bar to bar." });
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.shiftKey && Math.abs(event.deltaY) > Math.abs(event.deltaX)) {
        event.preventDefault();
        this.zoom(Math.exp(event.deltaY / 300), this.timeAt(event.offsetX));
      } else { event.preventDefault(); this.move((event.deltaX || event.deltaY) / this.inner()); }
    }, { passive: false });
    this.canvas.addEventListener("pointerdown", (event) => { this.drag = event.offsetX; this.canvas.setPointerCapture(event.pointerId); });
    this.canvas.addEventListener("pointermove", (event) => {
      if (this.drag !== undefined) { this.move((this.drag - event.offsetX) / this.inner()); this.drag = event.offsetX; }
      else this.choose(this.spanAt(event.offsetX, event.offsetY));
    });
    for (const name of ["pointerup", "pointercancel"]) this.canvas.addEventListener(name, (event) => { this.drag = undefined; this.choose(this.spanAt(event.offsetX, event.offsetY)); });
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  /** Shows a trace, and returns the number of its parts. */
  show(file) {
    const names = new Map();
    const rows = new Map();
    const starts = new Map();
    this.spans = [];
    this.arrows = [];
    for (const record of file.traceEvents) {
      if (record.ph === "M" && record.name === "thread_name") names.set(record.tid, String(record.args.name));
      if (record.ph === "X" || record.ph === "i") { this.spans.push(record); if (!rows.has(record.tid)) rows.set(record.tid, []); rows.get(record.tid).push(record); }
      if (record.ph === "s") starts.set(record.id, record);
    }
    // Spans within a row nest, so each span is drawn below the spans that have not ended yet.
    this.rows = [];
    for (const [tid, spans] of rows) {
      spans.sort((a, b) => a.ts - b.ts || (b.dur ?? 0) - (a.dur ?? 0));
      const ends = [];
      let deepest = 0;
      for (const span of spans) {
        while (ends.length > 0 && ends.at(-1) <= span.ts) ends.pop();
        span.depth = ends.length;
        deepest = Math.max(deepest, span.depth);
        if (span.ph === "X") ends.push(span.ts + span.dur);
      }
      this.rows.push({ tid, name: names.get(tid) ?? `row ${tid}`, y: 0, depth: deepest, spans });
      if (this.rows.length === most) break;
    }
    const rowOf = (record) => this.rows.find((row) => row.tid === record.tid);
    for (const record of file.traceEvents) {
      const start = record.ph === "f" ? starts.get(record.id) : undefined;
      if (start && rowOf(start) && rowOf(record)) this.arrows.push({ cat: record.cat, from: start.ts, to: record.ts, start: rowOf(start), end: rowOf(record) });
    }
    this.begin = Math.min(...this.rows.map((row) => row.spans[0].ts));
    this.end = this.spans.reduce((end, span) => Math.max(end, span.ts + (span.dur ?? 0)), this.begin + 1);
    [this.from, this.to] = [this.begin, this.end];
    // Hundreds of bars side by side cannot be told apart. So the first view has about sixty.
    const ordered = [...this.spans].sort((a, b) => a.ts - b.ts);
    if (ordered.length > 80) this.to = ordered[60].ts + (ordered[60].dur ?? 0);
    this.ordered = ordered;
    this.choose(null);
    this.draw();
    return { calls: this.spans.filter((span) => span.cat === "call").length, occurrences: this.spans.filter((span) => span.cat === "occurrence").length };
  }

  get isNarrow() { return this.canvas.clientWidth < 600; }
  get labels() { return this.isNarrow ? 0 : 150; }
  /** The room above each row for its name, in a narrow picture. */
  get above() { return this.isNarrow ? lineHeight : 0; }
  inner() { return Math.max(1, this.canvas.clientWidth - this.labels); }
  timeAt(x) { return this.from + ((x - this.labels) / this.inner()) * (this.to - this.from); }
  xAt(time) { return this.labels + ((time - this.from) / (this.to - this.from)) * this.inner(); }

  move(part) {
    const size = this.to - this.from;
    this.from = Math.min(Math.max(this.from + part * size, this.begin - size / 2), this.end - size / 2);
    this.to = this.from + size;
    this.draw();
  }

  zoom(factor, center = (this.from + this.to) / 2) {
    const size = Math.min(Math.max((this.to - this.from) * factor, 1), (this.end - this.begin) * 1.1);
    const part = (center - this.from) / (this.to - this.from);
    this.from = center - part * size;
    this.to = this.from + size;
    this.draw();
  }

  key(event) {
    if (!this.ordered) return;
    const step = { n: 1, p: -1 }[event.key];
    if (step) {
      const index = this.ordered.indexOf(this.chosen);
      const next = this.ordered[Math.min(Math.max(index + step, 0), this.ordered.length - 1)];
      if (next.ts < this.from || next.ts > this.to) this.move((next.ts - (this.from + this.to) / 2) / (this.to - this.from));
      this.choose(next);
    } else if (event.key === "ArrowLeft") this.move(-0.15);
    else if (event.key === "ArrowRight") this.move(0.15);
    else if (event.key === "+" || event.key === "=") this.zoom(0.6);
    else if (event.key === "-") this.zoom(1.6);
    else if (event.key === "0") { [this.from, this.to] = [this.begin, this.end]; this.draw(); }
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  choose(span) {
    if (span === this.chosen) return;
    this.chosen = span;
    this.draw();
    if (span) this.tell(span, this.rows.find((row) => row.tid === span.tid)?.name ?? "");
  }

  spanAt(x, y) {
    const time = this.timeAt(x);
    const near = (3 / this.inner()) * (this.to - this.from);
    for (const row of this.rows) {
      const depth = Math.floor((y - row.y) / lineHeight);
      if (depth < 0 || depth > row.depth) continue;
      const hit = row.spans.find((span) => span.depth === depth && span.ts - near <= time && time <= span.ts + (span.dur ?? 0) + near);
      if (hit) return hit;
    }
    return null;
  }

  /** Gives each row its place, which depends on the width. */
  place() {
    let y = header + this.above;
    for (const row of this.rows) {
      row.y = y;
      y += (row.depth + 1) * lineHeight + 10 + this.above;
    }
    this.height = y + 4 - this.above;
  }

  draw() {
    if (!this.ordered || this.canvas.clientWidth === 0) return;
    this.place();
    const ratio = devicePixelRatio;
    this.canvas.style.height = `${this.height}px`;
    const [width, height] = [Math.round(this.canvas.clientWidth * ratio), Math.round(this.height * ratio)];
    if (this.canvas.width !== width || this.canvas.height !== height) [this.canvas.width, this.canvas.height] = [width, height];
    const pen = this.canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, this.canvas.clientWidth, this.height);
    pen.font = "12px system-ui, 'DejaVu Sans', sans-serif";
    pen.textBaseline = "middle";
    const colors = this.colors();
    this.drawScale(pen, colors);
    for (const arrow of this.arrows) this.drawArrow(pen, colors, arrow);
    for (const row of this.rows) {
      for (const span of row.spans) this.drawSpan(pen, colors, row, span);
      // In a wide picture, a column at the left has the names of the rows, and hides the bars behind it. In a narrow one, each name stands above its row.
      pen.fillStyle = colors.paper;
      if (this.labels > 0) pen.fillRect(0, row.y - 5, this.labels - 4, (row.depth + 1) * lineHeight + 10);
      pen.fillStyle = colors.soft;
      if (this.labels > 0) pen.fillText(fitted(pen, row.name, this.labels - 14), 8, row.y + lineHeight / 2);
      else pen.fillText(fitted(pen, row.name, this.canvas.clientWidth - 16), 8, row.y - lineHeight / 2);
    }
  }

  /** Returns the colours of the style sheet. Reads them from a temporary element, because a custom property has no computed colour. */
  colors() {
    const probe = this.canvas.parentElement.appendChild(el("i"));
    const colors = {};
    for (const name of ["paper", "line", "ink", "soft", "accent", "bad", "warn", "good"]) {
      probe.style.color = `var(--${name})`;
      colors[name] = getComputedStyle(probe).color;
    }
    probe.remove();
    return colors;
  }

  drawScale(pen, colors) {
    const size = this.to - this.from;
    const rough = size / Math.max(2, this.inner() / 110);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough);
    pen.strokeStyle = colors.line;
    pen.fillStyle = colors.soft;
    for (let time = Math.ceil((this.from - this.begin) / step) * step; time <= this.to - this.begin; time += step) {
      const x = this.xAt(this.begin + time);
      pen.beginPath();
      pen.moveTo(x, 18);
      pen.lineTo(x, this.height);
      pen.stroke();
      pen.fillText(step >= 1000 ? `${Math.round(time / 1000)} ms` : `${Math.round(time * 10) / 10} µs`, x + 3, 10);
    }
  }

  drawSpan(pen, colors, row, span) {
    const x = this.xAt(span.ts);
    const width = Math.max(span.ph === "i" ? 5 : 2, this.xAt(span.ts + (span.dur ?? 0)) - x);
    if (x + width < this.labels || x > this.canvas.clientWidth) return;
    const y = row.y + span.depth * lineHeight;
    const color = span.args?.outcome === "threw" || span.args?.outcome === "dropped" || span.cat === "dropped" ? colors.bad : span.cat === "occurrence" ? colors.accent : span.args?.outcome === "running" || span.ph === "i" ? colors.warn : colors.good;
    pen.fillStyle = color;
    pen.globalAlpha = span === this.chosen ? 1 : 0.75;
    pen.fillRect(x, y + 1, width, lineHeight - 3);
    pen.globalAlpha = 1;
    if (span === this.chosen) { pen.strokeStyle = colors.ink; pen.strokeRect(x - 0.5, y + 0.5, width + 1, lineHeight - 2); }
    const left = Math.max(x, this.labels);
    if (x + width - left > 34) { pen.fillStyle = colors.paper; pen.fillText(fitted(pen, String(span.name), x + width - left - 8), left + 4, y + lineHeight / 2); }
  }

  drawArrow(pen, colors, arrow) {
    const [x1, x2] = [this.xAt(arrow.from), this.xAt(arrow.to)];
    const [y1, y2] = [arrow.start, arrow.end].map((row) => row.y + lineHeight / 2);
    if (Math.max(x1, x2) < this.labels || Math.min(x1, x2) > this.canvas.clientWidth || (y1 === y2 && Math.abs(x2 - x1) < 12)) return;
    pen.strokeStyle = arrow.cat === "cause" ? colors.warn : colors.soft;
    pen.globalAlpha = 0.6;
    pen.beginPath();
    pen.moveTo(x1, y1);
    pen.bezierCurveTo(x1 + 14, y1, x2 - 14, y2, x2, y2);
    pen.moveTo(x2 - 5, y2 - 3);
    pen.lineTo(x2, y2);
    pen.lineTo(x2 - 5, y2 + 3);
    pen.stroke();
    pen.globalAlpha = 1;
  }
}

function fitted(pen, text, width) {
  if (pen.measureText(text).width <= width) return text;
  let [low, high] = [0, text.length];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (pen.measureText(`${text.slice(0, middle)}…`).width <= width) low = middle; else high = middle - 1;
  }
  return low === 0 ? "" : `${text.slice(0, low)}…`;
}
