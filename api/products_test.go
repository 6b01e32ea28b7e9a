package api_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/field"
)

// TestProductsOfAReportAreFinite: for any valid report, the quotients that a scheduler computes from it
// are finite.
func TestProductsOfAReportAreFinite(t *testing.T) {
	small := []float64{0, 5e-324, 1e-306, 1e-38, 1e-18, 1e-9, 1, 1e6}
	accepted := 0
	for _, unit := range small {
		for _, cost := range small {
			for _, room := range []float64{-1e3, 1e-306, 1, 1e3, 1e6} {
				m := &spaziov1.Report{Node: "n", Channels: []*spaziov1.ChannelEstimate{{Name: "cpu", Unit: unit, Cost: cost, Room: room, Capacity: 1}}}
				r, err := api.ToReport(m)
				var bad *field.Error
				if err != nil {
					if !errors.As(err, &bad) {
						t.Fatal(err)
					}
					continue
				}
				accepted++
				c := r.Channels[0]
				for of, by := range map[string]float64{"unit": c.Unit, "cost": c.Cost, "unit, squared": c.Unit * c.Unit} {
					if by == 0 {
						continue
					}
					if _, err := json.Marshal([]float64{c.Room / by, 1 / by, c.Room * c.Room / by, float64(float32(1 / by))}); err != nil {
						t.Errorf("unit %g, cost %g, room %g, divided by %s: %v", unit, cost, room, of, err)
					}
				}
			}
		}
	}
	if accepted < 8*4 {
		t.Errorf("got %d accepted reports", accepted)
	}
}
