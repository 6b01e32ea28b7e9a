package baseline

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// TargetUtilisation is TargetLoadPacking's T in percent by default.
const TargetUtilisation = 40

// PredictedCPU is what TargetLoadPacking expects a container to use: its limit
// if it has one, else 1.5 times its request, else one core.
func PredictedCPU(request, limit float64) float64 {
	switch {
	case limit > 0:
		return limit
	case request > 0:
		return math.Round(1500*request) / 1000
	}
	return 1
}

// TargetLoadPacking scores a node of the given number of cores whose CPU usage
// with the pod, in cores, would be expected: best at target percent, falling to
// 0 when full.
//
//	x ≤ T: round((100−T)·x/T + T);  T < x ≤ 100: round(T·(100−x)/(100−T));  above: 0
//
// expected is the measured usage, the pod's PredictedCPU and those of the pods
// bound so lately that the measurement does not show them.
func TargetLoadPacking(expected, capacity, target float64) int64 {
	if !(capacity > 0) {
		return 0
	}
	switch x := 100 * expected / capacity; {
	case x > 100:
		return 0
	case x > target:
		return int64(math.Round(target * (100 - x) / (100 - target)))
	default:
		return int64(math.Round((100-target)*x/target + target))
	}
}

// Usage is what was measured of one resource over a window.
type Usage struct{ Mean, SD float64 }

// LoadVariationRiskBalancing scores by expected usage and its variation: per resource
// 100·(1 − (μ+σ)/2) where μ = (mean + request)/capacity and
// σ = margin·(sd/capacity)^(1/sensitivity), both within [0,1]; the lower of the two
// scores. A zero field takes its default.
type LoadVariationRiskBalancing struct {
	// Margin multiplies the deviation; default 1, the plugin's. Sensitivity is the
	// root that is taken of it; default 2, which the plugin's documentation
	// configures (the plugin's own is 1).
	Margin, Sensitivity float64
}

// Score is that of a node for a pod of the given request.
func (l LoadVariationRiskBalancing) Score(cpu, memory Usage, request, capacity Resources) int64 {
	if l.Margin == 0 {
		l.Margin = 1
	}
	if l.Sensitivity == 0 {
		l.Sensitivity = 2
	}
	return int64(math.Round(math.Min(
		l.of(cpu, request.CPU, capacity.CPU),
		l.of(memory, request.Memory, capacity.Memory),
	)))
}

func (l LoadVariationRiskBalancing) of(u Usage, request, capacity float64) float64 {
	if !(capacity > 0) {
		return 0
	}
	mu := clamp((u.Mean + request) / capacity)
	sigma := clamp(l.Margin * math.Pow(clamp(u.SD/capacity), 1/l.Sensitivity))
	return maxScore * (1 - (mu+sigma)/2)
}

// Declared sums up the requests and limits of pods; each limit counts at least
// its request.
type Declared struct{ Request, Limit float64 }

const (
	lowRiskWeight = .5
	lowRiskWindow = 5
	maxVariance   = .99 // of what a distribution on [0,1] of a given mean can have
)

// LowRiskOverCommitment scores a node by the risk of one resource: that limits
// exceed its capacity C, and that usage exceeds what is requested. with includes
// the pod, without does not. Pods without request and limit are not scored; the
// caller gives them 0.
//
//	limit risk = (L−C)/(L−R) if L > C, else 0
//	load risk  = 1 − p,  p = P(usage/C ≤ R⁻/C)
//
// p is of the Beta distribution with the mean μ and deviation min(σ√5,
// √(.99μ(1−μ))) of the usage, and where the limits keep it below L⁻ < C,
// conditional on that. The risk is half of both, and the node's that of its
// riskier resource; the score is 100·(1 − risk).
func LowRiskOverCommitment(cpu, memory Usage, without, with [2]Declared, capacity Resources) int64 {
	risk := math.Max(
		overcommitRisk(cpu, without[0], with[0], capacity.CPU),
		overcommitRisk(memory, without[1], with[1], capacity.Memory),
	)
	return int64(math.Round(maxScore * (1 - risk)))
}

func overcommitRisk(u Usage, without, with Declared, capacity float64) float64 {
	if !(capacity > 0) {
		return 1
	}
	limitRisk := 0.
	if with.Limit > capacity {
		limitRisk = (with.Limit - capacity) / (with.Limit - math.Min(with.Request, capacity))
	}
	p := withinRequest(u, without, capacity)
	return clamp(lowRiskWeight*limitRisk + (1-lowRiskWeight)*(1-p))
}

// withinRequest is p.
func withinRequest(u Usage, d Declared, capacity float64) float64 {
	mu, sigma := clamp(u.Mean/capacity), u.SD/capacity
	request, limit := math.Min(d.Request, capacity)/capacity, d.Limit/capacity
	sigma = math.Min(sigma*math.Sqrt(lowRiskWindow), math.Sqrt(maxVariance*mu*(1-mu)))
	var cdf func(float64) float64
	p := 0.
	switch {
	case mu == 0, sigma == 0 && mu <= request:
		p = 1
	case sigma == 0:
	default:
		k := mu*(1-mu)/(sigma*sigma) - 1
		cdf = func(x float64) float64 { return mathext.RegIncBeta(mu*k, (1-mu)*k, clamp(x)) }
		p = cdf(request)
	}
	if limit < 1 && request <= limit {
		switch {
		case limit == 0:
			return 1
		case cdf != nil:
			if within := cdf(limit); within > 0 {
				p = clamp(p / within)
			}
		}
	}
	return p
}

func clamp(x float64) float64 { return math.Min(math.Max(x, 0), 1) }
