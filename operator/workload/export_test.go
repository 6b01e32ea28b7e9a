package workload

// What tests of the package outside of it look at.

var (
	ErrSlotTooSmall   = errSlotTooSmall
	ErrWebhookMissing = errWebhookMissing
)

type (
	Status = status
)

const (
	Pending = pending
)
