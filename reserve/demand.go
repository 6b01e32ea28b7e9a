package reserve

import (
	"fmt"
	"math"
)

// Resource is one in which pods of known workloads are counted; see [Demand].
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
	return nameOf(resourceNames[:], uint8(r), "resource %d")
}

// nameOf returns the i-th name, or the number in the given format where there is no such name.
func nameOf(names []string, i uint8, format string) string {
	if int(i) < len(names) {
		return names[i]
	}
	return fmt.Sprintf(format, i)
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
	// λ, 0 if it is not known. No decision of this package reads it: it is summed for the
	// power of a node ([Flight].Cores).
	Cores float64
}

// TypicalPod is a pod of which nothing is known.
func TypicalPod() Demand { return Demand{Typical: [Resources]float64{1, 1}} }

// known reports whether the demand is more than a number of typical pods.
func (d *Demand) known() bool {
	return d.Amount != [Resources]float64{} || d.Var != [Resources]float64{} ||
		d.Typical[CPU] < d.Typical[Memory] || d.Typical[CPU] > d.Typical[Memory]
}

// Pods returns what the demand counts for where pods are counted: a known one is one
// pod, whatever it takes.
func (d Demand) Pods() float64 {
	if d.known() {
		return 1
	}
	return d.Typical[CPU]
}

// confidence returns λ in a resource.
func (d *Demand) confidence(i Resource) float64 { return math.Max(1-d.Typical[i], 0) }

// Validate returns an ErrInvalid for a number out of range. Amount is in [0, MaxCores] and
// [0, MaxBytes], Cores in [0, MaxCores], and Typical in [0, 1], or in (0, 1e6] if the demand is
// only a number of typical pods. The zero Demand is invalid.
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

// The parts of a share. The first are those of a demand.
const (
	podSum = iota
	profiled
	coreSum
	typicalSum // of the CPU, then of memory, like the next two
	_
	amountSum
	_
	varSum
	_
	asked // how many parts a demand has
)

// The parts of podSum that are counted apart, then counts of pods.
const (
	stalled = asked + iota
	late
	unseen
	held
	confirmed
	running
	unlistedRunning
	overdue
	parts
)

// scale is what one pod, core, byte or square is in a share: sums are kept in whole millionths of a
// pod and of a core, bytes, and squares of thousandths of a core and of MiB, so that adding and
// subtracting any sequence of demands ends at exactly 0.
var scale = [parts]float64{
	podSum: 1e6, profiled: 1e6, coreSum: 1e6, typicalSum: 1e6, typicalSum + 1: 1e6, amountSum: 1e6, amountSum + 1: 1,
	varSum: 1e6, varSum + 1: 1. / (1 << 40), stalled: 1e6, late: 1e6, held: 1e6,
}

// share is what one entry adds to its account's sums, units the part of it that is its demand.
type (
	share [parts]int64
	units [asked]int64
)

// of returns a part as a number of pods, cores, bytes or squares.
func (s *share) of(part int) float64 { return float64(s[part]) / scale[part] }

// unitsOf converts a demand; the error is that of Validate.
func unitsOf(d Demand) (units, error) {
	if err := d.Validate(); err != nil {
		return units{}, err
	}
	values := [asked]float64{podSum: d.Pods(), coreSum: d.Cores}
	if d.known() {
		values[profiled] = d.Pods()
		copy(values[typicalSum:], d.Typical[:])
		copy(values[amountSum:], d.Amount[:])
		copy(values[varSum:], d.Var[:])
	}
	var u units
	for i, value := range values {
		u[i] = int64(math.Round(value * scale[i]))
	}
	u[podSum] = max(u[podSum], 1)
	return u, nil
}

// demand returns the Demand that the units stand for.
func (u *units) demand() Demand {
	var s share
	copy(s[:], u[:])
	d := Demand{Cores: s.of(coreSum)}
	for i := range Resources {
		if d.Typical[i] = s.of(podSum); u[profiled] != 0 {
			d.Typical[i], d.Amount[i], d.Var[i] = s.of(typicalSum+i), s.of(amountSum+i), s.of(varSum+i)
		}
	}
	return d
}
