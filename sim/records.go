package sim

import "strconv"

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
