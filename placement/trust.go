package placement

import (
	"slices"
	"time"
)

const (
	// outlierNodes is how many nodes have to report an outlier within outlierSpan for a profile to
	// be distrusted: one node may be special, or lie.
	outlierNodes = 3
	outlierSpan  = 10 * time.Minute
)

// Trust holds what speaks against the profile of one workload: pods that were measured to take
// something else than was predicted. The zero value trusts the profile.
type Trust struct {
	outliers []outlier
	// since is when the profile was distrusted last, if it ever was.
	since       time.Duration
	wasRejected bool
}

// outlier is the last one of a node.
type outlier struct {
	node int
	at   time.Duration
}

// AddOutlier notes that a pod on a node took something else than was predicted. It returns true if
// the profile is distrusted from now on.
func (t *Trust) AddOutlier(node int, now time.Duration) (distrusted bool) {
	t.outliers = slices.DeleteFunc(t.outliers, func(o outlier) bool { return o.node == node || now-o.at >= outlierSpan })
	t.outliers = append(t.outliers, outlier{node, now})
	if len(t.outliers) < outlierNodes {
		return false
	}
	t.outliers, t.since, t.wasRejected = nil, now, true
	return true
}

// IsDistrusted reports whether a profile of what was observed until then is not to be believed.
func (t *Trust) IsDistrusted(observed time.Duration) bool {
	return t.wasRejected && observed <= t.since
}
