package modelserver_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/aggregate/modelserver"
)

func TestDescriptionForPeople(t *testing.T) {
	d := modelserver.Description{
		Schema: "cpu,memory", Version: 3, Nodes: 2, Mass: 4,
		Ages: modelserver.AgeSummary{Min: .1, Median: 2, Max: 30},
		Channels: []modelserver.Channel{
			{Name: "cpu", Direction: 1, Cost: &modelserver.ChannelCost{Value: .5, SD: .0891}}, {Name: "memory"},
		},
		Components: []modelserver.Component{
			{Sigma: 1.41421, RMS: .44721, Energy: 2, Share: .8, Direction: []float64{1, 0}},
			{Sigma: .70711, RMS: .22361, Energy: .5, Share: .2, Direction: []float64{0, -1}},
		},
	}
	for what, test := range map[string]struct{ got, want any }{
		"text": {d.Text(), "schema cpu,memory, version 3\n2 nodes, mass 4.0; ages 0.1 s to 30.0 s, median 2.0 s"},
		"channels": {d.ChannelTable(), modelserver.Table{
			Header: []string{"CHANNEL", "DIRECTION", "COST OF A POD", "SD"}, Right: []bool{false, true, true, true},
			Rows: [][]string{{"cpu", "1.0000", "0.5", "0.089"}, {"memory", "0.0000", "unknown", "-"}},
		}},
		"components": {d.ComponentTable(), modelserver.Table{
			Header: []string{"COMPONENT", "SIGMA", "RMS", "ENERGY", "SHARE", "DIRECTION"}, Right: []bool{false, true, true, true, true},
			Rows: [][]string{{"1", "1.414", "0.4472", "2", "80.0 %", "+1.000 +0.000"}, {"2", "0.7071", "0.2236", "0.5", "20.0 %", "+0.000 -1.000"}},
		}},
		"one node": {modelserver.Description{Nodes: 1}.Text(), "schema , version 0\n1 node, mass 0.0; ages 0.0 s to 0.0 s, median 0.0 s"},
	} {
		if diff := cmp.Diff(test.want, test.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
}
