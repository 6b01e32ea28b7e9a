package autoscale

// What the tests see.
var (
	Template = template
	NameOf   = nameOf
)
