package telemetry

import (
	"bytes"
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

// arc is the cache of ZFS, which the kernel counts as used memory although it gives
// back all of it but a floor (c_min).
type arc struct{ stats *file }

// newARC opens the cache's statistics; a machine without ZFS has none.
func newARC(procRoot string) arc {
	path := filepath.Join(procRoot, "spl", "kstat", "zfs", "arcstats")
	if !exists(path) {
		return arc{}
	}
	return arc{newFile(path, 8<<10)}
}

func (a arc) close() {
	if a.stats != nil {
		a.stats.close()
	}
}

// reclaimable is how many bytes the cache would give back to a machine with so many. Where
// that cannot be read, or the cache is another machine's (in a container it is the host's),
// it counts as used, as the kernel has it.
func (a arc) reclaimable(total uint64) uint64 {
	if a.stats == nil {
		return 0
	}
	text, err := a.stats.read()
	if err != nil {
		return 0
	}
	size, sized := parseARC(text, "size")
	floor, floored := parseARC(text, "c_min")
	if !sized || !floored || size > total {
		return 0
	}
	return size - min(floor, size)
}

// parseARC reads a line of arcstats: name, type and value. ok is false where there is none.
func parseARC(text []byte, name string) (value uint64, ok bool) {
	for {
		line, rest, ok := cutLine(text)
		if !ok {
			return 0, false
		}
		text = rest
		if string(nextField(&line)) != name {
			continue
		}
		nextField(&line)
		value, _, found, valid := nextUint(bytes.TrimSpace(line))
		return value, found && valid
	}
}
