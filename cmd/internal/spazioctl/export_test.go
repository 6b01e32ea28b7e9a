package spazioctl

// Checked is what spazio check prints of a report, Obstacles what spazio install prints of
// problems.
var (
	Checked   = checked
	Obstacles = obstacles
)
