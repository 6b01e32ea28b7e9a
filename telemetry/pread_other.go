//go:build !linux || 386 || arm || mips || mipsle

package telemetry

import (
	"errors"
	"io"
	"os"
)

// readAll reads a file from its start and stops at the end of the file or of buf.
func readAll(f *os.File, _ uintptr, buf []byte) (int, error) {
	n, err := f.ReadAt(buf, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}
