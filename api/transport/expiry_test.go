package transport_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/api/certs"
	"github.com/spazio-scheduler/spazio/api/transport"
)

// TestNotAfter: of a bundle the authority counts that ends first; a key, a broken
// file and one that is not there count for nothing.
func TestNotAfter(t *testing.T) {
	now := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	day := 24 * time.Hour
	state := certs.State{Bundles: map[string][]byte{"all": nil}}
	for _, at := range []time.Time{now, now.Add(370 * day)} {
		var err error
		if state, _, err = certs.Plan(map[string]certs.Leaf{"x": {Names: []string{"x"}}}, state, at); err != nil {
			t.Fatal(err)
		}
	}
	write := func(text []byte) string {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	leaf, bundle := write(state.Leaves["x"].Certificate), write(state.Bundles["all"])
	for _, tt := range []struct {
		config transport.Config
		want   map[string]time.Time
	}{
		{transport.Config{}, nil},
		{transport.Config{CertFile: leaf, KeyFile: "none"}, map[string]time.Time{"own": now.Add((370 + 90) * day)}},
		{
			transport.Config{CertFile: leaf, CAFile: bundle, ClientCAFile: bundle},
			map[string]time.Time{"own": now.Add((370 + 90) * day), "servers": now.Add(730 * day), "clients": now.Add(730 * day)},
		},
		{transport.Config{CertFile: write(state.Leaves["x"].Key), CAFile: filepath.Join(t.TempDir(), "none"), ClientCAFile: write([]byte("broken"))}, nil},
	} {
		got := tt.config.NotAfter()
		if !maps.EqualFunc(got, tt.want, time.Time.Equal) {
			t.Errorf("%+v: %v (%v), want %v", tt.config, got, slices.Sorted(maps.Keys(got)), tt.want)
		}
	}
}
