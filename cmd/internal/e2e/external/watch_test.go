package external

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/cmd/testbed/service"
	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// watch is a client's end of a watch.
type watch struct {
	*caller
	conn *websocket.Conn
}

// watch connects, without subscribing.
func (c *caller) watch() (*watch, error) {
	header := http.Header{}
	if c.token != "" {
		header.Set("Authorization", "Bearer "+c.token)
	}
	conn, response, err := websocket.Dial(c.Context(), c.base+"/external/v1/watch", &websocket.DialOptions{HTTPHeader: header, Subprotocols: []string{wire.Subprotocol}})
	if err != nil {
		if response != nil {
			return nil, fmt.Errorf("%s: %w", response.Status, err)
		}
		return nil, err
	}
	conn.SetReadLimit(16 << 20)
	c.Cleanup(func() { _ = conn.CloseNow() })
	return &watch{c, conn}, nil
}

func (c *caller) watching(kinds ...wire.Kind) *watch {
	c.Helper()
	w, err := c.watch()
	if err != nil {
		c.Fatal(err)
	}
	w.subscribe("", kinds...)
	return w
}

func (w *watch) subscribe(cursor string, kinds ...wire.Kind) {
	w.Helper()
	text, err := json.Marshal(wire.Request{Op: wire.OpSubscribe, ID: "a", Kinds: kinds, Namespace: w.namespace, Cursor: cursor})
	if err != nil {
		w.Fatal(err)
	}
	if err := w.conn.Write(w.Context(), websocket.MessageText, text); err != nil {
		w.Fatal(err)
	}
}

// next returns the next message, or how the watch ended.
func (w *watch) next() (m wire.Message, err error) {
	_, text, err := w.conn.Read(w.Context())
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(text, &m)
}

// ended reads until the watch ends, and returns how.
func (w *watch) ended() error {
	for {
		if _, err := w.next(); err != nil {
			return err
		}
	}
}

// seen is a client's state, and the order of its messages.
type seen struct {
	objects map[string]wire.Meta // by kind and name
	cursor  string
	types   []string // of the messages, except events and bookmarks
	faults  []string
}

// take processes a message.
func (s *seen) take(m *wire.Message) {
	if m.Type != wire.EventsMessage && m.Type != wire.Bookmark {
		s.types = append(s.types, m.Type)
	}
	if m.Type == wire.Reset {
		s.objects = map[string]wire.Meta{}
	}
	for _, o := range m.Objects {
		key, meta := metaOf(o)
		s.objects[key] = meta
	}
	for _, e := range m.Events {
		key, meta := metaOf(e.Object)
		before, known := s.objects[key]
		order, _ := wire.CompareVersions(meta.ResourceVersion, before.ResourceVersion)
		switch {
		case e.Type == wire.Added && known && before.UID == meta.UID, e.Type != wire.Added && !known:
			s.faults = append(s.faults, fmt.Sprintf("%s of %s, known %v", e.Type, key, known))
		case known && e.Type == wire.Modified && order <= 0:
			s.faults = append(s.faults, fmt.Sprintf("%s: got version %s after %s", key, meta.ResourceVersion, before.ResourceVersion))
		}
		s.objects[key] = meta
		if e.Type == wire.Deleted {
			delete(s.objects, key)
		}
	}
	if m.Cursor != "" {
		s.cursor = m.Cursor
	}
}

func metaOf(o wire.Object) (string, wire.Meta) {
	var of struct{ wire.Meta }
	_ = json.Unmarshal(o.Object, &of) // an empty name is detected
	return string(o.Kind) + " " + of.Name, of.Meta
}

// A client of a killed replica continues at another, which does not have its cursor: it gets a reset
// and a snapshot, and after that no state of an object twice and none is missing.
func TestExternalKilledReplica(t *testing.T) {
	r := newRig(t)
	r.job(r.namespace, "job")
	token := r.token(driver, "")
	address := transporttest.Address(t)
	first := &cluster.Command{Role: "testbed", Args: []string{
		"--kubeconfig=" + r.program, "--leader-elect", "--lease-namespace=" + system, "--metrics-listen=", "--listen=" + address,
	}}
	first.Start(t)
	second := r.as(r.serve().base, token)
	there := r.as("http://"+address, token)
	cluster.Eventually(t, "the first replica answers", func() (bool, any) {
		response, err := http.Get(there.base + "/external/v1/session")
		if err != nil {
			return false, err
		}
		response.Body.Close()
		status, answer, _ := there.ask("GET", in(r.namespace, "jobs", "job"), nil)
		return status == 200, string(answer)
	})
	path := in(r.namespace, "schedulings")
	// change creates and deletes schedulings, and writes data, through the second replica.
	change := func(from, to int) {
		t.Helper()
		for i := from; i < to; i++ {
			do[wire.Scheduling](second, 201, "POST", path, queue(fmt.Sprint("s", i), "bed", "job"))
			if i%2 == 0 {
				do[json.RawMessage](second, 204, "DELETE", path+"/"+fmt.Sprint("s", i), nil)
			}
			do[wire.Job](second, 200, "PUT", in(r.namespace, "jobs", "job", "external"), map[string]int{"i": i})
		}
	}
	s := &seen{objects: map[string]wire.Meta{}}
	w := there.watching(wire.Jobs, wire.Schedulings)
	change(0, 6)
	for len(s.objects) < 4 { // the job, and schedulings
		m, err := w.next()
		if err != nil {
			t.Fatal(err)
		}
		s.take(&m)
	}
	first.Kill(t)
	for { // messages still in flight are processed
		m, err := w.next()
		if err != nil {
			break
		}
		s.take(&m)
	}
	change(6, 12)
	again, err := second.watch()
	if err != nil {
		t.Fatal(err)
	}
	s.types = nil
	again.subscribe(s.cursor, wire.Jobs, wire.Schedulings)
	change(12, 14)
	// want returns the final state in the API server.
	want := func() map[string]string {
		all := map[string]string{}
		var jobs v1alpha1.BatchJobList
		var schedulings v1alpha1.SchedulingList
		for _, list := range []client.ObjectList{&jobs, &schedulings} {
			if err := r.objects.List(t.Context(), list, client.InNamespace(r.namespace)); err != nil {
				t.Fatal(err)
			}
		}
		for i := range jobs.Items {
			all["jobs "+jobs.Items[i].Name] = jobs.Items[i].ResourceVersion
		}
		for i := range schedulings.Items {
			all["schedulings "+schedulings.Items[i].Name] = schedulings.Items[i].ResourceVersion
		}
		return all
	}
	same := func() bool {
		now := want()
		for key, meta := range s.objects {
			if now[key] != meta.ResourceVersion {
				return false
			}
		}
		return len(now) == len(s.objects) && now["schedulings s13"] != ""
	}
	for !same() {
		m, err := again.next()
		if err != nil {
			t.Fatalf("got %v; known %v, want %v", err, s.objects, want())
		}
		s.take(&m)
	}
	if want := []string{wire.Reset, wire.Snapshot}; !slices.Equal(s.types, want) {
		t.Errorf("after resuming: got messages %q beside events, want %q", s.types, want)
	}
	if len(s.faults) > 0 {
		t.Errorf("wrong messages:\n%s", strings.Join(s.faults, "\n"))
	}
}

// A client whose token ends, or who loses the permission, gets the reason and is disconnected; other
// clients are not.
func TestExternalWatchEnds(t *testing.T) {
	r := newRig(t)
	base := r.serve().base
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "watcher", Namespace: r.namespace},
		Spec:       corev1.PodSpec{ServiceAccountName: driver, SchedulerName: "nobody", Containers: []corev1.Container{{Name: "c", Image: "i.example"}}},
	}
	if err := r.objects.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	bound := r.token(driver, "", func(s *authenticationv1.TokenRequestSpec) {
		s.BoundObjectRef = &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID}
	})
	stays := r.as(base, r.token(driver, "")).watching(wire.Schedulings)
	revoked := r.as(base, bound).watching(wire.Schedulings)
	losing := r.as(base, r.token(viewer, "")).watching(wire.Schedulings)
	for _, w := range []*watch{stays, revoked, losing} {
		if m, err := w.next(); err != nil || m.Type != wire.Snapshot {
			t.Fatal(m, err)
		}
	}
	if err := r.objects.Delete(t.Context(), pod, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	if err := revoked.ended(); websocket.CloseStatus(err) != wire.CloseUnauthorized {
		t.Errorf("token of a deleted pod: got %v", err)
	}
	if err := r.plain.RbacV1().RoleBindings(r.namespace).Delete(t.Context(), viewer+"-spazio-testbed-viewer", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := losing.ended(); websocket.CloseStatus(err) != wire.CloseForbidden {
		t.Errorf("lost permission: got %v", err)
	}
	do[wire.Scheduling](r.as(base, stays.token), 201, "POST", in(r.namespace, "schedulings"), queue("s", "bed", "job"))
	for {
		m, err := stays.next()
		if err != nil {
			t.Fatalf("client with permission: got %v", err)
		}
		if len(m.Events) > 0 {
			break
		}
	}
	// A client without a token, with a foreign token, without permission, or from another origin, gets
	// no watch.
	for name, c := range map[string]struct{ token, origin string }{
		"no token": {}, "another audience": {token: r.token(driver, "spazio-scheduler")}, "another origin": {stays.token, "https://evil.example"},
	} {
		header := http.Header{"Authorization": {"Bearer " + c.token}}
		if c.origin != "" {
			header.Set("Origin", c.origin)
		}
		conn, response, err := websocket.Dial(t.Context(), base+"/external/v1/watch", &websocket.DialOptions{HTTPHeader: header, Subprotocols: []string{wire.Subprotocol}})
		if err == nil {
			_ = conn.CloseNow()
			t.Errorf("%s: got a watch", name)
		} else if response == nil || response.StatusCode != 401 && response.StatusCode != 403 {
			t.Errorf("%s: %v", name, err)
		}
	}
	refused := r.as(base, r.token(nobody, "")).watching(wire.Schedulings)
	if m, err := refused.next(); err != nil && websocket.CloseStatus(err) != wire.CloseForbidden || err == nil && (m.Problem == nil || m.Problem.Status != 403) {
		t.Errorf("without the permission: got %+v, %v", m, err)
	}
}

// A client that does not read is disconnected, and delays no other.
func TestExternalSlowReader(t *testing.T) {
	r := newRig(t)
	r.job(r.namespace, "job")
	replica := r.serve(func(c *service.Config) {
		c.External.Watch.Ping, c.External.Watch.Slow = 200*time.Millisecond, 3*time.Second
	})
	c := r.as(replica.base, r.token(driver, ""))
	slow, reads := c.watching(wire.Jobs), c.watching(wire.Jobs)
	path := in(r.namespace, "jobs", "job", "external")
	received, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		last := sync.OnceFunc(func() { close(received) })
		for {
			m, err := reads.next()
			if err != nil {
				ended <- err
				return
			}
			for _, e := range m.Events {
				if strings.Contains(string(e.Object.Object), `"last"`) {
					last()
				}
			}
		}
	}()
	cluster.Eventually(t, "the job is read", func() (bool, any) {
		status, answer, _ := c.ask("GET", in(r.namespace, "jobs", "job"), nil)
		return status == 200, string(answer)
	})
	for i := range 20 {
		do[wire.Job](c, 200, "PUT", path, map[string]string{"x": strings.Repeat(fmt.Sprint(i%10), 40<<10)})
	}
	do[wire.Job](c, 200, "PUT", path, map[string]string{"last": "yes"})
	select {
	case <-received:
	case err := <-ended:
		t.Fatalf("reading client: got %v", err)
	}
	// A client that reads nothing answers no ping.
	cluster.Eventually(t, "the client that does not read is disconnected", func() (bool, any) { n := replica.watchers(t); return n == 1, n })
	err := slow.ended()
	if status := websocket.CloseStatus(err); status != wire.CloseSlow && status != -1 {
		t.Errorf("client that does not read: got %v", err)
	}
	select {
	case err := <-ended:
		t.Errorf("the reading client was disconnected, too: %v", err)
	default:
	}
}

// Readers do not notice a change of the leader: watches stay open, and what is created is carried out.
func TestExternalLeaderChange(t *testing.T) {
	r := newRig(t)
	leads := r.serve()
	cluster.Eventually(t, "the first one leads", func() (bool, any) {
		lease, err := r.plain.CoordinationV1().Leases(system).Get(t.Context(), service.LeaseName, metav1.GetOptions{})
		return err == nil && lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity != "", err
	})
	c := r.as(r.serve().base, r.token(driver, ""))
	w := c.watching(wire.Schedulings)
	if m, err := w.next(); err != nil || m.Type != wire.Snapshot {
		t.Fatal(m, err)
	}
	leads.stop()
	do[wire.Scheduling](c, 201, "POST", in(r.namespace, "schedulings"), queue("s", "bed", "job"))
	for {
		m, err := w.next()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range m.Events {
			if strings.Contains(string(e.Object.Object), `"state":"Acquiring"`) {
				return // the new leader has processed it, and the watch was never cut
			}
		}
	}
}
