package aggregatord_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/aggregate/modelserver"
	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
)

// patience bounds each wait; it is no expected duration.
const patience = time.Minute

// eventually waits until the condition holds, and prints its last state on a timeout.
func eventually(t *testing.T, condition func() (ok bool, state any)) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		ok, state := condition()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not within %v; got %v", patience, state)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// connect returns a connection, which the caller closes.
func connect(t *testing.T, addr string) *grpc.ClientConn {
	t.Helper()
	options, err := transport.DialOptions(addr, transport.Config{})
	if err != nil {
		t.Fatal(err)
	}
	connection, err := grpc.NewClient(addr, options...)
	if err != nil {
		t.Fatal(err)
	}
	return connection
}

// published returns the models at an aggregator's debug address.
func published(t *testing.T, addr string) ([]modelserver.Description, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+modelserver.DebugPath, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var status modelserver.Status
	err = json.NewDecoder(response.Body).Decode(&status)
	return status.Models, err
}

// power returns the sum of a model's squares by channel.
func power(m modelserver.Description) []float64 {
	sums := make([]float64, len(m.Channels))
	for _, c := range m.Components {
		for i, u := range c.Direction {
			sums[i] += c.RMS * c.RMS * u * u
		}
	}
	return sums
}

// agree waits until all aggregators publish a model of so many nodes, and the same except for the
// effect of transfer times: 2^(θ)−1 of the trace, which at a half-life of an hour is 1 % for half a
// minute.
func agree(t *testing.T, nodes int, addrs ...string) {
	t.Helper()
	eventually(t, func() (bool, any) {
		var first []float64
		for i, addr := range addrs {
			models, err := published(t, addr)
			if err != nil || len(models) != 1 || models[0].Nodes != nodes {
				return false, fmt.Sprint(addr, models, err)
			}
			squares := power(models[0])
			if i == 0 {
				first = squares
			}
			if d := math.Hypot(squares[0]-first[0], squares[1]-first[1]); d > .01*(first[0]+first[1]) {
				return false, fmt.Sprint(addr, " differs by ", d)
			}
		}
		return true, nil
	})
}

// TestReplicasAsProcesses kills one of three with SIGKILL twice: it restarts with its snapshot, and
// without.
func TestReplicasAsProcesses(t *testing.T) {
	var addrs, shown, snapshots []string
	for range 3 {
		addrs, shown = append(addrs, transporttest.Address(t)), append(shown, transporttest.Address(t))
		snapshots = append(snapshots, filepath.Join(t.TempDir(), "state"))
	}
	run := func(i int) *process {
		return start(t, "--listen", addrs[i], "--debug-listen", shown[i], "--half-life", "1h",
			"--peer", strings.Join(addrs, ","),
			"--snapshot", snapshots[i], "--snapshot-interval", "20ms")
	}
	replicas := []*process{run(0), run(1), run(2)}
	for n := range 6 {
		newNode(t, addrs[n%3]).models.Offer(local(fmt.Sprint("node-", n), n%2))
	}
	agree(t, 6, shown...)
	eventually(t, func() (bool, any) { // an interval may pass before it is saved
		_, err := os.Stat(snapshots[1])
		return err == nil, err
	})
	replicas[1].kill()
	newNode(t, addrs[0]).models.Offer(local("late", 0))
	agree(t, 7, shown[0], shown[2])
	replicas[1] = run(1)
	agree(t, 7, shown...)

	replicas[1].kill()
	if err := os.Remove(snapshots[1]); err != nil {
		t.Fatal(err)
	}
	run(1)
	agree(t, 7, shown...)
	replicas[0].interrupt(t)
	agree(t, 7, shown[1:]...)
}

// TestWarmStart restarts the command: its first model is its last one. A damaged file is reported, and
// the start is a cold one.
func TestWarmStart(t *testing.T) {
	addr, path := transporttest.Address(t), filepath.Join(t.TempDir(), "state")
	shown := transporttest.Address(t)
	args := []string{"--listen", addr, "--debug-listen", shown, "--snapshot", path, "--snapshot-interval", "1h"}
	first := start(t, args...)
	if log := strings.Join(first.log, ""); !strings.Contains(log, "no snapshot yet") {
		t.Errorf("first start: got log %q", log)
	}
	connection := connect(t, addr)
	defer connection.Close()
	client := spaziov1.NewModelServiceClient(connection)
	for _, l := range []agent.Local{local("one", 0), local("two", 1)} {
		if _, err := client.Push(t.Context(), &spaziov1.PushRequest{Local: api.FromLocal(l)}, grpc.WaitForReady(true)); err != nil {
			t.Fatal(err)
		}
	}
	first.interrupt(t)

	second := start(t, args...)
	if log := strings.Join(second.log, ""); !strings.Contains(log, "restored the snapshot") || !strings.Contains(log, `"nodes":2`) {
		t.Errorf("second start: got log %q", log)
	}
	eventually(t, func() (bool, any) { // its first tick may be pending
		models, err := published(t, shown)
		return err == nil && len(models) == 1 && models[0].Nodes == 2, fmt.Sprint(models, err)
	})
	second.interrupt(t)

	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	raw[len(raw)/2] ^= 1
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	third := start(t, args...)
	if log := strings.Join(third.log, ""); !strings.Contains(log, "the snapshot can't be used") {
		t.Errorf("third start: got log %q", log)
	}
	if models, err := published(t, shown); err != nil || len(models) != 0 {
		t.Errorf("after a damaged snapshot: got %v, %v", models, err)
	}
}
