package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"

	"github.com/spazio-scheduler/spazio/external/wire"
)

// setExternal is PUT of what outside programs keep in a job.
func (s *Server) setExternal(c *call) error {
	version, data, err := s.readExternal(c, jsonType)
	if err != nil {
		return err
	}
	normal, err := s.normalExternal(c, data)
	if err != nil {
		return err
	}
	job, err := s.replaceExternal(c, c.name, version, normal)
	return c.answerObject(http.StatusOK, job, err)
}

// replaceExternal writes what outside programs keep in a job.
func (s *Server) replaceExternal(c *call, job, version string, data json.RawMessage) (wire.Job, error) {
	return s.config.Store.UpdateExternal(c.r.Context(), c.caller, c.namespace, job, version,
		func(json.RawMessage) (json.RawMessage, error) { return data, nil })
}

// patchExternal merges a patch into it (RFC 7386).
func (s *Server) patchExternal(c *call) error {
	version, data, err := s.readExternal(c, mergePatchType)
	if err != nil {
		return err
	}
	var patch any
	err = s.callers.turn(c.r.Context(), func() error {
		patch, err = wire.DecodeAny(data)
		return malformed(err)
	})
	if err != nil {
		return err
	}
	edit := func(now json.RawMessage) (json.RawMessage, error) {
		var target any
		if len(now) > 0 {
			var err error
			if target, err = wire.DecodeAny(now); err != nil {
				// The caller is not to blame: it must not become a problem of theirs.
				return nil, fmt.Errorf("data of job %s/%s: %v", c.namespace, c.name, err) //nolint:errorlint // not to be found by errors.As
			}
		}
		return encodeExternal(mergePatch(target, patch))
	}
	job, err := s.config.Store.UpdateExternal(c.r.Context(), c.caller, c.namespace, c.name, version, edit)
	return c.answerObject(http.StatusOK, job, err)
}

func (s *Server) readExternal(c *call, mediaType string) (version string, data []byte, err error) {
	if version, err = c.ifMatch(); err != nil {
		return "", nil, err
	}
	if err := s.config.Store.Synced(); err != nil {
		return "", nil, err
	}
	data, err = s.read(c, mediaType)
	return version, data, err
}

// normalExternal returns the JSON object in one spelling.
func (s *Server) normalExternal(c *call, data []byte) (normal json.RawMessage, err error) {
	err = s.callers.turn(c.r.Context(), func() error {
		value, err := wire.DecodeAny(data)
		if err == nil {
			normal, err = encodeExternal(value)
		}
		return malformed(err)
	})
	return normal, err
}

// encodeExternal writes the data, which must be an object, in one spelling: keys in order,
// without blanks. It is that whose length counts.
func encodeExternal(value any) (json.RawMessage, error) {
	if _, ok := value.(map[string]any); !ok {
		return nil, Refuse(http.StatusUnprocessableEntity, "The data must be a JSON object.",
			wire.Cause{Reason: wire.Invalid, Message: "must be a JSON object"})
	}
	if field, ok := storable(value); !ok {
		return nil, Refuse(http.StatusUnprocessableEntity, "The data has a number that is too large.",
			wire.Cause{Field: field, Reason: wire.Invalid, Message: "must be a number that a double can hold"})
	}
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	data := bytes.TrimSuffix(buffer.Bytes(), []byte("\n"))
	if len(data) > mostExternal {
		return nil, Refuse(http.StatusRequestEntityTooLarge, fmt.Sprintf("The data must have at most %d bytes.", mostExternal))
	}
	return data, nil
}

// storable returns false, and the field, for a number beyond a double's range, which no JSON
// library reads. The path is made on the way back alone.
func storable(value any) (field string, ok bool) {
	switch v := value.(type) {
	case json.Number:
		_, err := v.Float64()
		return "", err == nil
	case map[string]any:
		for key, member := range v {
			if below, ok := storable(member); !ok {
				return within(key, below), false
			}
		}
	case []any:
		for i, member := range v {
			if below, ok := storable(member); !ok {
				return within(fmt.Sprintf("[%d]", i), below), false
			}
		}
	}
	return "", true
}

// within is the path of what is below a key or index; long keys are cut.
func within(at, below string) string {
	const most = 64
	if len(at) > most {
		at = strings.ToValidUTF8(at[:most], "") + "…"
	}
	if below == "" || below[0] == '[' {
		return at + below
	}
	return at + "." + below
}

// mergePatch is MergePatch of RFC 7386. Target and patch are not modified; what it returns
// may share parts of both.
func mergePatch(target, patch any) any {
	changes, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	was, _ := target.(map[string]any)
	merged := make(map[string]any, len(was)+len(changes))
	maps.Copy(merged, was)
	for key, change := range changes {
		if change == nil {
			delete(merged, key)
			continue
		}
		merged[key] = mergePatch(merged[key], change)
	}
	return merged
}
