package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ErrMalformed is what Decode's errors wrap.
var ErrMalformed = errors.New("malformed JSON")

// Decode reads one JSON value into v. It refuses fields that v does not have and anything
// behind the value.
func Decode(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("%w: something follows the value", ErrMalformed)
	}
	return nil
}
