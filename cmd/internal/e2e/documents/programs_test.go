package documents

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/spazio-scheduler/spazio/cmd/compare/social"
	"github.com/spazio-scheduler/spazio/cmd/internal/agentd"
	"github.com/spazio-scheduler/spazio/cmd/internal/agentd/agentkube"
	"github.com/spazio-scheduler/spazio/cmd/internal/aggregatord"
	"github.com/spazio-scheduler/spazio/cmd/internal/certs"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/cmd/internal/demo"
	"github.com/spazio-scheduler/spazio/cmd/internal/deschedulerd"
	"github.com/spazio-scheduler/spazio/cmd/internal/lab"
	"github.com/spazio-scheduler/spazio/cmd/internal/powerd"
	"github.com/spazio-scheduler/spazio/cmd/internal/profilerd"
	"github.com/spazio-scheduler/spazio/cmd/internal/schedulerd"
	"github.com/spazio-scheduler/spazio/cmd/internal/spazioctl"
	"github.com/spazio-scheduler/spazio/cmd/internal/testbedd"
)

// root is the repository.
const root = "../../../.."

// A program is a program of cmd: its tree of commands, and what its main calls.
type program struct {
	command func() *cobra.Command
	main    func(ctx context.Context, args []string, stdout, stderr io.Writer) int
}

// programs are all of them, by name.
var programs = map[string]program{
	"kubectl-spazio":     {func() *cobra.Command { return spazioctl.NewCommand("kubectl-spazio", "kubectl spazio") }, spazioctl.PluginMain},
	"spazio":             {func() *cobra.Command { return spazioctl.NewCommand("spazio", "spazio") }, spazioctl.Main},
	"spazio-agent":       {func() *cobra.Command { return agentd.NewCommand() }, agentd.Main},
	"spazio-agent-kube":  {agentkube.NewCommand, agentkube.Main},
	"spazio-aggregator":  {aggregatord.NewCommand, aggregatord.Main},
	"spazio-certs":       {certs.NewCommand, certs.Main},
	"spazio-demo":        {demo.NewCommand, demo.Main},
	"spazio-descheduler": {deschedulerd.NewCommand, deschedulerd.Main},
	"spazio-lab":         {lab.NewCommand, lab.Main},
	"spazio-host-energy": {powerd.NewCommand, powerd.Main},
	"spazio-profiler":    {profilerd.NewCommand, profilerd.Main},
	"spazio-scheduler":   {schedulerd.NewCommand, schedulerd.Main},
	"spazio-testapp":     {social.NewCommand, social.Program},
	"spazio-testbed":     {testbedd.NewCommand, testbedd.Main},
}

// libraries has the flags that libraries declare in any program; some programs replace them, others
// need them.
var libraries = pflag.CommandLine

// tree returns a program's commands.
func tree(name string) *cobra.Command {
	pflag.CommandLine = libraries
	defer func() { pflag.CommandLine = libraries }()
	return programs[name].command()
}

// asProgram is the environment variable that makes the test's binary act as the program that it names.
const asProgram = "SPAZIO_E2E_PROGRAM"

func TestMain(m *testing.M) {
	if name := os.Getenv(asProgram); name != "" {
		command.Main(programs[name].main)
	}
	if os.Getenv(asKubectl) != "" {
		if err := kubectl(os.Args[1:], os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "kubectl:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// Every directory of cmd with a main is listed here, so that documents are checked against its flags.
func TestProgramsAreAll(t *testing.T) {
	mains, err := filepath.Glob(filepath.Join(root, "cmd/*/main.go"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range mains {
		names = append(names, filepath.Base(filepath.Dir(file)))
	}
	if diff := cmp.Diff(names, slices.Sorted(maps.Keys(programs))); diff != "" {
		t.Errorf("programs of cmd (-there +known):\n%s", diff)
	}
}
