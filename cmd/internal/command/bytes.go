package command

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Bytes is a flag's value: a number of bytes with an optional unit, B, KiB, MiB
// or GiB, as in 20MiB. It is a pflag.Value.
type Bytes int64

var byteUnits = []struct {
	name string
	size int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

// String writes the largest unit that leaves no fraction.
func (b *Bytes) String() string {
	for _, u := range byteUnits {
		if n := int64(*b); n != 0 && n%u.size == 0 {
			return strconv.FormatInt(n/u.size, 10) + u.name
		}
	}
	return "0"
}

// Set refuses negative numbers, fractions and what int64 can't hold.
func (b *Bytes) Set(text string) error {
	number, size := text, int64(1)
	for _, u := range byteUnits {
		if rest, ok := strings.CutSuffix(text, u.name); ok {
			number, size = rest, u.size
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/size {
		return fmt.Errorf("%q is not a number of bytes such as 20MiB", text)
	}
	*b = Bytes(n * size)
	return nil
}

// Type is how help names the value.
func (b *Bytes) Type() string { return "bytes" }
