package experiment

import (
	"encoding/csv"
	"io"
)

// Best and Digest are for tests.
var (
	Best   = best
	Digest = digest
)

// NewRecorder writes to the given writers; nil omits a file.
func NewRecorder(pods, timeline io.Writer) *recorder {
	var r recorder
	if pods != nil {
		r.pods = csv.NewWriter(pods)
	}
	if timeline != nil {
		r.timeline = csv.NewWriter(timeline)
	}
	return &r
}
