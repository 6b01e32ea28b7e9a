package agentd

import (
	"fmt"
	"log/slog"
	"testing"

	"github.com/spf13/pflag"

	"github.com/spazio-scheduler/spazio/node"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// named is a source beside the agent's own.
type named struct{}

func (named) Name() string         { return "named" }
func (named) Flags(*pflag.FlagSet) {}
func (named) New(string, *slog.Logger) (telemetry.PodSource, error) {
	return telemetry.StaticPods(nil), nil
}

// Sources that query a runtime or an API server, by a socket, a namespace or a node's name that may be
// wrong, are checked against the cgroups.
func TestSourcesAreChecked(t *testing.T) {
	for source, want := range map[string]bool{"cri": true, "named": true, "none": false} {
		o := options{podSource: source, sources: []Source{named{}}, node: node.Config{Name: "n"}}
		got, err := o.pods(slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		if text := fmt.Sprintf("%T", got); (text == "*telemetry.checkedPods") != want {
			t.Errorf("%s: a %s", source, text)
		}
	}
}
