package modelserver

import (
	"fmt"
	"strconv"
	"strings"
)

// Table is a table for people: Right says which columns hold numbers. A plain value.
type Table struct {
	Title  string
	Header []string
	Rows   [][]string
	Right  []bool
}

// unknown stands for what is not known.
const unknown = "-"

// Text says in two lines which model it is, and of how many nodes.
func (d Description) Text() string {
	nodes := "1 node"
	if d.Nodes != 1 {
		nodes = strconv.Itoa(d.Nodes) + " nodes"
	}
	return fmt.Sprintf("schema %s, version %d\n%s, %d clipped, mass %.1f; ages %.1f s to %.1f s, median %.1f s",
		d.Schema, d.Version, nodes, d.Clipped, d.Mass, d.Ages.Min, d.Ages.Max, d.Ages.Median)
}

// SwayText says in a line what SwayDegrees means.
func (d Description) SwayText() string {
	if d.SwayDegrees >= 90 {
		return "No bound on how far nodes with a hundredth of the weight can have turned the direction."
	}
	return fmt.Sprintf("Nodes with a hundredth of the weight can have turned the direction by at most %.2f degrees.", d.SwayDegrees)
}

// ChannelTable shows the direction and the costs by channel.
func (d Description) ChannelTable() Table {
	t := Table{Header: []string{"CHANNEL", "DIRECTION", "COST OF A POD", "SD"}, Right: []bool{false, true, true, true}}
	for _, c := range d.Channels {
		cost, sd := "unknown", unknown
		if c.Cost != nil {
			cost, sd = fmt.Sprintf("%.4g", c.Cost.Value), fmt.Sprintf("%.2g", c.Cost.SD)
		}
		t.Rows = append(t.Rows, []string{c.Name, fmt.Sprintf("%.4f", c.Direction), cost, sd})
	}
	return t
}

// ComponentTable shows the components, from the one with most energy, which is 1.
func (d Description) ComponentTable() Table {
	t := Table{Header: []string{"COMPONENT", "SIGMA", "RMS", "ENERGY", "SHARE", "DIRECTION"}, Right: []bool{false, true, true, true, true}}
	for i, c := range d.Components {
		direction := make([]string, len(c.Direction))
		for k, u := range c.Direction {
			direction[k] = fmt.Sprintf("%+.3f", u)
		}
		t.Rows = append(t.Rows, []string{
			strconv.Itoa(i + 1), fmt.Sprintf("%.4g", c.Sigma), fmt.Sprintf("%.4g", c.RMS), fmt.Sprintf("%.4g", c.Energy),
			fmt.Sprintf("%.1f %%", 100*c.Share), strings.Join(direction, " "),
		})
	}
	return t
}
