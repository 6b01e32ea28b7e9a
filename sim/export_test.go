package sim

// Dynamic is what load has caused.
func (e Energy) Dynamic() float64 { return e.dynamic() }

// IfEmptySlept is what it were if nodes without pods had taken nothing.
func (e Energy) IfEmptySlept() float64 { return e.ifEmptySlept() }
