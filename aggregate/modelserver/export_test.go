package modelserver

// Exports for tests outside the package.

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
