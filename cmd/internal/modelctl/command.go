// Package modelctl is the command spazio model: it asks an aggregator for the
// fleet's models and prints them.
package modelctl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"

	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/cmd/internal/endpoint"
	"github.com/spazio-scheduler/spazio/cmd/internal/serve"
)

// Config says whom to ask, and how to show the answer.
type Config struct {
	// Aggregator is its gRPC target, Schema the only one to show; empty for all.
	Aggregator, Schema string
	Transport          transport.Config
	// Output is table or json. With Watch the answer is shown again at every
	// Interval.
	Output   string
	Watch    bool
	Interval time.Duration
	// Timeout bounds one question.
	Timeout time.Duration
}

// NewCommand returns the command with its flags at their defaults.
func NewCommand() *cobra.Command {
	c := Config{Aggregator: "127.0.0.1:9692", Output: "table", Interval: 2 * time.Second, Timeout: 5 * time.Second}
	command := &cobra.Command{
		Use:   "model",
		Short: "Print the fleet's model of its load",
		Long: "spazio model asks an aggregator for the models it published last, one a schema:\n" +
			"the direction of the fleet's load by channel, the energy of each component, what\n" +
			"a pod costs, how many nodes they come from and how old those nodes' models are.",
		RunE: func(command *cobra.Command, _ []string) error {
			if err := c.validate(); err != nil {
				return serve.Usage(err)
			}
			return endpoint.Refused(run(command.Context(), c, command.OutOrStdout()))
		},
	}
	flags := command.Flags()
	flags.StringVar(&c.Aggregator, "aggregator", c.Aggregator, "host:port of the aggregator")
	flags.StringVar(&c.Schema, "schema", "", "show the model of this schema alone")
	flags.StringVarP(&c.Output, "output", "o", c.Output, "table or json")
	flags.BoolVarP(&c.Watch, "watch", "w", false, "show it again and again until interrupted")
	flags.DurationVar(&c.Interval, "interval", c.Interval, "time between two with --watch")
	flags.DurationVar(&c.Timeout, "timeout", c.Timeout, "time that an answer may take")
	endpoint.TransportFlags(flags, &c.Transport)
	return command
}

var errPositive = errors.New("must be positive")

func (c Config) validate() error {
	switch {
	case c.Output != "table" && c.Output != "json":
		return fmt.Errorf("--output: %q is neither table nor json", c.Output)
	case c.Interval <= 0:
		return fmt.Errorf("--interval: %w", errPositive)
	case c.Timeout <= 0:
		return fmt.Errorf("--timeout: %w", errPositive)
	}
	return c.Transport.Validate()
}

func run(ctx context.Context, c Config, out io.Writer) error {
	options, err := transport.DialOptions(c.Aggregator, c.Transport)
	if err != nil {
		return err
	}
	connection, err := grpc.NewClient(c.Aggregator, options...)
	if err != nil {
		return serve.Usage(err)
	}
	defer connection.Close()
	client := spaziov1.NewModelServiceClient(connection)
	for {
		models, err := ask(ctx, client, c)
		if err != nil {
			return err
		}
		if err := show(out, c.Output, models); err != nil || !c.Watch {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(c.Interval):
		}
	}
}

func show(out io.Writer, format string, models []Model) error {
	if format == "json" {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(struct {
			Models []Model `json:"models"`
		}{models})
	}
	return table(out, models)
}
