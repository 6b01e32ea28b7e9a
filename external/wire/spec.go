package wire

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spazio-scheduler/spazio/testbed"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// Bounds of a scheduling.
const (
	// MaxQueue bounds the entries of Queue.
	MaxQueue = 5000
	// MaxSlotJobs bounds the jobs of a SlotBased, MaxJobSlots the slots of each.
	MaxSlotJobs = 1024
	MaxJobSlots = 5000
)

// Values of a SchedulingSpec's enumerations; the first of each is the default.
const (
	// Strict submits a job only once all those before it are submitted, Relaxed as soon as
	// its own slots are free.
	Strict  = "Strict"
	Relaxed = "Relaxed"

	// ConfirmNone submits a job as soon as it has slots, ConfirmEach only once the pods of
	// all those submitted before it are bound.
	ConfirmNone = "None"
	ConfirmEach = "Each"

	// Continue lets the others go on when a job has failed; with Stop nothing more is
	// submitted, and the Scheduling has failed.
	Continue = "Continue"
	Stop     = "Stop"
)

// Reasons of causes.
const (
	Required    = "Required"    // the field is missing
	Invalid     = "Invalid"     // its value can't be meant
	Duplicate   = "Duplicate"   // it, or an entry of it, is there twice
	TooMany     = "TooMany"     // it has more entries or bytes than allowed
	Unsupported = "Unsupported" // there is no such field here, or no such value of it
	Immutable   = "Immutable"   // it must not change
)

// ParseName reads NAME, which is in the namespace, or NAMESPACE/NAME. The error is a
// *field.Error.
func ParseName(text, namespace string) (testbed.Name, error) {
	name := testbed.Name{Namespace: namespace, Name: text}
	if before, after, ok := strings.Cut(text, "/"); ok {
		name = testbed.Name{Namespace: before, Name: after}
	}
	if !ValidNamespace(name.Namespace) || !ValidName(name.Name) {
		return testbed.Name{}, testbed.Refuse("Name", text, "NAME or NAMESPACE/NAME, of lower-case letters, digits and hyphens")
	}
	return name, nil
}

var (
	subdomain = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	label     = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
)

// ValidName reports whether an object can have the name: an RFC 1123 subdomain.
func ValidName(name string) bool { return len(name) <= 253 && subdomain.MatchString(name) }

// ValidNamespace reports whether a namespace can have the name: an RFC 1123 label.
func ValidNamespace(name string) bool { return len(name) <= 63 && label.MatchString(name) }

// Normal returns the spec with what is left out filled in, as a scheduling of the
// namespace has it: names are NAMESPACE/NAME, enumerations have a value. Two specs that
// mean the same are then the same. What cannot be read stays as it is.
func (s SchedulingSpec) Normal(namespace string) SchedulingSpec {
	s.Testbed = normalName(s.Testbed, namespace)
	s.Queue = slices.Clone(s.Queue)
	for i, job := range s.Queue {
		s.Queue[i] = normalName(job, namespace)
	}
	if s.Slots != nil {
		slots := SlotBased{Mode: cmp.Or(s.Slots.Mode, Strict), Jobs: slices.Clone(s.Slots.Jobs)}
		for i := range slots.Jobs {
			slots.Jobs[i].Job = normalName(slots.Jobs[i].Job, namespace)
			slots.Jobs[i].Slots = slices.Clone(slots.Jobs[i].Slots)
		}
		s.Slots = &slots
	}
	s.Confirm = cmp.Or(s.Confirm, ConfirmNone)
	s.OnFailure = cmp.Or(s.OnFailure, Continue)
	return s
}

func normalName(text, namespace string) string {
	name, err := ParseName(text, namespace)
	if err != nil {
		return text
	}
	return name.String()
}

// Validate returns what is wrong with the spec of a scheduling in the namespace, by itself:
// whether what it names is there, only the server knows. Causes are in the order of the
// fields, at most MaxCauses.
func (s *SchedulingSpec) Validate(namespace string) []Cause {
	v := validation{namespace: namespace}
	v.name("testbed", s.Testbed)
	switch {
	case len(s.Queue) > 0 && s.Slots != nil:
		v.add("slots", Invalid, "is not allowed beside queue")
	case len(s.Queue) == 0 && s.Slots == nil:
		v.add("queue", Required, "must have one entry or more, or else slots be given")
	case len(s.Queue) > MaxQueue:
		v.add("queue", TooMany, fmt.Sprintf("must have at most %d entries", MaxQueue))
	}
	for i, job := range s.Queue[:min(len(s.Queue), MaxQueue)] {
		v.name(fmt.Sprintf("queue[%d]", i), job)
	}
	if s.Slots != nil {
		v.slots(s.Slots)
	}
	v.oneOf("confirm", s.Confirm, ConfirmNone, ConfirmEach)
	v.oneOf("onFailure", s.OnFailure, Continue, Stop)
	if ttl := s.TTLSecondsAfterFinished; ttl != nil && *ttl < 0 {
		v.add("ttlSecondsAfterFinished", Invalid, "must not be negative")
	}
	return v.causes
}

// MaxCauses bounds the causes of a problem.
const MaxCauses = 50

type validation struct {
	namespace string
	causes    []Cause
}

func (v *validation) add(field, reason, message string) {
	if len(v.causes) < MaxCauses {
		v.causes = append(v.causes, Cause{Field: field, Reason: reason, Message: message})
	}
}

// name returns the name as NAMESPACE/NAME, if it is one.
func (v *validation) name(field, text string) string {
	if text == "" {
		v.add(field, Required, "must be NAME or NAMESPACE/NAME")
		return ""
	}
	name, err := ParseName(text, v.namespace)
	if err != nil {
		v.add(field, Invalid, "must be NAME or NAMESPACE/NAME, of lower-case letters, digits and hyphens")
		return ""
	}
	return name.String()
}

func (v *validation) oneOf(field, value string, values ...string) {
	if value != "" && !slices.Contains(values, value) {
		v.add(field, Unsupported, "must be one of "+strings.Join(values, ", "))
	}
}

// count checks that a list has an entry, and how many it has at most.
func (v *validation) count(field string, n, most int, one, many string) {
	switch {
	case n == 0:
		v.add(field, Required, "must have a "+one)
	case n > most:
		v.add(field, TooMany, fmt.Sprintf("must have at most %d %s", most, many))
	}
}

func (v *validation) slots(s *SlotBased) {
	v.oneOf("slots.mode", s.Mode, Strict, Relaxed)
	v.count("slots.jobs", len(s.Jobs), MaxSlotJobs, "job", "jobs")
	seen := make(map[string]bool, len(s.Jobs))
	for i, job := range s.Jobs[:min(len(s.Jobs), MaxSlotJobs)] {
		field := fmt.Sprintf("slots.jobs[%d].", i)
		if name := v.name(field+"job", job.Job); name != "" {
			if seen[name] {
				v.add(field+"job", Duplicate, "is placed already")
			}
			seen[name] = true
		}
		v.refs(field+"slots", job.Slots)
	}
}

func (v *validation) refs(field string, slots []slot.Ref) {
	v.count(field, len(slots), MaxJobSlots, "slot", "slots")
	seen := make(map[slot.Ref]bool, len(slots))
	for i, ref := range slots[:min(len(slots), MaxJobSlots)] {
		if seen[ref] {
			v.add(fmt.Sprintf("%s[%d]", field, i), Duplicate, "is given already")
		}
		seen[ref] = true
	}
}
