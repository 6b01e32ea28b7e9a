package agentd_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestAgentProcessMeasuresEnergy: an agent with a fake counter and the real /proc exports the measured
// energy, also as a channel, and explains it.
func TestAgentProcessMeasuresEnergy(t *testing.T) {
	sys := t.TempDir()
	zone := filepath.Join(sys, "class", "powercap", "intel-rapl:0")
	if err := os.MkdirAll(zone, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"name": "package-0\n", "max_energy_range_uj": "262143328850\n", "energy_uj": "1000000\n"} {
		if err := os.WriteFile(filepath.Join(zone, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p := startProcess(t, "--node-name", "here", "--listen", "127.0.0.1:0", "--pod-source", "none",
		"--sys-root", sys, "--energy", "powercap", "--energy-pods", "1s")
	counter := uint64(1000000)
	waitFor(t, "joules in the metrics", func() bool {
		counter += 50_000 // some W at waitFor's rate
		if err := os.WriteFile(filepath.Join(zone, "energy_uj"), []byte(strconv.FormatUint(counter, 10)+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		_, body := p.get("/metrics")
		_, after, found := strings.Cut(body, `spazio_energy_node_joules_total{part="false",source="powercap",zone="package-0"} `)
		number, _, _ := strings.Cut(after, "\n")
		joules, err := strconv.ParseFloat(number, 64)
		return found && err == nil && joules > 0
	})
	waitFor(t, "the power among the reasons of a report", func() bool {
		counter += 50_000
		if err := os.WriteFile(filepath.Join(zone, "energy_uj"), []byte(strconv.FormatUint(counter, 10)+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		_, why := p.get("/debug/why")
		return strings.Contains(why, `"power": {`)
	})
	p.stop(syscall.SIGTERM)
}

// shown matches the commands in docs/energy.md that the test below runs: an agent's flags, and the path
// and the text to look for.
var shown = regexp.MustCompile("(?m)^<!-- run: TestAgentOfTheDocument of cmd/internal/agentd -->\n```sh\ngo run ./cmd/spazio-agent (.*)\ncurl -s http://127.0.0.1:9691(/\\S*) \\| grep (\\w+)\n```$")

// TestAgentOfTheDocument: an agent with the documented flags exports the documented metric on any
// machine: joules that grow.
func TestAgentOfTheDocument(t *testing.T) {
	text, err := os.ReadFile("../../../docs/energy.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := shown.FindSubmatch(text)
	if commands == nil {
		t.Fatal("the document lacks the commands")
	}
	p := startProcess(t, append(strings.Fields(string(commands[1])), "--listen=127.0.0.1:0", "--pod-source=none", "--node-name=here")...)
	waitFor(t, "joules in the metrics", func() bool {
		_, body := p.get(string(commands[2]))
		for line := range strings.Lines(body) {
			if name, value, _ := strings.Cut(strings.TrimSpace(line), " "); strings.HasPrefix(name, "spazio_energy_node_joules_total{") && strings.Contains(line, string(commands[3])) {
				joules, err := strconv.ParseFloat(value, 64)
				return err == nil && joules > 0
			}
		}
		return false
	})
	p.stop(syscall.SIGTERM)
}
