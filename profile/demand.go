package profile

import "math"

// Share is what a pod is expected to take of a resource: the amount, in cores or
// bytes, its standard deviation between pods, and the confidence λ ∈ [0, 1] in
// both, which is 0 for a pod that no one knows. It is a plain value, safe for
// concurrent reading.
type Share struct{ Amount, SD, Confidence float64 }

// Demand is what a pod is expected to take: cores and bytes. It is a plain value,
// safe for concurrent reading.
type Demand struct{ CPU, Memory Share }

// defaultCredibility is K where none is given: in the simulator's p1 and p2 it was better than ½
// and 4 (profiles.config.credibility of spazio-lab).
const defaultCredibility = 1

// Blend is Bühlmann's credibility estimate (Experience Rating and Credibility,
// 1967): with the n pods of the workload's own evidence, and a prior of amount a₀
// and confidence λ₀ that counts as k·λ₀ pods,
//
//	a = (n·x̄ + kλ₀a₀)/(n + kλ₀),  λ = (n + kλ₀)/(n + k)
//
// and the variance that of the two together. Without a prior one pod gives λ = ½,
// nine .9. A k not above 0 counts as 1, a prior that is no share as none.
func Blend(own Evidence, prior Share, k float64) Share {
	if !(k > 0) || math.IsInf(k, 1) {
		k = defaultCredibility
	}
	if prior.check("prior") != nil {
		prior = Share{}
	}
	n, believed := max(own.Pods, 0), k*prior.Confidence
	if n+believed == 0 {
		return Share{}
	}
	both := Evidence{Pods: n, Mean: own.Mean, Var: own.Var}
	both.pool(believed, prior.Amount, prior.SD*prior.SD)
	return Share{Amount: both.Mean, SD: math.Sqrt(max(both.Var, 0)), Confidence: min((n+believed)/(n+k), 1)}
}

// Prior is what a pod of a workload will take that no one knows yet, from what the
// pods of others have shown that are alike, as by their template: none of these
// counts for more than four times the median one. It is itself believed like K pods
// at most (Blend).
func (c Config) Prior(cpu, memory []Evidence) Demand {
	c = c.withDefaults()
	return Demand{CPU: c.prior(cpu), Memory: c.prior(memory)}
}

func (c *Config) prior(others []Evidence) Share {
	var all []Evidence
	var sum Evidence
	for _, e := range others {
		if e.Pods > 0 {
			all = append(all, e)
		}
		if e.At.After(sum.At) {
			sum.At = e.At
		}
	}
	sum.poolLimited(all, sum.At, c.PodHalfLife)
	return Blend(sum, Share{}, c.Credibility)
}

func (s Share) check(field string) error {
	switch {
	case !(s.Amount >= 0) || s.Amount > maxValue:
		return refuse(field+".Amount", s.Amount, "finite and not negative")
	case !(s.SD >= 0) || s.SD > maxValue:
		return refuse(field+".SD", s.SD, "finite and not negative")
	case !(s.Confidence >= 0) || s.Confidence > 1:
		return refuse(field+".Confidence", s.Confidence, "in [0, 1]")
	}
	return nil
}

// Validate refuses what is no amount, deviation or confidence.
func (d Demand) Validate() error {
	if err := d.CPU.check("CPU"); err != nil {
		return err
	}
	return d.Memory.check("Memory")
}

const (
	// amountSteps an octave: at most 9 % above the amount.
	amountSteps = 8
	// confidenceSteps from 0 to 1: 31 pods are sure.
	confidenceSteps = 16
)

// Published is the demand as it is published: amounts rounded up and confidence
// rounded to few values, so that like workloads are alike and an object in the API
// server is seldom written.
func (d Demand) Published() Demand {
	return Demand{CPU: d.CPU.published(), Memory: d.Memory.published()}
}

func (s Share) published() Share {
	s.Amount, s.SD = roundUp(s.Amount), roundUp(s.SD)
	s.Confidence = math.Round(s.Confidence*confidenceSteps) / confidenceSteps
	return s
}

func roundUp(v float64) float64 {
	if v == 0 {
		return 0
	}
	// A value on a step stays there, whatever its logarithm is rounded to.
	return math.Exp2(math.Ceil(amountSteps*math.Log2(v)-1e-9) / amountSteps)
}
