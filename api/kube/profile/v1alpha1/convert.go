package v1alpha1

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/profile"
)

// ErrInvalid is what every field.Error wraps.
var ErrInvalid = errors.New("invalid configuration or input")

// longestStem leaves room for the hash in an object's name.
const longestStem = 253 - 9

// NameOf is the name of a workload's objects in its namespace: kind and name, as
// far as a name may hold them, and a hash of both, which makes names unique that
// would else be cut to the same.
func NameOf(w profile.Workload) string {
	stem := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, w.Kind+"-"+w.Name)
	stem = strings.Trim(stem[:min(len(stem), longestStem)], "-")
	hash := fnv.New32a()
	hash.Write([]byte(w.Kind + "/" + w.Name))
	return strings.TrimPrefix(fmt.Sprintf("%s-%08x", stem, hash.Sum32()), "-")
}

// Reference is the workload without its namespace.
func Reference(w profile.Workload) WorkloadReference {
	return WorkloadReference{Kind: w.Kind, Name: w.Name}
}

// In returns the workload in a namespace.
func (r WorkloadReference) In(namespace string) profile.Workload {
	return profile.Workload{Namespace: namespace, Kind: r.Kind, Name: r.Name}
}

// FromDemand writes amounts as quantities, rounded up to millicores and KiB: the API server
// would round what is finer.
func FromDemand(d profile.Demand) Demand {
	return Demand{
		CPU:    Share{Amount: Millicores(d.CPU.Amount), SD: Millicores(d.CPU.SD), Confidence: FromRatio(d.CPU.Confidence)},
		Memory: Share{Amount: Bytes(d.Memory.Amount), SD: Bytes(d.Memory.SD), Confidence: FromRatio(d.Memory.Confidence)},
	}
}

// Value reads the demand. A [*field.Error] names what no definition of ours lets
// through: amounts below 0, or confidence that is no ratio.
func (d Demand) Value() (profile.Demand, error) {
	cpu, err := d.CPU.value("cpu")
	if err != nil {
		return profile.Demand{}, err
	}
	memory, err := d.Memory.value("memory")
	return profile.Demand{CPU: cpu, Memory: memory}, err
}

// counts reports whether a scheduler can count with a share.
func counts(s profile.Share) bool { return profile.Demand{CPU: s}.Validate() == nil }

func (s Share) value(field string) (profile.Share, error) {
	amount, sd := s.Amount.AsApproximateFloat64(), s.SD.AsApproximateFloat64()
	if !counts(profile.Share{Amount: amount}) {
		return profile.Share{}, refuse(field+".amount", s.Amount.String(), "finite and not negative")
	}
	if !counts(profile.Share{SD: sd}) {
		return profile.Share{}, refuse(field+".sd", s.SD.String(), "finite and not negative")
	}
	confidence, err := s.Confidence.Value()
	if err != nil {
		return profile.Share{}, refuse(field+".confidence", string(s.Confidence), "a number from 0 to 1")
	}
	return profile.Share{Amount: amount, SD: sd, Confidence: confidence}, nil
}

func refuse(name string, value any, want string) error {
	return &field.Error{Package: "v1alpha1", Field: name, Value: value, Err: fmt.Errorf("%w: must be %s", ErrInvalid, want)}
}

// Value reads the ratio; an empty one is 0.
func (r Ratio) Value() (float64, error) {
	if r == "" {
		return 0, nil
	}
	v, err := strconv.ParseFloat(string(r), 64)
	if err != nil || !(v >= 0) || v > 1 {
		return 0, refuse("ratio", string(r), "a number from 0 to 1")
	}
	return v, nil
}

// FromRatio writes a number, what is beyond 0 and 1 as these.
func FromRatio(v float64) Ratio {
	if !(v > 0) {
		return "0"
	}
	return Ratio(strconv.FormatFloat(math.Round(min(v, 1)*1e4)/1e4, 'f', -1, 64))
}

// mostFactor is what a Factor has room for.
const mostFactor = 9999

// FromFactor writes a number, what is beyond 0 and 9999 as these.
func FromFactor(v float64) Factor {
	if !(v > 0) {
		return "0"
	}
	return Factor(strconv.FormatFloat(math.Round(min(v, mostFactor)*1e4)/1e4, 'f', -1, 64))
}

// Value reads the factor.
func (f Factor) Value() (float64, error) {
	v, err := strconv.ParseFloat(string(f), 64)
	if err != nil || !(v > 0) || v > mostFactor {
		return 0, refuse("factor", string(f), "a number above 0, at most 9999")
	}
	return v, nil
}

// What is written at most: no machine has more.
const mostCores, mostBytes = 1 << 20, 1 << 50

// Millicores writes cores, rounded up to thousandths: nothing less is asked of a kernel.
func Millicores(v float64) resource.Quantity {
	return *resource.NewMilliQuantity(int64(math.Ceil(clamp(v, mostCores)*1e3-rounding)), resource.DecimalSI)
}

// rounding forgives a product its last digits.
const rounding = 1e-6

// Bytes writes bytes, rounded up to KiB.
func Bytes(v float64) resource.Quantity {
	return *resource.NewQuantity(int64(math.Ceil(clamp(v, mostBytes)/1024))*1024, resource.BinarySI)
}

func clamp(v, most float64) float64 {
	if !(v > 0) {
		return 0
	}
	return min(v, most)
}
