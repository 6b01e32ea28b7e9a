package prometheus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/api"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/profile"
)

// History asks a Prometheus server. It is safe for concurrent use.
type History struct {
	config  Config
	api     promv1.API
	turns   chan struct{}
	dropped atomic.Uint64
}

// New checks the config; nothing is asked yet.
func New(c Config) (*History, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	tripper, err := newTripper(c)
	if err != nil {
		return nil, err
	}
	client, err := api.NewClient(api.Config{Address: c.Address, RoundTripper: tripper})
	if err != nil {
		return nil, &field.Error{Package: "prometheus", Field: "Address", Value: c.Address, Err: err}
	}
	return &History{config: c, api: promv1.NewAPI(client), turns: make(chan struct{}, atOnce)}, nil
}

// half is all that use without waiting is worth.
const half = .5

// Demand is what the workload's pods took until a time: looked back on from then, as
// far as there are too few of them. There is no confidence where nothing is known of
// them. If a query fails, what was read before, and by the other, is returned beside the
// error, which names each query that failed.
func (h *History) Demand(ctx context.Context, of profile.Workload, at time.Time) (profile.Demand, error) {
	names := podNames(of)
	if names == "" {
		return profile.Demand{}, nil
	}
	cpu, memory := series{}, series{}
	var cpuErr, memoryErr error
	for end := at; at.Sub(end) < h.config.Back && (cpuErr == nil || memoryErr == nil); end = end.Add(-chunk) {
		pods := memory
		if memoryErr != nil {
			pods = cpu
		}
		if len(pods) >= h.config.pods {
			break
		}
		if cpuErr == nil {
			cpuErr = h.read(ctx, cpuQuery, of.Namespace, names, end, mostCores, cpu)
		}
		if memoryErr == nil {
			memoryErr = h.read(ctx, memoryQuery, of.Namespace, names, end, most, memory)
		}
	}
	return profile.Demand{CPU: cpu.share((*pod).mean), Memory: memory.share((*pod).peak)}, errors.Join(cpuErr, memoryErr)
}

// series are what pods took, by their names.
type series map[string]*pod

type pod struct {
	sum, most float64
	n         int
	last      time.Time
}

func (p *pod) mean() float64 { return p.sum / float64(p.n) }
func (p *pod) peak() float64 { return p.most }

// share is the evidence of the pods.
func (s series) share(value func(*pod) float64) profile.Share {
	var e profile.Evidence
	for _, name := range slices.Sorted(maps.Keys(s)) {
		e, _ = e.Add(s[name].last, value(s[name]), 1, 0)
	}
	share := profile.Blend(e, profile.Share{}, 0)
	share.Confidence = min(share.Confidence, half)
	return share
}

// read adds what a query says of the chunk that ends at a time; of one pod it is at most so
// much.
func (h *History) read(ctx context.Context, query, namespace, names string, end time.Time, most float64, into series) error {
	query = strings.NewReplacer("$namespace", quoted(namespace), "$pods", quoted(names)).Replace(query)
	select {
	case h.turns <- struct{}{}:
		defer func() { <-h.turns }()
	case <-ctx.Done():
		return queryError(query, context.Cause(ctx))
	}
	// Both ends of a range are in its answer: chunks don't share a sample.
	span := promv1.Range{Start: end.Add(step - chunk), End: end, Step: step}
	value, _, err := h.api.QueryRange(ctx, query, span)
	if err != nil {
		return queryError(query, err)
	}
	matrix, ok := value.(model.Matrix)
	if !ok {
		return queryError(query, fmt.Errorf("%w: it is a %T", errAnswer, value))
	}
	for _, stream := range matrix {
		if !into.add(stream, most) {
			h.dropped.Add(1)
		}
	}
	return nil
}

// quoted is text as it stands within a PromQL string.
func quoted(text string) string {
	q := strconv.Quote(text)
	return q[1 : len(q)-1]
}

// Values beyond these are no machine's: bytes, or bytes a second, and cores.
const (
	most      = 1 << 50
	mostCores = 4096
)

// add takes a series in without the values that no use has, as after a counter's overflow.
// It is false if nothing is left, there is no pod, or times are not in order.
func (s series) add(stream *model.SampleStream, most float64) bool {
	if stream == nil || len(stream.Metric["pod"]) == 0 {
		return false
	}
	var seen pod
	for i, v := range stream.Values {
		if i > 0 && v.Timestamp <= stream.Values[i-1].Timestamp {
			return false
		}
		if x := float64(v.Value); x >= 0 && x <= most {
			seen.sum, seen.most, seen.n, seen.last = seen.sum+x, max(seen.most, x), seen.n+1, v.Timestamp.Time()
		}
	}
	if seen.n == 0 {
		return false
	}
	name := string(stream.Metric["pod"])
	p := s[name]
	if p == nil {
		s[name] = &seen
		return true
	}
	p.sum, p.most, p.n = p.sum+seen.sum, max(p.most, seen.most), p.n+seen.n
	if seen.last.After(p.last) {
		p.last = seen.last
	}
	return true
}

// A shape is a name in which these bytes, which no name has, stand for any letter of
// those that Kubernetes makes suffixes of (k8s.io/apimachinery/pkg/util/rand), and for
// any digit.
const (
	letter = "\x01"
	digit  = "\x02"
)

// suffix is what is generated, and base how much of a name the API server keeps before
// it: 63 bytes are a name's most. What is longer loses its end, the last dash, hash or
// index with it.
const (
	suffix = letter + letter + letter + letter + letter
	base   = 63 - len(suffix)
)

// generated is the shape of a name generated from another.
func generated(from string) string { return from[:min(len(from), base)] + suffix }

// podNames is a regular expression of the names that a workload's controller gives to
// its pods, empty if nothing shows which they are.
func podNames(of profile.Workload) string {
	name := of.Name
	switch of.Kind {
	case "Deployment", "Rollout":
		return anyOf(replicas(name))
	case "Configuration": // of Knative, a Deployment a revision
		return anyOf(replicas(name + "-" + strings.Repeat(digit, 5) + "-deployment"))
	case "DeploymentConfig":
		return anyOf(each(1, 6, func(n int) string { return generated(name + "-" + strings.Repeat(digit, n) + "-") }))
	case "ReplicaSet", "ReplicationController", "DaemonSet":
		return anyOf([]string{generated(name + "-")})
	case "StatefulSet":
		return regexp.QuoteMeta(name) + "-[0-9]+"
	case "LeaderWorkerSet": // a leader and its workers
		return regexp.QuoteMeta(name) + "-[0-9]+(-[0-9]+)?"
	case "BuildConfig":
		return regexp.QuoteMeta(name) + "-[0-9]+-build"
	case "AutoscalingRunnerSet":
		return anyOf([]string{name + "-" + suffix + "-runner-" + suffix})
	case "Workflow": // of Argo, by run, template and hash
		return regexp.QuoteMeta(name) + "|(" + expression(generated(name+"-")) + "|" + regexp.QuoteMeta(name) + "-[0-9]{10})((-.+)?-[0-9]{1,10})?"
	case "CronJob":
		var all []string
		for minutes := 8; minutes <= 10; minutes++ {
			all = append(all, jobPods(name+"-"+strings.Repeat(digit, minutes))...)
		}
		return anyOf(all)
	case "Job":
		// Its own name may end in what is no part of the workload's.
		return anyOf(append(jobPods(name), jobPods(generated(name+"-"))...)) + "|" + regexp.QuoteMeta(name) + "-[0-9a-f-]{8,36}-?" + expression(suffix) +
			"|" + regexp.QuoteMeta(name) + "-?[0-9a-f]{7}-[a-z]+-[0-9]{10}-" + expression(suffix) // a hook of Argo CD
	case "Pod":
		if app, ok := strings.CutSuffix(name, "-exec"); ok { // of Spark
			return regexp.QuoteMeta(app) + "(-[0-9a-f]{16})?-exec-[0-9]+|" + regexp.QuoteMeta(name)
		}
		if strings.HasSuffix(name, "-taskmanager") { // of Flink
			return regexp.QuoteMeta(name) + "(-[0-9]+-[0-9]+)?"
		}
		return anyOf([]string{name, generated(name), generated(name + "-")}) + "|" + regexp.QuoteMeta(name) + "-[0-9a-f-]{8,36}"
	case "Workload", "StaticPod":
		return ""
	}
	if strings.Contains(name, ".") { // of the values of labels
		return ""
	}
	return anyOf([]string{generated(name + "-"), generated(generated(name+"-") + "-")})
}

// replicas are those of a Deployment's ReplicaSets, whose names end in a hash of one to ten
// letters.
func replicas(name string) []string {
	return each(1, 10, func(n int) string { return generated(name + "-" + strings.Repeat(letter, n) + "-") })
}

// jobPods are a Job's, and those of an indexed one: of a long name the controller keeps the
// index.
func jobPods(job string) []string {
	return append(each(1, 6, func(n int) string {
		index := "-" + strings.Repeat(digit, n) + "-"
		return generated(job[:min(len(job), base-len(index))] + index)
	}), generated(job+"-"))
}

func each(from, to int, shape func(n int) string) (all []string) {
	for n := from; n <= to; n++ {
		all = append(all, shape(n))
	}
	return all
}

// anyOf is a regular expression of several shapes.
func anyOf(shapes []string) string {
	slices.Sort(shapes)
	shapes = slices.Compact(shapes)
	for i := range shapes {
		shapes[i] = expression(shapes[i])
	}
	return strings.Join(shapes, "|")
}

// expression is a shape as a regular expression.
func expression(shape string) string {
	var made strings.Builder
	for len(shape) > 0 {
		one := shape[:1]
		rest := strings.TrimLeft(shape, one)
		n := len(shape) - len(rest)
		switch one {
		case letter:
			made.WriteString("[bcdfghjklmnpqrstvwxz2456789]{" + strconv.Itoa(n) + "}")
		case digit:
			made.WriteString("[0-9]{" + strconv.Itoa(n) + "}")
		default:
			n = len(shape) - len(strings.TrimLeftFunc(shape, func(r rune) bool { return string(r) != letter && string(r) != digit }))
			made.WriteString(regexp.QuoteMeta(shape[:n]))
		}
		shape = shape[n:]
	}
	return made.String()
}
