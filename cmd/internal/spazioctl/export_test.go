package spazioctl

// Checked returns what spazio check prints for a report, Obstacles what spazio install prints for
// problems.
var (
	Checked   = checked
	Obstacles = obstacles
)
