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
