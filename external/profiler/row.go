package profiler

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/testbed/colocate"
)

// key is where a job keeps what is known of it, in what outside programs keep in it.
const key = "profiler"

// RowOf reads what is known of a job; without anything it is empty.
func RowOf(job *wire.Job) (colocate.Row, error) {
	var kept map[string]json.RawMessage
	if len(job.External) > 0 {
		if err := json.Unmarshal(job.External, &kept); err != nil {
			return nil, fmt.Errorf("profiler: job %s: %w", job.Name, err)
		}
	}
	if len(kept[key]) == 0 {
		return colocate.Row{}, nil
	}
	row, err := colocate.ParseRow(kept[key])
	if err != nil {
		return nil, fmt.Errorf("profiler: what job %s keeps under %q: %w", job.Name, key, err)
	}
	return row, nil
}

// learn adds a run to what a job keeps; what others write meanwhile is not lost.
func (p *Profiler) learn(ctx context.Context, name, beside string, seconds float64) error {
	for {
		job, err := p.c.Client.Job(ctx, p.c.Namespace, name)
		if err != nil {
			return err
		}
		row, err := RowOf(&job)
		if err != nil {
			return err
		}
		if row[beside], err = row[beside].Add(seconds); err != nil {
			return fmt.Errorf("profiler: job %s beside %s: %w", name, beside, err)
		}
		_, err = p.c.Client.PatchExternal(ctx, p.c.Namespace, name, job.ResourceVersion, map[string]colocate.Row{key: row})
		if !wire.IsStatus(err, http.StatusPreconditionFailed) {
			return err
		}
	}
}
