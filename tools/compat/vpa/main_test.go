package main

import (
	"bytes"
	"strings"
	"testing"
)

const object = `{"kind": "VerticalPodAutoscaler", "apiVersion": "autoscaling.k8s.io/v1", "metadata": {"name": "web"},
"spec": {"targetRef": {"kind": "Deployment", "name": "web"}, "recommenders": [{"name": "spazio"}]},
"status": {"recommendation": {"containerRecommendations": [{"containerName": "main", "target": {"cpu": "300m"}}]}}}`

func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run(strings.NewReader(object), &out); err != nil || !strings.Contains(out.String(), `"cpu":"300m"`) {
		t.Errorf("%s, %v", &out, err)
	}
	for what, text := range map[string]string{
		"unknown field":  strings.Replace(object, `"containerName"`, `"container"`, 1),
		"no quantity":    strings.Replace(object, "300m", "much", 1),
		"another kind":   strings.Replace(object, `"VerticalPodAutoscaler"`, `"Pod"`, 1),
		"another object": strings.Replace(object, "k8s.io/v1", "k8s.io/v2", 1),
		"nothing":        "",
	} {
		if err := run(strings.NewReader(text), &out); err == nil {
			t.Errorf("%s was accepted", what)
		}
	}
}
