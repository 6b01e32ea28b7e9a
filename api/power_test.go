package api_test

import (
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/energy"
)

// TestUnknownQualityIsNone: a later agent's unknown power quality makes a scheduler drop the power's
// numbers; the rest of the report counts.
func TestUnknownQualityIsNone(t *testing.T) {
	for _, q := range []spaziov1.Quality{spaziov1.Quality_QUALITY_NONE, 5, 255, 256 + 4, -252, -1} {
		m := api.FromReport(report())
		m.Power.Quality = q
		r, err := api.ToReport(wire(t, m, &spaziov1.Report{}))
		if err != nil || r.Power != (energy.Power{}) || r.Avail != report().Avail || len(r.PodCores) != 3 {
			t.Errorf("quality %d: %+v, %v", q, r.Power, err)
		}
	}
	r := report()
	r.Power.Quality = energy.None
	if m := api.FromReport(r); m.Power != nil {
		t.Errorf("an unknown power was sent: %v", m.Power)
	}
}

// TestPowersNumbersOnTheWire: agents and schedulers of different versions agree on the field numbers.
func TestPowersNumbersOnTheWire(t *testing.T) {
	raw, err := proto.Marshal(api.FromReport(report()))
	if err != nil {
		t.Fatal(err)
	}
	fields := map[protowire.Number][]byte{}
	for len(raw) > 0 {
		number, kind, n := protowire.ConsumeTag(raw)
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		size := protowire.ConsumeFieldValue(number, kind, raw[n:])
		if size < 0 {
			t.Fatal(protowire.ParseError(size))
		}
		fields[number] = raw[n : n+size]
		raw = raw[n+size:]
	}
	if len(fields[17]) == 0 || len(fields[18]) != 1+3*4 || len(fields[19]) != 1+3*4 {
		t.Errorf("fields 17, 18 and 19 take %d, %d and %d bytes", len(fields[17]), len(fields[18]), len(fields[19]))
	}
	for q, want := range map[energy.Quality]spaziov1.Quality{
		energy.Modelled: spaziov1.Quality_QUALITY_MODELLED, energy.Platform: spaziov1.Quality_QUALITY_PLATFORM,
		energy.Shared: spaziov1.Quality_QUALITY_SHARED, energy.Measured: spaziov1.Quality_QUALITY_MEASURED,
	} {
		r := report()
		r.Power.Quality = q
		if got := api.FromReport(r).Power.Quality; got != want {
			t.Errorf("quality %v: got message %v", q, got)
		}
	}
}
