package workload

// These are exported for tests of the package from outside.

var (
	ErrInvalid        = errInvalid
	ErrSlotTooSmall   = errSlotTooSmall
	ErrWebhookMissing = errWebhookMissing
)
