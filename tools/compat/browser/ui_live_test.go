package browser

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/external/server"
	"github.com/spazio-scheduler/spazio/external/server/servertest"
	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

const live = `document.querySelector("#freshness").dataset.link === "live"`

// content is what a person finds on a page, without parts that only scripts show.
const content = `[...document.querySelectorAll("main [data-f], main td, main th, main [data-count], main rect, main [data-testbed]")]
	.filter((e) => e.dataset.f !== "detail")
	.map((e) => [e.tagName, e.className, e.dataset.f, e.dataset.slot, e.dataset.testbed, e.childElementCount ? "" : e.textContent, e.getAttribute("href"), e.dataset.state, e.closest("[hidden]") !== null,
		e.tagName === "rect" ? Number(e.getAttribute("x")).toFixed(3) + " " + Number(e.getAttribute("width")).toFixed(3) : ""].join("|"))`

// After any events, a page that followed them equals a freshly loaded one.
func TestUIFollowedIsRead(t *testing.T) {
	bench := serve(t)
	b := open(t, bench.URL, 1280, 900)
	b.login(servertest.Admin)
	rng := rand.New(rand.NewPCG(21, 11))
	for _, path := range []string{"", "", "jobs/default/kmeans", "schedulings/default/nightly"} {
		b.visit(path)
		b.Until(live)
		for range 60 {
			disturb(bench.Store, rng)
		}
		// The last event reaches the page last: then every subscription is up to date.
		mark := fmt.Sprintf("mark-%d", rng.Uint32())
		settle(bench.Store, mark)
		if path == "" {
			b.Until(`["testbeds", "jobs", "schedulings"].every((l) => document.querySelector('[data-list="' + l + '"]').textContent.includes("` + mark + `"))`)
			b.Until(`document.querySelector('td[data-slot="` + mark + `-00/0"]') !== null`)
		} else {
			b.Until(`document.querySelector("main").textContent.includes("` + mark + `")`)
		}
		followed := eval[[]string](b, content)
		b.Do(chromedp.Reload())
		read := eval[[]string](b, content)
		if diff := cmp.Diff(read, followed); diff != "" {
			t.Errorf("/ui/%s: read −, followed +\n%s", path, diff)
		}
		b.Until(live)
		if diff := cmp.Diff(read, eval[[]string](b, content)); diff != "" {
			t.Errorf("/ui/%s: a followed page differs from a loaded one\n%s", path, diff)
		}
	}
	b.Hold()
}

// disturb makes one random change.
func disturb(store *servertest.Store, rng *rand.Rand) {
	ctx := context.Background()
	outcomes := []string{"", "Succeeded", "Failed", "Cancelled"}
	switch rng.IntN(8) {
	case 0, 1, 2: // a slot
		slots, _ := store.Slots(ctx, "default", "cluster")
		if len(slots.Slots) == 0 {
			return
		}
		s := slots.Slots[rng.IntN(len(slots.Slots))]
		s.State = slot.State(rng.IntN(5))
		s.ReservedFor = []string{"", "default/kmeans", "other/kmeans"}[rng.IntN(3)]
		store.PutSlot("default", "cluster", s)
	case 3: // nodes and slots are added and removed
		t := testbedOf("default", "cluster", "worker", 1+rng.IntN(20), 1+rng.IntN(10))
		t.Ready = rng.IntN(2) == 0
		t.Reason, t.Message = "WaitingForCapacity", "two nodes are full"
		store.PutTestbed(t)
	case 4: // a test bed is added or removed
		name := []string{"aaa", "zzz"}[rng.IntN(2)]
		if rng.IntN(2) == 0 {
			store.Remove(wire.Testbeds, "default", name)
		} else {
			store.PutTestbed(testbedOf("default", name, name, rng.IntN(3), 1+rng.IntN(3)))
		}
	case 5: // an existing job advances
		all, _ := store.Jobs(ctx, "default")
		j := all[rng.IntN(len(all))]
		j.State = []string{"Ready", "InQueue", "Submitted", "Scheduled", "Running", "Completed", "Failed", "Releasing"}[rng.IntN(8)]
		j.Reason = []string{"", "SlotTooSmall"}[rng.IntN(2)]
		begin := start.Add(time.Duration(rng.IntN(1e4)) * time.Second)
		end := begin.Add(time.Duration(rng.ExpFloat64() * 3e11))
		run := wire.Run{Scheduling: "default/x", Testbed: "default/cluster", Outcome: outcomes[rng.IntN(4)], Reason: []string{"", "Evicted"}[rng.IntN(2)]}
		if rng.IntN(3) > 0 {
			run.Submitted, run.Started = &begin, &begin
		}
		if run.Outcome != "" && rng.IntN(4) > 0 {
			run.Finished, run.Slots = &end, []string{"worker-00/0", "worker-01/0"}
		}
		j.Runs = append(append([]wire.Run{}, j.Runs[min(1, len(j.Runs)):]...), run)
		if rng.IntN(3) == 0 {
			j.CreationRequest, j.ActiveScheduling = nil, ""
		}
		store.PutJob(j)
	case 6: // others are added and removed
		// The second namespace sorts after the first, although - sorts before /.
		namespace, name := []string{"default", "default-2"}[rng.IntN(2)], fmt.Sprintf("job-%d", rng.IntN(3))
		if rng.IntN(2) == 0 {
			store.Remove(wire.Jobs, namespace, name)
		} else {
			store.PutJob(wire.Job{Meta: wire.Meta{Namespace: namespace, Name: name}, Kind: "Job", State: "Ready"})
		}
	case 7:
		name := []string{"nightly", "new", "old"}[rng.IntN(3)]
		if rng.IntN(2) == 0 && name != "nightly" {
			store.Remove(wire.Schedulings, "default", name)
			return
		}
		s := wire.Scheduling{Meta: wire.Meta{Namespace: "default", Name: name, Deleting: rng.IntN(5) == 0}, Author: "x",
			SchedulingSpec: wire.SchedulingSpec{Testbed: "default/cluster", Queue: []string{"default/kmeans"}, Priority: int32(rng.IntN(9)), Exclusive: rng.IntN(2) == 0},
			State:          []string{"", "Acquiring", "Submitting", "Completed", "Failed"}[rng.IntN(5)]}
		if rng.IntN(2) == 0 {
			s.Queue, s.Slots = nil, &wire.SlotBased{Mode: []string{"", "Relaxed"}[rng.IntN(2)], Jobs: []wire.SlotJob{{Job: "default/kmeans"}}}
		}
		for range rng.IntN(4) {
			s.Jobs = append(s.Jobs, wire.SchedulingJob{Job: fmt.Sprintf("default/job-%d", rng.IntN(100)), State: []string{"", "Running", "Completed"}[rng.IntN(3)], Slots: []string{"worker-00/0"}})
		}
		if rng.IntN(2) == 0 {
			begin := start
			s.Started = &begin
		}
		store.PutScheduling(s)
	}
}

// settle writes the mark into each list, and into the objects with pages of their own.
func settle(store *servertest.Store, mark string) {
	ctx := context.Background()
	store.PutTestbed(testbedOf("default", mark, mark, 1, 1))
	job, _ := store.Job(ctx, "default", "kmeans")
	job.Conditions = []wire.Condition{{Type: "Valid", Status: "True", Message: mark, Since: start}}
	store.PutJob(job)
	store.PutJob(wire.Job{Meta: wire.Meta{Namespace: "default", Name: mark}})
	sched, _ := store.Scheduling(ctx, "default", "nightly")
	sched.Conditions = job.Conditions
	store.PutScheduling(sched)
	store.PutScheduling(wire.Scheduling{Meta: wire.Meta{Namespace: "default", Name: mark}, SchedulingSpec: wire.SchedulingSpec{Testbed: "default/cluster", Queue: []string{"default/kmeans"}}})
}

// front is an address behind which servers are replaced.
type front struct {
	mu    sync.Mutex
	now   http.Handler
	conns map[net.Conn]bool
}

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	now := f.now
	f.mu.Unlock()
	if now == nil {
		panic(http.ErrAbortHandler) // cuts the connection
	}
	now.ServeHTTP(w, r)
}

func (f *front) track(c net.Conn, state http.ConnState) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if state == http.StateClosed {
		delete(f.conns, c)
	} else {
		f.conns[c] = true
	}
}

// set puts a server behind the address; nil kills the present one with all its connections.
func (f *front) set(h http.Handler) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.now = h; h == nil {
		for c := range f.conns {
			_ = c.Close()
		}
		clear(f.conns)
	}
}

// replica returns a server on a store that others serve, too.
func replica(t *testing.T, store *servertest.Store) http.Handler {
	t.Helper()
	callers := servertest.Callers()
	c := server.Config{Store: store, Authenticator: callers, Authorizer: callers, Logger: slog.New(slog.DiscardHandler)}
	withUI(&c)
	s, err := server.New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s
}

// An object that disappears after a page was rendered, and before it follows, disappears from the page,
// too.
func TestUIGoneBeforeFollowed(t *testing.T) {
	store := servertest.NewStore()
	stage(store)
	f, serving := &front{conns: make(map[net.Conn]bool)}, replica(t, store)
	listener := httptest.NewServer(f)
	t.Cleanup(listener.Close)
	b := open(t, listener.URL, 1280, 900)
	b.login(servertest.Admin)
	for _, test := range []struct {
		path, gone string
		remove     func()
	}{
		{"", `!document.querySelector('tr[data-key="default/weekly-report"]') && !document.querySelector('tr[data-key="default/log-sort"]') && !document.querySelector('[data-testbed="default/profiling"]')`, func() {
			store.Remove(wire.Schedulings, "default", "weekly-report")
			store.Remove(wire.Jobs, "default", "log-sort")
			store.Remove(wire.Testbeds, "default", "profiling")
		}},
		{"jobs/default/kmeans", `document.querySelector("[data-f=state]").textContent === "Deleted"`, func() { store.Remove(wire.Jobs, "default", "kmeans") }},
	} {
		f.set(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/watch") {
				http.Error(w, "later", http.StatusServiceUnavailable)
				return
			}
			serving.ServeHTTP(w, r)
		}))
		b.visit(test.path)
		if eval[bool](b, test.gone) {
			t.Fatalf("/ui/%s did not have it from the start", test.path)
		}
		test.remove()
		f.set(serving)
		b.Until(live)
		b.Until(test.gone)
	}
	b.Hold("WebSocket connection to")
}

// A killed server is reported at once, with the time since when the page is stale; on another replica
// the page continues from its cursors, and shows the changes meanwhile.
func TestUIReconnect(t *testing.T) {
	store := servertest.NewStore()
	stage(store)
	f := &front{conns: make(map[net.Conn]bool)}
	f.set(replica(t, store))
	listener := httptest.NewUnstartedServer(f)
	listener.Config.ConnState = f.track
	listener.Start()
	t.Cleanup(listener.Close)
	b := open(t, listener.URL, 1280, 900)
	var mu sync.Mutex
	var sent []string
	followed := make(chan struct{}, 4)
	if err := chromedp.Listen(b.Context(), func(event any) {
		switch e := event.(type) {
		case *network.EventWebSocketFrameSent:
			mu.Lock()
			defer mu.Unlock()
			sent = append(sent, string(e.Response.PayloadData))
		case *network.EventWebSocketFrameReceived:
			if text := string(e.Response.PayloadData); strings.Contains(text, `"SNAPSHOT"`) && !strings.Contains(text, `"more":true`) {
				select {
				case followed <- struct{}{}:
				default:
				}
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	b.login(servertest.Admin)
	b.visit("")
	for range cap(followed) { // the first of which makes it live
		<-followed
	}
	b.Until(live)
	b.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector("h1").dataset.same = "page"; undefined`))

	f.set(nil)
	b.Until(`/^Stale since \d\d:\d\d:\d\d UTC/.test(document.querySelector("#freshness").textContent)`)
	b.Until(`document.querySelector("#announcer").textContent.startsWith("Stale since")`)
	slots, _ := store.Slots(t.Context(), "default", "cluster")
	s := slots.Slots[23]
	s.State, s.ReservedFor = slot.Occupied, "default/log-sort"
	store.PutSlot("default", "cluster", s)
	job, _ := store.Job(t.Context(), "default", "kmeans")
	job.State = "Completed"
	store.PutJob(job)
	store.Remove(wire.Schedulings, "default", "weekly-report")
	mu.Lock()
	sent = nil
	mu.Unlock()
	f.set(replica(t, store))
	b.Until(live)
	b.Until(`document.querySelector('td[data-slot="worker-05/3"]').dataset.state === "occupied"`)
	b.Until(`document.querySelector('tr[data-key="default/kmeans"] [data-f="state"]').textContent === "Completed"`)
	b.Until(`!document.querySelector('tr[data-key="default/weekly-report"]')`)
	if !eval[bool](b, `document.querySelector("h1").dataset.same === "page"`) {
		t.Error("the page was reloaded")
	}
	mu.Lock()
	defer mu.Unlock()
	if len(sent) != 4 {
		t.Errorf("%d subscriptions: %q", len(sent), sent)
	}
	for _, request := range sent {
		if strings.Contains(request, `"cursor":""`) {
			t.Errorf("resumed without a cursor: %s", request)
		}
	}
	b.Hold("WebSocket connection to", "net::ERR")
}

// A link may contain the token: the page exchanges it for a session, which no script sees.
func TestUITokenInLink(t *testing.T) {
	bench := serve(t)
	b := open(t, bench.URL, 1280, 900)
	b.visit("login#token=" + servertest.Admin)
	b.Until(`location.pathname === "/ui/" && ` + live)
	if got := eval[string](b, `location.href + document.cookie`); strings.Contains(got, servertest.Admin) {
		t.Error("scripts see the token: ", got)
	}
	b.Hold()
}

// However many events there are, screen readers get at most one message in two seconds.
func TestUIAnnouncements(t *testing.T) {
	bench := serve(t)
	b := open(t, bench.URL, 1280, 900)
	b.login(servertest.Admin)
	b.visit("")
	b.Until(live)
	// The time is recorded when the text is set: an observer runs only after the script, which on a
	// loaded machine may be much later.
	b.Do(chromedp.Evaluate[chromedp.Void](`window.said = []; (() => {
		const { get, set } = Object.getOwnPropertyDescriptor(Node.prototype, "textContent");
		Object.defineProperty(document.querySelector("#announcer"), "textContent", { get, set(text) { said.push([performance.now(), text]); set.call(this, text); } });
	})()`))
	if n := eval[int](b, `document.querySelectorAll("[aria-live], [role=status], [role=alert]").length`); n != 1 {
		t.Errorf("got %d live regions", n)
	}
	for i := 0; eval[int](b, `said.length`) < 3; i++ {
		for n, j := range jobs {
			job, err := bench.Store.Job(t.Context(), "default", j.name)
			if err != nil {
				t.Fatal(err)
			}
			if job.State = []string{"Running", "Completed"}[i%2]; n == 5 {
				job.State = "Failed"
			}
			bench.Store.PutJob(job)
		}
		time.Sleep(20 * time.Millisecond) // spread over time
	}
	for i, at := range eval[[]float64](b, `said.slice(1).map((s, i) => s[0] - said[i][0])`) {
		if at < 1990 {
			t.Errorf("got message %d %.0f ms after its predecessor", i+2, at)
		}
	}
	if all := eval[string](b, `said.map((s) => s[1]).join("\n")`); !strings.Contains(all, "Job default/") || !strings.Contains(all, "other changes") {
		t.Error(all)
	}
	b.Hold()
}
