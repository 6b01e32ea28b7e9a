package node

import "math"

// stages is where a container is in its pod's stages.
type stages struct {
	left    []Stage // after the present one
	done    float64 // core-seconds of those before
	end     float64 // of a pause, or now where a stage has ended
	threads int     // that the pod asks for, 0 for as many as a stage's cores
	garbage int     // tenths of the present stage's
	now     Stage
}

// endStage ends the work of a stage that others follow; used is what the pod has taken until
// now.
func (m *Model) endStage(c *container, used Usage) {
	c.past = used
	c.stages.done += c.Work
	c.class = nil
	c.stages.end = m.now
	m.await(c)
	m.nextPhase = m.now // where it enters the next one, whose memory may be too much
}

// enterStage begins a pod's next stage. After a pause that was the last it works for no
// time, as one that ends does.
func (m *Model) enterStage(c *container) {
	s := &c.stages
	s.end = math.Inf(1)
	c.past.Peak = max(c.past.Peak, c.held)
	if len(s.left) == 0 {
		c.Work, c.Cores, c.Threads = 0, 1, 1
		m.work(c)
		return
	}
	s.now, s.left, s.garbage = s.left[0], s.left[1:], 0
	c.grows = m.now
	m.collect(c)
	if s.now.Cores == 0 {
		s.end = m.now + s.now.Seconds
		return
	}
	c.Work, c.Cores, c.Threads = s.now.Seconds*s.now.Cores, s.now.Cores, s.threads
	if s.threads == 0 {
		c.Threads = int(math.Ceil(s.now.Cores))
	}
	m.work(c)
}

// collect has the garbage of a pod's stage grow by a tenth, or begin anew when it is collected.
func (m *Model) collect(c *container) {
	s := &c.stages
	c.past.Peak = max(c.past.Peak, c.held)
	s.garbage = s.garbage%growth + 1
	c.held = s.now.Memory + s.now.Garbage*float64(s.garbage)/growth
	c.grows += s.now.Period / growth
	if s.now.Garbage == 0 {
		c.grows = math.Inf(1)
	}
	m.used = m.memory()
}
