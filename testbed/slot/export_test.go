package slot

// NodeID returns the rank of the node.
func (o *Order) NodeID(name string) (int, bool) { return o.nodeID(name) }

// Has reports whether position i is in the set.
func (p Positions) Has(i int) bool { return p.has(i) }

// Without returns the set without position i.
func (p Positions) Without(i int) Positions { return p.without(i) }
