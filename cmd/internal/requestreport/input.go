package requestreport

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/profile"
)

// errInvalid is wrapped by the field.Error of a Config, of what it leads to and of an Input.
var errInvalid = errors.New("invalid configuration or input")

// Measured is a number that may be unknown; the zero value is.
type Measured struct {
	Value float64
	Known bool
}

// Is returns a known number.
func Is(v float64) Measured { return Measured{v, true} }

// MarshalJSON writes the number, or null.
func (m Measured) MarshalJSON() ([]byte, error) {
	if !m.Known {
		return []byte("null"), nil
	}
	return json.Marshal(m.Value)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (m *Measured) UnmarshalJSON(text []byte) error {
	var v *float64
	if err := json.Unmarshal(text, &v); err != nil {
		return err
	}
	*m = Measured{}
	if v != nil {
		*m = Is(*v)
	}
	return nil
}

// plus is the sum with a number that may be unknown, which adds nothing.
func (m Measured) plus(n Measured) Measured {
	return Measured{m.Value + n.Value, m.Known || n.Known}
}

// resourceAmounts are cores and bytes, each of which may be unknown.
type resourceAmounts struct {
	CPU    Measured `json:"cpuCores"`
	Memory Measured `json:"memoryBytes"`
}

func (a resourceAmounts) plus(b resourceAmounts) resourceAmounts {
	return resourceAmounts{a.CPU.plus(b.CPU), a.Memory.plus(b.Memory)}
}

// Input is what a Report is made of, with one node and one profile of a name. New does not modify it.
type Input struct {
	// madeAt is the time of the report.
	madeAt time.Time
	// source names where the input is from, in words.
	source string
	// requests reports whether pods are known; without it all requests are unknown.
	requests bool
	nodes    []clusterNode
	pods     []boundPod
	profiles []knownProfile
	// notes are sentences about what could not be read.
	notes []string
}

// clusterNode is a node of the cluster. An amount of 0 is unknown.
type clusterNode struct {
	Name string
	// Capacity is what the machine has, Allocatable what pods may request.
	Capacity, Allocatable profile.Amounts
	// Unschedulable nodes get no pods: they are cordoned, or not ready.
	Unschedulable bool
	// Use is what was measured, nil for nothing.
	Use *nodeUse
}

// boundPod is a pod that is bound to a node and has not ended.
type boundPod struct {
	Workload profile.Workload
	Node     string
	// Requests are effective: with init containers, overhead and what was set for the pod as a
	// whole. 0 is no request.
	Requests profile.Amounts
	// Floor is what the requests of init containers that end keep Requests at, whatever its Containers
	// request, and Overhead what is added to that. Recommendations change neither.
	Floor, Overhead profile.Amounts
	// Containers are the names of those that go on; pods of a workload may share the slice.
	Containers []string
}

// knownProfile is what is known of a workload.
type knownProfile struct {
	Workload profile.Workload
	// Need is what a pod takes; a confidence of 0 is unknown.
	Need profile.Demand
	// Containers are what containers should request. One without a name is the whole pod.
	Containers []containerAdvice
	// Stale reports that no pod was measured for long, HorizontallyScaled that an autoscaler sets the
	// number of pods by their utilisation, which is relative to their requests.
	Stale, HorizontallyScaled bool
}

// containerAdvice is what a container should request; 0 is unknown.
type containerAdvice struct {
	Container string
	Target    profile.Amounts
}

// refuse returns a *field.Error that wraps errInvalid; want completes "must be".
var refuse = field.Refuser("requestreport", errInvalid)

// validate returns a *field.Error for the first field that a report cannot be made of.
func (in *Input) validate() error {
	for i := range in.nodes {
		n := &in.nodes[i]
		at := fmt.Sprintf("Nodes[%d]", i)
		if n.Name == "" {
			return refuse(at+".Name", n.Name, "a name")
		}
		if err := countable(at+".Capacity", n.Capacity); err != nil {
			return err
		}
		if err := countable(at+".Allocatable", n.Allocatable); err != nil {
			return err
		}
	}
	for i := range in.pods {
		p := &in.pods[i]
		if p.Workload.Name == "" {
			return refuse(fmt.Sprintf("Pods[%d].Workload.Name", i), "", "a name")
		}
		for _, of := range []struct {
			name string
			profile.Amounts
		}{{"Requests", p.Requests}, {"Floor", p.Floor}, {"Overhead", p.Overhead}} {
			if err := countable(fmt.Sprintf("Pods[%d].%s", i, of.name), of.Amounts); err != nil {
				return err
			}
		}
	}
	return in.validateProfiles()
}

func (in *Input) validateProfiles() error {
	for i := range in.profiles {
		p := &in.profiles[i]
		at := fmt.Sprintf("Profiles[%d]", i)
		if err := p.Need.Validate(); err != nil {
			return fmt.Errorf("requestreport: %s.Need: %w", at, err)
		}
		for _, a := range p.Containers {
			if err := countable(at+".Containers", a.Target); err != nil {
				return err
			}
		}
	}
	return nil
}

// countable refuses amounts that cannot be added up.
func countable(name string, a profile.Amounts) error {
	for _, v := range []float64{a.CPU, a.Memory} {
		if !(v >= 0) || math.IsInf(v, 1) {
			return refuse(name, v, "finite and not negative")
		}
	}
	return nil
}
