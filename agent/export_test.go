package agent

// UsageTo writes y, the filtered usage of the newest sample, to dst and returns
// it, grown as append does.
func (p *Pipeline) UsageTo(dst []float64) []float64 { return append(dst[:0], p.usage...) }

// SetMost sets how many pods and containers have a window at most.
func (l *UsageLog) SetMost(n int) { l.most = n }
