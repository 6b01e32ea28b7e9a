package backend

import (
	"regexp"
	"strings"

	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// storedSpec is the spec of a Scheduling of the namespace as it is stored. A name in the
// Scheduling's own namespace is stored without it.
func storedSpec(namespace string, w *wire.SchedulingSpec) v1alpha1.SchedulingSpec {
	s := v1alpha1.SchedulingSpec{
		Priority: w.Priority, Exclusive: w.Exclusive, Confirm: v1alpha1.Confirm(w.Confirm), OnFailure: v1alpha1.OnFailure(w.OnFailure),
		TTLSecondsAfterFinished: w.TTLSecondsAfterFinished,
	}
	s.Testbed.Namespace, s.Testbed.Name = storedName(namespace, w.Testbed)
	for _, text := range w.Queue {
		var job v1alpha1.JobReference
		job.Namespace, job.Name = storedName(namespace, text)
		s.QueueBased = append(s.QueueBased, job)
	}
	if w.Slots != nil {
		s.SlotBased = &v1alpha1.SlotBased{Mode: v1alpha1.SlotMode(w.Slots.Mode), Jobs: make([]v1alpha1.SlotJob, len(w.Slots.Jobs))}
		for i := range w.Slots.Jobs {
			job := &s.SlotBased.Jobs[i]
			job.Namespace, job.Name = storedName(namespace, w.Slots.Jobs[i].Job)
			job.Slots = make([]v1alpha1.SlotReference, len(w.Slots.Jobs[i].Slots))
			for k, ref := range w.Slots.Jobs[i].Slots {
				job.Slots[k] = v1alpha1.SlotReference{Text: ref.String()}
			}
		}
	}
	return s
}

// storedName returns a name and its namespace, which is empty if it is the Scheduling's. What is
// no name, which a Store is not given, the API server refuses.
func storedName(own, text string) (namespace, name string) {
	parsed, err := wire.ParseName(text, own)
	switch {
	case err != nil:
		return "", text
	case parsed.Namespace == own:
		return "", parsed.Name
	}
	return parsed.Namespace, parsed.Name
}

// storedPath are paths in a stored Scheduling, the longest first, and what they are called
// in the JSON of the interface.
var storedPath = []struct {
	stored *regexp.Regexp
	wire   string
}{
	{regexp.MustCompile(`spec\.queueBased(\[\d+\])\.(name|namespace)`), "queue$1"},
	{regexp.MustCompile(`spec\.queueBased`), "queue"},
	{regexp.MustCompile(`spec\.slotBased\.jobs(\[\d+\])\.(name|namespace)`), "slots.jobs$1.job"},
	{regexp.MustCompile(`spec\.slotBased`), "slots"},
	{regexp.MustCompile(`spec\.testbed\.(name|namespace)`), "testbed"},
	{regexp.MustCompile(`metadata\.(name|namespace)`), "$1"},
	{regexp.MustCompile(`spec\.([a-z])`), "$1"},
	{regexp.MustCompile(`\bqueueBased\b`), "queue"},
	{regexp.MustCompile(`\bslotBased\b`), "slots"},
}

// wireText is a text of the API server, a path or a message that has some, in the words of
// the interface.
func wireText(text string) string {
	if text == "spec" || text == "metadata" {
		return ""
	}
	for _, p := range storedPath {
		text = p.stored.ReplaceAllString(text, p.wire)
	}
	return strings.TrimPrefix(text, "<nil>")
}
