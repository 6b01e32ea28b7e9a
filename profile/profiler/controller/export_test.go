package controller_test

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1/liqo"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/connection"
	"github.com/spazio-scheduler/spazio/profile/continuous"
	"github.com/spazio-scheduler/spazio/profile/profiler"
	"github.com/spazio-scheduler/spazio/profile/profiler/controller"
)

// observing configures reading connections each second.
var observing = profiler.Config{Continuous: profiler.ContinuousConfig{Mode: profiler.Observe, Rules: continuous.Config{Every: time.Second}}}

// liqoPath returns the path of an object of the thesis's kinds.
func liqoPath(resource, name string) string {
	return liqoGroup + "/namespaces/default/" + resource + "/" + name
}

// connectionPath returns that of one Deployment's traffic to another.
func connectionPath(from, to string) string {
	return liqoPath(liqo.ConnectionProfiles, liqo.NewConnectionProfile(workload(from), workload(to), time.Now(), 1).Name)
}

func specOf(o object) map[string]any {
	spec, _ := o["spec"].(map[string]any)
	return spec
}

func ownerOf(o object) any {
	owners, _ := o["metadata"].(map[string]any)["ownerReferences"].([]any)
	if len(owners) != 1 {
		return nil
	}
	return owners[0].(map[string]any)["name"]
}

// leftover returns a ConnectionProfile that a former process wrote for a Deployment.
func leftover(name, deployment string) object {
	return ownedBy(v1alpha1.GroupVersion.String(), "WorkloadProfile", name, deployment)
}

// ownedBy returns a ConnectionProfile of an object that has the name of a Deployment's profile.
func ownedBy(version, kind, name, deployment string) object {
	return object{
		"apiVersion": "webapp.liqo.io.profiling/v1", "kind": "ConnectionProfile",
		"metadata": object{"namespace": "default", "name": name, "ownerReferences": []any{
			object{"apiVersion": version, "kind": kind, "name": v1alpha1.NameOf(workload(deployment)), "uid": "1"},
		}},
		"spec": object{"bandwidth_requirement": "5.00", "update_time": "2026-11-22 09:00:00"},
	}
}

// Traffic between workloads is written by sender, rewritten when it has changed, and deleted when
// it has ended.
func TestConnectionsAreExported(t *testing.T) {
	s, f := newAPIServer(t), &fakeServices{}
	s.make(liqoPath(liqo.ConnectionProfiles, "stale"), leftover("stale", "web"))
	s.make(liqoPath(liqo.ConnectionProfiles, "others"), ownedBy("example.org/v1", "WorkloadProfile", "others", "web"))
	s.make(liqoPath(liqo.ConnectionProfiles, "another"), ownedBy(v1alpha1.GroupVersion.String(), "Another", "another", "web"))
	r := start(t, s, observing, controller.Config{Services: f, ExportLiqo: true})
	r.measure(t, "web", 1, .5, 1e9)
	r.measure(t, "cart", 1, .1, 1e9)
	for _, c := range []struct{ from, to, rate string }{{"web", "cart", "10.00"}, {"cart", "web", "90.00"}} {
		path := connectionPath(c.from, c.to)
		eventually(t, c.from+"'s is written", func() bool { return s.get(path) != nil })
		o := s.get(path)
		spec := specOf(o)
		if spec["bandwidth_requirement"] != c.rate || spec["source_job"] != c.from || spec["destination_job"] != c.to || ownerOf(o) != v1alpha1.NameOf(workload(c.from)) {
			t.Errorf("%s to %s: %v", c.from, c.to, o)
		}
	}
	eventually(t, "what is no more is deleted", func() bool { return s.get(liqoPath(liqo.ConnectionProfiles, "stale")) == nil })
	for _, name := range []string{"others", "another"} {
		if s.get(liqoPath(liqo.ConnectionProfiles, name)) == nil {
			t.Errorf("%s, of somebody else's, was deleted", name)
		}
	}
	// Unchanged traffic is not written again.
	before := s.written("PATCH", "/connectionprofiles/")
	publish := func() {
		n := s.written("PATCH", "/memoryprofiles/")
		r.store.Again(time.Now(), workload("web"))
		eventually(t, "it is published again", func() bool { return s.written("PATCH", "/memoryprofiles/") > n })
	}
	publish()
	publish() // after all that followed the first
	if now := s.written("PATCH", "/connectionprofiles/"); now != before {
		t.Errorf("%d writes of what is as it was", now-before)
	}
	if now := s.written("DELETE", "/connectionprofiles/"); now != 1 {
		t.Errorf("%d deleted, of which one was no more", now)
	}
	f.more.Store(1000)
	eventually(t, "more is written", func() bool {
		publish()
		text, _ := specOf(s.get(connectionPath("web", "cart")))["bandwidth_requirement"].(string)
		rate, err := strconv.ParseFloat(text, 64)
		return err == nil && rate > 100
	})
}

// A process that has not read any connections deletes nothing.
func TestConnectionsStayWhileUnknown(t *testing.T) {
	s := newAPIServer(t)
	s.make(liqoPath(liqo.ConnectionProfiles, "kept"), leftover("kept", "web"))
	r := start(t, s, observing, controller.Config{ExportLiqo: true})
	r.measure(t, "web", 1, .5, 1e9)
	for _, resource := range []string{liqo.MemoryProfiles, liqo.CPUProfiles} {
		eventually(t, resource+" are written", func() bool { return s.get(liqoPath(resource, v1alpha1.NameOf(workload("web")))) != nil })
	}
	if n := s.written("DELETE", "/connectionprofiles/"); n != 0 || s.get(liqoPath(liqo.ConnectionProfiles, "kept")) == nil {
		t.Errorf("%d deleted", n)
	}
}

// crowded reports that web calls more services than there are links, of which the last with one and
// the first without change places.
type crowded struct{ turn atomic.Int64 }

const (
	edge     = 64
	services = 90
)

func service(n int) string { return fmt.Sprintf("service-%02d", n) }

func (f *crowded) Flows(context.Context, time.Time, time.Duration) (flows []connection.Flow, _ error) {
	turn := f.turn.Load()
	for n := range services {
		rate := float64(services-n) * 1e3
		switch n {
		case edge - 1:
			rate = 3e4 * math.Pow(8, float64(turn)) * float64((turn+1)%2)
		case edge:
			rate = 3e4 * math.Pow(8, float64(turn)) * float64(turn%2)
		}
		if n < edge-1 {
			rate += 1e9
		}
		named := func(name string) profile.Workload { return profile.Workload{Namespace: "default", Name: name} }
		flows = append(flows, connection.Flow{From: named("web"), To: named(service(n)), Request: rate})
	}
	return flows, nil
}

// Two callees with similar traffic do not replace each other's links in turn.
func TestLinksAtTheEdgeStay(t *testing.T) {
	s, f := newAPIServer(t), &crowded{}
	r := start(t, s, observing, controller.Config{Services: f, ExportLiqo: true, WriteRate: 1000})
	r.measure(t, "web", 1, .5, 1e9)
	there := func(n int) bool {
		of := profile.Workload{Namespace: "default", Name: service(n)}
		return s.get(liqoPath(liqo.ConnectionProfiles, liqo.NewConnectionProfile(workload("web"), of, time.Now(), 1).Name)) != nil
	}
	publish := func() {
		n := s.written("PATCH", "/memoryprofiles/")
		r.store.Again(time.Now(), workload("web"))
		eventually(t, "it is published again", func() bool { return s.written("PATCH", "/memoryprofiles/") > n })
	}
	eventually(t, "the first have links", func() bool { publish(); return there(0) && there(edge-1) })
	if there(edge) {
		t.Error("one more has a link")
	}
	for turn := range int64(4) {
		f.turn.Store(1 + turn)
		last := service(edge - 1 + int((1+turn)%2))
		eventually(t, "they have changed places", func() bool {
			sent := r.store.Bandwidths(workload("web"))
			return len(sent) == services && sent[edge-1].To.Name == last
		})
		publish()
		publish() // after all that followed the first
	}
	if n := s.written("DELETE", "/connectionprofiles/"); n != 0 || !there(edge-1) || there(edge) {
		t.Errorf("%d deleted", n)
	}
	// The callee with the most traffic gets a link at once, and the one with the least loses it.
	f.turn.Store(7)
	eventually(t, "one that sends most has a link", func() bool { publish(); return there(edge) && !there(edge-1) })
	if n := s.written("DELETE", "/connectionprofiles/"); n != 1 {
		t.Errorf("%d deleted", n)
	}
}
