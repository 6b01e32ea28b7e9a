package api

import (
	"github.com/spazio-scheduler/spazio/agent"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/reserve"
)

// FromBind converts the notice of a bind for the wire. A number of init containers
// that is invalid travels as unknown.
func FromBind(b agent.Bind) *spaziov1.PodBound {
	m := &spaziov1.PodBound{Pod: uint64(b.Pod), Demand: fromDemand(b.Demand)}
	if b.InitsKnown && b.Inits >= 0 && b.Inits <= maxInits {
		inits := uint32(b.Inits)
		m.InitContainers = &inits
	}
	return m
}

// maxInits bounds a pod's init containers: an object of the API server has no room
// for more.
const maxInits = 1 << 20

// ToBind converts and checks the notice of a bind from the wire. Errors are
// *field.Error; then the Bind is the notice without what was refused.
func ToBind(m *spaziov1.PodBound) (agent.Bind, error) {
	b := agent.Bind{Pod: reserve.PodKey(m.GetPod())}
	if m == nil {
		return b, refuse("pod_bound", nil, ErrMissing)
	}
	if inits := m.GetInitContainers(); m.InitContainers != nil && inits <= maxInits {
		b.Inits, b.InitsKnown = int(inits), true
	} else if inits > maxInits {
		return b, refuse("init_containers", inits, ErrRange)
	}
	d, err := toDemand(m.GetDemand())
	if err != nil {
		return b, under("demand", err)
	}
	b.Demand = d
	return b, nil
}

// fromDemand converts what is known of a pod for the wire, nil for nothing.
func fromDemand(d profile.Demand) *spaziov1.PodDemand {
	if d == (profile.Demand{}) {
		return nil
	}
	return &spaziov1.PodDemand{
		CpuCores: d.CPU.Amount, CpuSd: d.CPU.SD, CpuConfidence: d.CPU.Confidence,
		MemoryBytes: d.Memory.Amount, MemorySd: d.Memory.SD, MemoryConfidence: d.Memory.Confidence,
	}
}

// toDemand converts and checks what is known of a pod, nil for nothing. Errors are
// *field.Error.
func toDemand(m *spaziov1.PodDemand) (profile.Demand, error) {
	if err := checkRanges([]ranged{
		{"cpu_cores", m.GetCpuCores(), 0, reserve.MaxCores},
		{"cpu_sd", m.GetCpuSd(), 0, reserve.MaxCores},
		{"cpu_confidence", m.GetCpuConfidence(), 0, 1},
		{"memory_bytes", m.GetMemoryBytes(), 0, reserve.MaxBytes},
		{"memory_sd", m.GetMemorySd(), 0, reserve.MaxBytes},
		{"memory_confidence", m.GetMemoryConfidence(), 0, 1},
	}); err != nil {
		return profile.Demand{}, err
	}
	return profile.Demand{
		CPU:    profile.Share{Amount: m.GetCpuCores(), SD: m.GetCpuSd(), Confidence: m.GetCpuConfidence()},
		Memory: profile.Share{Amount: m.GetMemoryBytes(), SD: m.GetMemorySd(), Confidence: m.GetMemoryConfidence()},
	}, nil
}
