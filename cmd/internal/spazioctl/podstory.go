package spazioctl

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"

	"github.com/spazio-scheduler/spazio/cmd/deploy/podforward"
	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// podStory is what the API server itself shows of a pod, to users who may read it: its
// conditions and its events. A plain value.
type podStory struct {
	// Pod is namespace/name.
	Pod     string `json:"pod"`
	UID     string `json:"uid"`
	Profile string `json:"profile"`
	Phase   string `json:"phase"`
	Node    string `json:"node,omitempty"`
	// Conditions are those that are not true.
	Conditions []podCondition `json:"conditions,omitempty"`
	Events     []podEvent     `json:"events,omitempty"`
	// Lacks says why nothing more is known.
	Lacks []string `json:"lacks"`
}

type podCondition struct {
	Type    string    `json:"type"`
	Reason  string    `json:"reason,omitempty"`
	Message string    `json:"message,omitempty"`
	Since   time.Time `json:"since"`
}

type podEvent struct {
	Last    time.Time `json:"last"`
	Times   int       `json:"times"`
	Type    string    `json:"type"`
	Reason  string    `json:"reason"`
	From    string    `json:"from"`
	Message string    `json:"message"`
}

// mostEvents bounds what is asked for: the API server keeps them for an hour.
const mostEvents = 500

// readPodStory reads the pod of that namespace/name. unasked is why the scheduler could
// not be asked.
func readPodStory(ctx context.Context, at podforward.Target, timeout time.Duration, pod string, unasked error) (*podStory, error) {
	client, err := kubernetes.NewForConfig(at.Config)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	namespace, name, _ := strings.Cut(pod, "/")
	p, err := client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	story := &podStory{Pod: pod, UID: string(p.UID), Profile: p.Spec.SchedulerName, Phase: string(p.Status.Phase), Node: p.Spec.NodeName}
	for _, c := range p.Status.Conditions {
		if c.Status != corev1.ConditionTrue {
			story.Conditions = append(story.Conditions, podCondition{string(c.Type), c.Reason, c.Message, c.LastTransitionTime.UTC()})
		}
	}
	story.Lacks = []string{"the room and the score of each node: " + unasked.Error()}
	about := fields.Set{"involvedObject.name": name, "involvedObject.uid": story.UID}.AsSelector().String()
	events, err := client.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: about, Limit: mostEvents})
	if err != nil {
		story.Lacks = append(story.Lacks, "the pod's events: "+err.Error())
		return story, nil
	}
	for _, e := range events.Items {
		story.Events = append(story.Events, eventOf(e))
	}
	slices.SortStableFunc(story.Events, func(a, b podEvent) int { return a.Last.Compare(b.Last) })
	return story, nil
}

// eventOf reads both forms of the API: a count, or a series.
func eventOf(e corev1.Event) podEvent {
	times, last := max(int(e.Count), 1), e.LastTimestamp.Time
	if e.Series != nil {
		times, last = max(int(e.Series.Count), 1), e.Series.LastObservedTime.Time
	}
	for _, t := range []time.Time{e.EventTime.Time, e.FirstTimestamp.Time, e.CreationTimestamp.Time} {
		if last.IsZero() {
			last = t
		}
	}
	return podEvent{last.UTC(), times, e.Type, e.Reason, cmp.Or(e.ReportingController, e.Source.Component), e.Message}
}

func (s *podStory) write(out io.Writer, o output) error {
	words := []string{fmt.Sprintf("pod %s (%s) of profile %s is %s", s.Pod, s.UID, s.Profile, cmp.Or(s.Phase, "in no phase"))}
	if s.Node != "" {
		words[0] += ", bound to " + s.Node
	}
	for _, c := range s.Conditions {
		words = append(words, fmt.Sprintf("not %s since %s: %s", c.Type, c.Since.Format(time.RFC3339), cmp.Or(c.Message, c.Reason, "no reason is given")))
	}
	if len(s.Events) == 0 {
		words = append(words, "there are no events of it")
	}
	if err := o.paragraph(out, words); err != nil {
		return err
	}
	if len(s.Events) > 0 {
		t := text.Table{Header: []string{"LAST", "TIMES", "REASON", "FROM", "MESSAGE"}, Right: []bool{false, true}}
		for _, e := range s.Events {
			t.Add(e.Last.Format(time.RFC3339), strconv.Itoa(e.Times), text.Plain(e.Reason), text.Plain(e.From), text.Plain(e.Message))
		}
		if err := t.WriteText(out, o.width()); err != nil {
			return err
		}
	}
	unknown := make([]string, len(s.Lacks))
	for i, l := range s.Lacks {
		unknown[i] = "unknown: " + l
	}
	return o.paragraph(out, unknown)
}

// paragraph writes lines that others may have worded.
func (o output) paragraph(out io.Writer, lines []string) error {
	plain := make([]string, len(lines))
	for i, l := range lines {
		plain[i] = text.Plain(l)
	}
	return o.lines(out, strings.Join(plain, "\n"))
}
