package recording

import (
	"errors"
	"fmt"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/field"
)

// ErrEmpty reports that a directory holds no recording.
var ErrEmpty = errors.New("recording: no files")

// refuse returns a *field.Error with the reason in words.
func refuse(name string, value any, format string, args ...any) error {
	return &field.Error{Package: "recording", Field: name, Value: value, Err: fmt.Errorf("%w: "+format, append([]any{agent.ErrInvalid}, args...)...)}
}

// TornError reports that a file ends within a record, as one does that its writer
// could not close. What was read before is good.
type TornError struct {
	// Path is the file, empty for a stream; Offset is where the torn record
	// begins.
	Path   string
	Offset int64
	Reason string
}

func (e *TornError) Error() string {
	return fmt.Sprintf("recording: %s is torn at byte %d: %s", name(e.Path), e.Offset, e.Reason)
}

// FormatError reports that a file is no recording, of another version, or holds a
// record that is whole but makes no sense.
type FormatError struct {
	// Path is the file, empty for a stream; Offset is where the record begins.
	Path   string
	Offset int64
	Err    error
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("recording: %s, byte %d: %v", name(e.Path), e.Offset, e.Err)
}

func (e *FormatError) Unwrap() error { return e.Err }

func name(path string) string {
	if path == "" {
		return "stream"
	}
	return path
}

// DriftError reports that a snapshot is not the state that replay had arrived at.
type DriftError struct {
	// At is the time of the snapshot.
	At time.Time
}

func (e *DriftError) Error() string {
	return fmt.Sprintf("recording: the state at %s is not the one replayed", e.At.Format(time.RFC3339Nano))
}
