package source

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strconv"

	"github.com/spazio-scheduler/spazio/field"
)

// maxText bounds what is read of a file of one number or name.
const maxText = 128

// ParseCounter reads the text of a counter's file: decimal digits and a newline. Signs,
// other bases, and what exceeds 64 bits are errMalformed.
func ParseCounter(text []byte) (uint64, error) {
	digits := bytes.TrimSuffix(text, []byte("\n"))
	if len(digits) == 0 || len(digits) > 20 {
		return 0, errMalformed
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, errMalformed
		}
	}
	v, err := strconv.ParseUint(string(digits), 10, 64)
	if err != nil {
		return 0, errMalformed
	}
	return v, nil
}

// counterFile is a counter that stays open: the kernel's attributes begin anew at each
// read of their start.
type counterFile struct {
	path string
	file *os.File
}

func openCounter(path string) (counterFile, error) {
	f, err := os.Open(path)
	if err != nil {
		return counterFile{}, fileError(path, err)
	}
	return counterFile{path, f}, nil
}

func (c counterFile) read(buffer []byte) (uint64, error) {
	n, err := c.file.ReadAt(buffer, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, fileError(c.path, err)
	}
	v, err := ParseCounter(buffer[:n])
	if err != nil {
		return 0, &field.Error{Package: "source", Field: c.path, Value: string(buffer[:n]), Err: err}
	}
	return v, nil
}

// readText reads a short file anew.
func readText(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fileError(path, err)
	}
	defer f.Close()
	buffer := make([]byte, maxText)
	n, err := io.ReadFull(f, buffer)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fileError(path, err)
	}
	return buffer[:n], nil
}

// readCounter reads a counter's file anew.
func readCounter(path string) (uint64, error) {
	text, err := readText(path)
	if err != nil {
		return 0, err
	}
	v, err := ParseCounter(text)
	if err != nil {
		return 0, &field.Error{Package: "source", Field: path, Value: string(text), Err: err}
	}
	return v, nil
}
