package sim

import "strconv"

// Moment is the cluster at a time.
type Moment struct {
	// At is in seconds from the workload's start.
	At float64
	// Waiting pods have been created and have no node, Starting ones have a node and
	// do not run yet, Running ones do. Servers count.
	Waiting, Starting, Running int
	// Busy is the cores in use on average since the moment before, Memory the bytes
	// asked for now.
	Busy, Memory float64
}

// note adds a moment to the timeline.
func (s *cluster) note() {
	m := Moment{At: s.now - s.Warmup}
	for i, r := range s.records {
		replica := s.replicas[int32(i)]
		switch {
		case r.Done != -1 || r.GaveUp || replica != nil && replica.absent:
		case r.Running != -1:
			m.Running++
		case r.Node >= 0:
			m.Starting++
		case s.pods[i].Created <= m.At:
			m.Waiting++
		}
	}
	busy := 0.
	for _, node := range s.nodes {
		s.advance(node)
		busy += node.model.Totals().Busy
		m.Memory += node.model.Memory()
	}
	m.Busy = (busy - s.busyBefore) / s.Timeline
	s.busyBefore = busy
	s.timeline = append(s.timeline, m)
}

// PodTable is a run as a table, a header and a row a pod in the order of the workload:
// what it was, what it declared, and what became of it. Times that never came are empty.
func PodTable(r Result) [][]string {
	rows := [][]string{{
		"pod", "owner", "created", "cores", "threads", "work", "memory", "request_cores", "request_memory",
		"node", "bound", "running", "done", "attempts", "kills", "evictions",
	}}
	for i, p := range r.Pods {
		record, request, need := r.Records[i], p.request(), p.Need()
		rows = append(rows, []string{
			strconv.Itoa(i), p.Workload, number(p.Created), number(need.CPU), strconv.Itoa(p.Threads), number(p.work()), number(need.Memory),
			number(request.CPU), number(request.Memory),
			come(float64(record.Node)), come(record.Bound), come(record.Running), come(record.Done),
			strconv.Itoa(record.Attempts), strconv.Itoa(record.Kills), strconv.Itoa(record.Evictions),
		})
	}
	return rows
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// come is empty for what has not happened.
func come(v float64) string {
	if v == -1 {
		return ""
	}
	return number(v)
}
