package lab_test

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/cmd/internal/lab"
	"github.com/spazio-scheduler/spazio/sim/report"
	"github.com/spazio-scheduler/spazio/sim/report/figures"
)

// drawn runs the command and returns its stdout.
func drawn(t *testing.T, args ...string) (string, error) {
	t.Helper()
	return executed(t, "figures", args)
}

func TestFiguresRows(t *testing.T) {
	text, err := drawn(t, "4.4", "4.5", "--output", "json")
	if err != nil {
		t.Fatal(err)
	}
	var made struct {
		Rows []struct {
			Figure, Verdict, Metric, Unit string
			Value                         float64
		}
	}
	if err := json.Unmarshal([]byte(text), &made); err != nil {
		t.Fatal(err)
	}
	rows := made.Rows
	text, err = drawn(t, "4.5", "4.4", "-o", "csv")
	if err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"figure", "verdict", "metric", "value", "unit", "revision"}
	if diff := cmp.Diff(want, records[0]); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
	if len(rows) == 0 || len(records) != len(rows)+1 {
		t.Fatalf("%d records, %d rows", len(records), len(rows))
	}
	if r := rows[0]; r.Figure != "4.4" || records[1][2] != r.Metric {
		t.Errorf("first row: got %v as CSV and %+v as JSON", records[1], r)
	}
}

func TestFiguresTableAndList(t *testing.T) {
	table, err := drawn(t, "4.5")
	if err != nil {
		t.Fatal(err)
	}
	list, err := drawn(t, "--list")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(table, "recording") || strings.Contains(table, "4.6") {
		t.Errorf("table\n%s", table)
	}
	for _, f := range figures.All() {
		if !strings.Contains(list, f.ID) {
			t.Errorf("no %s in\n%s", f.ID, list)
		}
	}
}

// A seed changes the simulations and nothing else.
func TestFiguresSeed(t *testing.T) {
	rows := map[string]string{}
	for _, args := range [][]string{{"4.5", "1"}, {"4.5", "2"}, {"4.11", "1"}, {"4.11", "2"}} {
		text, err := drawn(t, args[0], "--seed", args[1], "-o", "json")
		if err != nil {
			t.Fatal(err)
		}
		rows[args[0]+"/"+args[1]] = text
	}
	if rows["4.5/1"] != rows["4.5/2"] || rows["4.11/1"] == rows["4.11/2"] {
		t.Error("the seed affects a recording, or does not affect a simulation")
	}
}

func TestFiguresRefuses(t *testing.T) {
	isFlag := func(err error) bool { return errors.Is(err, lab.ErrFlag) }
	tests := []struct {
		args []string
		is   func(error) bool
	}{
		{[]string{"--output", "xml"}, isFlag},
		{[]string{"9.9"}, func(err error) bool { return errors.Is(err, report.ErrInvalid) }},
		{[]string{""}, func(err error) bool { return errors.Is(err, report.ErrInvalid) }},
		{[]string{"--seed", "-1"}, func(err error) bool { return err != nil }},
	}
	for _, test := range tests {
		if _, err := drawn(t, test.args...); err == nil || !test.is(err) {
			t.Errorf("%v: error %v", test.args, err)
		}
	}
}
