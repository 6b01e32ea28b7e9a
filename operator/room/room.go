package room

// Reading is what a scheduler knows of a node, in pods of mean cost. It is a plain
// value.
type Reading struct {
	// Avail is a lower bound of the pods that fit beyond those the node counts,
	// InFlight are those bound to it and not yet counted, and Held is what placeholders keep
	// free. What is free of all is Avail − InFlight − Held, which may be negative.
	Avail, InFlight, Held float64
	// Fresh reports whether the reading is of now, CostKnown whether the node has seen enough
	// pods to know what one takes, and Saturated whether a resource of it is full.
	Fresh, CostKnown, Saturated bool
}

// Free is the room that no placeholder holds; it may be negative.
func (r Reading) Free() float64 { return r.Avail - r.InFlight - r.Held }

// Source knows the newest readings. Its methods are safe for concurrent use.
type Source interface {
	// Room returns the newest reading of a node; ok is false where there is none.
	Room(node string) (r Reading, ok bool)
	// Changed has a token after readings have changed. It is for one receiver.
	Changed() <-chan struct{}
}
