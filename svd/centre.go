package svd

import "math"

// Centred reports whether the model decomposes samples less their mean.
func (m Model) Centred() bool { return len(m.mean) > 0 }

// MeanTo writes μ, the mean of the samples of a centred model, to dst and returns
// it with length d, or 0 if the model is not centred, grown as append does; nil
// allocates.
func (m Model) MeanTo(dst []float64) []float64 {
	dst = resize(dst, len(m.mean))
	copy(dst, m.mean)
	return dst
}

// updateCentred decomposes m and a block of samples about their joint mean:
// the past, the samples less the mean of their block, and the correction for
// the distance of the two means. It leaves the joint mean in ws.mean.
func (ws *Workspace) updateCentred(m Model, samples [][]float64, w weights, block int) {
	largest := ws.average(samples)
	correction := ws.mixMeans(m.mean, w.share, ws.sample, 1-w.share, block)
	factor, unit := balance(max(w.past*m.Sigma(0), w.present*largest, correction))
	first := ws.begin(m, w.past*factor, len(samples)+1)
	// ws.sample holds the mean of the block until the last sample is placed;
	// ws.u is free until the decomposition.
	centred := ws.u[:ws.dim]
	for j, y := range samples {
		for i, v := range y {
			centred[i] = v - ws.sample[i]
		}
		ws.appendColumn(first+j, w.present*factor, centred)
	}
	ws.appendColumn(first+len(samples), factor, ws.shift)
	ws.decompose(unit)
}

// average leaves the mean of the samples in ws.sample and returns the largest
// distance of a value from it.
func (ws *Workspace) average(samples [][]float64) (largest float64) {
	ws.sample = resize(ws.sample, len(samples[0]))
	clear(ws.sample)
	for _, y := range samples {
		axpy(1, y, ws.sample)
	}
	scale(1/float64(len(samples)), ws.sample)
	for _, y := range samples {
		for i, v := range y {
			largest = max(largest, math.Abs(v-ws.sample[i]))
		}
	}
	return largest
}

// mixMeans leaves the mean wa·a + wb·b, wa + wb = 1, in ws.mean and in
// ws.shift the correction √(wa·wb·block)·(b − a), by whose square the scatter
// about the joint mean exceeds that about each. It returns the correction's
// largest magnitude. No a at all stands for wa = 0.
func (ws *Workspace) mixMeans(a []float64, wa float64, b []float64, wb float64, block int) (largest float64) {
	ws.mean, ws.shift = resize(ws.mean, len(b)), resize(ws.shift, len(b))
	f := math.Sqrt(wa * wb * float64(block))
	for i, v := range b {
		old := v
		if len(a) > 0 {
			old = a[i]
		}
		ws.shift[i] = f * (v - old)
		largest = max(largest, math.Abs(ws.shift[i]))
		// Rounding must not carry a mean of extremes past the limit.
		ws.mean[i] = max(-MaxMagnitude, min(wa*old+wb*v, MaxMagnitude))
	}
	return largest
}
