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
	// restoringPods is how many pods have to be bound and to end, after a profile was distrusted,
	// without its being replaced. Pods that contradict it are measured and change it: one that
	// stands after so many was right.
	restoringPods = 5
)

// Trust decides whether the profile of one workload is to be believed. Outliers, pods that were
// measured to take something else than was predicted, speak against it. A newer profile is believed
// again. So is, once, one that stays as it is while five further pods come and end. Were it distrusted
// after that as well, only a newer one would be believed: where nothing learns, a wrong profile stays,
// too. The zero value trusts the profile.
type Trust struct {
	// outliers are those since the profile was distrusted last, at most one of each node.
	outliers []outlier
	// since is when the profile was distrusted last.
	since                time.Duration
	distrusted, restored bool
	// ends counts the pods that ended since then, or since the last outlier.
	ends int
}

// outlier is the last one of a node.
type outlier struct {
	node int
	at   time.Duration
}

// AddOutlier notes that a pod on a node took something else than was predicted. It returns true if
// the profile is distrusted from now on.
func (t *Trust) AddOutlier(node int, now time.Duration) (distrusted bool) {
	if t.distrusted {
		t.ends = 0
		return false
	}
	t.outliers = slices.DeleteFunc(t.outliers, func(o outlier) bool { return o.node == node || now-o.at >= outlierSpan })
	t.outliers = append(t.outliers, outlier{node, now})
	if len(t.outliers) < outlierNodes {
		return false
	}
	t.outliers, t.since, t.distrusted, t.ends = nil, now, true, 0
	return true
}

// AddEnd notes that a pod, bound at a time, succeeded. It returns true if the profile is believed
// again from now on.
func (t *Trust) AddEnd(bound time.Duration) (restored bool) {
	if !t.distrusted || t.restored || bound <= t.since {
		return false
	}
	if t.ends++; t.ends < restoringPods {
		return false
	}
	t.distrusted, t.restored = false, true
	return true
}

// Renew notes that the profile is now one of what was observed until then.
func (t *Trust) Renew(observed time.Duration) {
	if observed > t.since {
		t.distrusted, t.restored = false, false
	}
}

// IsDistrusted reports whether the profile is not to be believed.
func (t *Trust) IsDistrusted() bool { return t.distrusted }
