package svd

// Energy returns λ_(i+1) = σ_(i+1)², counting i from 0: the sum, over b
// samples, of the squares along that direction. It is 0 outside the rank.
func (m Model) Energy(i int) float64 { return m.Sigma(i) * m.Sigma(i) }

// Residual returns the energy of b samples that truncation has discarded,
// forgotten at the pace of the rest. It is 0 as long as the rank is d.
func (m Model) Residual() float64 { return m.residual }

// Explained returns the share of all energy, the residual included, that the
// first r directions hold, in [0, 1]:
//
//	(λ₁ + … + λ_r) / (Σ_i λ_i + residual)
//
// An r beyond the rank counts as the rank. A model without energy leaves
// nothing unexplained: 1.
func (m Model) Explained(r int) float64 {
	largest := m.Sigma(0)
	if largest == 0 {
		if m.residual == 0 {
			return 1
		}
		return 0
	}
	var kept, total float64 // over λ₁, lest tiny squares underflow
	for i, s := range m.sigma {
		s /= largest
		total += s * s
		if i < r {
			kept = total
		}
	}
	return kept / (total + m.residual/largest/largest)
}

// adapt returns the rank, at most limit, that brings the explained share of
// the decomposition within the bounds of opt, moving as little from rank as
// that takes. The lower bound wins where no rank meets both.
func (ws *Workspace) adapt(rank, limit int, residual float64, opt Options) int {
	total := energy(ws.sigma) + residual
	low, high := opt.EnergyLow*total, opt.EnergyHigh*total
	rank = max(1, min(rank, limit))
	kept := energy(ws.sigma[:rank])
	for rank < limit && kept < low {
		next := energy(ws.sigma[:rank+1])
		if next == kept {
			break // what is missing lies in the discarded past
		}
		rank, kept = rank+1, next
	}
	for rank > 1 && kept > high {
		next := energy(ws.sigma[:rank-1])
		if next < low {
			break
		}
		rank, kept = rank-1, next
	}
	return rank
}

// energy returns Σ σ², summed in order: a longer prefix never has less.
func energy(sigma []float64) (total float64) {
	for _, s := range sigma {
		total += s * s
	}
	return total
}

// maxEnergy bounds the energy of a block, far from overflow.
func maxEnergy(dim, block int) float64 {
	return float64(dim) * MaxRMS * MaxRMS * float64(block)
}
