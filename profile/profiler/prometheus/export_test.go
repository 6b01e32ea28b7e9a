package prometheus

// WithPods returns c with another number of pods that are enough than the default.
func (c Config) WithPods(n int) Config {
	c.pods = n
	return c
}

// Dropped counts series that were passed over, as none of a pod's use can be.
func (h *History) Dropped() uint64 { return h.dropped.Load() }
