// What pages do beside being read. The server renders the same.

import { Watch } from "./watch.js";

const $ = (selector, root = document) => root.querySelector(selector);
const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
const page = document.body.dataset.page;
const namespace = document.body.dataset.namespace;

// --- Text, as package ui has it in Go.

const nameOf = (o) => (o.namespace ?? "") + "/" + o.name;
const plural = (n, one, many) => n + " " + (n === 1 ? one : many);
const clock = (t) => (t ? new Date(t).toISOString().slice(0, 19).replace("T", " ") : "");
const busy = ["Running", "Scheduled", "Submitted", "Submitting", "Confirming", "AwaitingCompletion"];
const tone = (s) => (s === "Completed" || s === "Succeeded" ? "good" : s === "Failed" ? "bad" : busy.includes(s) ? "active" : "calm");

function span(seconds) {
  seconds = Math.max(0, seconds);
  const s = Math.floor(seconds);
  if (seconds < 10) return seconds.toFixed(1) + " s";
  if (s < 120) return s + " s";
  if (s < 7200) return Math.floor(s / 60) + " min " + (s % 60) + " s";
  return Math.floor(s / 3600) + " h " + Math.floor((s % 3600) / 60) + " min";
}

const took = (r) => (r.started && r.finished ? span((Date.parse(r.finished) - Date.parse(r.started)) / 1000) : "");

function hrefOf(kind, name) {
  const [, ns, rest] = /^([^/]*)\/(.*)$/s.exec(name) ?? [];
  return ns === undefined ? "" : `/ui/${kind}/${encodeURIComponent(ns)}/${encodeURIComponent(rest)}`;
}

const link = (kind, name) => ({ text: name, href: hrefOf(kind, name) });
const badge = (text, state) => ({ text, state });

// --- Rows: what of an object is shown, by the data-f of its place.

function jobFields(j) {
  const asked = j.creationRequest, run = j.runs?.at(-1);
  let last = run?.outcome ?? "";
  if (run && !last && run.started) last = "since " + clock(run.started);
  else if (run && took(run)) last += " in " + took(run);
  return {
    name: link("jobs", nameOf(j)), kind: j.kind, state: badge(j.state, tone(j.state)), reason: j.reason,
    scheduling: link("schedulings", j.activeScheduling ?? ""), last,
    where: asked ? `${plural(asked.slots?.length ?? 0, "slot", "slots")} of ${asked.testbed}` : "",
    slots: asked?.slots?.join(" "),
  };
}

function schedulingFields(s) {
  const jobs = s.jobs ?? [], ended = jobs.filter((j) => j.state === "Completed" || j.state === "Failed").length;
  let form = s.slots ? "by slots, " + (s.slots.mode || "Strict").toLowerCase() : "queue of " + plural(s.queue?.length ?? 0, "entry", "entries");
  if (s.exclusive) form += ", exclusive";
  const to = link("schedulings", nameOf(s));
  return {
    name: to, delete: { href: to.href + "/delete", unseen: " " + to.text }, form, testbed: s.testbed, author: s.author,
    state: badge(s.deleting ? "Releasing" : s.state || "New", tone(s.state)), priority: s.priority ?? 0,
    progress: `${ended} of ${plural(jobs.length, "job", "jobs")} ended`,
    created: clock(s.created), started: clock(s.started), completed: clock(s.completed),
  };
}

function runFields(r) {
  const outcome = r.outcome || (r.started ? "running" : "waiting");
  return {
    started: clock(r.started), took: took(r), scheduling: r.scheduling, attempt: r.attempt,
    outcome: badge(r.reason ? outcome + ": " + r.reason : outcome, r.outcome ? tone(r.outcome) : "active"),
    where: r.slots?.length ? r.testbed + ": " + r.slots.join(" ") : r.testbed,
    submitted: clock(r.submitted), finished: clock(r.finished),
  };
}

const conditionFields = (c) => ({ ...c, since: clock(c.since) });
const memberFields = (scheduling) => (j) => ({
  job: link("jobs", j.job), state: badge(j.state || "waiting", tone(j.state)), slots: j.slots?.join(" "),
  release: { href: `${scheduling}/release?job=${encodeURIComponent(j.job)}`, unseen: " " + j.job },
});

// fill puts fields in their places. Only what differs is touched.
function fill(root, fields) {
  for (const e of $$("[data-f]", root)) {
    let f = fields[e.dataset.f];
    if (f === undefined && !(e.dataset.f in fields)) continue;
    if (typeof f !== "object" || f === null) f = { text: f };
    const text = String(f.text ?? "");
    if (f.unseen !== undefined) setText($(".unseen", e), f.unseen);
    else if (e.textContent !== text) setText(e, text);
    if (f.href) e.setAttribute("href", f.href);
    else if (f.href === "") e.removeAttribute("href");
    if (f.state !== undefined && e.dataset.state !== f.state) e.dataset.state = f.state;
  }
}

const setText = (e, text) => e.textContent !== text && (e.textContent = text);

const clone = (list) => $("#new-" + list).content.querySelector("tr, li, section").cloneNode(true);

// fillList makes a list's rows those of the objects, in their order.
function fillList(name, objects, fields) {
  const list = $(`[data-list="${name}"]`);
  if (!list) return;
  objects.forEach((o, i) => {
    if (!list.children[i]) list.append(clone(name));
    fill(list.children[i], fields(o));
  });
  while (list.children.length > objects.length) list.lastElementChild.remove();
  showList(name, list);
}

function showList(name, list) {
  const empty = $(`[data-empty="${name}"]`);
  if (!empty) return;
  empty.hidden = list.children.length > 0;
  const card = list.closest(".card");
  if (card) card.hidden = !empty.hidden;
}

const keyOf = (row) => row.dataset.key ?? row.dataset.testbed;

function keep(name, key, deleted) {
  const list = $(`[data-list="${name}"]`);
  if (!list) return null;
  const rows = [...list.children];
  let row = rows.find((r) => keyOf(r) === key);
  if (deleted) row?.remove();
  else if (!row) {
    row = clone(name);
    row.dataset[name === "testbeds" ? "testbed" : "key"] = key;
    const rank = (key) => key.replace("/", " "); // - sorts before /
    list.insertBefore(row, rows.find((other) => rank(keyOf(other)) > rank(key)) ?? null);
  }
  showList(name, list);
  return deleted ? null : row;
}

// --- What is said to those who do not see: one message in two seconds at most.

const unsaid = new Map();
let quiet = null;

function announce(about, text) {
  unsaid.set(about, text);
  if (quiet === null) speak();
}

function speak() {
  quiet = null;
  if (!unsaid.size) return;
  const said = [...unsaid.values()];
  unsaid.clear();
  $("#announcer").textContent = said.length > 3 ? `${said.slice(0, 2).join(" ")} And ${said.length - 2} other changes.` : said.join(" ");
  quiet = setTimeout(speak, 2000);
}

// announceState tells of states that differ from those seen before.
const seen = new Map();

function announceState(what, key, state) {
  const before = seen.get(what + key);
  seen.set(what + key, state);
  if (before !== undefined && before !== state) announce(what + key, `${what} ${key}: ${state}.`);
}

// --- The grid of a test bed.

const states = ["free", "reserved", "occupied", "pending", "retiring"];

class Grid {
  constructor(section) {
    this.section = section;
    this.table = $("table.grid", section);
    this.body = this.table.tBodies[0];
    this.cells = new Map();
    this.slots = new Map();
    this.rows = new Map($$("tr", this.body).map((row) => [row.dataset.node, row]));
    for (const cell of $$("td[data-slot]", this.body)) this.cells.set(cell.dataset.slot, cell);
    this.table.addEventListener("keydown", (e) => this.key(e));
    this.table.addEventListener("focusin", (e) => this.tell(e.target.closest("td")));
    this.table.addEventListener("pointerover", (e) => this.tell(e.target.closest("td[data-slot]")));
    this.table.addEventListener("click", (e) => {
      const cell = e.target.closest("tbody td");
      if (cell) this.go(cell);
    });
    this.rest();
  }

  // rest makes one cell the grid's stop among the page's.
  rest() {
    if (this.here?.isConnected) return;
    this.here = $("tbody td", this.table);
    if (this.here) this.here.tabIndex = 0;
  }

  go(cell) {
    if (!cell) return;
    if (this.here && this.here !== cell) this.here.removeAttribute("tabindex");
    this.here = cell;
    cell.tabIndex = 0;
    cell.focus();
  }

  // tell shows all that is known of a cell's slot.
  tell(cell) {
    const s = this.slots.get(cell?.dataset.slot);
    if (!s) return;
    const pod = s.podName ? ` · pod ${s.podNamespace}/${s.podName}` : "";
    setText($('[data-f="detail"]', this.section), `${s.id} · slot ${s.index} · ${s.state}${s.reservedFor ? " by " + s.reservedFor : ""}${pod}`);
  }

  // across is how many rows lie beside each other.
  across() {
    const rows = this.body.rows, top = rows[0].offsetTop;
    let n = 1;
    while (n < rows.length && rows[n].offsetTop === top) n++;
    return n;
  }

  key(e) {
    const cell = e.target.closest("tbody td");
    if (!cell || e.altKey || e.metaKey) return;
    const rows = [...this.body.rows], row = cell.parentElement, y = rows.indexOf(row), x = cell.cellIndex, last = row.cells.length - 1;
    const to = (y, x) => rows[Math.min(rows.length - 1, Math.max(0, y))].cells[x];
    const line = this.across(), dense = line > 1;
    let next;
    switch (e.key) {
      case "ArrowRight": next = x < last ? to(y, x + 1) : dense && y + 1 < rows.length ? to(y + 1, 1) : cell; break;
      case "ArrowLeft": next = x > 1 ? to(y, x - 1) : dense && y > 0 ? to(y - 1, last) : cell; break;
      case "ArrowDown": next = y + line < rows.length ? to(y + line, x) : cell; break;
      case "ArrowUp": next = y >= line ? to(y - line, x) : cell; break;
      case "PageDown": next = to(y + 10 * line, x); break;
      case "PageUp": next = to(y - 10 * line, x); break;
      case "Home": next = e.ctrlKey ? to(0, 1) : to(y, 1); break;
      case "End": next = e.ctrlKey ? to(rows.length - 1, last) : to(y, last); break;
      default: return;
    }
    e.preventDefault();
    this.go(next);
  }

  // take takes in slots: all of the test bed's, or those that have changed.
  take(told) {
    for (const s of told.slots ?? []) this.put(s);
    const gone = told.gone ?? [];
    if (!told.partial) {
      const there = new Set((told.slots ?? []).map((s) => s.id));
      gone.push(...[...this.cells.keys()].filter((id) => !there.has(id)));
    }
    for (const id of gone) this.remove(id);
    if (gone.length) this.trim();
    this.rest();
    this.count({});
  }

  // trim takes away columns at the end that have no slot.
  trim() {
    const head = this.table.tHead.rows[0];
    while (head.cells.length > 1 && ![...this.body.rows].some((row) => row.lastElementChild.dataset.slot)) for (const row of this.table.rows) row.lastElementChild.remove();
    this.crowd();
  }

  put(s) {
    const before = this.slots.get(s.id);
    this.slots.set(s.id, s);
    if (before && before.state === s.state && before.reservedFor === s.reservedFor && before.index === s.index && before.nodeId === s.nodeId) return;
    const cell = this.cells.get(s.id) ?? this.place(s);
    if (cell.dataset.state !== s.state) {
      cell.dataset.state = s.state;
      setText(cell.children[0], s.state);
    }
    const job = s.reservedFor ?? "", near = this.section.dataset.testbed.split("/")[0] + "/";
    setText(cell.children[1], job.startsWith(near) ? job.slice(near.length) : job);
    setText(cell.children[2], String(s.index));
    const rank = String(s.nodeId ?? 2 ** 30), row = cell.parentElement;
    if (row.dataset.rank !== rank) {
      row.dataset.rank = rank;
      this.settle(row);
    }
    if (cell === document.activeElement) this.tell(cell);
  }

  // place makes a cell for a slot, and a row and columns if need be.
  place(s) {
    const head = this.table.tHead.rows[0];
    while (head.cells.length - 1 <= s.slotPositionOnNode) {
      head.append(this.element("th", "columnheader", { scope: "col" }, head.cells.length - 1));
      for (const row of this.body.rows) row.append(this.element("td", "gridcell", { class: "none" }));
    }
    let row = this.rows.get(s.nodeName);
    if (!row) {
      row = this.element("tr", "row", { "data-node": s.nodeName });
      const name = this.element("th", "rowheader", { scope: "row", title: s.nodeName });
      name.append(this.element("bdi", null, {}, s.nodeName));
      row.append(name);
      while (row.cells.length < head.cells.length) row.append(this.element("td", "gridcell", { class: "none" }));
      this.rows.set(s.nodeName, row);
      this.body.append(row);
    }
    const cell = row.cells[s.slotPositionOnNode + 1];
    cell.removeAttribute("class");
    cell.dataset.slot = s.id;
    cell.append(...["b", "bdi", "i"].map((tag) => document.createElement(tag)));
    this.cells.set(s.id, cell);
    return cell;
  }

  element(tag, role, attributes, text) {
    const e = document.createElement(tag);
    if (role) e.setAttribute("role", role);
    for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
    if (text !== undefined) e.textContent = text;
    return e;
  }

  // settle moves a row to where its node's rank is.
  settle(row) {
    const rank = Number(row.dataset.rank);
    const after = (other) => Number(other.dataset.rank) - rank || (other.dataset.node < row.dataset.node ? -1 : 1);
    this.body.insertBefore(row, [...this.body.rows].find((other) => other !== row && after(other) > 0) ?? null);
    this.crowd();
  }

  // crowd makes cells signs where there are too many for words.
  crowd() {
    this.table.classList.toggle("dense", this.body.rows.length > 16 || this.table.tHead.rows[0].cells.length > 9);
  }

  remove(id) {
    const cell = this.cells.get(id);
    this.cells.delete(id);
    this.slots.delete(id);
    if (!cell) return;
    cell.replaceChildren();
    cell.className = "none";
    for (const a of ["data-slot", "data-state", "data-entry", "aria-selected"]) cell.removeAttribute(a);
    const row = cell.parentElement;
    if ($("td[data-slot]", row)) return;
    this.rows.delete(row.dataset.node);
    row.remove();
  }

  count(counts) {
    // What a test bed counts itself is of another time than the slots shown.
    if (this.slots.size) counts = { slots: this.slots.size };
    this.slots.forEach((s) => (counts[s.state] = (counts[s.state] ?? 0) + 1));
    let at = 0;
    for (const state of states) {
      const n = counts[state] ?? 0, long = counts.slots ? (100 * n) / counts.slots : 0, part = $(`.bar [data-state="${state}"]`, this.section);
      setText($(`[data-count="${state}"]`, this.section), String(n));
      part?.setAttribute("x", at);
      part?.setAttribute("width", long);
      at += long;
    }
  }
}

const grids = new Map();

function gridOf(section) {
  if (!section) return null;
  if (!grids.has(section)) grids.set(section, new Grid(section));
  return grids.get(section);
}

const sectionOf = (key) => $$("[data-testbed]").find((s) => s.dataset.testbed === key);

// --- What the watch tells.

const known = new Map(); // slots by ID, by test bed

const take = {
  testbeds(t, deleted) {
    const key = nameOf(t);
    const section = keep("testbeds", key, deleted);
    if (!section) return;
    if (!grids.has(section)) gridOf(section).take({ slots: [...(known.get(key)?.values() ?? [])] });
    section.setAttribute("aria-label", "Test bed " + key);
    $("table.grid", section).setAttribute("aria-label", `Slots of ${key}, node by position`);
    fill(section, {
      name: key, ready: badge(t.ready ? "Ready" : t.reason || "Not ready", t.ready ? "good" : "bad"), message: t.ready ? "" : t.message,
      sum: plural(t.nodes, "node", "nodes") + ", " + plural(t.counts.slots, "slot", "slots"),
      use: { href: "/ui/build?testbed=" + encodeURIComponent(key), unseen: " of " + key },
    });
    gridOf(section).count(t.counts);
    announceState("Test bed", key, t.ready ? "ready" : "not ready");
  },
  slots(t, deleted) {
    const key = nameOf(t), grid = gridOf(sectionOf(key));
    if (deleted) t = {};
    // They may come before their test bed does.
    if (!t.partial) known.set(key, new Map());
    for (const s of t.slots ?? []) known.get(key)?.set(s.id, s);
    for (const id of t.gone ?? []) known.get(key)?.delete(id);
    grid?.take(t);
    builder?.mark();
  },
  jobs(j, deleted) {
    const fields = jobFields(j);
    if (deleted) fields.state = badge("Deleted", "calm");
    if (page === "job") return oneJob(j, fields);
    const row = keep("jobs", nameOf(j), deleted);
    if (row) fill(row, fields);
    if (!deleted) announceState("Job", nameOf(j), fields.state.text);
  },
  schedulings(s, deleted) {
    const fields = schedulingFields(s);
    if (deleted) fields.state = badge("Deleted", "calm");
    if (page === "scheduling") return oneScheduling(s, fields);
    const row = keep("schedulings", nameOf(s), deleted);
    if (row) fill(row, fields);
    announceState("Scheduling", nameOf(s), fields.state.text);
  },
};

function fillOne(fields) {
  for (const e of $$("[data-object], [data-facts]")) fill(e, fields);
}

function oneJob(j, fields) {
  fillOne(fields);
  fillList("runs", (j.runs ?? []).toReversed(), runFields);
  fillList("conditions", j.conditions ?? [], conditionFields);
  announceState("Job", nameOf(j), fields.state.text);
  const area = $("#external");
  // What somebody is editing stays; the version then says that it is not of what is there.
  if (area.value === area.defaultValue && document.activeElement !== area) {
    area.value = area.defaultValue = JSON.stringify(j.externalScheduler ?? {}, null, 2);
    area.form.elements.version.value = j.resourceVersion;
  }
}

function oneScheduling(s, fields) {
  fillOne(fields);
  fillList("members", s.jobs ?? [], memberFields(hrefOf("schedulings", nameOf(s))));
  fillList("conditions", s.conditions ?? [], conditionFields);
  announceState("Scheduling", nameOf(s), fields.state.text);
}

// --- The connection.

let linked = "";

function showLink(state, heard) {
  const since = new Date(heard).toISOString().slice(11, 19);
  const is = $("#freshness");
  const text = {
    live: "Live", stale: `Stale since ${since} UTC, reconnecting`, ended: `Stale since ${since} UTC: your session has ended`,
    refused: `Stale since ${since} UTC: you may no longer see this`,
  }[state];
  if (linked === state && state === "live") return;
  is.dataset.link = state;
  setText(is, text);
  if (state === "ended") {
    const to = document.createElement("a");
    to.href = "/ui/login?next=" + encodeURIComponent(location.pathname + location.search);
    to.textContent = "Log in again";
    is.append(". ", to);
  }
  if (linked && linked !== state) announce("link", state === "live" ? "Connected again." : text + ".");
  linked = state;
}

function showProblem(kind, problem) {
  const is = $("#freshness");
  is.dataset.link = "refused";
  setText(is, `Not live: ${kind}: ${problem.title}`);
  announce("link", is.textContent);
}

// --- Asking before something ends.

function askFirst(e) {
  const to = e.target.closest("a[data-confirm]"), dialog = $("#confirm");
  if (!to || e.ctrlKey || e.metaKey || e.shiftKey) return;
  e.preventDefault();
  const verb = to.dataset.confirm, { dataset } = dialog;
  $("form", dialog).action = to.getAttribute("href");
  setText($("#confirm-title"), `${verb} ${$(".unseen", to).textContent.trim()}?`);
  setText($("#confirm-text"), dataset["text" + verb]);
  setText($("#confirm-yes"), dataset["yes" + verb]);
  dialog.showModal();
  $("#confirm-title").focus(); // not a button: the key that is down would press it
}

// --- The builder.

class Builder {
  constructor(form, watch) {
    Object.assign(this, { form, watch, list: $(".entries"), picker: $("#picker"), rows: [] });
    this.entry = this.list.firstElementChild;
    form.addEventListener("input", () => this.later());
    form.addEventListener("submit", (e) => this.press(e));
    form.addEventListener("focusin", (e) => this.edit(e.target.closest(".entry")));
    this.picker.addEventListener("keydown", (e) => (e.key === " " || e.key === "Enter") && this.pick(e));
    this.picker.addEventListener("click", (e) => this.pick(e));
    form.elements.testbed.addEventListener("change", () => this.show());
    this.show();
    this.plan();
  }

  // show follows the slots of the chosen test bed.
  show() {
    const key = this.form.elements.testbed.value, [ns, name] = key.split("/");
    if (this.picker.dataset.testbed !== key) {
      if (!$("table.grid", this.picker)) return void location.assign("/ui/build?testbed=" + encodeURIComponent(key));
      gridOf(this.picker).take({});
      this.picker.dataset.testbed = key;
      fill(this.picker, { name: key, detail: "" });
      $("table.grid", this.picker).setAttribute("aria-label", `Slots of ${key}, node by position`);
    }
    if (!name) return;
    gridOf(this.picker);
    this.watch.follow("slots", "slots", { namespace: ns, names: [name] });
  }

  edit(entry) {
    if (!entry) return;
    this.entry = entry;
    for (const e of this.list.children) e.classList.toggle("edited", e === entry);
  }

  press(e) {
    const [op] = (e.submitter?.value ?? "").split(":"), row = e.submitter?.closest(".entry");
    if (op === "create" || op === "show") return;
    e.preventDefault();
    if (op === "add") {
      this.list.append(clone("entry"));
      $("select, input", this.list.lastElementChild).focus();
    } else if (op === "up") row.previousElementSibling?.before(row);
    else if (op === "down") row.nextElementSibling?.after(row);
    else if (op === "drop" && this.list.children.length > 1) {
      const next = row.nextElementSibling ?? row.previousElementSibling;
      row.remove();
      $("select, input", next).focus();
    } else if (op === "drop") for (const field of $$("select, input", row)) field.value = field.name === "times" ? "1" : "";
    if (op === "up" || op === "down") e.submitter.focus();
    this.plan();
  }

  // pick gives a slot to the row that was edited last, or takes it back.
  pick(e) {
    const cell = e.target.closest("td[data-slot]");
    if (!cell || !$("#by-slots").checked) return;
    e.preventDefault();
    if (!this.entry?.isConnected) this.edit(this.list.firstElementChild);
    const field = $('[name="slots"]', this.entry), index = $("i", cell).textContent;
    const names = field.value.split(/[\s,]+/).filter(Boolean), rest = names.filter((n) => n !== cell.dataset.slot && n !== index);
    if (rest.length === names.length) rest.push(cell.dataset.slot);
    field.value = rest.join(" ");
    this.mark();
    this.later();
  }

  // mark shows whose each slot is by the form, or the plan.
  mark() {
    const grid = gridOf($("table.grid", this.picker) && this.picker);
    if (!grid) return;
    const bySlots = $("#by-slots").checked, byId = new Map();
    const number = new Map([...grid.slots.values()].map((s) => [String(s.index), s.id]));
    if (bySlots)
      [...this.list.children].forEach((e, i) => {
        for (const name of $('[name="slots"]', e).value.split(/[\s,]+/).filter(Boolean)) {
          const [, from, to] = /^(\d+)-(\d+)$/.exec(name) ?? [0, name, name];
          if (from === to) byId.set(number.get(name) ?? name, i + 1);
          else for (let n = Number(from); n <= Math.min(Number(to), 5000); n++) byId.set(number.get(String(n)), i + 1);
        }
      });
    else for (const row of this.rows) for (const id of row.slots ?? []) byId.set(id, row.entry + 1);
    for (const [id, cell] of grid.cells) {
      const entry = byId.get(id);
      if (entry) cell.dataset.entry = entry;
      else delete cell.dataset.entry;
      if (bySlots) cell.setAttribute("aria-selected", Boolean(entry));
      else cell.removeAttribute("aria-selected");
    }
  }

  later() {
    this.mark();
    clearTimeout(this.soon);
    this.soon = setTimeout(() => this.plan(), 250);
  }

  // plan asks what the form would lead to. Answers that come too late are left aside.
  async plan() {
    clearTimeout(this.soon);
    const asked = (this.asked = (this.asked ?? 0) + 1), fields = new FormData(this.form);
    fields.set("op", "plan");
    if (!fields.getAll("job").some(Boolean)) return this.showPlan({ summary: "Choose jobs, then look at the plan.", problems: [], rows: [] });
    let plan;
    try {
      const answer = await fetch(this.form.action, { method: "POST", headers: { Accept: "application/json" }, body: new URLSearchParams(fields) });
      plan = await answer.json();
      if (!answer.ok) plan = { summary: plan.detail || plan.title, problems: plan.causes ?? [], rows: [] };
    } catch {
      plan = { summary: "There is no plan at the moment.", problems: [], rows: [] };
    }
    if (asked === this.asked) this.showPlan(plan);
  }

  showPlan(plan) {
    const is = $("#plan"), at = new Map();
    this.rows = plan.rows;
    is.dataset.state = plan.feasible ? "good" : plan.problems.length ? "bad" : "none";
    fill(is, { summary: plan.summary });
    for (const p of plan.problems) if (p.entry >= 0) at.set(p.entry, [...(at.get(p.entry) ?? []), p.message]);
    [...this.list.children].forEach((e, i) => fill(e, { problem: at.get(i)?.join("; ") ?? "" }));
    fillList("problems", plan.problems, (p) => ({ message: p.message }));
    fillList("plan", plan.rows, (r) => ({ job: r.job, starts: r.now ? "at once" : "later", slots: (r.slots ?? []).join(" ") }));
    $("table.list", is).hidden = !plan.rows.length;
    this.mark();
    announce("plan", plan.summary);
  }
}

let builder = null;

function begin() {
  document.addEventListener("click", askFirst);
  $("#confirm-no").addEventListener("click", () => $("#confirm").close());
  if (page === "login") {
    // A link may bring the token behind its #, which is never sent.
    const token = new URLSearchParams(location.hash.slice(1)).get("token");
    if (!token) return;
    history.replaceState(null, "", location.pathname + location.search);
    $("#token").value = token;
    return $("#login").requestSubmit();
  }
  const object = $("[data-object]"), form = $("#builder");
  if (page !== "overview" && !object && !form) return;
  const watch = new Watch({ told: (kind, object, deleted) => take[kind]?.(object, deleted), link: showLink, problem: showProblem });
  if (form) builder = new Builder(form, watch);
  else if (object) {
    const [ns, name] = object.dataset.key.split("/");
    watch.follow("one", object.dataset.object, { namespace: ns, names: [name], known: [keyOf(object)] });
  } else
    for (const kind of ["slots", "testbeds", "schedulings", "jobs"])
      if (kind === "slots" ? $('[data-list="testbeds"]') : $(`[data-list="${kind}"]`)) watch.follow(kind, kind, { namespace, known: $$(`[data-list="${kind}"]>*`).map(keyOf) });
  for (const section of $$("[data-testbed]")) if (!section.hidden) gridOf(section);
}

begin();
