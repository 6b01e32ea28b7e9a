package api_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/svd"
)

// golden is a message as a release encoded it: its bytes, each field with a comment, and its meaning as
// text, both written by hand. Files of a release are never changed.
type golden struct {
	file    string
	message protoreflect.FullName
	raw     []byte
	means   string
}

func goldens(t *testing.T) []golden {
	t.Helper()
	files, err := filepath.Glob("testdata/messages/*/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	var all []golden
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		g, err := parseGolden(string(text))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		g.file = file
		all = append(all, g)
	}
	return all
}

func parseGolden(text string) (golden, error) {
	head, rest, isMessage := strings.Cut(text, "\nbytes\n")
	about, name, isNamed := strings.Cut(head, "\nmessage ")
	dump, means, hasMeaning := strings.Cut(rest, "means\n")
	if !isMessage || !isNamed || !hasMeaning || !strings.HasPrefix(about, "# ") {
		return golden{}, fmt.Errorf("want a comment, message NAME, bytes, means")
	}
	g := golden{message: protoreflect.FullName(name), means: means}
	for line := range strings.Lines(dump) {
		digits, _, _ := strings.Cut(line, "#")
		raw, err := hex.DecodeString(strings.Join(strings.Fields(digits), ""))
		if err != nil {
			return golden{}, err
		}
		g.raw = append(g.raw, raw...)
	}
	return g, nil
}

// decode returns the decoded message.
func (g golden) decode(t *testing.T) proto.Message {
	t.Helper()
	m := g.empty(t)
	if err := proto.Unmarshal(g.raw, m); err != nil {
		t.Fatalf("%s: %v", g.file, err)
	}
	return m
}

func (g golden) empty(t *testing.T) proto.Message {
	t.Helper()
	of, err := protoregistry.GlobalTypes.FindMessageByName(g.message)
	if err != nil {
		t.Fatalf("%s: %v", g.file, err)
	}
	return of.New().Interface()
}

// read converts the message as its readers do; for some kinds they use the fields themselves.
func read(m proto.Message) (any, error) {
	switch m := m.(type) {
	case *spaziov1.Report:
		if api.IsHeartbeat(m) {
			return api.ToHeartbeat(m)
		}
		return api.ToReport(m)
	case *spaziov1.Notice:
		switch m.Event.(type) {
		case *spaziov1.Notice_PodBound:
			return api.ToBind(m.GetPodBound())
		case *spaziov1.Notice_GhostPods:
			return api.ToPlaceholders(m.GetGhostPods())
		case *spaziov1.Notice_TakesHeartbeats:
			return nil, nil
		}
		return nil, fmt.Errorf("no event")
	case *spaziov1.PushRequest:
		return api.ToLocal(m.GetLocal())
	case *spaziov1.PushResponse:
		if m.GetGlobal() == nil {
			return nil, nil
		}
		return api.ToFleet(m.GetGlobal())
	case *spaziov1.StateChunk:
		return nil, api.CheckChunk(m)
	case *spaziov1.SnapshotHeader:
		return nil, api.CheckHeader(m)
	case *spaziov1.Rooms:
		return api.ToRooms(m)
	case *spaziov1.UsageBatch:
		b, ack, err := api.ToUsage(m)
		if len(ack.GetRefused()) > 0 {
			err = errors.New(ack.Refusal)
		}
		return b, err
	case *spaziov1.UsageAck, *spaziov1.ChangesRequest, *spaziov1.WatchRooms:
		return nil, nil
	}
	return nil, fmt.Errorf("no reader of %T is known", m)
}

// accept returns the error of the message's readers.
func accept(m proto.Message) error {
	_, err := read(m)
	return err
}

// TestMessages: a message of any release keeps its meaning, and is accepted.
func TestMessages(t *testing.T) {
	for _, g := range goldens(t) {
		t.Run(strings.TrimPrefix(g.file, "testdata/messages/"), func(t *testing.T) {
			got, want := g.decode(t), g.empty(t)
			if err := prototext.Unmarshal([]byte(g.means), want); err != nil {
				t.Fatal(err)
			}
			if !proto.Equal(want, got) {
				t.Errorf("got\n%s\nwant\n%s", prototext.Format(got), prototext.Format(want))
			}
			if err := accept(got); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestMessagesMean checks the readers' results field by field: a writer and a reader that changed
// together would still agree with each other.
func TestMessagesMean(t *testing.T) {
	state := svd.State{
		Dim: 2, Block: 10, Mass: 1.75, U: []float64{.6, .8, .8, -.6}, Sigma: []float64{2, .5}, Mean: []float64{.25, .5},
	}
	model, err := svd.FromState(state)
	if err != nil {
		t.Fatal(err)
	}
	costs := []agent.Cost{{Value: .5, SD: .125, Known: true}, {}}
	means := map[string]any{
		"report": agent.Report{
			Node: "node-1", Incarnation: 1_700_000_000_000_000_000, Sequence: 300, SampledAt: time.Unix(1_700_000_060, 0),
			Schema: "v1:cpu,memory", Avail: 2.5, Allowance: 1, Pods: []reserve.PodKey{1, 0xfedcba9876543210},
			Saturated: true, K: 3.25, Limiting: "cpu",
			Channels: []agent.ChannelReport{
				{Name: "cpu", Usage: .75, Capacity: .5, Cost: .125, CostSD: .03125, Room: .25, Unit: .25, PodSD: .0625, StartupAllowance: .1875, Most: 1},
				{Name: "memory", Usage: .25, Capacity: -.5},
			},
			Flags: agent.Flags{Churn: true, CostUnknown: true, NoPressure: true, WarmingUp: true},
			Power: energy.Power{
				Watts: 81.5, SD: .5, Max: 120, Idle: 40, Marginal: 20, Busy: 1.75, Cores: 4, Joules: 1e6,
				Quality: energy.Shared, Flags: energy.Extrapolated | energy.Projected,
			},
			PodCores: []float32{0, .5}, PodWatts: []float32{0, 10.25}, Floored: true,
			Mispredictions: []agent.Misprediction{{Pod: 1, CPURatio: 2, MemoryRatio: .5}},
		},
		"report-least": agent.Report{Node: "n"},
		"report-usual": agent.Report{Node: "n", TypicalCPU: .875},
		"heartbeat":    api.Heartbeat{Sequence: 307, Unchanged: 300, SampleAge: 5e8},
		"notice-bound": agent.Bind{Pod: 0x0123456789abcdef, InitsKnown: true, Demand: profile.Demand{
			CPU:    profile.Share{Amount: .5, SD: .125, Confidence: .75},
			Memory: profile.Share{Amount: 256 << 20, SD: 1 << 20, Confidence: 1},
		}},
		"notice-ghosts": []reserve.PodKey{7, 8},
		"push-request": agent.Local{
			Node: "node-1", Incarnation: 3, Sequence: 9, Schema: "v1:cpu,memory", Model: state, Costs: costs,
		},
		"push-response": agent.Fleet{Schema: "v1:cpu,memory", Model: model, Costs: costs, Nodes: 19},
		"usage-batch": agent.UsageBatch{Node: "node-1", Incarnation: 3, Sequence: 12, Windows: []agent.Window{{
			Pod: 0x0123456789abcdef, Container: 5,
			Usage: profile.Usage{
				Age: time.Minute, Span: 10 * time.Second, CPU: 2.5, Stalled: 0, Pressure: true, Throttled: .25, Periods: 100,
				ThrottledPeriods: 4, Memory: 1 << 20, MemoryPeak: 2 << 20, MemoryStalled: .5, MemoryPressure: true, OOMKills: 1,
				Ended: true, Demand: []profile.DemandTime{{Bucket: 10, Millis: 3}, {Bucket: 90, Millis: 250}},
			},
		}}},
		"rooms": api.Rooms{
			Full: true, More: true, Gone: []string{"node-2"},
			Rooms: []api.Room{{Node: "node-1", Avail: 1.5, InFlight: 2, Held: 1, Fresh: true, CostKnown: true, Saturated: true}},
		},
	}
	for _, g := range goldens(t) {
		name := strings.TrimSuffix(filepath.Base(g.file), ".txt")
		want, has := means[name]
		if !has {
			continue
		}
		delete(means, name)
		got, err := read(g.decode(t))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", g.file, err, diff)
		}
	}
	for name := range means {
		t.Errorf("no message %s", name)
	}
}

// TestMessagesHoldEveryField: each new field needs a file with the meaning of its bytes.
func TestMessagesHoldEveryField(t *testing.T) {
	held := map[protoreflect.FullName]bool{}
	for _, g := range goldens(t) {
		hold(g.decode(t).ProtoReflect(), held)
	}
	eachMessage(func(m protoreflect.MessageDescriptor) {
		if !held[m.FullName()] {
			t.Errorf("%s is in no file of testdata/messages", m.FullName())
		}
		for i := range m.Fields().Len() {
			if f := m.Fields().Get(i); !held[f.FullName()] {
				t.Errorf("%s is in no file of testdata/messages", f.FullName())
			}
		}
	})
}

// TestMessagesOfEveryCall: each request and answer of a service has its own file, rather than being
// only part of another message.
func TestMessagesOfEveryCall(t *testing.T) {
	held := map[protoreflect.FullName]bool{}
	for _, g := range goldens(t) {
		held[g.message] = true
	}
	calls := 0
	eachFile(func(f protoreflect.FileDescriptor) {
		for i := range f.Services().Len() {
			methods := f.Services().Get(i).Methods()
			for j := range methods.Len() {
				calls++
				for _, m := range []protoreflect.MessageDescriptor{methods.Get(j).Input(), methods.Get(j).Output()} {
					if !held[m.FullName()] {
						t.Errorf("%s of %s has no file of testdata/messages", m.FullName(), methods.Get(j).FullName())
					}
				}
			}
		}
	})
	if calls == 0 {
		t.Error("no service is known")
	}
}

// hold records the messages and the fields that are set.
func hold(m protoreflect.Message, held map[protoreflect.FullName]bool) {
	held[m.Descriptor().FullName()] = true
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		held[f.FullName()] = true
		eachPart(f, v, func(part protoreflect.Message) { hold(part, held) })
		return true
	})
}

// eachPart calls do for each message in a field.
func eachPart(f protoreflect.FieldDescriptor, v protoreflect.Value, do func(protoreflect.Message)) {
	switch {
	case f.Message() == nil:
	case f.IsList():
		for i := range v.List().Len() {
			do(v.List().Get(i).Message())
		}
	default:
		do(v.Message())
	}
}

// eachFile calls do for each file of the wire format, eachMessage for each message, nested ones
// included.
func eachFile(do func(protoreflect.FileDescriptor)) {
	protoregistry.GlobalFiles.RangeFilesByPackage("spazio.v1", func(f protoreflect.FileDescriptor) bool {
		do(f)
		return true
	})
}

func eachMessage(do func(protoreflect.MessageDescriptor)) {
	var each func(protoreflect.MessageDescriptors)
	each = func(messages protoreflect.MessageDescriptors) {
		for i := range messages.Len() {
			do(messages.Get(i))
			each(messages.Get(i).Messages())
		}
	}
	eachFile(func(f protoreflect.FileDescriptor) { each(f.Messages()) })
}

// TestNewerMeaning: a report with a newer semantic version is refused, whatever its numbers are.
func TestNewerMeaning(t *testing.T) {
	for _, g := range goldens(t) {
		m, is := g.decode(t).(*spaziov1.Report)
		if !is || api.IsHeartbeat(m) {
			continue
		}
		m.Meaning = 2
		m.Avail = -1e300
		if err := accept(m); !errors.Is(err, api.ErrMeaning) || !strings.Contains(err.Error(), "meaning") {
			t.Errorf("%s: %v", g.file, err)
		}
	}
}
