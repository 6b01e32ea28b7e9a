package server

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"strings"

	"github.com/spazio-scheduler/spazio/external/wire"
)

// createScheduling is POST of a scheduling: what is not there is created, the same once
// more is what is there, and anything else of its name a conflict.
func (s *Server) createScheduling(c *call) error {
	body, err := s.readScheduling(c)
	if err != nil {
		return err
	}
	if c.r.URL.Query().Get("dryRun") != "" {
		plan, err := s.config.Store.Plan(c.r.Context(), c.caller, c.namespace, body.Name, body.SchedulingSpec)
		if err != nil {
			return err
		}
		if plan.Plan == nil {
			plan.Plan = []wire.Planned{}
		}
		return c.answer(http.StatusOK, plan)
	}
	object, created, err := s.create(c, body)
	status := http.StatusOK
	if created {
		status = http.StatusCreated
		c.w.Header().Set("Location", base+"/namespaces/"+object.Namespace+"/schedulings/"+object.Name)
	}
	return c.answerObject(status, object, err)
}

// create also reports whether the scheduling did not exist before.
func (s *Server) create(c *call, body wire.Scheduling) (wire.Scheduling, bool, error) {
	object, err := s.config.Store.CreateScheduling(c.r.Context(), c.caller, c.namespace, body.Name, body.SchedulingSpec)
	if !wire.IsStatus(err, http.StatusConflict) || object.Name == "" || object.Deleting ||
		!reflect.DeepEqual(object.Normal(c.namespace), body.Normal(c.namespace)) {
		return object, err == nil, err
	}
	// It is only shown to a caller who may see it.
	access := Access{Verb: Get, Kind: wire.Schedulings, Namespace: c.namespace, Name: body.Name}
	if s.authorize(c.r.Context(), c.caller, access) != nil {
		return object, false, err
	}
	return object, false, nil
}

func (s *Server) replaceScheduling(c *call) error {
	version, err := c.ifMatch()
	if err != nil {
		return err
	}
	body, err := s.readScheduling(c)
	if err != nil {
		return err
	}
	version = cmp.Or(version, body.ResourceVersion)
	object, err := s.config.Store.ReplaceScheduling(c.r.Context(), c.caller, c.namespace, c.name, version, body.SchedulingSpec)
	return c.answerObject(http.StatusOK, object, err)
}

func (s *Server) deleteScheduling(c *call) error {
	version, err := c.ifMatch()
	if err != nil {
		return err
	}
	if err := s.config.Store.Synced(); err != nil {
		return err
	}
	if err := s.config.Store.DeleteScheduling(c.r.Context(), c.caller, c.namespace, c.name, version); err != nil {
		return err
	}
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}

// badName is a scheduling's name that cannot be one.
var badName = wire.Cause{Field: "name", Reason: wire.Required, Message: "must be of lower-case letters, digits, hyphens and points"}

// readScheduling reads and judges a scheduling by itself. What is read-only in it, as in
// one that was read and is sent back, is left aside.
func (s *Server) readScheduling(c *call) (wire.Scheduling, error) {
	if err := s.config.Store.Synced(); err != nil {
		return wire.Scheduling{}, err
	}
	var body wire.Scheduling
	if err := s.decode(c, wire.Decode, &body); err != nil {
		return body, err
	}
	var causes []wire.Cause
	body.Name = cmp.Or(body.Name, c.name)
	switch {
	case !wire.ValidName(body.Name):
		causes = append(causes, badName)
	case c.name != "" && body.Name != c.name:
		causes = append(causes, wire.Cause{Field: "name", Reason: wire.Immutable, Message: "must be that of the path"})
	}
	if body.Namespace != "" && body.Namespace != c.namespace {
		causes = append(causes, wire.Cause{Field: "namespace", Reason: wire.Immutable, Message: "must be that of the path"})
	}
	if body.ResourceVersion != "" {
		if _, err := wire.CompareVersions(body.ResourceVersion, body.ResourceVersion); err != nil {
			causes = append(causes, wire.Cause{Field: "resourceVersion", Reason: wire.Invalid, Message: "must be one that the object has had"})
		}
	}
	if causes = append(causes, body.Validate(c.namespace)...); len(causes) > 0 {
		return body, Refuse(http.StatusUnprocessableEntity, "The scheduling cannot be as it is.", causes...)
	}
	body.SchedulingSpec = body.Normal(c.namespace)
	return body, nil
}

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
	job, err := s.config.Store.SetExternal(c.r.Context(), c.caller, c.namespace, c.name, version, normal)
	return c.answerObject(http.StatusOK, job, err)
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
