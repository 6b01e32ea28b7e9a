package v1alpha1

import (
	"encoding/json"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=tb
// +kubebuilder:printcolumn:name="Slots",type=integer,JSONPath=`.status.counts.slots`
// +kubebuilder:printcolumn:name="Free",type=integer,JSONPath=`.status.counts.free`
// +kubebuilder:printcolumn:name="Reserved",type=integer,JSONPath=`.status.counts.reserved`
// +kubebuilder:printcolumn:name="Occupied",type=integer,JSONPath=`.status.counts.occupied`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`

// Testbed reserves slots on the nodes that have a label. Each slot is room for one pod.
type Testbed struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   TestbedSpec   `json:"spec"`
	Status TestbedStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// TestbedList is a list of test beds.
type TestbedList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Testbed `json:"items"`
}

// SlotsAuto is the value of slotsPerNode that lets the nodes' measured room say how many.
const SlotsAuto = "auto"

// +kubebuilder:validation:XValidation:rule="type(self.slotsPerNode) == string || (has(self.resourcesPerSlot) && size(self.resourcesPerSlot) > 0)",message="is required unless slotsPerNode is auto",fieldPath=".resourcesPerSlot"
// +kubebuilder:validation:XValidation:rule="!has(self.auto) || type(self.slotsPerNode) == string",message="belongs to slotsPerNode: auto",fieldPath=".auto"

// TestbedSpec is which slots there are to be.
type TestbedSpec struct {
	// NodeLabel is the key of a label. The nodes that have it are the test bed's; its
	// value orders them, integers by number and before all other text.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:XValidation:rule="!format.qualifiedName().validate(self).hasValue()",message="must be the key of a label"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="must not change"
	NodeLabel string `json:"nodeLabel"`
	// NodeSelector narrows the nodes further.
	// +optional
	NodeSelector *metav1.LabelSelector `json:"nodeSelector,omitempty"`
	// SlotsPerNode is a number from 0 to 110, or auto.
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? int(self) >= 0 && int(self) <= 110 : self == 'auto'",message="must be 0 to 110, or auto"
	SlotsPerNode intstr.IntOrString `json:"slotsPerNode"`
	// MaxSlots bounds the slots of all nodes: what is beyond it in the order of slots is
	// left out, and the condition Ready says so. The default is 5000.
	// +optional
	// +kubebuilder:default=5000
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=5000
	MaxSlots int32 `json:"maxSlots,omitempty"`
	// ResourcesPerSlot is what each slot holds: of cpu at most 1M, of all else 1Pi, so that the
	// sums of schedulers hold. A change applies to free slots at once, to others when they are
	// released.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MaxProperties=16
	// +kubebuilder:validation:XValidation:rule="self.all(name, type(self[name]) == int ? int(self[name]) > 0 : quantity(self[name]).isGreaterThan(quantity('0')))",message="each must be more than 0"
	// +kubebuilder:validation:XValidation:rule="self.all(name, type(self[name]) == int ? int(self[name]) <= 1125899906842624 : !quantity(self[name]).isGreaterThan(quantity('1Pi')))",message="each must be at most 1Pi"
	// +kubebuilder:validation:XValidation:rule="!('cpu' in self) || (type(self['cpu']) == int ? int(self['cpu']) <= 1000000 : !quantity(self['cpu']).isGreaterThan(quantity('1M')))",message="cpu must be at most 1M"
	ResourcesPerSlot corev1.ResourceList `json:"resourcesPerSlot,omitempty"`
	// Auto sets how slots follow measured room; see EffectiveAuto for its absence.
	// +optional
	Auto *Auto `json:"auto,omitempty"`
	// Sharing decides whether another Testbed may have slots on the same nodes; the default
	// is Exclusive.
	// +optional
	// +kubebuilder:default=Exclusive
	Sharing Sharing `json:"sharing,omitempty"`
	// IdleAfter lets the reservations go when no Scheduling has used the Testbed for so
	// long, until the next one does; by default they stay.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s')",message="must be more than 0"
	IdleAfter *metav1.Duration `json:"idleAfter,omitempty"`
	// AllowedNamespaces are those whose Schedulings may use the slots.
	// +optional
	// +kubebuilder:default={}
	AllowedNamespaces AllowedNamespaces `json:"allowedNamespaces,omitempty"`
	// Placeholders describes the placeholder pods that reserve slots.
	// +optional
	// +kubebuilder:default={}
	Placeholders Placeholders `json:"placeholders,omitempty"`
}

// +kubebuilder:validation:XValidation:rule="!has(self.min) || !has(self.max) || self.min <= self.max",message="must be at least min",fieldPath=".max"

// Auto sets how the number of slots on a node follows the room measured there.
type Auto struct {
	// UnitsPerSlot is the room of a slot in pods of mean cost, at most 1M; the default is 1.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).isGreaterThan(quantity('0')) && !quantity(string(self)).isGreaterThan(quantity('1M'))",message="must be more than 0, and at most 1M"
	UnitsPerSlot *resource.Quantity `json:"unitsPerSlot,omitempty"`
	// Min and Max bound the slots of a node; the defaults are 0 and 16.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=110
	Min int32 `json:"min,omitempty"`
	// +optional
	// +kubebuilder:default=16
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=110
	Max *int32 `json:"max,omitempty"`
	// GrowAfter is for how long there must be room before a node gets a slot more; the
	// default is 30s.
	// +optional
	// +kubebuilder:default="30s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="must not be negative"
	GrowAfter *metav1.Duration `json:"growAfter,omitempty"`
	// ShrinkAfter is for how long there must be too little before slots go; the default
	// is 10s.
	// +optional
	// +kubebuilder:default="10s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="must not be negative"
	ShrinkAfter *metav1.Duration `json:"shrinkAfter,omitempty"`
}

// +kubebuilder:validation:Enum=Exclusive;Shared

// Sharing decides whether a node's slots are of one Testbed.
type Sharing string

// Values of Sharing.
const (
	// Exclusive: a node is of one Testbed alone.
	Exclusive Sharing = "Exclusive"
	// Shared: several may have slots on it, as far as it has resources.
	Shared Sharing = "Shared"
)

// Placeholders describes the placeholder pods that reserve slots.
type Placeholders struct {
	// PriorityClassName is their priority; the default is spazio-placeholder.
	// +optional
	// +kubebuilder:default=spazio-placeholder
	// +kubebuilder:validation:MaxLength=253
	PriorityClassName string `json:"priorityClassName,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxLength=253
	RuntimeClassName string `json:"runtimeClassName,omitempty"`
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
}

// TestbedStatus is what was found, and which jobs have slots.
type TestbedStatus struct {
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions are of the types Ready, SignalsFresh and Deleting.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Nodes are in the order of slots, up to 2000, each a text: its name, how many slots are
	// on it, after a slash how many are wanted where these differ, and a reason if there is
	// one, as in "node-7 2" and "node-8 2/4 NoFreshReport". An API server takes them as they are,
	// and as texts: they are one controller's, and to decode, check and encode thousands of
	// values took most of the time of every write of a claim.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Nodes TestbedNodes `json:"nodes,omitempty"`
	// Placeholders are the UIDs of the pods that reserve slots, separated by spaces, at most
	// MaxPlaceholders. The scheduler takes a pod for a placeholder only if it is named here:
	// what a pod says of itself proves nothing. One text of 5000 UIDs has 185 kB, and an API
	// server reads and checks it as fast as a single value.
	// +optional
	// +kubebuilder:validation:MaxLength=222000
	Placeholders string `json:"placeholders,omitempty"`
	// +optional
	Counts SlotCounts `json:"counts,omitempty"`
	// ExclusiveFor is the Scheduling that has the Testbed for itself.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=63
	ExclusiveFor types.UID `json:"exclusiveFor,omitempty"`
	// Claims are the slots that jobs have, one claim a job. They are written before anything is
	// created.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=5000
	Claims []Claim `json:"claims,omitempty"`
}

// MaxPlaceholders bounds the pods that a status names: every slot's, and some that are being
// replaced.
const MaxPlaceholders = 6000

// TestbedNodes are the nodes of a Testbed. In JSON each is a text; whatever else is written
// in their place is none, until the controller writes them again: one object must not keep
// all others from being read.
type TestbedNodes []TestbedNode

// MarshalJSON writes each node as a text.
func (n TestbedNodes) MarshalJSON() ([]byte, error) {
	texts := make([]string, len(n))
	for i := range n {
		texts[i] = n[i].text()
	}
	return json.Marshal(texts)
}

// UnmarshalJSON reads a list of texts.
func (n *TestbedNodes) UnmarshalJSON(data []byte) error {
	*n = nil
	var texts []string
	if json.Unmarshal(data, &texts) != nil || texts == nil {
		return nil
	}
	all := make(TestbedNodes, len(texts))
	for i, text := range texts {
		if !all[i].read(text) {
			return nil
		}
		all[i].ID = int32(i)
	}
	*n = all
	return nil
}

// TestbedNode is a node of a Testbed.
type TestbedNode struct {
	Name string
	// ID is the node's place in the order of nodes, from 0.
	ID int32
	// Slots are on it.
	Slots int32
	// Wanted are the slots that should be.
	Wanted int32
	// Reason is why they differ.
	Reason string
}

// text is all of the node but its ID, which is its place in the list.
func (n *TestbedNode) text() string {
	text := n.Name + " " + strconv.Itoa(int(n.Slots))
	if n.Wanted != n.Slots {
		text += "/" + strconv.Itoa(int(n.Wanted))
	}
	if n.Reason != "" {
		text += " " + n.Reason
	}
	return text
}

// read reads such a text, and reports whether it is one.
func (n *TestbedNode) read(text string) bool {
	name, rest, two := strings.Cut(text, " ")
	numbers, reason, _ := strings.Cut(rest, " ")
	slots, wanted, differ := strings.Cut(numbers, "/")
	if !differ {
		wanted = slots
	}
	has, err := strconv.ParseInt(slots, 10, 32)
	wants, err2 := strconv.ParseInt(wanted, 10, 32)
	if !two || name == "" || err != nil || err2 != nil {
		return false
	}
	*n = TestbedNode{Name: name, Slots: int32(has), Wanted: int32(wants), Reason: reason}
	return true
}

// SlotCounts are the slots of a Testbed by state.
type SlotCounts struct {
	Slots    int32 `json:"slots"`
	Free     int32 `json:"free"`
	Reserved int32 `json:"reserved"`
	Occupied int32 `json:"occupied"`
	// Pending have a reservation that no node has taken.
	Pending int32 `json:"pending"`
	// Retiring go when they are released.
	Retiring int32 `json:"retiring"`
}

// Claim is the slots that a job has. Objects are named NAMESPACE/NAME.
type Claim struct {
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=63
	BatchJobUID types.UID `json:"batchJobUID"`
	// +kubebuilder:validation:MaxLength=317
	BatchJob string `json:"batchJob"`
	// +kubebuilder:validation:MaxLength=317
	Scheduling string `json:"scheduling"`
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=63
	SchedulingUID types.UID `json:"schedulingUID"`
	// Slots are the slots' IDs, NODE/POSITION.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=5000
	// +kubebuilder:validation:items:MaxLength=257
	Slots []string    `json:"slots"`
	Since metav1.Time `json:"since"`
}

// Types of a Testbed's conditions.
const (
	// TestbedReady: every slot that should be is reserved.
	TestbedReady = "Ready"
	// TestbedSignalsFresh: what nodes measure is known (slotsPerNode: auto).
	TestbedSignalsFresh = "SignalsFresh"
	// TestbedDeleting: the Testbed waits for claims before it goes.
	TestbedDeleting = "Deleting"
)

// Reasons of TestbedReady.
const (
	ReasonSlotsReady         = "SlotsReady"
	ReasonWaitingForCapacity = "WaitingForCapacity"
	ReasonNoNodes            = "NoNodes"
	ReasonNodeConflict       = "NodeConflict"
	ReasonTooLarge           = "TooLarge"
	ReasonIdle               = "Idle"
)
