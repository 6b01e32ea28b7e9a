//go:build !kubernetes1.35

package plugin_test

import "k8s.io/client-go/tools/events"

// eventRecorder is what the framework's handle has.
type eventRecorder = events.EventRecorderLogger
