// The page: frames in, and each part shows what has changed.

import { follow } from "./stream.js";
import { plural, span, clock, say, make, name, button } from "./words.js";
import { Nodes } from "./nodes.js";
import { Chart, hints, readout } from "./charts.js";
import { Detail } from "./detail.js";

const $ = (id) => document.getElementById(id);
const root = document.documentElement;

const nodes = new Nodes((called, back) => detail.node(called, back));
const detail = new Detail(nodes);
const state = {}; // the parts as they were sent last
let at = 0;

const profiles = () => (state.runs ?? []).map((r) => r.profile);
const curves = new Chart($("curves"), {
  labels: true, value: (v) => (state.curves.kind === "within" ? v + " %" : String(v)),
  told: (under) => say($("curves-readout"), readout(state.curves, profiles(), under)),
});
const rates = new Chart($("rates"), { value: (v) => String(Math.round(v * 100) / 100) });

const parts = {
  title(title) {
    say($("title"), title);
    document.title = title ? title + " – Spazio" : "Spazio";
  },
  verdict(lines) {
    say($("verdict"), lines[0] ?? "");
    say($("verdict-more"), lines.slice(1).join(" "));
  },
  runs(runs) {
    $("runs-part").hidden = runs.length === 0;
    const list = $("runs");
    runs.forEach((r, i) => fillRun(list.children[i] ?? list.appendChild(newRun(i)), r));
    while (list.children.length > runs.length) list.lastChild.remove();
  },
  further(n) {
    $("further").hidden = n === 0;
    say($("further"), plural(n, "profile") + " more are not shown.");
  },
  curves(c) {
    const exact = Math.max(0, ...state.runs.map((r) => r.resolution));
    say($("curves-title"), c.kind === "done" ? "Pods done, by time" : "Time until pods were done");
    say($("curves-hint"), hints[c.kind] + (exact > 0 ? ` From containers’ states, ${exact === 1 ? "in whole seconds" : "to " + span(exact)}.` : ""));
    curves.show(c, profiles());
  },
  rates(c) {
    say($("rates-hint"), hints[c.kind]);
    rates.show(c, profiles());
  },
  waiting(pods) {
    const body = $("waiting");
    $("waiting-none").hidden = pods.length > 0 || state.waitingTotal > 0;
    $("waiting-some").hidden = pods.length === 0;
    pods.forEach((p, i) => fillWaiting(body.children[i] ?? body.appendChild(newWaiting()), p));
    while (body.children.length > pods.length) body.lastChild.remove();
  },
  waitingTotal(n) {
    const shown = state.waiting.length;
    say($("waiting-title"), n > 0 ? plural(n, "pod") + (n === 1 ? " waits" : " wait") : "Pods that wait");
    $("waiting-more").hidden = n <= shown;
    say($("waiting-more"), `The ${shown} that wait longest are shown.`);
    $("waiting-none").hidden = n > 0;
  },
};

const sorts = [["done", "done"], ["running", "running"], ["starting", "starting"], ["waiting", "waiting"], ["failed", "failed"]];

function newRun(i) {
  const bar = make("div", "progress");
  for (const [sort] of sorts) bar.append(make("span", sort));
  const line = make("span", "line");
  line.dataset.run = i;
  const item = make("li", "run", make("h3", "", line, make("bdi")), make("p", "counts"), bar, make("p", "facts"));
  item.dataset.run = i;
  return item;
}

function fillRun(item, r) {
  const [head, counts, bar, facts] = item.children, whole = Math.max(r.total, r.submitted, 1);
  say(head.lastChild, r.profile);
  const words = sorts.filter(([sort]) => sort === "done" || r[sort] > 0).map(([sort, word]) => `${r[sort].toLocaleString("en")} ${word}`);
  say(counts, (r.total ? `${plural(r.total, "pod")}: ` : "") + words.join(", ") + (r.ended ? "" : r.submitted ? "" : " – not begun"));
  sorts.forEach(([sort], i) => { bar.children[i].style.width = (100 * r[sort]) / whole + "%"; });
  const told = [];
  if (r.mean > 0) told.push(`${span(r.mean)} on average`);
  if (r.ended && r.last > 0) told.push(`the last after ${span(r.last)}`);
  if (r.over > 0) told.push(`${r.rate} pods a second` + (r.ended ? "" : ` in the last ${span(r.over)}`));
  say(facts, told.join(" · "));
}

function newWaiting() {
  const row = make("tr");
  const show = button("link", () => detail.pod(row.pod.namespace, row.pod.name, show), make("bdi"));
  row.append(make("td", "", show), make("td", "", make("bdi")), make("td", "number"), make("td", "", make("bdi")));
  return row;
}

function fillWaiting(row, p) {
  row.pod = p;
  const [pod, profile, since, reason] = row.children;
  say(pod.firstChild.firstChild, p.namespace + "/" + p.name);
  say(profile.firstChild, p.profile);
  say(since, p.since > 0 ? span((at - p.since) / 1000) : "");
  say(reason.firstChild, p.reason);
}

// apply takes an event; only with the last of a frame the page changes.
function apply(e) {
  if (e.version !== root.dataset.version) {
    location.reload(); // the server is another than the page's
    return;
  }
  if (e.at) at = e.at;
  if (e.count !== undefined) nodes.begin(e.count, e.more, e.ending);
  const changed = Object.keys(parts).filter((part) => part in e);
  for (const part of changed) state[part] = e[part];
  nodes.rows(e.rows, e.words);
  for (const part of changed) parts[part](e[part]);
  if (!e.last) return;
  nodes.paint();
  detail.refresh();
  if (!changed.includes("waiting")) for (const row of $("waiting").children) fillWaiting(row, row.pod);
  $("problem").hidden = e.problem === "";
  say($("problem"), e.problem === "" ? "" : e.problem + (state.runs ? ` What is below is of ${clock(at)}.` : ""));
  say($("at"), at ? clock(at) : "");
  live(e.problem === "" ? "live" : "late");
  // By the second frame of the browser from here the first picture is on the screen.
  if (root.dataset.frame === undefined) requestAnimationFrame(() => requestAnimationFrame(() => performance.mark("painted")));
  root.dataset.frame = e.number;
}

const links = { live: "Live", late: "Stale", connecting: "Connecting", crowded: "Not connected", gone: "Not connected" };

function live(link) {
  $("freshness").dataset.link = link;
  say($("link"), links[link]);
}

follow("events", {
  frame: apply,
  link(link, why) {
    live(link);
    if (link === "connecting") return;
    $("problem").hidden = false;
    say($("problem"), `${why}; trying again.` + (state.runs ? ` What is below is of ${clock(at)}.` : ""));
  },
});

$("find").addEventListener("submit", (e) => {
  e.preventDefault();
  const asked = $("pod").value.trim(), cut = asked.indexOf("/");
  detail.pod(cut < 0 ? "default" : asked.slice(0, cut), asked.slice(cut + 1), $("pod"));
});
