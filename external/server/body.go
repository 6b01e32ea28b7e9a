package server

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/spazio-scheduler/spazio/external/wire"
)

// Media types of bodies.
const (
	jsonType       = "application/json"
	mergePatchType = "application/merge-patch+json"
)

// read returns the body of a request, which is of the media type.
func (s *Server) read(c *call, mediaType string) ([]byte, error) {
	is, _, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	if err != nil || is != mediaType {
		if mediaType == mergePatchType {
			c.w.Header().Set("Accept-Patch", mediaType)
		}
		return nil, Refuse(http.StatusUnsupportedMediaType, "The body must be of type "+mediaType+".")
	}
	if encoding := c.r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return nil, Refuse(http.StatusUnsupportedMediaType, "The body must not be encoded.")
	}
	data, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, c.longest))
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		return nil, Refuse(http.StatusRequestEntityTooLarge, fmt.Sprintf("The body must have at most %d bytes.", long.Limit))
	case err != nil:
		return nil, Refuse(http.StatusBadRequest, "The body could not be read.")
	}
	return data, nil
}

// decode reads a JSON body into v by wire.Decode or wire.DecodeKnown.
func (s *Server) decode(c *call, into func([]byte, any) error, v any) error {
	data, err := s.read(c, jsonType)
	if err != nil {
		return err
	}
	return s.callers.turn(c.r.Context(), func() error { return malformed(into(data, v)) })
}

// malformed is the problem of a body that is not what it should be, nil of one that is.
func malformed(err error) error {
	var bad *wire.MalformedError
	if !errors.As(err, &bad) {
		return err
	}
	return Refuse(http.StatusBadRequest, "The body is not the JSON that is wanted.", bad.Cause)
}

// answer writes v as JSON.
func (c *call) answer(status int, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	c.w.Header().Set("Content-Type", jsonType)
	c.w.WriteHeader(status)
	_, _ = c.w.Write(append(data, '\n')) // it fails if the caller has gone
	return nil
}

// answerObject answers with an object, or returns why there is none.
func (c *call) answerObject(status int, object wire.Resource, err error) error {
	if err != nil {
		return err
	}
	return c.answerVersion(status, object.Common().ResourceVersion, object)
}

// answerVersion writes an object of the version, or status 304 to a reader that has that version.
func (c *call) answerVersion(status int, version string, v any) error {
	header := c.w.Header()
	header.Set("Cache-Control", "private, no-cache")
	if version != "" {
		tag := `"` + version + `"`
		header.Set("ETag", tag)
		reads := c.r.Method == http.MethodGet || c.r.Method == http.MethodHead
		if reads && matches(c.r.Header.Values("If-None-Match"), tag) {
			c.w.WriteHeader(http.StatusNotModified)
			return nil
		}
	}
	return c.answer(status, v)
}

// answerHashed is answerVersion of what has no version that all replicas agree on: its tag
// is made of its bytes.
func (c *call) answerHashed(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	return c.answerVersion(http.StatusOK, hex.EncodeToString(sum[:12]), json.RawMessage(data))
}

// matches reports whether If-None-Match has the tag, by weak comparison.
func matches(lines []string, tag string) bool {
	return slices.ContainsFunc(entries(lines), func(entry string) bool { return entry == "*" || strings.TrimPrefix(entry, "W/") == tag })
}

// ifMatch returns the version at which alone may be written, empty for any. A weak tag
// matches nothing.
func (c *call) ifMatch() (string, error) {
	text := strings.TrimSpace(strings.Join(c.r.Header.Values("If-Match"), ","))
	switch {
	case text == "" || text == "*":
		return "", nil
	case strings.HasPrefix(text, "W/"):
		return "", Refuse(http.StatusPreconditionFailed, "If-Match takes strong tags alone.")
	}
	version, ok := strings.CutPrefix(text, `"`)
	version, closed := strings.CutSuffix(version, `"`)
	if !ok || !closed || version == "" || strings.ContainsAny(version, "\", ") {
		return "", Refuse(http.StatusBadRequest, `If-Match must be one ETag, with its quotation marks, or "*".`)
	}
	if _, err := wire.CompareVersions(version, version); err != nil {
		// No object has ever had such a version.
		return "", Refuse(http.StatusPreconditionFailed, "The object has another version.")
	}
	return version, nil
}
