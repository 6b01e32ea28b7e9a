package telemetry_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/telemetry"
)

// usageParsers format all values of a text as a line.
var usageParsers = map[string]func(string) (string, error){
	"cpu":       say(telemetry.ParseCPUTotals),
	"throttle":  say(telemetry.ParseThrottling),
	"memory":    say(telemetry.ParseMemoryUse),
	"memory-v1": say(telemetry.ParseMemoryUseV1),
	"events":    say(telemetry.ParseOOMKills),
}

func say[T any](parse func([]byte) (T, error)) func(string) (string, error) {
	return func(text string) (string, error) {
		value, err := parse([]byte(text))
		return fmt.Sprint(value), err
	}
}

func TestUsageParsers(t *testing.T) {
	for _, tc := range []struct {
		parser, text, want string
		err                error
	}{
		// This is Linux 6.18, a group of the unified hierarchy without the cpu controller.
		{"cpu", "usage_usec 604978\nuser_usec 597645\nsystem_usec 7333\nnice_usec 0\n", "{604978 0 0 0 false}", nil},
		{"cpu", "usage_usec 5\nnr_periods 7\nnr_throttled 3\nthrottled_usec 9\n", "{5 7 3 9 false}", nil},
		{"cpu", "usage_usec 5", "", telemetry.ErrPartial},
		{"cpu", "", "", telemetry.ErrPartial},
		{"cpu", "usage_usec -5\n", "", telemetry.ErrMalformed},
		{"cpu", "usage_usec 5 6\n", "", telemetry.ErrMalformed},
		{"cpu", "usage_usec\n", "", telemetry.ErrMalformed},
		{"cpu", "usage_usec 1152921504606846977\n", "", telemetry.ErrMalformed},
		{"cpu", "usage_usec 1152921504606846976\n", "{1152921504606846976 0 0 0 false}", nil},
		{"cpu", "usage_usec 5\nnr_periods x\nnr_throttled 3\nthrottled_usec 9\n", "{5 0 0 0 true}", nil},
		{"cpu", "usage_usec 5\nuser_usec -7\nnr_bursts x\n", "{5 0 0 0 false}", nil},
		// The same, cgroup v1.
		{"throttle", "nr_periods 4\nnr_throttled 2\nthrottled_time 123456789\nnr_bursts 0\nburst_time 0\n", "{0 4 2 123456789 false}", nil},
		{"throttle", "nr_periods 4\nnr_throttled 2\n", "", telemetry.ErrPartial},
		{"memory", "anon 1\nfile 1000\nkernel 7\nkernel_stack 20\npagetables 300\nsock 4000\nshmem 50000\nslab_reclaimable 9\nslab_unreclaimable 600000\n", "654321", nil},
		{"memory", "anon 1\nshmem 2\n", "3", nil}, // an old kernel
		{"memory", "anon 1\nfile 2\n", "", telemetry.ErrPartial},
		{"memory", "anon 1\nshmem 2\nsock -4096\nslab_unreclaimable 18446744073709547520\npagetables 30\nfile_dirty -1\n", "33", nil},
		{"memory", "anon -1\nshmem 2\n", "", telemetry.ErrMalformed},
		{"memory", "anon 18446744073709547520\nshmem 2\n", "", telemetry.ErrMalformed},
		{"memory", "anon 1\nshmem 2\nanon_thp 5\nanonymous 7\n", "3", nil},
		{"memory-v1", "cache 5\nrss 6\nshmem 7\ntotal_cache 10\ntotal_rss 20\ntotal_rss_huge 3\ntotal_shmem 4\n", "24", nil},
		{"memory-v1", "cache 5\nrss 6\n", "", telemetry.ErrPartial},
		{"events", "low 0\nhigh 0\nmax 9\noom 3\noom_kill 2\noom_group_kill 1\n", "2", nil},
		{"events", "low 0\noom 3\n", "", telemetry.ErrPartial},
	} {
		got, err := usageParsers[tc.parser](tc.text)
		if !errors.Is(err, tc.err) || err == nil && got != tc.want {
			t.Errorf("%s of %q: %s, %v, want %s, %v", tc.parser, tc.text, got, err, tc.want, tc.err)
		}
	}
}

// FuzzUsageParsers: the result does not depend on unused lines, nor on an incomplete last one.
func FuzzUsageParsers(f *testing.F) {
	f.Add("usage_usec 5\nnr_periods 7\nnr_throttled 3\nthrottled_usec 9\n")
	f.Add("nr_periods 4\nnr_throttled 2\nthrottled_time 12\nanon 7\nshmem 3\noom_kill 4\ntotal_rss 8\n")
	f.Add("usage_usec 99999999999999999999\n")
	f.Fuzz(func(t *testing.T, text string) {
		for name, parse := range usageParsers {
			got, err := parse(text)
			if err != nil {
				if !errors.Is(err, telemetry.ErrPartial) && !errors.Is(err, telemetry.ErrMalformed) {
					t.Fatalf("%s of %q: %v", name, text, err)
				}
				continue
			}
			complete := text[:strings.LastIndexByte(text, '\n')+1]
			again, err := parse("unheard_of x y\n" + complete + "usage_usec 1")
			if err != nil || again != got {
				t.Fatalf("%s of %q: %s, with more lines %s, %v", name, text, got, again, err)
			}
		}
	})
}
