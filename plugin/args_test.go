package plugin_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/plugin/config"
)

func TestDecodeArgs(t *testing.T) {
	for _, test := range []struct {
		name string
		obj  runtime.Object
		want plugin.SpazioArgs
		// err is part of the error's text; empty for none.
		err string
	}{
		{name: "none"},
		{name: "typed", obj: &plugin.SpazioArgs{Listen: "x:1"}, want: plugin.SpazioArgs{Listen: "x:1"}},
		{name: "nil of the type", obj: (*plugin.SpazioArgs)(nil)},
		{name: "empty raw", obj: &runtime.Unknown{}},
		{name: "without kind", obj: raw(`{"listen":"127.0.0.1:0","maxAge":"2s","minFreePods":0.5,"stalePolicy":"Reject"}`),
			want: plugin.SpazioArgs{Listen: "127.0.0.1:0", MaxAge: metav1.Duration{Duration: 2 * time.Second}, MinFreePods: .5, StalePolicy: "Reject"}},
		{name: "with kind", obj: raw(`{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"SpazioArgs","insecure":true}`),
			want: plugin.SpazioArgs{Insecure: true}},
		{name: "yaml", obj: raw("capacityWeight: 0.25\n"), want: plugin.SpazioArgs{CapacityWeight: .25}},
		{name: "for ever", obj: raw(`{"maxWait":"0s"}`), want: plugin.SpazioArgs{MaxWait: new(metav1.Duration)}},
		{name: "unknown field", obj: raw(`{"lissen":"x"}`), err: "lissen"},
		{name: "repeated field", obj: raw(`{"listen":"a:1","listen":"b:1"}`), err: "listen"},
		{name: "other kind", obj: raw(`{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"OtherArgs"}`), err: "OtherArgs"},
		{name: "wrong type", obj: raw(`{"minFreePods":"much"}`), err: "SpazioArgs"},
		{name: "broken", obj: raw(`{`), err: "SpazioArgs"},
		{name: "foreign object", obj: &metav1.Status{}, err: "*v1.Status"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := config.Decode[plugin.SpazioArgs](test.obj)
			if (err != nil) != (test.err != "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Fatalf("got error %v, want one with %q", err, test.err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func raw(s string) runtime.Object {
	return &runtime.Unknown{Raw: []byte(s), ContentType: runtime.ContentTypeJSON}
}

func TestProfilesShareOneHub(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	hub := plugin.NewHub(plugin.HubOptions{})
	t.Cleanup(func() { cancel(); hub.Wait() })
	edge := &handle{factory: informers.NewSharedInformerFactory(fake.NewClientset(), 0)}
	if hub.Addr() != nil || hub.Snapshot() != nil {
		t.Error("the Hub listens before New")
	}
	first := &plugin.SpazioArgs{Listen: "127.0.0.1:0", MaxWait: &metav1.Duration{Duration: time.Minute}}
	if _, err := hub.New(ctx, first, edge); err != nil {
		t.Fatal(err)
	}
	addr := hub.Addr()
	if _, err := hub.New(ctx, &plugin.SpazioArgs{Listen: "127.0.0.1:0", MaxWait: &metav1.Duration{Duration: time.Minute}, CapacityWeight: .5, TieTolerance: 2, OptOutAnnotation: "x", OptOutToleration: "y"}, edge); err != nil {
		t.Errorf("second profile: got error %v", err)
	}
	if hub.Addr() != addr {
		t.Error("the second profile opened a port of its own")
	}
	for _, other := range []*plugin.SpazioArgs{
		{Listen: "127.0.0.1:0", MaxWait: &metav1.Duration{Duration: time.Minute}, MinFreePods: 2},
		{Listen: "127.0.0.1:0", MaxWait: &metav1.Duration{Duration: time.Hour}},
	} {
		if _, err := hub.New(ctx, other, edge); err == nil || !strings.Contains(err.Error(), "differ") {
			t.Errorf("profiles with different args: got error %v", err)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	busy, files := newCluster(t, setup{}), transporttest.SelfSigned(t, "127.0.0.1")
	for _, test := range []struct {
		name string
		args runtime.Object
		want func(error) bool
	}{
		{"a busy port", &plugin.SpazioArgs{Listen: busy.hub.Addr().String()}, func(err error) bool { return strings.Contains(err.Error(), "address already in use") }},
		{"plaintext beyond loopback", &plugin.SpazioArgs{Listen: ":0"}, func(err error) bool {
			var plain *transport.PlaintextError
			return errors.As(err, &plain)
		}},
		{"a missing certificate", &plugin.SpazioArgs{TLSCertFile: "/nowhere/a", TLSKeyFile: "/nowhere/b"}, func(err error) bool { return strings.Contains(err.Error(), "/nowhere/a") }},
		{"unknown fields", raw(`{"a":1}`), func(err error) bool { return strings.Contains(err.Error(), `"a"`) }},
		{"no API server for token reviews", &plugin.SpazioArgs{Listen: "127.0.0.1:0", TLSCertFile: files.CertFile, TLSKeyFile: files.KeyFile, AgentServiceAccount: "a/b"},
			func(err error) bool { return strings.Contains(err.Error(), "agentServiceAccount") }},
		{"bad values", &plugin.SpazioArgs{MinFreePods: -1}, func(err error) bool { return strings.Contains(err.Error(), "minFreePods = -1") }},
	} {
		t.Run(test.name, func(t *testing.T) {
			hub := plugin.NewHub(plugin.HubOptions{})
			_, err := hub.New(t.Context(), test.args, &handle{factory: informers.NewSharedInformerFactory(fake.NewClientset(), 0)})
			if err == nil || !test.want(err) {
				t.Errorf("error %v", err)
			}
			hub.Wait()
		})
	}
}

// FuzzDecodeArgs: no input panics, and each accepted input is valid or refused by Validate with an
// error.
func FuzzDecodeArgs(f *testing.F) {
	f.Add([]byte(`{"listen":"127.0.0.1:0","maxAge":"2s"}`))
	f.Add([]byte("minFreePods: .nan"))
	f.Fuzz(func(t *testing.T, data []byte) {
		args, err := config.Decode[plugin.SpazioArgs](&runtime.Unknown{Raw: data})
		if err != nil {
			return
		}
		if err := args.Validate(); err == nil && !(args.WithDefaults().MinFreePods > 0) {
			t.Errorf("accepted minFreePods %v", args.MinFreePods)
		}
	})
}
