package view

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
)

// Text describes a profile at a time, in lines.
func Text(at time.Time, p *v1alpha1.WorkloadProfile) string {
	var b strings.Builder
	line := func(what, format string, args ...any) {
		fmt.Fprintf(&b, "%-12s %s\n", what, fmt.Sprintf(format, args...))
	}
	s := &p.Status
	line("workload", "%s/%s in namespace %s", p.Spec.Workload.Kind, p.Spec.Workload.Name, p.Namespace)
	if s.ObservedAt == nil || s.Demand == nil {
		line("measured", "not yet")
		return b.String()
	}
	line("measured", "%s ago, of %s%s", at.Sub(s.ObservedAt.Time).Round(time.Second), pods(s.Pods), revision(s.Revision))
	line("demand", "%s", demand(*s.Demand))
	for i, d := range s.Slots {
		from := 24 * 60 * i / len(s.Slots)
		line(fmt.Sprintf("  from %02d:%02d", from/60, from%60), "%s", demand(d))
	}
	if l := s.Lifetime; l != nil {
		line("lives", "half of the pods up to %s, nine of ten up to %s", l.P50.Duration, l.P90.Duration)
	}
	if r := s.Recommendation; r != nil {
		for _, c := range r.ContainerRecommendations {
			name := c.ContainerName
			if name == "" {
				name = "the pod"
			}
			line("recommended", "%s: cpu %s (%s to %s), memory %s (%s to %s)%s", name,
				&c.Target.CPU, &c.LowerBound.CPU, &c.UpperBound.CPU, &c.Target.Memory, &c.LowerBound.Memory, &c.UpperBound.Memory, uncapped(c))
		}
	}
	if s.Application != "" {
		line("application", "%s", s.Application)
	}
	for _, c := range s.Connections {
		line("connection", "%s %s/%s: %d B/s, answered by %d B/s", c.Kind, c.Namespace, c.Name, c.RequestBytesPerSecond, c.ResponseBytesPerSecond)
	}
	if s.Throttled != "" {
		line("throttled", "in %s of the periods of its CPU limit", s.Throttled)
	}
	if s.OOMKills > 0 {
		line("killed", "for want of memory: %d", s.OOMKills)
	}
	if held := holds(p); len(held) > 0 {
		line("conditions", "%s", strings.Join(held, ", "))
	}
	return b.String()
}

func pods(n int64) string {
	if n == 1 {
		return "1 pod"
	}
	return strconv.FormatInt(n, 10) + " pods"
}

func revision(name string) string {
	if name == "" {
		return ""
	}
	return ", revision " + name
}

func demand(d v1alpha1.Demand) string {
	share := func(s v1alpha1.Share) string {
		return fmt.Sprintf("%s ± %s (confidence %s)", &s.Amount, &s.SD, s.Confidence)
	}
	return "cpu " + share(d.CPU) + ", memory " + share(d.Memory)
}

// uncapped says what the target would be where bounds hold it.
func uncapped(c v1alpha1.ContainerRecommendation) string {
	if c.UncappedTarget.CPU.Cmp(c.Target.CPU) == 0 && c.UncappedTarget.Memory.Cmp(c.Target.Memory) == 0 {
		return ""
	}
	return fmt.Sprintf("; without its bounds cpu %s, memory %s", &c.UncappedTarget.CPU, &c.UncappedTarget.Memory)
}
