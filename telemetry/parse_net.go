package telemetry

import (
	"bytes"
	"fmt"
)

// parseInterfaces returns the names of the network interfaces in the text of
// /proc/net/dev, in its order. They are appended to dst[:0], so that a reused dst
// saves the allocation, and point into text. Every name is fit for a path. A line
// without one is left out, unless there is no other. The error wraps ErrPartial or
// ErrMalformed.
func parseInterfaces(dst [][]byte, text []byte) ([][]byte, error) {
	dst = dst[:0]
	for range 2 { // the heading
		line, rest, ok := cutLine(text)
		switch {
		case !ok:
			return dst, fmt.Errorf("%w: no heading", ErrPartial)
		case bytes.IndexByte(line, '|') < 0:
			return dst, fmt.Errorf("%w: no heading", ErrMalformed)
		}
		text = rest
	}
	malformed := false
	for {
		line, rest, ok := cutLine(text)
		if !ok {
			break
		}
		text = rest
		name, _, ok := bytes.Cut(line, []byte(":"))
		name = bytes.TrimLeft(name, " ")
		if !ok || !isInterfaceName(name) {
			malformed = true
			continue
		}
		dst = append(dst, name)
	}
	if malformed && len(dst) == 0 {
		return dst, fmt.Errorf("%w: a line without an interface", ErrMalformed)
	}
	return dst, nil
}

// isInterfaceName holds to the kernel's rule: neither . nor .., no slash, colon
// or white space.
func isInterfaceName(name []byte) bool {
	if len(name) == 0 || string(name) == "." || string(name) == ".." {
		return false
	}
	for _, b := range name {
		if b <= ' ' || b == '/' || b == ':' || b == 0x7f {
			return false
		}
	}
	return true
}

// parseLinkSpeed reads the text of a network interface's speed, in Mbit/s, and
// returns bytes per second; known is false where the driver does not show it (-1, or
// its 32 bits unsigned as older kernels print it, or 0). The error wraps
// ErrPartial or ErrMalformed.
func parseLinkSpeed(text []byte) (bytesPerSecond float64, known bool, err error) {
	if line, rest, _ := cutLine(text); string(line) == "-1" && bytes.IndexByte(rest, '\n') < 0 {
		return 0, false, nil
	}
	megabits, err := ParseCounter(text)
	switch {
	case err != nil:
		return 0, false, err
	case megabits == 0 || megabits == 1<<32-1:
		return 0, false, nil
	case megabits > 1<<32-1:
		return 0, false, fmt.Errorf("%w: a speed of %d Mbit/s", ErrMalformed, megabits)
	}
	return float64(megabits) * 1e6 / 8, true, nil
}
