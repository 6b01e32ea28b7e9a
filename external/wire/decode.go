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
	// maxDepth bounds how many objects and arrays are inside one another.
	maxDepth = 32
	// MaxValues bounds the values, those inside others included.
	MaxValues = 1 << 16
)

// MalformedError is why JSON cannot be read: Cause names the field and what it must be.
type MalformedError struct{ Cause Cause }

func (e *MalformedError) Error() string {
	field := e.Cause.Field
	if field != "" {
		field += ": "
	}
	return "malformed JSON: " + field + e.Cause.Message
}

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

// Check reports what keeps data from being one JSON value within maxDepth and MaxValues
// whose objects have each field once. The error is a *MalformedError.
func Check(data []byte) error { return check(data, false) }

func check(data []byte, folded bool) error {
	s := scanner{Decoder: json.NewDecoder(bytes.NewReader(data)), folded: folded}
	s.UseNumber()
	if err := s.value(0); err != nil {
		return err
	}
	if _, err := s.Token(); !errors.Is(err, io.EOF) {
		return malformed("", Invalid, fmt.Sprintf("something follows the value at byte %d", s.InputOffset()))
	}
	return nil
}

// scanner reads a value token by token.
type scanner struct {
	*json.Decoder
	values int
	// folded keys count as equal if they differ in case alone.
	folded bool
}

// next reads a token.
func (s *scanner) next() (json.Token, error) {
	token, err := s.Token()
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return nil, malformed("", Invalid, "the value is not complete")
	case err != nil:
		return nil, malformed("", Invalid, fmt.Sprintf("%v, behind byte %d", err, s.InputOffset()))
	}
	return token, nil
}

// value reads a value that is inside so many objects and arrays.
func (s *scanner) value(depth int) error {
	token, err := s.next()
	if err != nil {
		return err
	}
	if s.values++; s.values > MaxValues {
		return malformed("", TooMany, fmt.Sprintf("must have at most %d values, those inside others included", MaxValues))
	}
	open, ok := token.(json.Delim)
	if !ok {
		return nil
	}
	if depth == maxDepth {
		return malformed("", TooMany, fmt.Sprintf("must have at most %d objects and arrays inside one another", maxDepth))
	}
	keys := map[string]bool{}
	for i := 0; s.More(); i++ {
		at := "[" + strconv.Itoa(i) + "]"
		if open == '{' {
			token, err := s.next()
			if err != nil {
				return err
			}
			at, _ = token.(string)
			key := at
			if s.folded {
				key = fold(key)
			}
			if keys[key] {
				return malformed(cut(at, maxPath), Duplicate, "must be given once")
			}
			keys[key] = true
		}
		if err := s.value(depth + 1); err != nil {
			return under(at, err)
		}
	}
	_, err = s.next()
	return err
}

// under puts what a cause is under before the path of its field.
func under(at string, err error) error {
	var bad *MalformedError
	if errors.As(err, &bad) && bad.Cause.Reason != TooMany { // which is of the whole
		if field := bad.Cause.Field; field != "" && field[0] != '[' {
			at += "."
		}
		bad.Cause.Field = cut(at+bad.Cause.Field, maxPath)
	}
	return err
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
