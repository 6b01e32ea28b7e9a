package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/spazio-scheduler/spazio/plugin"
)

// workload has the sizes of scheduler_perf's SchedulingBasic: pods that all fit, after a fifth as many as
// there are nodes.
type workload struct{ Nodes, Pods int }

// The measured pods' namespace.
const measured = "measured"

// Templates of scheduler_perf.
const (
	podTemplate = `{"apiVersion":"v1","kind":"Pod","metadata":{"generateName":"pod-"},"spec":{"containers":[{"name":"pause","image":"registry.k8s.io/pause:3.10",` +
		`"resources":{"requests":{"cpu":"100m","memory":"500Mi"},"limits":{"cpu":"100m","memory":"500Mi"}}}]}}`
	nodeTemplate = `{"apiVersion":"v1","kind":"Node","metadata":{"generateName":"perf-"},` +
		`"status":{"capacity":{"pods":"110","cpu":"4","memory":"32Gi"},"conditions":[{"type":"Ready","status":"True"}]}}`
)

type object = map[string]any

// write makes scheduler_perf's files in dir and returns the one to start with.
// They are JSON, which is YAML.
func (w workload) write(dir string, withPlugin bool) (string, error) {
	path := func(name string) string { return filepath.Join(dir, name) }
	ops := []object{
		{"opcode": "createNodes", "count": w.Nodes, "nodeTemplatePath": path("node.yaml")},
		{"opcode": "createPods", "count": w.Nodes / 5, "podTemplatePath": path("pod.yaml")},
		{"opcode": "createPods", "count": w.Pods, "podTemplatePath": path("pod.yaml"), "namespace": measured, "collectMetrics": true},
	}
	config, err1 := json.Marshal(schedulerConfiguration(withPlugin))
	top, err2 := json.Marshal([]object{{
		"name": "SchedulingBasic", "schedulerConfigPath": path("scheduler.yaml"), "workloadTemplate": ops,
		"workloads": []object{{"name": "run", "labels": []string{"performance"}}},
	}})
	err := errors.Join(err1, err2)
	for name, text := range map[string]string{
		"node.yaml": nodeTemplate, "pod.yaml": podTemplate, "scheduler.yaml": string(config), "workload.yaml": string(top),
	} {
		err = errors.Join(err, os.WriteFile(path(name), []byte(text), 0o600))
	}
	return path("workload.yaml"), err
}

func schedulerConfiguration(withPlugin bool) object {
	enabled := []object{{"name": stopwatchName}}
	profile := object{"schedulerName": "default-scheduler"}
	if withPlugin {
		enabled = append(enabled, object{"name": plugin.Name, "weight": 5})
		profile["pluginConfig"] = []object{{"name": plugin.Name, "args": object{"listen": "127.0.0.1:0"}}}
	}
	profile["plugins"] = object{"multiPoint": object{"enabled": enabled}}
	return object{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "profiles": []object{profile}}
}
