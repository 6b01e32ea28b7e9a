// What is told of one node or one pod.

import { span, clock, say, make, name, button, pods, plural } from "./words.js";
import { sentence } from "./nodes.js";

const $ = (id) => document.getElementById(id);
const again = 5e3; // what is told is asked anew as long as it is looked at

export class Detail {
  constructor(nodes) {
    this.nodes = nodes;
    this.root = $("detail");
    $("detail-close").addEventListener("click", () => this.close());
    document.addEventListener("keydown", (e) => {
      if (e.key === "Escape" && !this.root.hidden) this.close();
    });
  }

  // node tells of a node; back is where the focus goes when it is closed.
  node(called, back) {
    this.open(called, back);
    this.nodes.mark(called);
    this.body.append((this.facts = make("p", "facts")), (this.said = make("div")));
    this.of = called;
    this.refresh();
    this.ask("node?" + new URLSearchParams({ name: called }), (e) => {
      const told = [this.lines(e.lines)];
      if (e.pods?.length) {
        const list = make("ul", "pods");
        for (const p of e.pods) list.append(make("li", "", button("link", (c) => this.pod(p.namespace, p.name, c.currentTarget), name(p.namespace + "/" + p.name))));
        told.push(make("h3", "", plural(e.pods.length, "pod") + " there"), list);
      }
      return told;
    });
  }

  // pod tells what has happened to a pod.
  pod(namespace, called, back) {
    // From a node's explanation one comes back to where that came back to.
    this.open(namespace + "/" + called, this.root.contains(back) ? this.back : back);
    this.body.append((this.said = make("div")));
    this.ask("pod?" + new URLSearchParams({ namespace, name: called }), (t) => {
      const where = make("p", "facts");
      if (t.profile) where.append("Profile ", name(t.profile), t.node ? ", on " : ", on no node");
      if (t.node) where.append(t.profile ? "" : "On ", button("link", () => this.nodes.go(t.node), name(t.node)));
      return [where, timeline(t.steps ?? []), this.lines(t.lines)];
    });
  }

  open(title, back) {
    this.of = null;
    this.back = back;
    this.nodes.mark(undefined);
    clearTimeout(this.timer);
    this.asked?.abort();
    this.root.hidden = false;
    $("detail-title").replaceChildren(name(title));
    this.body = $("detail-body");
    this.body.replaceChildren();
    $("detail-title").focus();
  }

  close() {
    clearTimeout(this.timer);
    this.asked?.abort();
    this.of = null;
    this.nodes.mark(undefined);
    this.root.hidden = true;
    if (this.back?.isConnected) this.back.focus();
    else $("nodes").focus();
  }

  // refresh renews what the frames tell of the node.
  refresh() {
    if (this.root.hidden || !this.of) return;
    const n = this.nodes.nodes[this.nodes.byName.get(this.of)];
    const counts = n?.signal ? ` ${plural(n.running, "pod")} run${n.running === 1 ? "s" : ""}` + (n.inFlight ? `, ${pods(n.inFlight)} more are bound to it` : "") + "." : "";
    say(this.facts, n ? `Now ${sentence(n)}.${counts}` : "This node is gone.");
  }

  lines(lines) {
    const list = make("ul", "lines");
    for (const line of lines ?? []) list.append(make("li", "", name(line)));
    return list;
  }

  // ask asks, shows what show makes of the answer, and asks again. What doesn't change stays.
  async ask(url, show) {
    const asked = (this.asked = new AbortController());
    let told;
    try {
      const answer = await fetch(url, { signal: asked.signal, cache: "no-store" });
      const what = await answer.json();
      told = answer.ok ? show(what) : [make("p", "problem", what.error ?? String(answer.status))];
    } catch (error) {
      told = [make("p", "problem", "The server can’t be reached.")];
    }
    if (asked.signal.aborted) return;
    const fresh = make("div", "", ...told);
    if (!fresh.isEqualNode(this.said) && !this.said.contains(document.activeElement)) {
      this.said.replaceWith(fresh);
      this.said = fresh;
    }
    this.timer = setTimeout(() => this.ask(url, show), again);
  }
}

// timeline lists the steps with the time that each took.
function timeline(steps) {
  const at = (s) => (s.at.startsWith("0001-") ? null : Date.parse(s.at));
  const times = steps.map(at).filter((t) => t !== null);
  const begin = Math.min(...times), whole = Math.max(1, Math.max(...times) - begin);
  const list = make("ol", "timeline");
  let before = null;
  for (const s of steps) {
    const t = at(s), bar = make("span", "bar"), fill = make("span");
    bar.append(fill);
    let when = "";
    if (t !== null) {
      const from = before ?? t;
      fill.style.left = (100 * (from - begin)) / whole + "%";
      fill.style.width = (100 * (t - from)) / whole + "%";
      when = before === null ? clock(t).slice(0, 8) : "+" + span((t - from) / 1000);
      before = t;
    }
    list.append(make("li", "", make("b", "", name(s.name)), make("span", "when", when), bar, make("span", "what", name(s.detail ?? ""))));
  }
  return list;
}
