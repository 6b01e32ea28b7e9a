package placement

import (
	"math"
	"slices"
	"time"
)

const (
	// delayPerLife is how many expected lives later than it was created a pod counts as created.
	delayPerLife = 3
	// maxDelay is the longest delay, so that no pod is overtaken for longer by pods that are
	// created after it. It is that of pods that live for about 17 minutes.
	maxDelay = delayPerLife * 1024 * time.Second
	// recentEnds is how many ends of a workload count in full: at twice as many, all of them count
	// half, so that a workload whose pods have changed is soon estimated anew. recentInFleet is the
	// same for the ends of all workloads.
	recentEnds, recentInFleet = 64, 4096
)

// Lives estimates how long the pods of each workload live, from a start to an end, by the pods that
// have ended. It keeps a few numbers for each of a bounded number of workloads.
type Lives[W comparable] struct {
	most  int
	of    map[W]*ends
	fleet ends
	adds  int // counts the ends
}

// ends are ended lives: their number and their sum in seconds.
type ends struct {
	number, lived float64
	last          int // of Lives.adds
}

// NewLives returns Lives that know at most so many workloads, at least one. A further one takes the
// place of that whose last end was seen longest ago.
func NewLives[W comparable](most int) *Lives[W] {
	return &Lives[W]{most: max(most, 1), of: map[W]*ends{}}
}

// Add notes that a pod of a workload has ended that has lived for so long. A negative life counts
// as 0.
func (l *Lives[W]) Add(of W, lived time.Duration) {
	e := l.of[of]
	if e == nil {
		l.makeRoom()
		e = &ends{}
		l.of[of] = e
	}
	l.adds++
	e.last = l.adds
	seconds := max(lived, 0).Seconds()
	e.add(seconds, recentEnds)
	l.fleet.add(seconds, recentInFleet)
}

func (e *ends) add(lived float64, recent int) {
	if e.number >= float64(2*recent) {
		e.number, e.lived = e.number/2, e.lived/2
	}
	e.number++
	e.lived += lived
}

// makeRoom forgets the workload whose last end was seen longest ago, if there are as many as may be.
func (l *Lives[W]) makeRoom() {
	if len(l.of) < l.most {
		return
	}
	var oldest W
	last := math.MaxInt
	for of, e := range l.of {
		if e.last < last {
			oldest, last = of, e.last
		}
	}
	delete(l.of, oldest)
}

// Expected returns how long a pod of a workload is expected to live: the mean of its workload's
// lives and one more of the fleet's mean. For a workload of which no end is known that is the
// fleet's mean, and 0 if none is known at all.
func (l *Lives[W]) Expected(of W) time.Duration {
	if l.fleet.number == 0 {
		return 0
	}
	mean := l.fleet.lived / l.fleet.number
	if e := l.of[of]; e != nil {
		mean = (e.lived + mean) / (e.number + 1)
	}
	return time.Duration(min(mean*float64(time.Second), math.MaxInt64/2))
}

// Delay returns how much later than it was created a pod of a workload counts as created in the
// order of shortest first: three times its expected life, at most 3,072 s, about 51 minutes. The
// life is rounded to a power of two in seconds, so that pods that live for about as long keep the
// order in which they were created. Of two pods that which was created later is ahead for no more
// than their delays differ.
func (l *Lives[W]) Delay(of W) time.Duration {
	life := l.Expected(of)
	if life == 0 {
		return 0
	}
	seconds := delayPerLife * math.Exp2(math.Round(math.Log2(life.Seconds())))
	return time.Duration(min(seconds*float64(time.Second), float64(maxDelay)))
}

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
