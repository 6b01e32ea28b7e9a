package reserve

import (
	"fmt"
	"math"
)

// Resource is one that pods of known workloads are counted in; see [Demand].
type Resource uint8

// The resources, and how many there are.
const (
	CPU Resource = iota
	Memory
	Resources = 2
)

var resourceNames = [Resources]string{"cpu", "memory"}

// String returns the resource's name.
func (r Resource) String() string {
	if int(r) < len(resourceNames) {
		return resourceNames[r]
	}
	return fmt.Sprintf("resource %d", uint8(r))
}

const (
	// MaxCores and MaxBytes bound what a Demand may ask for: far above any node,
	// and small enough for the sums of thousands of pods.
	MaxCores = 4096
	MaxBytes = 1 << 46
)

// Demand is what a pod is expected to take. With the confidence λ ∈ [0, 1] in what
// its workload was seen to take of a resource, a mean a and a standard deviation s,
//
//	Typical = 1 − λ    Amount = λ·a    Var = λ·(s² + φ²a²)
//
// A pod of which nothing is known is a [TypicalPod]: what a node's report has
// measured a pod there to take. A Demand whose Amount and Var are 0, and whose
// Typical are the same in all resources, is that many typical pods. It is a plain
// value.
type Demand struct {
	// Typical is in typical pods, Amount in cores and bytes, Var in their squares.
	Typical, Amount, Var [Resources]float64
	// Cores is the mean number of cores that the pod is expected to take, whatever
	// λ, 0 if nobody knows. No decision of this package asks for it: it is summed apart
	// ([Account.InFlightCores]), for the power of a node.
	Cores float64
}

// TypicalPod is a pod of which nothing is known.
func TypicalPod() Demand { return Demand{Typical: [Resources]float64{1, 1}} }

// known says whether the demand is more than a number of typical pods.
func (d *Demand) known() bool {
	return d.Amount != [Resources]float64{} || d.Var != [Resources]float64{} ||
		d.Typical[CPU] < d.Typical[Memory] || d.Typical[CPU] > d.Typical[Memory]
}

// Pods is what the demand counts for where pods are counted: a known one is one
// pod, whatever it takes.
func (d Demand) Pods() float64 {
	if d.known() {
		return 1
	}
	return d.Typical[CPU]
}

// confidence is λ in a resource.
func (d *Demand) confidence(i Resource) float64 { return math.Max(1-d.Typical[i], 0) }

// Validate returns the ErrInvalid of a number that no pod can ask for.
func (d Demand) Validate() error {
	lowest, most := 0., 1.
	if !d.known() {
		lowest, most = math.SmallestNonzeroFloat64, 1e6
	}
	for i := range Resource(Resources) {
		for _, f := range []struct {
			name         string
			value        float64
			lowest, most float64
		}{
			{"Typical", d.Typical[i], lowest, most},
			{"Amount", d.Amount[i], 0, limits[i]},
			{"Var", d.Var[i], 0, limits[i] * limits[i]},
		} {
			if !(f.value >= f.lowest && f.value <= f.most) {
				return refuse(fmt.Sprintf("Demand.%s[%v]", f.name, i), f.value, fmt.Sprintf("in [%g, %g]", f.lowest, f.most))
			}
		}
	}
	if !(d.Cores >= 0 && d.Cores <= MaxCores) {
		return refuse("Demand.Cores", d.Cores, fmt.Sprintf("in [0, %d]", MaxCores))
	}
	return nil
}

var limits = [Resources]float64{CPU: MaxCores, Memory: MaxBytes}

// Sums of demand are kept in whole millionths of a pod and of a core, bytes, and
// squares of thousandths of a core and of MiB, so that adding and subtracting any
// sequence of demands ends at exactly 0.
const demandUnit = 1e6

var (
	amountUnit = [Resources]float64{CPU: 1e6, Memory: 1}
	varUnit    = [Resources]float64{CPU: 1e6, Memory: 1. / (1 << 40)}
)

// units is a Demand in whole units. known is in millionths of a pod, too.
type units struct {
	pods, known               int64
	typical, amount, variance [Resources]int64
	cores                     int64
}

// unitsOf converts a demand; the error is that of Validate.
func unitsOf(d Demand) (units, error) {
	if err := d.Validate(); err != nil {
		return units{}, err
	}
	u := units{pods: max(whole(d.Pods()*demandUnit), 1), cores: whole(d.Cores * demandUnit)}
	if !d.known() {
		return u, nil
	}
	u.known = u.pods
	for i := range Resource(Resources) {
		u.typical[i] = whole(d.Typical[i] * demandUnit)
		u.amount[i] = whole(d.Amount[i] * amountUnit[i])
		u.variance[i] = whole(d.Var[i] * varUnit[i])
	}
	return u, nil
}

func whole(x float64) int64 { return int64(math.Round(x)) }

// demand is the Demand that the units stand for.
func (u units) demand() Demand {
	d := Demand{Cores: inPods(u.cores)}
	for i := range Resource(Resources) {
		if u.known == 0 {
			d.Typical[i] = inPods(u.pods)
			continue
		}
		d.Typical[i] = inPods(u.typical[i])
		d.Amount[i] = float64(u.amount[i]) / amountUnit[i]
		d.Var[i] = float64(u.variance[i]) / varUnit[i]
	}
	return d
}

func inPods(units int64) float64 { return float64(units) / demandUnit }
