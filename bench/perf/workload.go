package main

import (
	"encoding/json"
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
	Name       string `json:"name"`
	Nodes      int    `json:"nodes"`
	Init       int    `json:"init"`
	Pods       int    `json:"pods"`
	Percentage int    `json:"percentage"`
	Batching   bool   `json:"batching"`
}

// The measured pods' namespace.
const measured = "measured"

// preparation is what a workload does before the measured pods come: pods of a
// kind, and pods that go on coming every 200 ms.
type preparation struct {
	first, coming *pod
	init          func(nodes int) int // upstream's number of first pods
}

// pod is a pod as scheduler_perf's templates have it.
type pod struct {
	cpu      string
	priority int
	grace    bool // has time to end
}

var plain = &pod{cpu: "100m", grace: true}

var preparations = map[string]preparation{
	"SchedulingBasic": {first: plain, init: func(nodes int) int { return nodes / 5 }},
	"Unschedulable":   {first: plain, init: func(nodes int) int { return nodes / 50 }, coming: &pod{cpu: "9", priority: 10, grace: true}},
	"PreemptionAsync": {first: &pod{cpu: "900m"}, init: func(nodes int) int { return 4 * nodes }, coming: &pod{cpu: "3", priority: 10, grace: true}},
}

func (w *workload) complete() error {
	p, ok := preparations[w.Name]
	switch {
	case !ok:
		return fmt.Errorf("--workload: %q is none of %s", w.Name, strings.Join(slices.Sorted(maps.Keys(preparations)), ", "))
	case w.Nodes < 1:
		return fmt.Errorf("--nodes: %d is not positive", w.Nodes)
	case w.Pods < 2:
		return fmt.Errorf("--pods: %d is less than 2, from the first of which to the last is timed", w.Pods)
	case w.Percentage < 0 || w.Percentage > 100:
		return fmt.Errorf("--percentage: %d is not in 0 to 100", w.Percentage)
	}
	if w.Init < 0 {
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
	files := map[string]any{"node.yaml": nodeTemplate(), "first.yaml": p.first.template(), "pod.yaml": plain.template()}
	if p.coming != nil {
		files["coming.yaml"] = p.coming.template()
		ops = append(ops, object{"opcode": "churn", "mode": "create", "templatePaths": []string{path("coming.yaml")}, "intervalMilliseconds": 200})
	}
	ops = append(ops, object{"opcode": "createPods", "count": w.Pods, "podTemplatePath": path("pod.yaml"), "namespace": measured, "collectMetrics": true})
	run := object{"name": "run", "labels": []string{"performance"}}
	if w.Batching {
		run["featureGates"] = object{"OpportunisticBatching": true}
	}
	files["scheduler.yaml"] = w.schedulerConfiguration(withPlugin)
	files["workload.yaml"] = []object{{
		"name": w.Name, "schedulerConfigPath": path("scheduler.yaml"), "workloadTemplate": ops, "workloads": []object{run},
	}}
	for name, content := range files {
		text, err := json.Marshal(content)
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(path(name), text, 0o600); err != nil {
			return "", err
		}
	}
	return path("workload.yaml"), nil
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

func nodeTemplate() object {
	return object{
		"apiVersion": "v1", "kind": "Node", "metadata": object{"generateName": "perf-"},
		"status": object{
			"capacity":   object{"pods": "110", "cpu": "4", "memory": "32Gi"},
			"conditions": []object{{"type": "Ready", "status": "True"}},
		},
	}
}

func (p *pod) template() object {
	resources := object{"cpu": p.cpu, "memory": "500Mi"}
	spec := object{"containers": []object{{
		"name": "pause", "image": "registry.k8s.io/pause:3.10", "resources": object{"requests": resources, "limits": resources},
	}}}
	if p.priority > 0 {
		spec["priority"] = p.priority
	}
	if !p.grace {
		spec["terminationGracePeriodSeconds"] = 0
	}
	return object{"apiVersion": "v1", "kind": "Pod", "metadata": object{"generateName": "pod-"}, "spec": spec}
}
