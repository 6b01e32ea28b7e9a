package prometheus

// WithPods returns c with another number of pods that are enough than the default.
func (c Config) WithPods(n int) Config {
	c.pods = n
	return c
}
