// Package cpuprofile reads from a CPU profile how much of the time went to which
// goroutines, told apart by a label.
package cpuprofile

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// ErrFormat is returned for what is no CPU profile of package runtime/pprof.
var ErrFormat = errors.New("cpuprofile: not a CPU profile of runtime/pprof")

// maxSize in bytes is far beyond the profile of any run.
const maxSize = 256 << 20

// Seconds returns the CPU time in a compressed profile by the value of a label;
// that of samples without the label is under the empty string. Samples within a
// function of except are left out: what the garbage collector has an allocating
// goroutine do, for one, is not that goroutine's doing. The error is or wraps
// ErrFormat.
func Seconds(profile []byte, key string, except ...string) (map[string]float64, error) {
	reader, err := gzip.NewReader(bytes.NewReader(profile))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	text, err := io.ReadAll(io.LimitReader(reader, maxSize))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	p, err := read(text)
	if err != nil {
		return nil, err
	}
	excepted, err := p.locationsOf(except)
	if err != nil {
		return nil, err
	}
	seconds := map[string]float64{}
	for _, text := range p.samples {
		s, err := p.sample(text, key)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(s.locations, func(id uint64) bool { return excepted[id] }) {
			seconds[s.label] += float64(s.nanoseconds) / 1e9
		}
	}
	return seconds, nil
}

// profile holds the parts of message Profile, in order, not yet read further.
type profile struct {
	samples, locations, functions [][]byte
	table                         []string
}

func read(text []byte) (p profile, err error) {
	err = fields(text, func(number protowire.Number, value []byte, _ uint64) error {
		switch number {
		case 2:
			p.samples = append(p.samples, value)
		case 4:
			p.locations = append(p.locations, value)
		case 5:
			p.functions = append(p.functions, value)
		case 6:
			p.table = append(p.table, string(value))
		}
		return nil
	})
	return p, err
}

// locationsOf returns the ids of the locations in the named functions.
func (p *profile) locationsOf(names []string) (map[uint64]bool, error) {
	functions, locations := map[uint64]bool{}, map[uint64]bool{}
	for _, text := range p.functions {
		// Of message Function: 1 is the id, 2 the name.
		numbers, err := numbersOf(text)
		if err != nil {
			return nil, err
		}
		if numbers[2] >= uint64(len(p.table)) {
			return nil, ErrFormat
		}
		if slices.Contains(names, p.table[numbers[2]]) {
			functions[numbers[1]] = true
		}
	}
	for _, text := range p.locations {
		// Of message Location: 1 is the id, 4 a line, whose 1 is its function.
		location, err := numbersOf(text)
		if err != nil {
			return nil, err
		}
		err = fields(text, func(number protowire.Number, value []byte, _ uint64) error {
			if number != 4 {
				return nil
			}
			line, err := numbersOf(value)
			if functions[line[1]] {
				locations[location[1]] = true
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return locations, nil
}

// sample is message Sample, as far as it is of use.
type sample struct {
	locations   []uint64
	label       string // of the key that was asked for
	nanoseconds int64
}

func (p *profile) sample(text []byte, key string) (s sample, err error) {
	var quantities []uint64
	// 1 are the locations, 2 the quantities, of which the second is the CPU time,
	// both packed or not, 3 is a label.
	err = fields(text, func(number protowire.Number, value []byte, single uint64) (err error) {
		switch number {
		case 1:
			s.locations, err = appendNumbers(s.locations, value, single)
		case 2:
			quantities, err = appendNumbers(quantities, value, single)
		case 3:
			name, text, bad := readLabel(value, p.table)
			if name == key {
				s.label = text
			}
			err = bad
		}
		return err
	})
	if err != nil {
		return sample{}, err
	}
	if len(quantities) < 2 {
		return sample{}, ErrFormat
	}
	s.nanoseconds = int64(quantities[1])
	return s, nil
}

// appendNumbers adds the numbers of a packed field, or the one of a field that
// is not.
func appendNumbers(to []uint64, packed []byte, single uint64) ([]uint64, error) {
	if packed == nil {
		return append(to, single), nil
	}
	for len(packed) > 0 {
		v, n := protowire.ConsumeVarint(packed)
		if n < 0 {
			return nil, ErrFormat
		}
		to, packed = append(to, v), packed[n:]
	}
	return to, nil
}

// numbersOf returns the numbers of a message's first fields by field.
func numbersOf(message []byte) (numbers [3]uint64, err error) {
	err = fields(message, func(number protowire.Number, _ []byte, v uint64) error {
		if number < 3 {
			numbers[number] = v
		}
		return nil
	})
	return numbers, err
}

// readLabel returns a label's key and value. Of message Label: 1 is the key, 2
// the value, both indices of the table.
func readLabel(label []byte, table []string) (key, value string, err error) {
	index, err := numbersOf(label)
	if err != nil {
		return "", "", err
	}
	if max(index[1], index[2]) >= uint64(len(table)) {
		return "", "", ErrFormat
	}
	return table[index[1]], table[index[2]], nil
}

// fields calls f for each field of a message, with its bytes, never nil, or with
// its number.
func fields(message []byte, f func(number protowire.Number, value []byte, single uint64) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return ErrFormat
		}
		message = message[n:]
		var value []byte
		var single uint64
		switch kind {
		case protowire.VarintType:
			single, n = protowire.ConsumeVarint(message)
		case protowire.BytesType:
			if value, n = protowire.ConsumeBytes(message); value == nil {
				value = []byte{}
			}
		default:
			return ErrFormat
		}
		if n < 0 {
			return ErrFormat
		}
		if err := f(number, value, single); err != nil {
			return err
		}
		message = message[n:]
	}
	return nil
}
