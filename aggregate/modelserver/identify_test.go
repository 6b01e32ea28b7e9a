package modelserver_test

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/spazio-scheduler/spazio/aggregate/modelserver"
)

// TestPushIsOfTheCallersNode: a push for another node is refused and not kept.
func TestPushIsOfTheCallersNode(t *testing.T) {
	caller, refusal := "a", error(nil)
	s := start(t, modelserver.Config{Tick: time.Millisecond, Identify: func(context.Context) (string, error) { return caller, refusal }})
	push := func(node string, want codes.Code) {
		t.Helper()
		if _, err := s.Push(t.Context(), wide(node, "s", 4)); status.Code(err) != want {
			t.Errorf("%q pushes %s: %v, want %v", caller, node, err, want)
		}
	}
	push("b", codes.PermissionDenied)
	push("a", codes.OK)
	caller, refusal = "", status.Error(codes.Unauthenticated, "no node")
	push("c", codes.Unauthenticated)
	refusal = nil // not bound to one node
	push("d", codes.OK)
	until(t, s, func(stats modelserver.Stats) bool { return stats.Nodes >= 2 })
	if stats := s.Stats(); stats.Nodes != 2 || stats.Foreign != 1 || stats.Pushes != 2 {
		t.Errorf("%+v", stats)
	}
}
