package modelctl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
)

// Model is a global model as it is printed; its JSON form is for machines.
type Model struct {
	Schema  string `json:"schema"`
	Version uint64 `json:"version"`
	Nodes   int    `json:"nodes"`
	// Clipped nodes lost weight because they are far from the median model.
	Clipped int     `json:"clipped"`
	Mass    float64 `json:"mass"`
	// SwayDegrees bounds what nodes with a hundredth of the weight can have
	// turned the direction by; 90 promises nothing.
	SwayDegrees float64     `json:"swayDegrees"`
	Ages        Ages        `json:"ageSeconds"`
	Channels    []Channel   `json:"channels"`
	Components  []Component `json:"components"`
}

// Ages are those of the nodes' newest pushes.
type Ages struct {
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
}

// Channel is one channel's part of the direction u₁, and what a pod costs in
// its absolute unit, where that is known.
type Channel struct {
	Name      string  `json:"name"`
	Direction float64 `json:"direction"`
	Cost      *Cost   `json:"cost,omitempty"`
}

// Cost is that of one pod.
type Cost struct {
	Value float64 `json:"value"`
	SD    float64 `json:"sd"`
}

// Component is one singular vector: RMS is σ/√b, the root mean square of a
// sample along it, Share its part of all energy.
type Component struct {
	Sigma     float64   `json:"sigma"`
	RMS       float64   `json:"rms"`
	Energy    float64   `json:"energy"`
	Share     float64   `json:"share"`
	Direction []float64 `json:"direction"`
}

// ask returns what the aggregator published last.
func ask(ctx context.Context, client spaziov1.ModelServiceClient, c Config) ([]Model, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	stream, err := client.Describe(ctx, &spaziov1.DescribeRequest{Schema: c.Schema})
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", c.Aggregator, err)
	}
	models := []Model{}
	for {
		d, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return models, nil
		}
		if err != nil {
			return nil, fmt.Errorf("ask %s: %w", c.Aggregator, err)
		}
		fleet, err := api.ToFleet(d.GetGlobal())
		if err != nil {
			return nil, err
		}
		models = append(models, describe(d, fleet))
	}
}

func describe(d *spaziov1.Description, fleet agent.Fleet) Model {
	state := fleet.Model.State()
	m := Model{
		Schema: fleet.Schema, Version: d.GetGlobal().GetVersion(),
		Nodes: fleet.Nodes, Clipped: int(d.GetClipped()), Mass: state.Mass,
		SwayDegrees: d.GetSway() * 180 / math.Pi,
		Ages:        Ages{seconds(d.GetMinAgeNanos()), seconds(d.GetMedianAgeNanos()), seconds(d.GetMaxAgeNanos())},
	}
	direction := fleet.Model.DirectionTo(nil)
	for i, name := range channelNames(fleet.Schema, state.Dim) {
		c := Channel{Name: name, Direction: direction[i]}
		if i < len(fleet.Costs) && fleet.Costs[i].Known {
			c.Cost = &Cost{fleet.Costs[i].Value, fleet.Costs[i].SD}
		}
		m.Channels = append(m.Channels, c)
	}
	var total float64
	for i := range state.Sigma {
		total += fleet.Model.Energy(i)
	}
	for i, sigma := range state.Sigma {
		c := Component{Sigma: sigma, RMS: sigma / math.Sqrt(float64(state.Block)), Energy: fleet.Model.Energy(i), Direction: state.U[i*state.Dim : (i+1)*state.Dim]}
		if total > 0 {
			c.Share = c.Energy / total
		}
		m.Components = append(m.Components, c)
	}
	return m
}

func seconds(nanos int64) float64 { return time.Duration(nanos).Seconds() }

// channelNames reads the names from a schema such as
// "v2;cpu=half-runnable;memory=available" or "cpu,memory"; where it has another form,
// channels are numbered.
func channelNames(schema string, dim int) []string {
	for _, separator := range []string{";", ","} {
		names := strings.Split(schema, separator)
		if len(names) == dim+1 && separator == ";" {
			names = names[1:] // the version
		}
		if len(names) == dim {
			for i, n := range names {
				names[i], _, _ = strings.Cut(n, "=")
			}
			return names
		}
	}
	names := make([]string, dim)
	for i := range names {
		names[i] = "channel " + strconv.Itoa(i)
	}
	return names
}
