package slot

// Op is what an Action does.
type Op uint8

// What is done about a slot.
const (
	// CreateGhost: a ghost of the Action's Name and Size is created for the slot. That
	// one of this name exists already is a success.
	CreateGhost Op = iota
	// DeleteGhost: the ghost with the Action's UID is deleted. That it is gone is a success.
	DeleteGhost
	// DeletePod: the pod with the Action's UID is deleted, for another is in its slot.
	DeletePod
)

func (o Op) String() string { return nameOf([]string{"create ghost", "delete ghost", "delete pod"}, o) }

// Reason is why an Action is wanted.
type Reason uint8

// Why something is done about a slot.
const (
	// Missing: a slot without a pod has no ghost.
	Missing Reason = iota
	// Entered: a live pod is in the ghost's slot.
	Entered
	// Unwanted: the slot is no longer the testbed's, or the testbed is idle.
	Unwanted
	// Moved: the ghost is on another node than its slot.
	Moved
	// Resized: the ghost has another size than the slot.
	Resized
	// Ended: the ghost's containers have ended, so it holds nothing.
	Ended
	// Double: the slot has another such already.
	Double
)

func (r Reason) String() string {
	return nameOf([]string{"missing", "entered", "unwanted", "moved", "resized", "ended", "double"}, r)
}

// Action is what is to be done about a slot. It is idempotent: carried out twice, it
// does what it does once.
type Action struct {
	Op     Op
	Reason Reason
	Slot   ID
	// Namespace and Name name the pod to delete; of a ghost to create, Name alone is given.
	Namespace, Name string
	// UID is that of the pod to delete, the deletion's precondition.
	UID string
	// Size is that of the ghost to create.
	Size string
}
