package profiler

// These are exported for tests of the package from outside.

const (
	ShardCount = shardCount
	Duplicate  = duplicate
	Expired    = expired
	Overflow   = overflow
	Foreign    = foreign
	Unnamed    = unnamed
	Refused    = refused
	Crowded    = crowded
)

// WithBounds returns c with other bounds of a namespace's workloads and of windows that wait than
// the defaults, which a zero stands for.
func (c Config) WithBounds(ofNamespace, waiting int) Config {
	c.maxOfNamespace, c.maxWaiting = ofNamespace, waiting
	return c
}
