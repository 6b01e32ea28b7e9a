package testbeds

import (
	stdcmp "cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// rule is a spec and the field that its refusal names; "" if it is accepted. With after, it replaces an
// accepted spec.
type rule struct{ spec, refused, after string }

// check checks the API server against the rules of a resource.
func check(t *testing.T, resource string, rules []rule) {
	t.Helper()
	r := resourceOf(connect(t), resource)
	for i, rule := range rules {
		var err error
		if rule.after == "" {
			_, err = r.Create(t.Context(), object(t, resource, "rule", rule.spec), dry)
		} else {
			made := create(t, r, object(t, resource, fmt.Sprintf("rule-%d", i), rule.after))
			changed := object(t, resource, made.GetName(), rule.spec)
			changed.SetResourceVersion(made.GetResourceVersion())
			_, err = r.Update(t.Context(), changed, metav1.UpdateOptions{FieldValidation: metav1.FieldValidationStrict, DryRun: []string{metav1.DryRunAll}})
		}
		switch {
		case rule.refused == "" && err != nil:
			t.Errorf("%s after %q: %v", rule.spec, rule.after, err)
		case rule.refused != "" && (!apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), rule.refused)):
			t.Errorf("%s after %q: want %q in: %v", rule.spec, rule.after, rule.refused, err)
		}
	}
}

// repeat returns a list of so many items.
func repeat(item string, n int) string { return "[" + strings.Repeat(item+", ", n-1) + item + "]" }

// numbered returns a list of so many different items.
func numbered(format string, n int) string {
	items := make([]string, n)
	for i := range items {
		items[i] = fmt.Sprintf(format, i)
	}
	return "[" + strings.Join(items, ", ") + "]"
}

// The real API server accepts the definitions, the cost of their rules included, and enforces the rules
// for Testbeds.
func TestTestbedCRD(t *testing.T) {
	with := func(fields string) string {
		return "{nodeLabel: example.com/slots, slotsPerNode: 2, resourcesPerSlot: {cpu: 700m, memory: 896Mi}, " + fields + "}"
	}
	auto := func(fields string) string { return "{nodeLabel: slots, slotsPerNode: auto, auto: {" + fields + "}}" }
	fixed := func(slots string) string {
		return "{nodeLabel: slots, slotsPerNode: " + slots + ", resourcesPerSlot: {cpu: 1}}"
	}
	label := func(key string) string {
		return "{nodeLabel: " + key + ", slotsPerNode: 1, resourcesPerSlot: {cpu: 1}}"
	}
	resources := func(list string) string {
		return "{nodeLabel: slots, slotsPerNode: 1, resourcesPerSlot: " + list + "}"
	}
	check(t, v1alpha1.Testbeds, []rule{
		{spec: with("")},
		{spec: label("tuberlin.de/node-with-slots-profiler")},
		{spec: label("''"), refused: "spec.nodeLabel"},
		{spec: label("a/b/c"), refused: "spec.nodeLabel"},
		{spec: label("-a"), refused: "spec.nodeLabel"},
		{spec: label(strings.Repeat("a", 64)), refused: "spec.nodeLabel"},
		{spec: label(strings.Repeat("a", 63))},
		{spec: "{slotsPerNode: 1, resourcesPerSlot: {cpu: 1}}", refused: "spec.nodeLabel"},
		{spec: "{nodeLabel: a, resourcesPerSlot: {cpu: 1}}", refused: "spec.slotsPerNode"},
		{spec: label("other"), refused: "spec.nodeLabel", after: label("slots")},
		{spec: "{nodeLabel: slots, slotsPerNode: 3, resourcesPerSlot: {cpu: 2}}", after: label("slots")},
		{spec: fixed("0")},
		{spec: fixed("110")},
		{spec: fixed("111"), refused: "spec.slotsPerNode"},
		{spec: fixed("-1"), refused: "spec.slotsPerNode"},
		{spec: fixed("99999999999"), refused: "spec.slotsPerNode"},
		{spec: fixed("auto")},
		{spec: fixed("'2'"), refused: "spec.slotsPerNode"},
		{spec: fixed("Auto"), refused: "spec.slotsPerNode"},
		{spec: fixed("1.5"), refused: "spec.slotsPerNode"},
		{spec: "{nodeLabel: slots, slotsPerNode: auto}"},
		{spec: "{nodeLabel: slots, slotsPerNode: 2}", refused: "spec.resourcesPerSlot"},
		{spec: resources("{}"), refused: "spec.resourcesPerSlot"},
		{spec: resources("{cpu: 0}"), refused: "spec.resourcesPerSlot"},
		{spec: resources("{cpu: 1, memory: -1Gi}"), refused: "spec.resourcesPerSlot"},
		{spec: resources("{cpu: much}"), refused: "spec.resourcesPerSlot.cpu"},
		{spec: resources("{cpu: 1n}")},
		{spec: resources("{cpu: 1M, memory: 1Pi, example.com/gpu: 1125899906842624}")},
		{spec: resources("{cpu: 1000001}"), refused: "spec.resourcesPerSlot"},
		{spec: resources("{cpu: 1E}"), refused: "cpu must be at most 1M"},
		{spec: resources("{cpu: 1, memory: 8Ei}"), refused: "spec.resourcesPerSlot"},
		{spec: resources("{example.com/gpu: 9223372036854775807}"), refused: "spec.resourcesPerSlot"},
		{spec: auto("unitsPerSlot: 1M")},
		{spec: auto("unitsPerSlot: 1E"), refused: "spec.auto.unitsPerSlot"},
		{spec: resources("{" + strings.Trim(numbered("example.com/r%d: 1", 16), "[]") + "}")},
		{spec: resources("{" + strings.Trim(numbered("example.com/r%d: 1", 17), "[]") + "}"), refused: "spec.resourcesPerSlot"},
		{spec: with("maxSlots: 1")},
		{spec: with("maxSlots: 0"), refused: "spec.maxSlots"},
		{spec: with("maxSlots: 5001"), refused: "spec.maxSlots"},
		{spec: with("auto: {}"), refused: "spec.auto"},
		{spec: auto("")},
		{spec: auto("unitsPerSlot: 2500m, min: 1, max: 110, growAfter: 1m30s, shrinkAfter: 0s")},
		{spec: auto("min: 16")},
		{spec: auto("min: 17"), refused: "spec.auto.max"},
		{spec: auto("min: 3, max: 2"), refused: "spec.auto.max"},
		{spec: auto("min: -1"), refused: "spec.auto.min"},
		{spec: auto("max: 111"), refused: "spec.auto.max"},
		{spec: auto("unitsPerSlot: 0"), refused: "spec.auto.unitsPerSlot"},
		{spec: auto("unitsPerSlot: '-1'"), refused: "spec.auto.unitsPerSlot"},
		{spec: auto("growAfter: -1s"), refused: "spec.auto.growAfter"},
		{spec: auto("growAfter: soon"), refused: "spec.auto.growAfter"},
		{spec: auto("shrinkAfter: 99999999h"), refused: "spec.auto.shrinkAfter"},
		{spec: with("sharing: Shared")},
		{spec: with("sharing: Some"), refused: "spec.sharing"},
		{spec: with("idleAfter: 1h")},
		{spec: with("idleAfter: 0s"), refused: "spec.idleAfter"},
		{spec: with("allowedNamespaces: {from: All}")},
		{spec: with("allowedNamespaces: {from: None}"), refused: "spec.allowedNamespaces.from"},
		{spec: with("allowedNamespaces: {from: Selector}"), refused: "spec.allowedNamespaces.selector"},
		{spec: with("allowedNamespaces: {from: Same, selector: {}}"), refused: "spec.allowedNamespaces.selector"},
		{spec: with("allowedNamespaces: {selector: {matchLabels: {a: b}}}"), refused: "spec.allowedNamespaces.selector"},
		{spec: with("allowedNamespaces: {from: Selector, selector: {matchLabels: {a: b}}}")},
		{spec: with("placeholders: {priorityClassName: low, runtimeClassName: runc, tolerations: " + repeat("{operator: Exists}", 16) + "}")},
		{spec: with("placeholders: {tolerations: " + repeat("{operator: Exists}", 17) + "}"), refused: "spec.placeholders.tolerations"},
		{spec: with("nodeSelector: {matchLabels: {disk: ssd}}")},
	})
}

func TestBatchJobCRD(t *testing.T) {
	with := func(fields string) string { return "{jobSpec: {template: {}}, " + fields + "}" }
	check(t, v1alpha1.BatchJobs, []rule{
		{spec: "{jobSpec: {any: [thing, {a: 1}]}}"},
		{spec: "{sparkSpec: {type: Scala, unknown: 1}}"},
		{spec: "{flinkSpec: {job: {jarURI: a}}}"},
		{spec: "{}", refused: "sparkSpec, flinkSpec and jobSpec"},
		{spec: "{externalScheduler: {}}", refused: "sparkSpec, flinkSpec and jobSpec"},
		{spec: "{jobSpec: {}, sparkSpec: {}}", refused: "sparkSpec, flinkSpec and jobSpec"},
		{spec: "{jobSpec: {}, sparkSpec: {}, flinkSpec: {}}", refused: "sparkSpec, flinkSpec and jobSpec"},
		{spec: "{jobSpec: text}", refused: "spec.jobSpec"},
		{spec: "{jobSpec: {b: 2}}", after: "{jobSpec: {a: 1}}"},
		{spec: "{sparkSpec: {a: 1}}", after: "{jobSpec: {a: 1}}", refused: "kind of application"},
		{spec: "{flinkSpec: {a: 1}}", after: "{sparkSpec: {a: 1}}", refused: "kind of application"},
		{spec: with("externalScheduler: {profiler: [{flink-wordcount: 24 (16)}]}")},
		{spec: with("externalScheduler: 24"), refused: "spec.externalScheduler"},
		{spec: with("retry: {limit: 10, delay: 0s}")},
		{spec: with("retry: {limit: 11}"), refused: "spec.retry.limit"},
		{spec: with("retry: {limit: -1}"), refused: "spec.retry.limit"},
		{spec: with("retry: {delay: -1s}"), refused: "spec.retry.delay"},
		{spec: with("submitTimeout: 1ns")},
		{spec: with("submitTimeout: 0s"), refused: "spec.submitTimeout"},
		{spec: with("submitTimeout: a day"), refused: "spec.submitTimeout"},
		{spec: with("stallTimeout: 720h")},
		{spec: with("stallTimeout: 0s"), refused: "spec.stallTimeout"},
		{spec: with("stallTimeout: -1m"), refused: "spec.stallTimeout"},
		{spec: with("stallTimeout: never"), refused: "spec.stallTimeout"},
		{spec: with("allowedNamespaces: {from: Selector}"), refused: "spec.allowedNamespaces.selector"},
		{spec: with("activeScheduling: {}"), refused: "activeScheduling"},
	})
}

func TestSchedulingCRD(t *testing.T) {
	queue := func(fields string) string {
		return "{testbed: {name: small}, queueBased: [{name: a}, {name: b, namespace: other}, {name: a}], " + fields + "}"
	}
	slots := func(list string) string {
		return "{testbed: {name: small}, slotBased: {jobs: [{name: a, slots: " + list + "}]}}"
	}
	jobs := func(list string) string { return "{testbed: {name: small}, slotBased: {jobs: " + list + "}}" }
	check(t, v1alpha1.Schedulings, []rule{
		{spec: queue("")},
		{spec: "{testbed: {name: small, namespace: lab}, queueBased: " + repeat("{name: a}", 5000) + "}"},
		{spec: "{testbed: {name: small}, queueBased: " + repeat("{name: a}", 5001) + "}", refused: "spec.queueBased"},
		{spec: "{testbed: {name: small}, queueBased: []}", refused: "spec.queueBased"},
		{spec: "{testbed: {name: small}, queueBased: [{namespace: a}]}", refused: "spec.queueBased[0].name"},
		{spec: "{queueBased: [{name: a}]}", refused: "spec.testbed"},
		{spec: "{testbed: {name: ''}, queueBased: [{name: a}]}", refused: "spec.testbed.name"},
		{spec: "{testbed: {name: small}}", refused: "queueBased and slotBased"},
		{spec: "{testbed: {name: small}, queueBased: [{name: a}], slotBased: {jobs: [{name: a, slots: [1]}]}}", refused: "queueBased and slotBased"},
		{spec: "{testbed: {name: large}, queueBased: [{name: a}]}", after: queue(""), refused: "spec.testbed"},
		{spec: "{testbed: {name: small}, queueBased: [{name: c}]}", after: queue("")},
		{spec: slots("[1]"), after: queue(""), refused: "a queue stays a queue"},
		{spec: queue(""), after: slots("[1]"), refused: "a queue stays a queue"},
		{spec: slots("[0, 7, node-a/0, node-a.example.com/109]")},
		{spec: slots("[]"), refused: "slots"},
		{spec: slots("[1, 1]"), refused: "slots[1]"},
		{spec: slots("['1']"), refused: "slots[0]"},
		{spec: slots("[node-a]"), refused: "slots[0]"},
		{spec: slots("[node-a/01]"), refused: "slots[0]"},
		{spec: slots("[1.5]"), refused: "slots[0]"},
		{spec: slots("[99999999999]")}, // it names no slot, which the status reports
		{spec: slots(numbered("%d", 5000))},
		{spec: slots(numbered("%d", 5001)), refused: "slots"},
		{spec: jobs("[]"), refused: "spec.slotBased.jobs"},
		{spec: jobs("[{name: a, slots: [1]}, {name: a, namespace: b, slots: [2]}]")},
		{spec: jobs("[{name: a, slots: [1]}, {name: a, slots: [2]}]"), refused: "spec.slotBased.jobs[1]"},
		{spec: jobs("[{name: a}]"), refused: "slots"},
		{spec: jobs(numbered("{name: a%d, slots: [1]}", 1024))},
		{spec: jobs(numbered("{name: a%d, slots: [1]}", 1025)), refused: "spec.slotBased.jobs"},
		{spec: "{testbed: {name: small}, slotBased: {mode: Relaxed, jobs: [{name: a, slots: [1]}]}}"},
		{spec: "{testbed: {name: small}, slotBased: {mode: Loose, jobs: [{name: a, slots: [1]}]}}", refused: "spec.slotBased.mode"},
		{spec: queue("priority: -5, exclusive: true, confirm: Each, onFailure: Stop, ttlSecondsAfterFinished: 0")},
		{spec: queue("priority: 3000000000"), refused: "spec.priority"},
		{spec: queue("confirm: All"), refused: "spec.confirm"},
		{spec: queue("onFailure: Ignore"), refused: "spec.onFailure"},
		{spec: queue("ttlSecondsAfterFinished: -1"), refused: "spec.ttlSecondsAfterFinished"},
		{spec: queue("ttlSecondsAfterFinished: 3000000000"), refused: "spec.ttlSecondsAfterFinished"},
	})
}

// The API server sets the defaults in the fields' comments, and the types decode the result.
func TestDefaults(t *testing.T) {
	client := connect(t)
	for _, test := range []struct{ resource, spec, want, written string }{ // written: the types' encoding, if it differs
		{v1alpha1.Testbeds, "{nodeLabel: slots, slotsPerNode: 2, resourcesPerSlot: {cpu: 700m}}",
			"{nodeLabel: slots, slotsPerNode: 2, resourcesPerSlot: {cpu: 700m}, maxSlots: 5000, sharing: Exclusive, allowedNamespaces: {from: Same}, placeholders: {priorityClassName: spazio-placeholder}}", ""},
		{v1alpha1.Testbeds, "{nodeLabel: slots, slotsPerNode: auto, auto: {}}",
			"{nodeLabel: slots, slotsPerNode: auto, auto: {unitsPerSlot: 1, min: 0, max: 16, growAfter: 30s, shrinkAfter: 10s}, maxSlots: 5000, sharing: Exclusive, allowedNamespaces: {from: Same}, placeholders: {priorityClassName: spazio-placeholder}}",
			"{nodeLabel: slots, slotsPerNode: auto, auto: {unitsPerSlot: '1', min: 0, max: 16, growAfter: 30s, shrinkAfter: 10s}, maxSlots: 5000, sharing: Exclusive, allowedNamespaces: {from: Same}, placeholders: {priorityClassName: spazio-placeholder}}"},
		{v1alpha1.BatchJobs, "{jobSpec: {a: 1}}",
			"{jobSpec: {a: 1}, retry: {limit: 0, delay: 10s}, submitTimeout: 10m, stallTimeout: 10m, allowedNamespaces: {from: Same}}",
			"{jobSpec: {a: 1}, retry: {limit: 0, delay: 10s}, submitTimeout: 10m0s, stallTimeout: 10m0s, allowedNamespaces: {from: Same}}"},
		{v1alpha1.Schedulings, "{testbed: {name: small}, slotBased: {jobs: [{name: a, slots: [1, node-a/0]}]}}",
			"{testbed: {name: small}, slotBased: {mode: Strict, jobs: [{name: a, namespace: '', slots: [1, node-a/0]}]}, priority: 0, exclusive: false, confirm: None, onFailure: Continue}", ""},
	} {
		made, err := resourceOf(client, test.resource).Create(t.Context(), object(t, test.resource, "defaults", test.spec), dry)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(parse(t, test.want).Object, made.Object["spec"]); diff != "" {
			t.Errorf("%s: %s", test.spec, diff)
		}
		// After a round trip through the types the API server has the same.
		scheme := runtime.NewScheme()
		if err := v1alpha1.AddToScheme(scheme); err != nil {
			t.Fatal(err)
		}
		typed, err := scheme.New(made.GroupVersionKind())
		if err != nil {
			t.Fatal(err)
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(made.Object, typed); err != nil {
			t.Fatal(err)
		}
		back, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
		if err != nil {
			t.Fatal(err)
		}
		again := object(t, test.resource, "defaults", "{}")
		again.Object["spec"] = back["spec"]
		made, err = resourceOf(client, test.resource).Create(t.Context(), again, dry)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(parse(t, stdcmp.Or(test.written, test.want)).Object, made.Object["spec"]); diff != "" {
			t.Errorf("%s through the types: %s", test.spec, diff)
		}
	}
}
