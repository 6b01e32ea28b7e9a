package prediction

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"github.com/spazio-scheduler/spazio/agent/recording"
)

// pressured is in the schema of a recording whose first channel is the CPU's pressure,
// unmixed.
const pressured = ";cpu=pressure;"

// fromRecording reads what an agent recorded whose channel of the CPU is pressure
// (spazio-agent --cpu-mode contention --cpu-contention pressure). A file that ends within
// a record, as a part of one does, is read as far as it goes. The error is that of
// reading, or a *field.Error.
func fromRecording(r *recording.Reader) (Source, error) {
	n := node{Name: "machine"}
	schema, churned := "", false
	first, last := 0., 0.
	for rec, err := range r.Records() {
		var torn *recording.TornError
		if errors.As(err, &torn) {
			break
		}
		if err != nil {
			return Source{}, err
		}
		switch rec.Kind {
		case recording.KindHeader:
			if schema = rec.Header.Config.Schema; !strings.Contains(schema+";", pressured) {
				return Source{}, refuse("Schema", schema, "one with cpu=pressure")
			}
		case recording.KindChurn:
			churned = true
		case recording.KindSample:
			if len(rec.Values) == 0 || !(rec.Values[0] >= 0 && rec.Values[0] <= 1) {
				continue // as the agent did
			}
			if last = float64(rec.At.UnixNano()) / 1e9; len(n.Pressure) == 0 {
				first = last
			}
			n.Pressure = append(n.Pressure, rec.Values[0])
			n.Metrics = append(n.Metrics, append([]float64(nil), rec.Values...))
			n.Churn = append(n.Churn, churned)
			churned = false
		}
	}
	if len(n.Pressure) < 2 {
		return Source{}, refuse("samples", len(n.Pressure), "at least 2")
	}
	second := max(int(math.Round(float64(len(n.Pressure)-1)/max(last-first, 1e-3))), 1)
	channels := channelNames(schema)
	return Source{
		name: "recording", second: second, unit: "s", nodes: []node{n},
		about: fmt.Sprintf("a machine's own recording, %d samples, %d a second: %s", len(n.Pressure), second, channels),
	}, nil
}

// channelNames are the channels of a schema, in words.
func channelNames(schema string) string {
	var names []string
	for _, part := range strings.Split(schema, ";")[1:] {
		name, how, _ := strings.Cut(part, "=")
		names = append(names, strings.ReplaceAll(name, "-", " ")+" ("+how+")")
	}
	return strings.Join(names, ", ")
}

// ReadRecording is fromRecording of a file, which may be gzipped (.gz), or of all files of
// a directory.
func ReadRecording(path string) (Source, error) {
	if !strings.HasSuffix(path, ".gz") {
		r, err := recording.Open(path)
		if err != nil {
			return Source{}, err
		}
		defer r.Close()
		return fromRecording(r)
	}
	file, err := os.Open(path)
	if err != nil {
		return Source{}, err
	}
	defer file.Close()
	text, err := gzip.NewReader(file)
	if err != nil {
		return Source{}, fmt.Errorf("%s: %w", path, err)
	}
	return fromRecording(recording.NewReader(&bounded{from: text, path: path, left: maxUnpacked}))
}

// maxUnpacked bounds what a compressed file may become: a small one can hold gigabytes.
const maxUnpacked = 128 << 20

// bounded reads so many bytes and then fails.
type bounded struct {
	from io.Reader
	path string
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("%s: more than %d MiB without compression: unpack it first", b.path, maxUnpacked>>20)
	}
	n, err := b.from.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}
