package telemetry

import (
	"bytes"
	"path/filepath"
)

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

// reclaimable is how many bytes the cache would give back. Where that cannot be read
// the cache counts as used, as the kernel has it.
func (a arc) reclaimable() uint64 {
	if a.stats == nil {
		return 0
	}
	text, err := a.stats.read()
	if err != nil {
		return 0
	}
	size, floor := parseARC(text, "size"), parseARC(text, "c_min")
	return size - min(floor, size)
}

// parseARC reads a line of arcstats: name, type and value. It is 0 where there is none.
func parseARC(text []byte, name string) uint64 {
	for {
		line, rest, ok := cutLine(text)
		if !ok {
			return 0
		}
		text = rest
		if string(nextField(&line)) != name {
			continue
		}
		nextField(&line)
		value, _, found, valid := nextUint(bytes.TrimSpace(line))
		if !found || !valid || value > maxKeyed {
			return 0
		}
		return value
	}
}
