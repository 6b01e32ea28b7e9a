package recording_test

import (
	"slices"
	"testing"

	"github.com/spazio-scheduler/spazio/agent/recording"
)

// rotation returns the records of a node's day whose i-th is a report, after which the next file
// begins.
func rotation(t *testing.T) (records []recording.Record, i int) {
	t.Helper()
	for seed := range uint64(50) {
		dir, _, _ := parts(t, seed)
		r, err := recording.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		records = nil
		for rec, err := range r.Records() {
			if err != nil {
				t.Fatal(err)
			}
			records = append(records, rec)
		}
		r.Close()
		for i := range len(records) - 1 {
			if records[i].Kind == recording.KindReport && records[i+1].Kind == recording.KindHeader {
				return records, i
			}
		}
	}
	t.Fatal("no file ends with a report")
	return nil, 0
}

// TestReportAtTheEndOfAFile: a report that replay makes before a new file has no counterpart either
// because none was made, which is a difference, or because it found no room, which the gap after the
// header shows.
func TestReportAtTheEndOfAFile(t *testing.T) {
	records, i := rotation(t)
	gap := recording.Record{Kind: recording.KindGap, At: records[i].At, Lost: 1}
	without := slices.Delete(slices.Clone(records), i, i+1)
	for _, test := range []struct {
		name      string
		records   []recording.Record
		different int
	}{
		{"recorded", records, 0},
		{"never made", without, 1},
		{"lost", slices.Insert(slices.Clone(without), i+1, gap), 0},
	} {
		m := recording.Matcher{Replayer: recording.NewReplayer(nil)}
		pairs, different := 0, 0
		for _, rec := range test.records {
			pair, ok, err := m.Feed(rec)
			if err != nil {
				t.Fatalf("%s: %v", test.name, err)
			}
			if ok {
				pairs++
				if !pair.Identical() {
					different++
				}
			}
		}
		if different != test.different || pairs == 0 {
			t.Errorf("%s: got %d of %d differing pairs, want %d", test.name, different, pairs, test.different)
		}
	}
}
