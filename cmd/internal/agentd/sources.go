package agentd

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/telemetry"
	"github.com/spazio-scheduler/spazio/telemetry/podsource"
)

// pods returns the source that --pod-source names.
func (o options) pods(logger *slog.Logger) (telemetry.PodSource, error) {
	source, err := o.source(logger)
	if bad := (*telemetry.FieldError)(nil); errors.As(err, &bad) || errors.Is(err, telemetry.ErrPIDNamespace) {
		err = command.Usage(err)
	}
	if err != nil {
		return nil, fmt.Errorf("--pod-source %s: %w", o.podSource, err)
	}
	return source, nil
}

func (o options) source(logger *slog.Logger) (telemetry.PodSource, error) {
	switch o.podSource {
	case "none":
		return telemetry.StaticPods(nil), nil
	case "cgroup":
		return telemetry.NewCgroupPods(telemetry.CgroupConfig{Root: o.telemetry.CgroupRoot, ProcRoot: o.telemetry.ProcRoot, Logger: logger})
	}
	source, err := o.asked(logger)
	if err != nil {
		return nil, err
	}
	return telemetry.CheckPods(source, telemetry.CgroupConfig{Root: o.telemetry.CgroupRoot, Logger: logger})
}

// asked returns a source that asks the runtime or the API server.
func (o options) asked(logger *slog.Logger) (telemetry.PodSource, error) {
	if o.podSource == "cri" {
		return podsource.NewCRI(podsource.Config{Endpoint: o.runtime, Logger: logger})
	}
	for _, s := range o.sources {
		if s.Name() != o.podSource {
			continue
		}
		node, err := o.nodeName()
		if err != nil {
			return nil, err
		}
		source, err := s.New(node, logger)
		if err != nil {
			return nil, command.Usage(err)
		}
		return source, nil
	}
	return nil, command.Usage(fmt.Errorf("not one of %s", o.sourceNames()))
}

// sourceNames lists what --pod-source takes.
func (o options) sourceNames() string {
	names := []string{"cgroup", "cri"}
	for _, s := range o.sources {
		names = append(names, s.Name())
	}
	return strings.Join(append(names, "none"), ", ")
}
