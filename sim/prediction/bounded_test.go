package prediction

import (
	"io"
	"strings"
	"testing"
)

// endless is a file that never ends once it is unpacked.
type endless struct{ read int64 }

func (e *endless) Read(p []byte) (int, error) {
	e.read += int64(len(p))
	return len(p), nil
}

// TestACompressedFileIsBounded: a small file that unpacks to a large one is refused, with its name
// and advice.
func TestACompressedFileIsBounded(t *testing.T) {
	from := &endless{}
	n, err := io.Copy(io.Discard, &bounded{from: from, path: "bomb.gz", left: maxUnpacked})
	if n != maxUnpacked || from.read > maxUnpacked || err == nil {
		t.Fatalf("%d bytes, %d read, %v", n, from.read, err)
	}
	for _, word := range []string{"bomb.gz", "128 MiB", "unpack"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not say %s", err, word)
		}
	}
}
