package api

import (
	"cmp"
	"fmt"
	"math"

	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
)

// maxStates is the largest number of states in a chunk. The largest valid
// states, of 64 channels, take some 19 KiB each, so a chunk's sender also has
// to stay within the size of a message.
const maxStates = 4096

// maxMeanSquare is the most energy of a sample in [0,1] per channel, with what
// a model's tolerances add.
const maxMeanSquare = 1 + 4*energySlack

// CheckChunk accepts states within the bounds of this package. Whether moments
// are positive semidefinite has to be checked by the code that merges them. Errors are
// *field.Error.
func CheckChunk(m *spaziov1.StateChunk) error {
	if m == nil {
		return refuse("chunk", nil, ErrMissing)
	}
	if m.GetReplica() == 0 {
		return refuse("replica", 0, ErrMissing)
	}
	return CheckStates(m.GetStates())
}

// CheckStates accepts a list of states; see CheckChunk.
func CheckStates(states []*spaziov1.NodeState) error {
	if n := len(states); n > maxStates {
		return refuseLength("states", n, maxStates)
	}
	for i, s := range states {
		if err := checkNodeState(s); err != nil {
			return element("states", i, err)
		}
	}
	return nil
}

func checkNodeState(m *spaziov1.NodeState) error {
	if err := cmp.Or(checkName("node", m.GetNode(), false), checkName("schema", m.GetSchema(), false)); err != nil {
		return err
	}
	dim := m.GetDim()
	if dim < 1 || dim > MaxChannels {
		return refuse("dim", dim, fmt.Errorf("%w: 1 to %d", ErrRange, MaxChannels))
	}
	if age := m.GetAgeNanos(); age < 0 {
		return refuse("age_nanos", age, ErrRange)
	}
	if err := checkRange("weight", m.GetWeight(), 0, math.MaxFloat64); err != nil {
		return err
	}
	if n := len(m.GetMoments()); n != int(dim*(dim+1)/2) {
		return refuse("moments", n, fmt.Errorf("%w: %d for %d channels", ErrLength, dim*(dim+1)/2, dim))
	}
	most := float64(dim) * maxMeanSquare
	for i, v := range m.GetMoments() {
		if !(v >= -most && v <= most) {
			return checkRange(fmt.Sprintf("moments[%d]", i), v, -most, most)
		}
	}
	if n := len(m.GetMean()); n != 0 && n != int(dim) {
		return refuse("mean", n, fmt.Errorf("%w: none, or %d for %d channels", ErrLength, dim, dim))
	}
	return cmp.Or(checkMean(m.GetMean()), checkCosts(m.GetCosts(), dim))
}

// CheckHeader accepts the header of a snapshot. Errors are *field.Error.
func CheckHeader(m *spaziov1.SnapshotHeader) error {
	if nanos := m.GetWrittenUnixNanos(); nanos < 0 {
		return refuse("written_unix_nanos", nanos, ErrRange)
	}
	return nil
}
