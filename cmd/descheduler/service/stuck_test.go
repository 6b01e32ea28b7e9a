package service_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"sigs.k8s.io/descheduler/pkg/descheduler/evictions"

	"github.com/spazio-scheduler/spazio/cmd/descheduler/service"
	"github.com/spazio-scheduler/spazio/relief"
)

// A terminating pod is reported once, if it keeps its node from losing another and a minute has passed
// since its grace period.
func TestStuckPodIsReportedOnce(t *testing.T) {
	due := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	pod := func(uid string) *v1.Pod {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-" + uid, UID: "00000000-0000-4000-8000-000000000000"}, Spec: v1.PodSpec{NodeName: "n"}}
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &metav1.Time{Time: due}, new(int64(30))
		return p
	}
	recorder, out := events.NewFakeRecorder(10), &bytes.Buffer{}
	look := service.Stuck(recorder)
	for i, step := range []struct {
		after    time.Duration
		pod      *v1.Pod
		decision relief.Reason
		reported bool
	}{
		{time.Minute, pod("a"), relief.Paused, false},                // not yet
		{2 * time.Minute, pod("a"), relief.HasRoom, false},           // no eviction waits for it
		{2*time.Minute + time.Second, pod("a"), relief.Paused, true}, //
		{3 * time.Minute, pod("a"), relief.Paused, false},            // again
		{4 * time.Minute, pod("a"), relief.HasRoom, false},           //
		{5 * time.Minute, pod("a"), relief.Paused, false},            // still the same
		{6 * time.Minute, nil, relief.HasRoom, false},                // gone
		{7 * time.Minute, pod("a"), relief.Paused, true},             // forgotten meanwhile
		{8 * time.Minute, &v1.Pod{}, relief.Paused, false},           // it does not terminate
	} {
		out.Reset()
		look(klog.NewContext(t.Context(), logr.FromSlogHandler(slog.NewTextHandler(out, nil))), due.Add(step.after), step.pod, step.decision)
		age := fmt.Sprint(step.after + 30*time.Second)
		if logged := strings.Contains(out.String(), "pod.name=web-a node=n terminatingFor="+age); logged != step.reported {
			t.Errorf("step %d: %q", i, out)
		}
		event := ""
		if len(recorder.Events) > 0 {
			event = <-recorder.Events
		}
		if strings.Contains(event, "Warning PodStuckTerminating terminating for "+age+": ") != step.reported {
			t.Errorf("step %d: event %q", i, event)
		}
	}
}

// What the policy limits is no refusal of the API server.
func TestIsLimit(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"none":      {nil, false},
		"refused":   {errors.New("429"), false},
		"node":      {evictions.NewEvictionNodeLimitError("n"), true},
		"namespace": {evictions.NewEvictionNamespaceLimitError("n"), true},
		"total":     {fmt.Errorf("evict: %w", evictions.NewEvictionTotalLimitError()), true},
	} {
		if got := service.IsLimit(test.err); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
