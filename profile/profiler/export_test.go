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
