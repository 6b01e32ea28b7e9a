package transport_test

import (
	"math"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/api/transport"
)

// TestEncodingErrors: an infinite number anywhere is an error, not an empty answer with status 200.
func TestEncodingErrors(t *testing.T) {
	for _, bad := range []any{math.Inf(1), map[string]any{"cores": []float64{1, math.NaN()}}, func() {}} {
		w := httptest.NewRecorder()
		if err := transport.AnswerJSON(w, bad); err == nil || w.Code != 500 || !strings.Contains(w.Body.String(), "cannot be written") {
			t.Errorf("%v: %v, %d %q", bad, err, w.Code, w.Body)
		}
	}
	w := httptest.NewRecorder()
	if err := transport.AnswerJSON(w, map[string]int{"a": 1}); err != nil || w.Code != 200 || w.Body.String() != "{\"a\":1}\n" || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("%v, %d %q", err, w.Code, w.Body)
	}
}
