package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
)

// Bounds of a JSON value that is sent. They are checked before anything is made of it,
// since a value takes many times the bytes that it is written with.
const (
	// MaxDepth bounds how many objects and arrays are inside one another.
	MaxDepth = 32
	// MaxValues bounds the values, those inside others included.
	MaxValues = 1 << 16
)

// ErrMalformed is what every MalformedError wraps.
var ErrMalformed = errors.New("malformed JSON")

// MalformedError is why JSON cannot be read: Cause names the field and what it must be.
type MalformedError struct{ Cause Cause }

func (e *MalformedError) Error() string {
	field := e.Cause.Field
	if field != "" {
		field += ": "
	}
	return ErrMalformed.Error() + ": " + field + e.Cause.Message
}

// Unwrap returns ErrMalformed.
func (e *MalformedError) Unwrap() error { return ErrMalformed }

func malformed(field, reason, message string) error {
	return &MalformedError{Cause{Field: field, Reason: reason, Message: message}}
}

// Decode reads one JSON value into v. It refuses what Check does, fields that v does not
// have or that differ in case alone, and what does not fit. The error is a *MalformedError.
func Decode(data []byte, v any) error { return decode(data, v, true) }

// DecodeKnown is Decode that leaves fields aside which v does not have.
func DecodeKnown(data []byte, v any) error { return decode(data, v, false) }

func decode(data []byte, v any, strict bool) error {
	if err := check(data, strict); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if strict {
		d.DisallowUnknownFields()
	}
	if err := d.Decode(v); err != nil {
		return explain(data, v, strict, err)
	}
	return nil
}

// DecodeAny reads any JSON value; numbers stay as they are written. The error is a
// *MalformedError.
func DecodeAny(data []byte) (any, error) {
	if err := Check(data); err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, malformed("", Invalid, err.Error())
	}
	return v, nil
}

// Check reports what keeps data from being one JSON value within MaxDepth and MaxValues
// whose objects have each field once. The error is a *MalformedError.
func Check(data []byte) error { return check(data, false) }

// level is an object or array that is being read.
type level struct {
	keys  map[string]bool // nil in an array
	key   string
	index int
}

// scanner reads a value token by token.
type scanner struct {
	levels []level
	values int
	// folded keys count as equal if they differ in case alone.
	folded bool
}

func check(data []byte, folded bool) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	s := scanner{folded: folded}
	for {
		token, err := d.Token()
		if err != nil {
			return malformed(s.path(), Invalid, syntax(err, d.InputOffset()))
		}
		if err := s.take(token); err != nil {
			return err
		}
		if len(s.levels) == 0 {
			break
		}
	}
	if _, err := d.Token(); err != io.EOF {
		return malformed("", Invalid, fmt.Sprintf("something follows the value at byte %d", d.InputOffset()))
	}
	return nil
}

func syntax(err error, at int64) string {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "the value is not complete"
	}
	return fmt.Sprintf("%v, behind byte %d", err, at)
}

func (s *scanner) take(token json.Token) error {
	if token == json.Delim('}') || token == json.Delim(']') {
		s.levels = s.levels[:len(s.levels)-1]
		s.next()
		return nil
	}
	if top := s.top(); top != nil && top.keys != nil && top.key == "" && top.index == 0 {
		key, _ := token.(string)
		top.key, top.index = key, 1
		if s.folded {
			key = fold(key)
		}
		if top.keys[key] {
			return malformed(s.path(), Duplicate, "must be given once")
		}
		top.keys[key] = true
		return nil
	}
	if s.values++; s.values > MaxValues {
		return malformed("", TooMany, fmt.Sprintf("must have at most %d values, those inside others included", MaxValues))
	}
	switch token {
	case json.Delim('{'):
		s.levels = append(s.levels, level{keys: map[string]bool{}})
	case json.Delim('['):
		s.levels = append(s.levels, level{})
	default:
		s.next()
		return nil
	}
	if len(s.levels) > MaxDepth {
		return malformed("", TooMany, fmt.Sprintf("must have at most %d objects and arrays inside one another", MaxDepth))
	}
	return nil
}

func (s *scanner) top() *level {
	if len(s.levels) == 0 {
		return nil
	}
	return &s.levels[len(s.levels)-1]
}

// next is after a value: of an object a key follows.
func (s *scanner) next() {
	switch top := s.top(); {
	case top == nil:
	case top.keys != nil:
		top.key, top.index = "", 0
	default:
		top.index++
	}
}

// path is that of the value that comes next.
func (s *scanner) path() string {
	var path string
	for _, l := range s.levels {
		if l.keys == nil {
			path = atIndex(path, l.index)
		} else if l.index > 0 {
			path = atKey(path, l.key)
		}
	}
	return path
}

// maxPath bounds a path, whose keys are the sender's.
const maxPath = 256

func atKey(path, key string) string {
	if path != "" {
		key = path + "." + key
	}
	return cut(key, maxPath)
}

func atIndex(path string, i int) string { return cut(path+"["+strconv.Itoa(i)+"]", maxPath) }

// cut shortens a text to so many bytes.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// fold returns the same for keys that encoding/json takes for one field.
func fold(key string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, key)
}
