package profile

import (
	"net/url"
	"strings"
)

// special names a pod whose labels, annotations or owner hold what it is of beside what
// differs from run to run, so that no line of engines can say it.
func (m *Meta) special() (kind, name string, ok bool) {
	for _, find := range []func() (kind, name string){m.deployer, m.pipeline, m.analysis, m.jenkins} {
		if kind, name = find(); name != "" {
			return kind, name, true
		}
	}
	return "", "", false
}

// deployer is of the pods that roll out a revision of an OpenShift DeploymentConfig, whose
// label has the name of the ReplicationController, CONFIG-DIGITS.
func (m *Meta) deployer() (kind, name string) {
	revision := m.Labels["openshift.io/deployer-pod-for.name"]
	i := strings.LastIndexByte(revision, '-')
	if owner := m.Controller.Kind; owner != "" && owner != "ReplicationController" || i < 1 || !allIn(revision[i+1:], digits) {
		return "", ""
	}
	return "DeploymentConfig", revision[:i] + ".deploy"
}

// pipeline is of Tekton, where a run that has its pipeline within it gives that its own
// name; and of the affinity assistant, a StatefulSet for each workspace of each run.
func (m *Meta) pipeline() (kind, name string) {
	run, task := m.Labels["tekton.dev/pipelineRun"], m.Labels["tekton.dev/pipelineTask"]
	pipeline := m.Labels["tekton.dev/pipeline"]
	if pipeline == "" || pipeline == run {
		pipeline = withoutRun(run, "TaskRun", m.Created)
	}
	switch {
	case run == "":
	case m.Controller.Kind == "TaskRun" && task != "":
		return "Pipeline", pipeline + "." + task
	case m.Controller.Kind == "StatefulSet" && m.Labels["app.kubernetes.io/component"] == "affinity-assistant":
		return "Pipeline", pipeline + ".affinity-assistant"
	}
	return "", ""
}

// analysis is of the Jobs that an AnalysisRun of Argo Rollouts makes, one a measurement,
// which are named UID.METRIC.DIGITS. Nothing names the template.
func (m *Meta) analysis() (kind, name string) {
	uid, rest, _ := strings.Cut(m.Controller.Name, ".")
	i := strings.LastIndexByte(rest, '.')
	if parts := strings.Split(uid, "-"); m.Controller.Kind != "Job" || i < 1 || len(parts) != len(uuidParts) || !isUUID(parts) || !allIn(rest[i+1:], digits) {
		return "", ""
	}
	return "AnalysisRun", rest[:i]
}

// jenkins is of the agents of Jenkins' Kubernetes plugin. Those of a pipeline have the path
// of their build, job/FOLDER/job/NAME/DIGITS/; their label is the template's, or is made of
// the build's number. Others are of a template alone, which many jobs share.
func (m *Meta) jenkins() (kind, name string) {
	label := m.Labels["jenkins/label"]
	if label == "" || m.Controller.Kind != "" {
		return "", ""
	}
	parts := strings.Split(strings.Trim(m.Annotations["runUrl"], "/"), "/")
	build := parts[len(parts)-1]
	if !allIn(build, digits) {
		return "Jenkins", label
	}
	var job []string
	for i := 1; i < len(parts)-1; i += 2 {
		job = append(job, plain(parts[i]))
	}
	if !strings.Contains(label, "_"+build+"-") {
		job = append(job, label)
	}
	return "Jenkins", strings.Join(job, ".")
}

// plain is part of a URL with what no name may have replaced by dashes.
func plain(part string) string {
	for range 2 { // a branch's name is escaped twice
		if text, err := url.PathUnescape(part); err == nil {
			part = text
		}
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '-'
	}, part)
}
