// Makes and changes elements. Strings of the app can only become text, because no function here accepts markup.

export const byID = (id) => document.getElementById(id);

/** Makes an element. Properties that begin with "on" become listeners; `class`, `data-` and `aria-` become attributes. */
export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** Makes an SVG element. */
export function svg(tag, attributes = {}, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

/** Sets the text of an element, unless the text is equal. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function setAttribute(element, name, value) {
  if (value === null) element.removeAttribute(name);
  else if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

/** Returns a small chart of 120 seconds: an area and its edge. */
export function spark(label) {
  const picture = svg("svg", { class: "spark", viewBox: "0 0 119 100", preserveAspectRatio: "none", role: "img", "aria-label": label });
  picture.append(svg("path", { class: "area" }), svg("path", { class: "line" }));
  return picture;
}

export function drawSpark(picture, counts, most = Math.max(1, ...counts)) {
  const points = counts.map((count, index) => `${index},${(97 - (count / most) * 92).toFixed(1)}`).join("L");
  setAttribute(picture.lastChild, "d", `M${points}`);
  setAttribute(picture.firstChild, "d", `M0,100L${points}L${counts.length - 1},100Z`);
}

// Formats numbers for people.

const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
export const number = (value) => (value === null || value === undefined ? "–" : grouped.format(value));

export function rate(value) {
  if (value === 0) return "0";
  if (value < 10) return value.toFixed(1);
  if (value < 100_000) return grouped.format(Math.round(value));
  return value < 1e6 ? `${Math.round(value / 1e3)} k` : `${(value / 1e6).toFixed(1)} M`;
}

export function duration(nanoseconds) {
  if (nanoseconds === null || nanoseconds === undefined) return "–";
  if (nanoseconds < 1e3) return `${Math.round(nanoseconds)} ns`;
  for (const [size, unit] of [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]]) {
    if (nanoseconds >= size && nanoseconds < 60e9) {
      const value = nanoseconds / size;
      return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${unit}`;
    }
  }
  const seconds = Math.round(nanoseconds / 1e9);
  return seconds < 3600 ? `${Math.floor(seconds / 60)} min ${seconds % 60} s` : `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

/** Returns a duration as text, in whole seconds. */
export function age(nanoseconds) {
  const seconds = Math.max(0, Math.floor(nanoseconds / 1e9));
  return seconds < 60 ? `${seconds} s` : duration(seconds * 1e9);
}
