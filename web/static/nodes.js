// The nodes as tiles, coloured by the pods that still fit.

import { plural, pods, say, make, name, button } from "./words.js";

const $ = (id) => document.getElementById(id);

// kinds are what a tile can be, in the order of the legend.
export const kinds = [
  ["r4", "8 and more free"], ["r3", "4 to 7"], ["r2", "2 to 3"], ["r1", "1"],
  ["full", "full"], ["saturated", "saturated: a resource is used up"],
  ["stale", "hatched: its last report is too old"], ["grey", "grey: room unknown, or refused, for a reason below"],
];

export function kindOf(n) {
  if (n.signal === 0) return "grey";
  if (n.signal === 2) return "stale";
  if (n.saturated) return "saturated";
  if (n.free === null || n.free < 10) return "full";
  if (n.reason) return "grey";
  return n.free < 20 ? "r1" : n.free < 40 ? "r2" : n.free < 80 ? "r3" : "r4";
}

// sentence says in words what a tile shows.
export function sentence(n) {
  const parts = [];
  if (n.signal === 0) parts.push("no signal");
  else {
    parts.push(`${pods(n.free)} pods free` + (n.capacity ? ` of ${pods(n.capacity)}` : ""));
    if (n.saturated) parts.push("saturated");
    if (n.signal === 2) parts.push("its report is too old");
    if (n.limiting) parts.push(`${n.limiting} is shortest`);
  }
  if (n.reason) parts.push(`takes ${n.byRequests ? "pods by requests alone" : "no pod"}: ${n.reason}`);
  return parts.join("; ");
}

// rank orders the kinds without known room: those that one doesn't expect first.
const rank = (kind) => ["grey", "stale", "saturated", "full"].indexOf(kind);

const letterOf = (n) => (n.signal === 0 ? "?" : n.limiting ? [...n.limiting][0].toUpperCase() : "");

const set = (t, field, text) => t.dataset[field] !== text && (t.dataset[field] = text);

// density is how much fits on a tile.
const densityOf = (count) => (count <= 60 ? "roomy" : count <= 400 ? "some" : count <= 1500 ? "many" : "crowd");

export class Nodes {
  // open is called with a node's name.
  constructor(open) {
    this.open = open;
    this.nodes = [];
    this.byName = new Map();
    this.dirty = new Set();
    this.counts = new Map();
    this.at = 0;
    this.root = $("tiles");
    this.root.addEventListener("click", (e) => this.choose(e.target.closest(".tile")));
    this.root.addEventListener("keydown", (e) => this.key(e));
    this.root.addEventListener("focusin", (e) => e.target.matches(".tile") && this.reach(this.indexOf(e.target)));
  }

  // short is a name without the domain that all have.
  short(called) { return this.domain && called.endsWith(this.domain) ? called.slice(0, -this.domain.length) || called : called; }

  indexOf(tile) { return Number(tile.dataset.i); }

  // begin forgets all nodes, for a whole picture follows.
  begin(count, more, ending) {
    this.anew = true;
    this.dirty.clear(); // of a picture that was cut off
    this.nodes = new Array(count);
    this.ending = ending;
    this.domain = ending.slice(Math.max(0, ending.indexOf(".")));
    if (!this.domain.startsWith(".")) this.domain = "";
    this.more = more;
    this.previous = "";
  }

  // rows takes nodes as an event has them.
  rows(rows, words) {
    this.previous = "";
    for (const [i, signal, saturated, byRequests, free, capacity, inFlight, running, limiting, reason, shared, rest] of rows) {
      let called;
      if (rest === undefined) called = this.nodes[i].name;
      else called = this.previous = this.previous.slice(0, shared) + rest + this.ending;
      this.nodes[i] = { name: called, signal, saturated, byRequests, free, capacity, inFlight, running, limiting: words[limiting], reason: words[reason] };
      this.dirty.add(i);
    }
  }

  // paint shows what has changed since it was called last.
  paint() {
    if (this.anew) this.arrange();
    for (const i of this.dirty) this.tile(i);
    if (this.anew || this.dirty.size > 0) this.tell();
    this.anew = false;
    this.dirty.clear();
  }

  // arrange makes tiles of the nodes that there are now. The focus stays with its node.
  arrange() {
    if (this.tiles?.length === this.nodes.length && this.tiles.every((t, i) => t.dataset.name === this.nodes[i].name)) return;
    const focused = this.root.contains(document.activeElement) ? this.tiles[this.at].dataset.name : null;
    this.byName = new Map(this.nodes.map((n, i) => [n.name, i]));
    const density = densityOf(this.nodes.length);
    this.root.dataset.density = density;
    const blank = make("div", "tile");
    blank.setAttribute("role", "option");
    blank.setAttribute("aria-selected", "false");
    blank.tabIndex = -1;
    if (density === "roomy") blank.append(make("bdi", "name"));
    this.tiles = this.nodes.map((n, i) => {
      const t = blank.cloneNode(true);
      t.dataset.i = i;
      t.dataset.name = n.name;
      if (density === "roomy") t.firstChild.textContent = this.short(n.name);
      return t;
    });
    this.root.replaceChildren(...this.tiles);
    this.at = Math.min(this.byName.get(focused) ?? 0, Math.max(0, this.tiles.length - 1));
    if (this.tiles.length > 0) this.tiles[this.at].tabIndex = 0;
    if (focused !== null) this.tiles[this.at]?.focus();
    if (this.chosen !== undefined) this.mark(this.chosen);
  }

  tile(i) {
    const n = this.nodes[i], t = this.tiles[i], kind = kindOf(n);
    set(t, "kind", kind);
    // The style shows these two; to who listens the label says the same in words.
    set(t, "letter", letterOf(n));
    set(t, "free", n.signal === 0 ? "–" : n.free === null ? "?" : String(Math.max(0, Math.floor(n.free / 10))));
    const words = n.name + ": " + sentence(n);
    if (t.getAttribute("aria-label") !== words) { t.setAttribute("aria-label", words); t.title = words; }
  }

  // tell renews what is said of all nodes together.
  tell() {
    const counts = Object.fromEntries(kinds.map(([kind]) => [kind, 0])), letters = new Map(), reasons = new Map();
    let takes = 0;
    for (const n of this.nodes) {
      const kind = kindOf(n);
      counts[kind]++;
      if (n.signal !== 0 && n.limiting) letters.set(letterOf(n), n.limiting);
      if (!n.reason || n.byRequests) takes++;
      if (!n.reason) continue;
      const reason = (n.byRequests ? "takes pods by requests alone: " : "") + n.reason;
      const key = reason.replace(/\d+([.,:]\d+)*/g, "#"), group = reasons.get(key);
      if (!group) reasons.set(key, { kind, reason, nodes: [n] });
      else {
        group.nodes.push(n);
        if (rank(kind) < rank(group.kind)) group.kind = kind;
      }
    }
    const total = this.nodes.length;
    say($("nodes-count"), total === 0 ? "There are none." : takes === total ? `${plural(total, "node")}; all take pods` : `${plural(total, "node")}; ${takes.toLocaleString("en")} take pods, ${(total - takes).toLocaleString("en")} take none`);
    if (this.more > 0) $("nodes-count").textContent += `; ${plural(this.more, "node")} more are not shown`;
    this.legend(counts);
    say($("letters"), letters.size === 0 ? "" : "The letter is what is shortest: " + [...letters].map(([l, of]) => `${l} ${of}`).join(", ") + ".");
    this.why([...reasons.values()]);
  }

  legend(counts) {
    const list = $("legend");
    if (list.children.length === 0) {
      for (const [kind, words] of kinds) {
        const swatch = make("span", "swatch");
        swatch.dataset.kind = kind;
        const item = make("li", "", swatch, make("span", "", words), " ", make("b"));
        item.dataset.of = kind;
        list.append(item);
      }
      list.prepend(make("li", "lead", "Pods that still fit:"));
    }
    for (const item of list.children) {
      if (!item.dataset.of) continue;
      say(item.lastChild, counts[item.dataset.of].toLocaleString("en"));
      item.classList.toggle("none", counts[item.dataset.of] === 0);
    }
  }

  // why lists why nodes take no pods, or take them without known room.
  why(groups) {
    const shown = 8, named = 4;
    groups.sort((a, b) => rank(a.kind) - rank(b.kind) || b.nodes.length - a.nodes.length);
    $("why").hidden = groups.length === 0;
    const rows = groups.slice(0, shown).map((g) => {
      const swatch = make("span", "swatch");
      swatch.dataset.kind = g.kind;
      const reason = make("span", "reason", name(g.reason));
      if (g.nodes.length > 1 && g.nodes.some((n) => !g.reason.endsWith(n.reason))) reason.append(", and the like");
      const who = make("span", "who");
      for (const n of g.nodes.slice(0, named)) who.append(button("link", () => this.go(n.name), name(this.short(n.name))), " ");
      if (g.nodes.length > named) who.append(`and ${(g.nodes.length - named).toLocaleString("en")} more`);
      return { key: g.kind + g.reason + "\0" + g.nodes.length + "\0" + g.nodes.slice(0, named).map((n) => n.name).join("\0"), parts: [swatch, make("b", "", plural(g.nodes.length, "node")), reason, who] };
    });
    const rest = groups.slice(shown).reduce((n, g) => n + g.nodes.length, 0);
    if (rest > 0) rows.push({ key: "rest" + rest, parts: [make("span"), make("b", "", plural(rest, "node")), make("span", "reason", "for other reasons"), make("span")] });
    const list = $("reasons");
    rows.forEach((row, i) => {
      const item = list.children[i] ?? list.appendChild(make("li"));
      if (item.dataset.key === row.key) return;
      // A button that has the focus stays.
      if (item.contains(document.activeElement) && item.dataset.who === row.key.split("\0").slice(1).join("\0")) { item.children[2].replaceWith(row.parts[2]); }
      else item.replaceChildren(...row.parts);
      item.dataset.key = row.key;
      item.dataset.who = row.key.split("\0").slice(1).join("\0");
    });
    while (list.children.length > rows.length) list.lastChild.remove();
  }

  // go shows a node, wherever it is named.
  go(called) {
    const i = this.byName.get(called);
    if (i === undefined) return;
    this.reach(i);
    this.open(called, document.activeElement);
  }

  // mark says of which node the explanation is.
  mark(called) {
    this.root.querySelector('[aria-selected="true"]')?.setAttribute("aria-selected", "false");
    this.chosen = called;
    this.tiles?.[this.byName.get(called)]?.setAttribute("aria-selected", "true");
  }

  choose(tile) {
    if (!tile) return;
    this.reach(this.indexOf(tile));
    this.open(tile.dataset.name, tile);
  }

  // reach makes a tile the one that Tab leads to.
  reach(i) {
    if (i === this.at) return;
    this.tiles[this.at].tabIndex = -1;
    this.at = i;
    this.tiles[i].tabIndex = 0;
  }

  // across is how many tiles are beside each other.
  across() {
    const top = this.tiles[0].offsetTop;
    let n = 1;
    while (n < this.tiles.length && this.tiles[n].offsetTop === top) n++;
    return n;
  }

  key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey || !e.target.matches(".tile")) return;
    const last = this.tiles.length - 1, step = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
    let to;
    if (step) to = this.at + step;
    else if (e.key === "Home") to = 0;
    else if (e.key === "End") to = last;
    else if (["ArrowUp", "ArrowDown", "PageUp", "PageDown"].includes(e.key)) {
      const across = this.across(), rows = e.key.startsWith("Page") ? 10 : 1;
      to = this.at + (e.key.endsWith("Up") ? -1 : 1) * across * rows;
      while (to < 0) to += across;
      while (to > last) to -= across;
      if (rows === 1 && Math.floor(to / across) === Math.floor(this.at / across)) to = this.at;
    } else if (e.key === "Enter" || e.key === " ") {
      e.preventDefault();
      this.choose(e.target);
      return;
    } else return;
    e.preventDefault();
    to = Math.max(0, Math.min(last, to));
    this.reach(to);
    this.tiles[to].focus();
  }
}
