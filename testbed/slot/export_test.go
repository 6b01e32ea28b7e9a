package slot

// Slot is exported for tests outside the package.
type Slot = slotView
