package node

import "math"

// class holds the threads of one weight and want: they progress alike, so one
// clock, served, holds what each of them has received.
type class struct {
	kind   kind
	weight float64 // of one thread; of all threads where kind is serving
	want   float64 // cores that one thread wants to hold, before any slowdown
	rate   float64 // core-seconds a second that one thread receives at present
	served float64 // core-seconds that a thread received since the class was empty

	// uses and waits are the shares of the time in which one thread holds a core and
	// waits for one, used and waited their sums like served.
	uses, waits, used, waited float64

	threads []thread // a heap, the least target first
	server  *container
	quota   *quota // of the pod whose class alone it is, if it has a limit
}

type kind uint8

const (
	working   kind = iota // pods
	bursting              // daemons, starts and stops
	serving               // the requests of one server
	loading               // the background: one thread without an end
	preparing             // init containers
)

// thread ends when its class has served target.
type thread struct {
	target float64
	pod    *container // nil for a burst
	began  float64    // of a request: when it arrived
}

func (c *class) add(t thread) {
	c.threads = append(c.threads, t)
	i := len(c.threads) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if c.threads[parent].target <= t.target {
			break
		}
		c.threads[i] = c.threads[parent]
		i = parent
	}
	c.threads[i] = t
}

// remove takes out the thread at i.
func (c *class) remove(i int) thread {
	out := c.threads[i]
	last := c.threads[len(c.threads)-1]
	c.threads[len(c.threads)-1] = thread{}
	c.threads = c.threads[:len(c.threads)-1]
	if i < len(c.threads) {
		c.sift(i, last)
	}
	if len(c.threads) == 0 {
		c.served, c.used, c.waited = 0, 0, 0 // keeps the clock small and so precise
	}
	return out
}

// sift puts t at i or where it belongs above or below.
func (c *class) sift(i int, t thread) {
	h := c.threads
	for i > 0 && h[(i-1)/2].target > t.target {
		h[i] = h[(i-1)/2]
		i = (i - 1) / 2
	}
	for {
		child := 2*i + 1
		if child >= len(h) {
			break
		}
		if child+1 < len(h) && h[child+1].target < h[child].target {
			child++
		}
		if h[child].target >= t.target {
			break
		}
		h[i] = h[child]
		i = child
	}
	h[i] = t
}

// of returns the position of a pod's thread, −1 if there is none.
func (c *class) of(pod *container) int {
	for i := range c.threads {
		if c.threads[i].pod == pod {
			return i
		}
	}
	return -1
}

// left is the time until the first thread ends at the present rate.
func (c *class) left() float64 {
	if c.kind == loading || c.rate == 0 {
		return math.Inf(1)
	}
	return (c.threads[0].target - c.served) / c.rate
}

// wanted is the rate that the class would take of an idle node.
func (c *class) wanted() float64 {
	if c.quota != nil && c.quota.held {
		return 0
	}
	return c.want * float64(len(c.threads))
}

// total is the weight of all threads.
func (c *class) total() float64 {
	if c.kind == serving {
		return c.weight
	}
	return c.weight * float64(len(c.threads))
}

// share sets the rates of the classes, none of them empty, so that they hold at
// most so many cores, and returns the sum of the wants and of the cores held. speed
// divides what all pods and servers get of it, and so what they seem to want; pace
// is what a core that is held yields.
func share(classes []*class, cores, speed, pace float64) (wanted, held float64) {
	total := 0.
	for _, c := range classes {
		c.rate = -1
		total += c.wanted()
	}
	if total <= cores*(1+1e-12) {
		for _, c := range classes {
			c.rate = c.wanted() / float64(len(c.threads))
		}
	} else {
		fill(classes, cores)
	}
	for _, c := range classes {
		c.waits = max(c.want-c.rate, 0)
		if c.slows() {
			c.rate *= speed
			c.waits *= speed // for the rest of the time it waits for memory
		}
		c.uses = c.rate * pace
		wanted += c.asked(speed)
		held += c.rate * float64(len(c.threads))
		c.rate *= pace
	}
	return wanted, held
}

// slows reports whether the threads are slower on a node that swaps.
func (c *class) slows() bool { return c.kind == working || c.kind == serving || c.kind == preparing }

// asked is what the class wants at the given speed.
func (c *class) asked(speed float64) float64 {
	if c.slows() {
		return c.wanted() * speed
	}
	return c.wanted()
}

// fill gives the cores away. Whoever wants less than its share gets its want;
// what it leaves raises the share of the others, so it goes on until no one more
// is satisfied.
func fill(classes []*class, cores float64) {
	room := cores
	for {
		weight, satisfied := 0., false
		for _, c := range classes {
			if c.rate < 0 {
				weight += c.total()
			}
		}
		level := room / weight
		for _, c := range classes {
			if want := c.wanted(); c.rate < 0 && want <= level*c.total() {
				c.rate = want / float64(len(c.threads))
				room -= want
				satisfied = true
			}
		}
		if satisfied {
			continue
		}
		for _, c := range classes {
			if c.rate < 0 {
				c.rate = level * c.total() / float64(len(c.threads))
			}
		}
		return
	}
}
