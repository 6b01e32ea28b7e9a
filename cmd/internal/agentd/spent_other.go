//go:build !linux

package agentd

// ReadSpent knows nothing here.
func ReadSpent() Spent { return Spent{} }
