// The watch of /external/v1: one WebSocket, some subscriptions, each resumed with its cursor.

// A server says something at least every 10 s: a bookmark.
const silence = 25_000;

export class Watch {
  // told(kind, object, deleted) hears of changes, problem(kind, problem) of what cannot be
  // watched, link(state, heard) whether it is "live", "stale", "ended" (no session) or
  // "refused", and when something was heard last.
  constructor({ told, link, problem }) {
    Object.assign(this, { told, link, problem });
    this.subscriptions = new Map();
    this.failures = 0;
    this.heard = Date.now();
    setInterval(() => this.listen(), 5_000);
    addEventListener("online", () => this.connect());
  }

  // follow subscribes to a kind; known are the keys that the page has. Further calls with the same id replace what was followed.
  follow(id, kind, { namespace = "", names = [], known = [] } = {}) {
    const old = this.subscriptions.get(id);
    if (old) this.say({ op: "unsubscribe", id: old.name });
    const s = { id, kind, namespace, names, cursor: "", known: old?.known ?? new Set(known), seen: null };
    // Each has a name of its own: what was on its way for the old one is not for this one.
    s.name = id + "." + (this.count = (this.count ?? 0) + 1);
    this.subscriptions.set(id, s);
    if (this.socket?.readyState === WebSocket.OPEN) this.subscribe(s);
    else this.connect();
  }

  subscribe(s) {
    const { name: id, kind, namespace, names, cursor } = s;
    if (!cursor) s.seen = new Set();
    this.say({ op: "subscribe", id, kinds: [kind], namespace, names, cursor });
  }

  say(request) {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(request));
  }

  connect() {
    clearTimeout(this.again);
    if (this.socket && this.socket.readyState <= WebSocket.OPEN) return;
    const url = new URL("/external/v1/watch", location.href);
    url.protocol = url.protocol.replace("http", "ws");
    const socket = (this.socket = new WebSocket(url, "spazio.external.v1"));
    socket.onopen = () => {
      this.heard = Date.now();
      for (const s of this.subscriptions.values()) this.subscribe(s);
    };
    socket.onmessage = (e) => {
      this.heard = Date.now();
      this.take(JSON.parse(e.data));
    };
    socket.onclose = (e) => this.lost(socket, e.code);
  }

  // listen gives up a connection that has gone silent without being closed.
  listen() {
    if (this.socket?.readyState !== WebSocket.OPEN || Date.now() - this.heard < silence) return;
    const socket = this.socket;
    socket.onclose = null;
    socket.close();
    this.lost(socket, 1006);
  }

  lost(socket, code) {
    if (socket !== this.socket) return;
    this.socket = null;
    if (code === 4401) return this.link("ended", this.heard);
    if (code === 4403) return this.link("refused", this.heard);
    this.link("stale", this.heard);
    const wait = Math.min(15_000, 250 * 2 ** Math.min(this.failures++, 10));
    this.again = setTimeout(() => this.connect(), (code === 4429 ? 30_000 : wait) * (0.5 + Math.random() / 2));
  }

  take(m) {
    const s = [...this.subscriptions.values()].find((s) => s.name === m.id);
    if (!s) return;
    switch (m.type) {
      case "SNAPSHOT":
        s.seen ??= new Set();
        for (const o of m.objects ?? []) this.change(s, o.kind, o.object, false);
        if (m.more) return;
        for (const key of s.known) {
          const [namespace, name] = key.split("/");
          if (!s.seen.has(key)) this.change(s, s.kind, { namespace, name }, true);
        }
        s.seen = null;
        break;
      case "EVENTS":
        for (const e of m.events ?? []) this.change(s, e.kind, e.object, e.type === "DELETED");
        break;
      case "RESET": // a snapshot follows
        s.seen = new Set();
        return;
      case "ERROR":
        this.problem(s.kind, m.problem);
        return;
    }
    if (m.cursor) s.cursor = m.cursor;
    this.failures = 0;
    this.link("live", this.heard);
  }

  change(s, kind, object, deleted) {
    const key = object.namespace + "/" + object.name;
    s.seen?.add(key);
    if (deleted) s.known.delete(key);
    else s.known.add(key);
    this.told(kind, object, deleted);
  }
}
