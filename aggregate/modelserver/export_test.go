package modelserver

// What tests of the package outside of it look at.

type (
	AgeSummary    = ageSummary
	Channel       = channel
	ChannelCost   = channelCost
	Component     = component
	Table         = table
	SnapshotError = snapshotError
)

var (
	ErrFormat = errFormat
	ErrCount  = errCount
	ErrSize   = errSize
)
