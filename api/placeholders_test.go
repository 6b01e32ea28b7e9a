package api_test

import (
	"encoding/hex"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/proto"

	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/reserve"
)

func TestPlaceholdersRoundTrip(t *testing.T) {
	for _, want := range [][]reserve.PodKey{nil, {0, 1, math.MaxUint64}, make([]reserve.PodKey, api.MaxAbsorbed)} {
		got, err := api.ToPlaceholders(wire(t, api.FromPlaceholders(want), &spaziov1.GhostPods{}))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("-sent +received:\n%s", d)
		}
	}
	_, err := api.ToPlaceholders(nil)
	refused(t, err, "ghost_pods", api.ErrMissing)
	_, err = api.ToPlaceholders(&spaziov1.GhostPods{Pods: make([]uint64, api.MaxAbsorbed+1)})
	refused(t, err, "pods", api.ErrLength)
}

// TestNoticesOnTheWire pins the bytes, which agents and schedulers of other versions read.
func TestNoticesOnTheWire(t *testing.T) {
	for _, test := range []struct {
		want   string
		notice *spaziov1.Notice
	}{
		// Field 2, 18 bytes: field 1, packed, 16 bytes, little-endian.
		{"12120a100807060504030201ffffffffffffffff", &spaziov1.Notice{Event: &spaziov1.Notice_GhostPods{
			GhostPods: api.FromPlaceholders([]reserve.PodKey{0x0102030405060708, math.MaxUint64})}}},
		// An empty list is sent, too.
		{"1200", &spaziov1.Notice{Event: &spaziov1.Notice_GhostPods{GhostPods: api.FromPlaceholders(nil)}}},
		{"1801", &spaziov1.Notice{Event: &spaziov1.Notice_TakesHeartbeats{TakesHeartbeats: true}}},
		{"0a0b0908070605040302011800", &spaziov1.Notice{Event: &spaziov1.Notice_PodBound{
			PodBound: &spaziov1.PodBound{Pod: 0x0102030405060708, InitContainers: new(uint32)}}}},
	} {
		raw, err := proto.Marshal(test.notice)
		if err != nil || hex.EncodeToString(raw) != test.want {
			t.Errorf("%v is %x, want %s, %v", test.notice, raw, test.want, err)
		}
	}
	// An agent older than placeholders sees an empty notice.
	placeholders := &spaziov1.Notice{}
	if err := proto.Unmarshal([]byte{0x12, 0x00}, placeholders); err != nil || placeholders.GetPodBound() != nil || placeholders.GetTakesHeartbeats() {
		t.Errorf("%v, %v", placeholders, err)
	}
}

func FuzzToPlaceholders(f *testing.F) {
	seed := api.FromPlaceholders([]reserve.PodKey{1, math.MaxUint64})
	fuzz(f, seed, func() *spaziov1.GhostPods { return &spaziov1.GhostPods{} }, api.ToPlaceholders, api.FromPlaceholders)
}
