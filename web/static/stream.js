// Follows server-sent events by fetch, which unlike EventSource tells why it was refused.

const quiet = 15e3; // the server has something each second, or is gone
const longest = 10e3; // between two attempts

// follow calls frame with each event's object, and link with how it stands: connecting, live,
// crowded or gone. It connects again by itself, and lets go of a page that nobody sees.
export function follow(url, { frame, link }) {
  let attempt = 0, again = 0, current = null, hide = 0;

  async function connect() {
    clearTimeout(again);
    const abort = (current = new AbortController());
    let wait = Math.min(longest, 500 * 2 ** attempt++) * (0.75 + Math.random() / 2);
    let watchdog = 0;
    const alive = () => { clearTimeout(watchdog); watchdog = setTimeout(() => abort.abort(), quiet); };
    try {
      alive();
      const answer = await fetch(url, { signal: abort.signal, cache: "no-store" });
      if (answer.status === 503) {
        link("crowded", (await answer.text()).trim());
        wait = 1000 * (Number(answer.headers.get("Retry-After")) || 5);
      } else if (!answer.ok) {
        link("gone", `the server says ${answer.status}`);
      } else {
        for await (const event of events(answer.body, alive)) {
          attempt = 0;
          try {
            frame(event);
          } catch (error) {
            reportError(error); // a fault of the page: what follows would be shown on top of it
            throw error;
          }
        }
        link("gone", "the server has ended");
      }
    } catch (error) {
      if (abort === current) link("gone", abort.signal.aborted ? "nothing has come for a while" : "the server can’t be reached");
    }
    clearTimeout(watchdog);
    abort.abort();
    if (abort === current && !document.hidden) again = setTimeout(connect, wait);
  }

  document.addEventListener("visibilitychange", () => {
    clearTimeout(hide);
    if (document.hidden) {
      hide = setTimeout(() => { const c = current; current = null; clearTimeout(again); c?.abort(); }, 3e4);
    } else if (!current || current.signal.aborted) {
      attempt = 0;
      link("connecting", "");
      connect();
    }
  });
  connect();
}

// events yields what the data lines of a stream say.
async function* events(body, alive) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "", from = 0;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    alive();
    text += value;
    for (let end; (end = text.indexOf("\n\n", Math.max(0, from - 1))) >= 0; from = 0) {
      const event = text.slice(0, end);
      text = text.slice(end + 2);
      for (const line of event.split("\n")) if (line.startsWith("data: ")) yield JSON.parse(line.slice(6));
    }
    from = text.length;
  }
}
