// Words and numbers, as package web has them in Go.

export const plural = (n, one) => n.toLocaleString("en") + " " + one + (n === 1 ? "" : "s");

export function span(s) {
  s = Math.max(0, s);
  if (s < 1) return s.toFixed(2) + " s";
  if (s < 9.95) return s.toFixed(1) + " s";
  if (s < 119.5) return s.toFixed(0) + " s";
  if (s < 7200) return Math.floor((s + 0.5) / 60) + " min " + (Math.floor(s + 0.5) % 60) + " s";
  return Math.floor(s / 3600) + " h " + (Math.floor(s / 60) % 60) + " min";
}

// pods is a number of pods from tenths, null for one that is not known.
export const pods = (tenths) => (tenths === null ? "?" : (tenths / 10).toLocaleString("en", { maximumFractionDigits: 1 }));

export const clock = (ms) => new Date(ms).toISOString().slice(11, 19) + " UTC";

// say sets a text only where it differs: what hasn't changed isn't told again.
export function say(e, text) {
  if (e.textContent !== text) e.textContent = text;
}

// make makes an element with a class and children; texts stay texts.
export function make(tag, className = "", ...children) {
  const e = document.createElement(tag);
  if (className) e.className = className;
  e.append(...children);
  return e;
}

// name is a name of somebody else's choice: it turns nothing around it.
export const name = (text) => make("bdi", "", text);

// button is one that does something.
export function button(className, does, ...children) {
  const e = make("button", className, ...children);
  e.type = "button";
  e.addEventListener("click", does);
  return e;
}
