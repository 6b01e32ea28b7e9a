package controller

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/profiler"
)

func decode(t testing.TB, text string) vpaObject {
	t.Helper()
	var content map[string]any
	if err := yaml.Unmarshal([]byte(text), &content); err != nil {
		t.Fatal(err)
	}
	o, err := decodeVPA(content)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// object returns one with more fields in its spec and status.
func object(more string) string {
	return `
apiVersion: autoscaling.k8s.io/v1
kind: VerticalPodAutoscaler
metadata: {name: web, namespace: shop, generation: 3}
` + more
}

const spec = `spec:
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  recommenders: [{name: spazio}]
`

// advice is for two containers, of which one was never seen to take CPU.
func advice() profiler.Advice {
	const mebi = 1 << 20
	sure := profile.Share{Confidence: .5}
	return profiler.Advice{
		Demand: profile.Demand{CPU: sure, Memory: sure},
		Recommendations: []profile.Recommendation{{
			Container: "main", Target: profile.Amounts{CPU: .3001, Memory: 300 * mebi}, Uncapped: profile.Amounts{CPU: .4, Memory: 400 * mebi},
			LowerBound: profile.Amounts{CPU: .1, Memory: 100 * mebi}, UpperBound: profile.Amounts{CPU: .5, Memory: 500 * mebi},
		}, {
			Container: "proxy", Target: profile.Amounts{Memory: 20 * mebi}, Uncapped: profile.Amounts{Memory: 20 * mebi},
		}},
	}
}

func statusOf(t testing.TB, s vpaStatus) map[string]any {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

const provided = `
- {type: RecommendationProvided, status: "True", lastTransitionTime: "2026-11-22T09:00:00Z", observedGeneration: 3}`

func TestVPANext(t *testing.T) {
	main := `
- containerName: main
  target: {cpu: 301m, memory: 300Mi}
  uncappedTarget: {cpu: 400m, memory: 400Mi}
  lowerBound: {cpu: 100m, memory: 100Mi}
  upperBound: {cpu: 500m, memory: 500Mi}`
	proxy := `
- {containerName: proxy, target: {memory: 20Mi}, uncappedTarget: {memory: 20Mi}}`
	nothing := `
- {type: RecommendationProvided, status: "False", reason: NothingMeasured, message: "no container of a pod of the target was measured, or their policies are all Off",
   lastTransitionTime: "2026-11-22T09:00:00Z", observedGeneration: 3}`
	policies := func(text string) string { return spec + "  resourcePolicy:\n    containerPolicies: " + text }
	for name, test := range map[string]struct {
		more       string
		unknown    bool
		unsure     bool
		recommends string
		conditions string
	}{
		"as it is":         {spec, false, false, main + proxy, provided},
		"nothing is known": {spec, true, false, "", nothing},
		"few pods": {spec, false, true, main + proxy, provided + `
- {type: LowConfidence, status: "True", reason: FewPods, message: few pods were measured, lastTransitionTime: "2026-11-22T09:00:00Z", observedGeneration: 3}`},
		"no target": {"spec: {recommenders: [{name: spazio}]}\n", true, false, "", nothing + `
- {type: ConfigUnsupported, status: "True", reason: NoTarget, message: spec.targetRef names no owner of pods, lastTransitionTime: "2026-11-22T09:00:00Z", observedGeneration: 3}`},
		"no target any more": {"spec: {recommenders: [{name: spazio}]}\nstatus:\n  recommendation:\n    containerRecommendations: [{containerName: old, target: {cpu: 1}}]\n", true, false, "", nothing + `
- {type: ConfigUnsupported, status: "True", reason: NoTarget, message: spec.targetRef names no owner of pods, lastTransitionTime: "2026-11-22T09:00:00Z", observedGeneration: 3}`},
		"one is off":   {policies(`[{containerName: proxy, mode: "Off"}]`), false, false, main, provided},
		"all are off":  {policies(`[{containerName: "*", mode: "Off"}]`), false, false, "", nothing},
		"all but one":  {policies(`[{containerName: "*", mode: "Off"}, {containerName: proxy, mode: Auto}]`), false, false, proxy, provided},
		"one resource": {policies(`[{containerName: main, mode: "Off"}, {containerName: proxy, controlledResources: [cpu]}]`), false, false, "", nothing},
		"bounds": {policies(`[{containerName: proxy, mode: "Off"}, {containerName: "*", minAllowed: {cpu: 350m, memory: 1Mi}, maxAllowed: {cpu: 450m, memory: 200Mi}}]`), false, false, `
- containerName: main
  target: {cpu: 350m, memory: 200Mi}
  uncappedTarget: {cpu: 400m, memory: 400Mi}
  lowerBound: {cpu: 350m, memory: 100Mi}
  upperBound: {cpu: 450m, memory: 200Mi}`, provided},
		"bounds that exclude one another": {policies(`[{containerName: main, mode: "Off"}, {containerName: proxy, minAllowed: {memory: 2Gi}, maxAllowed: {memory: 1Gi}}]`), false, false, `
- {containerName: proxy, target: {memory: 1Gi}, uncappedTarget: {memory: 20Mi}}`, provided},
		"what was recommended stays": {spec + "status:\n  recommendation:\n    containerRecommendations: [{containerName: old, target: {cpu: 1}}]\n", true, false, `
- {containerName: old, target: {cpu: "1"}}`, provided},
	} {
		t.Run(name, func(t *testing.T) {
			o, a := decode(t, object(test.more)), advice()
			if test.unsure {
				a.Demand.CPU.Confidence = .4
			}
			if test.unknown {
				a = profiler.Advice{}
			}
			got := o.next(start.Add(time.Millisecond), a, !test.unknown)
			want := map[string]any{"observedGeneration": 3.}
			var list []any
			if err := yaml.Unmarshal([]byte(test.conditions), &list); err != nil {
				t.Fatal(err)
			}
			want["conditions"] = list
			if test.recommends != "" {
				var list []any
				if err := yaml.Unmarshal([]byte(test.recommends), &list); err != nil {
					t.Fatal(err)
				}
				want["recommendation"] = map[string]any{"containerRecommendations": list}
			}
			if diff := cmp.Diff(want, statusOf(t, got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A definition without generations in a status drops them, and the rest counts.
func TestGenerationsThatAreDropped(t *testing.T) {
	o := decode(t, object(spec))
	o.Status = o.next(start, advice(), true)
	o.Status.ObservedGeneration = nil
	o.Status.Conditions = slices.Clone(o.Status.Conditions)
	for i := range o.Status.Conditions {
		o.Status.Conditions[i].ObservedGeneration = 0
	}
	next := o.next(start.Add(time.Hour), advice(), true)
	if next.ObservedGeneration == nil || !equalVPA(next, o.Status) {
		t.Errorf("%+v is written for ever over %+v", next, o.Status)
	}
	if next.ObservedGeneration == nil || next.Conditions[0].ObservedGeneration == 0 {
		t.Error("comparing has changed what is compared")
	}
	if none := o.next(start.Add(time.Hour), profiler.Advice{}, true); equalVPA(none, o.Status) {
		t.Error("a recommendation that goes is no difference")
	}
}

// A written status is a fixed point: another pass writes nothing, and other writers' fields stay.
func TestVPANextIsStable(t *testing.T) {
	o := decode(t, object(spec+`status:
  conditions:
  - {type: LowConfidence, status: "True", lastTransitionTime: "2026-11-22T08:00:00Z"}
  - {type: FetchingHistory, status: "True", lastTransitionTime: "2026-11-22T08:00:00Z"}
  - {type: RecommendationProvided, status: "True", lastTransitionTime: "2026-11-22T08:00:00Z"}
`))
	before := o.Status
	o.Status = o.next(start, advice(), true)
	if equalVPA(before, o.Status) {
		t.Error("nothing is new")
	}
	if len(before.Conditions) != 3 || before.Conditions[0].Type != "LowConfidence" {
		t.Errorf("what was given is changed: %+v", before.Conditions)
	}
	if len(o.Status.Conditions) != 2 || o.Status.Conditions[0].Type != "FetchingHistory" || !o.Status.Conditions[1].LastTransitionTime.Time.Equal(start.Add(-time.Hour)) {
		t.Errorf("conditions %+v", o.Status.Conditions)
	}
	if next := o.next(start.Add(time.Hour), advice(), true); !equalVPA(next, o.Status) {
		t.Errorf("%+v is not %+v", next, o.Status)
	}
	if next := o.next(start.Add(time.Hour), profiler.Advice{}, true); next.Recommendation != nil || next.Conditions[1].LastTransitionTime.Time != start.Add(time.Hour) {
		t.Errorf("nothing is recommended: %+v", next)
	}
}

func TestAsks(t *testing.T) {
	for text, want := range map[string]bool{spec: true, "spec: {}": false, "spec: {recommenders: [{name: default}]}": false, "spec: {recommenders: [{name: a}, {name: spazio}]}": true} {
		if o := decode(t, object(text)); o.asks("spazio") != want {
			t.Errorf("%s: %v", text, !want)
		}
	}
}

// The owner of pods is the workload that Identify returns.
func TestVPAWorkload(t *testing.T) {
	for ref, want := range map[string]string{
		"{kind: Deployment, name: a-2cdfg}": "Deployment/a-2cdfg", "{kind: CronJob, name: a-2cdfg}": "CronJob/a-2cdfg", "{kind: Job, name: a-2cdfg}": "Job/a",
		"{kind: SparkApplication, name: etl}": "SparkApplication/etl", "{kind: DaemonSet, name: a-2cdfg}": "DaemonSet/a-2cdfg", "{kind: StatefulSet, name: a-2cdfg}": "StatefulSet/a-2cdfg",
		"{kind: LeaderWorkerSet, name: a-2cdfg}": "LeaderWorkerSet/a-2cdfg", "{kind: Cluster, name: shop-pgsql}": "Cluster/shop-pgsql",
		"{name: a}": "", "{kind: Deployment}": "",
	} {
		o := decode(t, object("spec: {targetRef: "+ref+"}"))
		w, ok := o.workload()
		if got := w.Kind + "/" + w.Name; ok != (want != "") || ok && (got != want || w.Namespace != "shop") {
			t.Errorf("%s: %v, %v", ref, w, ok)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, text := range []string{"{}", "metadata: {name: a}", "metadata: {namespace: a}", "{metadata: {name: a, namespace: b}, spec: {targetRef: 7}}",
		"{metadata: {name: a, namespace: b}, status: {recommendation: {containerRecommendations: [{target: {cpu: much}}]}}}"} {
		var content map[string]any
		if err := yaml.Unmarshal([]byte(text), &content); err != nil {
			t.Fatal(err)
		}
		var refused *field.Error
		if o, err := decodeVPA(content); !errors.As(err, &refused) || refused.Field != "object" || !errors.Is(err, profiler.ErrInvalid) {
			t.Errorf("%s: %+v, %v", text, o, err)
		}
	}
}

// Any decoded object gets a stable status.
func FuzzDecodeVPA(f *testing.F) {
	f.Add([]byte(object(spec)))
	f.Add([]byte(object(spec + "  resourcePolicy: {containerPolicies: [{containerName: '*', mode: 'Off', minAllowed: {cpu: -1}, controlledResources: []}]}")))
	f.Fuzz(func(t *testing.T, text []byte) {
		var content map[string]any
		if yaml.Unmarshal(text, &content) != nil {
			return
		}
		o, err := decodeVPA(content)
		if err != nil {
			return
		}
		next := o.next(start, advice(), true)
		if _, err := json.Marshal(next); err != nil {
			t.Fatal(err)
		}
		again := o
		again.Status = next
		if later := again.next(start.Add(time.Hour), advice(), true); !equalVPA(later, next) {
			t.Errorf("%+v, then %+v", next, later)
		}
	})
}
