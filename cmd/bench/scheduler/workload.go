package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spazio-scheduler/spazio/plugin"
)

// workload is one of scheduler_perf's, with its sizes.
type workload struct {
	Name                          string
	Nodes, Init, Pods, Percentage int
}

// The measured pods' namespace.
const measured = "measured"

// preparation is what a workload does before the measured pods come: pods of a
// kind, and pods that go on coming every 200 ms. Both are specs of pods, as scheduler_perf's templates
// have them.
type preparation struct {
	first, coming string
	init          func(nodes int) int // upstream's number of first pods
}

var plain = podTemplate("100m", "")

var preparations = map[string]preparation{
	"SchedulingBasic": {first: plain, init: func(nodes int) int { return nodes / 5 }},
	"Unschedulable":   {first: plain, init: func(nodes int) int { return nodes / 50 }, coming: podTemplate("9", `"priority":10,`)},
	"PreemptionAsync": {first: podTemplate("900m", atOnce), init: func(nodes int) int { return 4 * nodes }, coming: podTemplate("3", `"priority":10,`+atOnce)},
}

// atOnce has a pod end without a period of grace.
const atOnce = `"terminationGracePeriodSeconds":0,`

func podTemplate(cpu, fields string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"generateName":"pod-"},"spec":{%[2]s"containers":[{"name":"pause","image":"registry.k8s.io/pause:3.10",`+
		`"resources":{"requests":{"cpu":%[1]q,"memory":"500Mi"},"limits":{"cpu":%[1]q,"memory":"500Mi"}}}]}}`, cpu, fields)
}

const nodeTemplate = `{"apiVersion":"v1","kind":"Node","metadata":{"generateName":"perf-"},` +
	`"status":{"capacity":{"pods":"110","cpu":"4","memory":"32Gi"},"conditions":[{"type":"Ready","status":"True"}]}}`

func (w *workload) complete() error {
	p, ok := preparations[w.Name]
	switch {
	case !ok:
		return fmt.Errorf("--workload: %q is none of %s", w.Name, strings.Join(slices.Sorted(maps.Keys(preparations)), ", "))
	case w.Pods < 2:
		return fmt.Errorf("--pods: %d is less than 2, from the first of which to the last is timed", w.Pods)
	case w.Percentage < 0 || w.Percentage > 100:
		return fmt.Errorf("--percentage: %d is not in 0 to 100", w.Percentage)
	case w.Init < 0:
		w.Init = p.init(w.Nodes)
	}
	return nil
}

type object = map[string]any

// write makes scheduler_perf's files in dir and returns the one to start with.
// They are JSON, which is YAML.
func (w workload) write(dir string, withPlugin bool) (string, error) {
	path := func(name string) string { return filepath.Join(dir, name) }
	p := preparations[w.Name]
	ops := []object{
		{"opcode": "createNodes", "count": w.Nodes, "nodeTemplatePath": path("node.yaml")},
		{"opcode": "createPods", "count": w.Init, "podTemplatePath": path("first.yaml")},
	}
	if p.coming != "" {
		ops = append(ops, object{"opcode": "churn", "mode": "create", "templatePaths": []string{path("coming.yaml")}, "intervalMilliseconds": 200})
	}
	ops = append(ops, object{"opcode": "createPods", "count": w.Pods, "podTemplatePath": path("pod.yaml"), "namespace": measured, "collectMetrics": true})
	config, err1 := json.Marshal(w.schedulerConfiguration(withPlugin))
	top, err2 := json.Marshal([]object{{"name": w.Name, "schedulerConfigPath": path("scheduler.yaml"), "workloadTemplate": ops, "workloads": []object{{"name": "run", "labels": []string{"performance"}}}}})
	err := errors.Join(err1, err2)
	for name, text := range map[string]string{
		"node.yaml": nodeTemplate, "first.yaml": p.first, "coming.yaml": p.coming, "pod.yaml": plain, "scheduler.yaml": string(config), "workload.yaml": string(top),
	} {
		err = errors.Join(err, os.WriteFile(path(name), []byte(text), 0o600))
	}
	return path("workload.yaml"), err
}

func (w workload) schedulerConfiguration(withPlugin bool) object {
	enabled := []object{{"name": stopwatchName}}
	profile := object{"schedulerName": "default-scheduler"}
	if withPlugin {
		enabled = append(enabled, object{"name": plugin.Name, "weight": 5})
		profile["pluginConfig"] = []object{{"name": plugin.Name, "args": object{"listen": "127.0.0.1:0"}}}
	}
	profile["plugins"] = object{"multiPoint": object{"enabled": enabled}}
	if w.Percentage > 0 {
		profile["percentageOfNodesToScore"] = w.Percentage
	}
	return object{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "profiles": []object{profile}}
}
