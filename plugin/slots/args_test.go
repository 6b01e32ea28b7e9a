package slots_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"github.com/spazio-scheduler/spazio/plugin/config"
	"github.com/spazio-scheduler/spazio/plugin/slots"
)

func raw(s string) runtime.Object {
	return &runtime.Unknown{Raw: []byte(s), ContentType: runtime.ContentTypeJSON}
}

func TestDecodeArgs(t *testing.T) {
	graceful := config.SpazioSlotsArgs{Swap: "Graceful"}
	for _, test := range []struct {
		name string
		obj  runtime.Object
		want config.SpazioSlotsArgs
		// err is part of the error's text; empty for none.
		err string
	}{
		{name: "none"},
		{name: "typed", obj: &config.SpazioSlotsArgs{Swap: "Graceful"}, want: graceful},
		{name: "nil of the type", obj: (*config.SpazioSlotsArgs)(nil)},
		{name: "empty raw", obj: &runtime.Unknown{}},
		{name: "nil raw", obj: (*runtime.Unknown)(nil)},
		{name: "without kind", obj: raw(`{"swap":"Graceful"}`), want: graceful},
		{name: "with kind", obj: raw(`{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"SpazioSlotsArgs","swap":"Graceful"}`), want: graceful},
		{name: "the other plugin's", obj: raw(`{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"SpazioArgs"}`), err: "SpazioArgs"},
		{name: "unknown field", obj: raw(`{"swop":"x"}`), err: "swop"},
		{name: "foreign object", obj: &metav1.Status{}, err: "*v1.Status"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := config.Decode[config.SpazioSlotsArgs](test.obj)
			if (err != nil) != (test.err != "") || err != nil && (!strings.Contains(err.Error(), test.err) || !errors.Is(err, config.ErrInvalid)) {
				t.Fatalf("got error %v, want one with %q", err, test.err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	w := newWorld(t)
	for name, c := range map[string]struct {
		jobs cache.ListerWatcher
		args runtime.Object
		err  string
	}{
		"arguments of another kind": {w.jobs, &metav1.Status{}, "SpazioSlotsArgs"},
		"a bad value":               {w.jobs, &config.SpazioSlotsArgs{Swap: "Slow"}, "profile spazio-slots: plugin: swap = Slow"},
		"no client configuration":   {nil, nil, "configuration of its client"},
	} {
		t.Run(name, func(t *testing.T) {
			f := slots.NewFactory(c.jobs)
			if _, err := f.New(context.Background(), c.args, w.handle()); err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("got error %v, want one with %q", err, c.err)
			}
			f.Wait()
		})
	}
}
