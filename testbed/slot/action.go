package slot

// Op is what an Action does.
type Op string

// What is done about a slot.
const (
	// CreatePlaceholder creates a placeholder of the Action's Name and Size for the slot. That one of
	// this name exists already is a success.
	CreatePlaceholder Op = "create placeholder"
	// DeletePlaceholder deletes the placeholder with the Action's UID. That it is gone is a success.
	DeletePlaceholder Op = "delete placeholder"
	// DeletePod deletes the pod with the Action's UID, because another is in its slot.
	DeletePod Op = "delete pod"
)

// Reasons of actions.
const (
	missing  = "missing"  // a slot without a pod has no placeholder
	entered  = "entered"  // a live pod is in the placeholder's slot
	unwanted = "unwanted" // the slot is no longer the testbed's, or the testbed is idle
	moved    = "moved"    // the placeholder is on another node than its slot
	resized  = "resized"  // the placeholder has another size than the slot
	ended    = "ended"    // the placeholder's containers have ended, so it holds nothing
	double   = "double"   // the slot has another such already
)

// Action is what is to be done about a slot. It is idempotent: carried out twice, it
// does what it does once.
type Action struct {
	Op Op
	// Reason is a word for logs and metrics.
	Reason string
	Slot   ID
	// Namespace and Name name the pod to delete; of a placeholder to create, Name alone is given.
	Namespace, Name string
	// UID is that of the pod to delete, the deletion's precondition.
	UID string
	// Size is that of the placeholder to create.
	Size string
}
