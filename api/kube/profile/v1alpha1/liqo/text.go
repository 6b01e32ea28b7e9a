package liqo

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/field"
)

// ErrInvalid is what every field.Error wraps.
var ErrInvalid = errors.New("invalid configuration or input")

func refuse(name string, value any, want string) error {
	return &field.Error{Package: "liqo", Field: name, Value: value, Err: fmt.Errorf("%w: must be %s", ErrInvalid, want)}
}

// layout is how times are written.
const layout = "2006-01-02 15:04:05"

// Time is one in UTC, to the second. It is a plain value, safe for concurrent use.
type Time struct{ time.Time }

// MarshalJSON writes it by Layout.
func (t Time) MarshalJSON() ([]byte, error) {
	at := t.UTC()
	if y := at.Year(); y < 0 || y > 9999 {
		return nil, refuse("time", t.Time, "of a year of four digits")
	}
	return json.Marshal(at.Format(layout))
}

// UnmarshalJSON reads it.
func (t *Time) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return refuse("time", string(data), "a text")
	}
	at, err := time.Parse(layout, text)
	if err != nil || at.Format(layout) != text {
		return refuse("time", text, "such as "+layout)
	}
	t.Time = at
	return nil
}

// Cores is a number of cores, written with three digits after the point. It is a plain
// value, safe for concurrent use.
type Cores float64

// MarshalJSON writes it as a text.
func (c Cores) MarshalJSON() ([]byte, error) { return marshal("cores", float64(c), 3) }

// UnmarshalJSON reads it, with a comma too.
func (c *Cores) UnmarshalJSON(data []byte) error { return unmarshal("cores", data, (*float64)(c)) }

// Rate is bytes a second, written with two digits after the point. It is a plain value,
// safe for concurrent use.
type Rate float64

// MarshalJSON writes it as a text.
func (r Rate) MarshalJSON() ([]byte, error) { return marshal("rate", float64(r), 2) }

// UnmarshalJSON reads it, with a comma too.
func (r *Rate) UnmarshalJSON(data []byte) error { return unmarshal("rate", data, (*float64)(r)) }

// most is beyond what any machine has, and exact in three digits.
const most = 1 << 43

func marshal(field string, v float64, digits int) ([]byte, error) {
	if !(v >= 0) || v > most {
		return nil, refuse(field, v, "finite and not negative")
	}
	return json.Marshal(strconv.FormatFloat(v, 'f', digits, 64))
}

func unmarshal(field string, data []byte, to *float64) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return refuse(field, string(data), "a text")
	}
	if strings.Trim(text, "0123456789,.") != "" {
		return refuse(field, text, "digits with one decimal sign at most")
	}
	v, err := strconv.ParseFloat(strings.Replace(text, ",", ".", 1), 64)
	if err != nil || !(v >= 0) || v > most || math.IsInf(v, 0) {
		return refuse(field, text, "a number that is not negative")
	}
	*to = v
	return nil
}
