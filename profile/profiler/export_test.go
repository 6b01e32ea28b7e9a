package profiler

// What tests of the package outside of it look at.

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
