package requestreport

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/profile"
)

// A workload's recommendation covers all containers of its pods, or is unknown: without one of them the
// rest would look like a saving.
func TestRecommendationsAreOfWholePods(t *testing.T) {
	for name, test := range map[string]struct {
		advices []containerAdvice
		want    resourceAmounts
	}{
		"all":       {[]containerAdvice{{Container: "main", Target: of(.5, 1)}, {Container: "proxy", Target: of(.5, 1)}}, amounts(1, 2)},
		"one":       {[]containerAdvice{{Container: "main", Target: of(.5, 1)}}, resourceAmounts{}},
		"none":      {nil, resourceAmounts{}},
		"the pod":   {[]containerAdvice{{Target: of(.5, 1)}}, amounts(.5, 1)},
		"no memory": {[]containerAdvice{{Container: "main", Target: of(.5, 1)}, {Container: "proxy", Target: of(.5, 0)}}, resourceAmounts{CPU: Is(1)}},
	} {
		in := small()
		in.profiles[0].Containers = test.advices
		if diff := cmp.Diff(test.want, newReport(t, in).Workloads[0].Recommended); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Savings that may be none, or that an autoscaler would take back, are apart.
func TestUncertainSavings(t *testing.T) {
	saved := savings{Saving: amounts(1.5, 0), Shortfall: amounts(0, 1)}
	apart := savings{UncertainSaving: amounts(1.5, 0)}
	for name, test := range map[string]struct {
		change func(*knownProfile)
		want   savings
	}{
		"fresh":      {func(*knownProfile) {}, saved},
		"stale":      {func(p *knownProfile) { p.Stale = true }, apart},
		"autoscaled": {func(p *knownProfile) { p.HorizontallyScaled = true }, apart},
		"half known": {func(p *knownProfile) { p.Need.CPU.Confidence = .5 }, saved},
		"known less": {func(p *knownProfile) { p.Need.CPU.Confidence = .49 }, apart},
		"by memory":  {func(p *knownProfile) { p.Need.Memory.Confidence = .25 }, apart},
	} {
		p := knownProfile{Workload: web, Need: need(.25, .5), Containers: []containerAdvice{{Container: "main", Target: of(.5, 2)}}}
		test.change(&p)
		r := newReport(t, Input{requests: true, profiles: []knownProfile{p},
			pods: []boundPod{{Workload: web, Node: "n", Requests: of(2, 1), Containers: []string{"main"}}}})
		if diff := cmp.Diff(test.want, r.Total.savings) + cmp.Diff(test.want, r.Namespaces[0].savings); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if r.Workloads[0].Saving != amounts(1.5, -1) || r.Workloads[0].HorizontallyScaled != p.HorizontallyScaled {
			t.Errorf("%s: %+v", name, r.Workloads[0])
		}
	}
}

// Init containers that end, and overhead, go on to count in what a pod requests.
func TestSavingOfWhatStays(t *testing.T) {
	for name, test := range map[string]struct {
		requests, floor, overhead profile.Amounts
		want                      resourceAmounts
	}{
		"containers alone":         {of(2, 4), of(0, 0), of(0, 0), amounts(1.5, 3)},
		"a small init container":   {of(2, 4), of(.25, 1), of(0, 0), amounts(1.5, 3)},
		"a large init container":   {of(2, 4), of(1, 4), of(0, 0), amounts(1, 0)},
		"overhead":                 {of(2, 4), of(0, 0), of(.25, .5), amounts(1.25, 2.5)},
		"both":                     {of(2, 4), of(1, 2), of(.25, .5), amounts(.75, 1.5)},
		"it would request more":    {of(.5, .5), of(.25, .25), of(.25, .25), amounts(-.25, -.75)},
		"no CPU but that of init":  {of(1, 4), of(1, 0), of(0, 0), amounts(0, 3)},
		"it requests memory alone": {of(0, 4), of(0, 0), of(0, 0), resourceAmounts{Memory: Is(3 * gibibyte)}},
	} {
		r := newReport(t, Input{requests: true,
			pods:     []boundPod{{Workload: web, Node: "n", Requests: test.requests, Floor: test.floor, Overhead: test.overhead, Containers: []string{"main"}}},
			profiles: []knownProfile{{Workload: web, Need: need(.25, .5), Containers: []containerAdvice{{Container: "main", Target: of(.5, 1)}}}}})
		if diff := cmp.Diff(test.want, r.Workloads[0].Saving); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
