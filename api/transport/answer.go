package transport

import (
	"bytes"
	"encoding/json"
	"net/http"
)

// AnswerJSON writes v as JSON. What cannot be encoded, such as an infinite number, is an
// answer of status 500 and the error, for the caller to log; a reader who has gone is no error.
func AnswerJSON(w http.ResponseWriter, v any) error {
	var text bytes.Buffer
	if err := json.NewEncoder(&text).Encode(v); err != nil {
		http.Error(w, "the answer cannot be written as JSON: "+err.Error(), http.StatusInternalServerError)
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text.Bytes())
	return nil
}
