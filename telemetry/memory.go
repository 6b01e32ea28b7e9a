package telemetry

import (
	"fmt"
	"path/filepath"
	"time"
)

const memoryName = "memory"

// memory is the memory channel: a level, so it needs no sample before it.
type memory struct {
	mode MemoryMode
	info *file
	arc  arc
	// total is in bytes.
	total uint64
}

func newMemory(c Config) (*memory, error) {
	m := &memory{mode: c.Memory, info: newFile(filepath.Join(c.ProcRoot, "meminfo"), 4<<10), arc: newARC(c.ProcRoot)}
	if _, err := m.sample(time.Time{}); err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

func (m *memory) name() string   { return memoryName }
func (m *memory) option() string { return string(m.mode) }
func (m *memory) size() float64  { return float64(m.total) }

func (m *memory) close() {
	m.info.close()
	m.arc.close()
}

func (m *memory) sample(time.Time) (float64, error) {
	info, err := readAs(memoryName, m.info, parseMeminfo)
	if err != nil {
		return 0, err
	}
	m.total = info.Total
	free, known, lacks := info.Available, info.HasAvailable, "MemAvailable up to MemTotal; Linux before 3.14 has none, the memory mode free needs none"
	if m.mode == MemoryFree {
		free, known, lacks = info.Free+info.Buffers+info.Cached, info.HasCache, "MemFree, Buffers and Cached that are up to MemTotal together"
	}
	if !known {
		return 0, &ChannelError{memoryName, m.info.path, fmt.Errorf("%w: no %s", ErrPartial, lacks)}
	}
	free += m.arc.reclaimable(info.Total)
	return clamp(1 - float64(free)/float64(info.Total)), nil
}
