package web_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/web"
)

// A Source may have its State from elsewhere, as JSON.
func TestStateByJSON(t *testing.T) {
	at := time.Date(2026, 11, 23, 9, 0, 0, 5, time.UTC)
	want := web.State{
		At: at, Title: "demo", Comparable: true, WaitingTotal: 7,
		Runs: []web.Run{{
			Profile: "spazio", Started: at, Ended: true, Submitted: 3, Total: 9, Starting: 1, Running: 2, Done: 4, Failed: 5,
			Resolution: time.Second, Completions: []web.Completion{{Since: 3 * time.Second, Took: 2 * time.Second}},
		}},
		Nodes:   []web.Node{{Name: "a", Signal: web.Stale, Reason: "no report for 31 s", ByRequests: true, Free: -.5, Capacity: 8, Running: 6, InFlight: 1.5, Limiting: "cpu", Saturated: true}},
		Waiting: []web.Waiting{{Namespace: "default", Name: "p", Profile: "spazio", Since: at, Reason: "no room"}},
	}
	data, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got web.State
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFieldErrors(t *testing.T) {
	err := error(&field.Error{Package: "web", Field: "node", Value: "n-7", Err: web.ErrUnknownNode})
	if !errors.Is(err, web.ErrUnknownNode) || errors.Is(err, web.ErrUnknownPod) || err.Error() != "web: node = n-7: there is no such node" {
		t.Error(err)
	}
}
