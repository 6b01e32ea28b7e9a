package podsource_test

import (
	"errors"
	"testing"

	"github.com/spazio-scheduler/spazio/telemetry"
	"github.com/spazio-scheduler/spazio/telemetry/podsource"
)

// ConfigErrors checks that create refuses a configuration with a field out of range, such as the
// endpoint of a socket, and that the error names the field.
func ConfigErrors(t *testing.T, endpoint string, create func(podsource.Config) error) {
	t.Helper()
	for field, c := range map[string]podsource.Config{
		"Endpoint": {Endpoint: endpoint},
	} {
		err := create(c)
		var wrong *telemetry.FieldError
		if !errors.As(err, &wrong) || wrong.Field != field {
			t.Errorf("%+v: err = %v, want *FieldError of %s", c, err, field)
		}
	}
	if err := create(podsource.Config{}); err != nil {
		t.Errorf("the zero config: %v", err)
	}
}
