package config_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/plugin/config"
	"github.com/spazio-scheduler/spazio/reserve"
)

func TestArgsDefaults(t *testing.T) {
	d := func(d time.Duration) metav1.Duration { return metav1.Duration{Duration: d} }
	maxWait := d(10 * time.Minute)
	want := config.SpazioArgs{
		MaxWait: &maxWait,
		Listen:  "127.0.0.1:9690", TokenAudience: "spazio-scheduler", MaxAge: d(5 * time.Second), StartupGrace: d(5 * time.Second), StalePolicy: "Neutral", MinFreePods: 1,
		RetryPeriod: d(30 * time.Second), AssumedTTL: d(15 * time.Minute), TieTolerance: .5, EnergyObjective: "Marginal",
		IdleTimeout: d(15 * time.Second), SignalLostAfter: d(5 * time.Minute), MaxReportRate: 20, ReportBurst: 40,
		Profiles: "On", ProfileHalfLife: d(24 * time.Hour),
		OptOutAnnotation: "spazio-scheduler.github.io/opt-out", OptOutToleration: "spazio-scheduler.github.io/opt-out",
	}
	if diff := cmp.Diff(want, config.SpazioArgs{}.WithDefaults()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := (config.SpazioArgs{}).Validate(); err != nil {
		t.Errorf("the zero value: %v", err)
	}
	original := &config.SpazioArgs{Listen: "a:1", MaxWait: &metav1.Duration{}}
	copied := original.DeepCopyObject().(*config.SpazioArgs)
	copied.Listen, copied.MaxWait.Duration = "b:2", time.Hour
	if original.Listen != "a:1" || original.MaxWait.Duration != 0 {
		t.Error("a copy shares its origin")
	}
}

// An explicit 0 means no limit rather than the default.
func TestMaxWait(t *testing.T) {
	for _, test := range []struct {
		args config.SpazioArgs
		want reserve.OverdueAdmission
	}{
		{config.SpazioArgs{}, reserve.OverdueAdmission{}},
		{config.SpazioArgs{}.WithDefaults(), reserve.OverdueAdmission{MaxWait: 10 * time.Minute}},
		{config.SpazioArgs{MaxWait: &metav1.Duration{Duration: time.Minute}}.WithDefaults(), reserve.OverdueAdmission{MaxWait: time.Minute}},
		{config.SpazioArgs{MaxWait: &metav1.Duration{}}.WithDefaults(), reserve.OverdueAdmission{Off: true}},
	} {
		if got := test.args.OverdueAdmission(); got != test.want {
			t.Errorf("maxWait %v: %+v, want %+v", test.args.MaxWait, got, test.want)
		}
	}
}

func TestValidateNamesEveryField(t *testing.T) {
	negative := metav1.Duration{Duration: -1}
	args := config.SpazioArgs{
		StalePolicy: "Panic", MaxAge: negative, StartupGrace: negative, RetryPeriod: negative, AssumedTTL: negative, MaxWait: &negative,
		MinFreePods: -1, CapacityWeight: 1.5, TieTolerance: -1, OptOutAnnotation: "not/a/name", OptOutToleration: "-", TLSKeyFile: "key.pem",
		MaxReportRate: math.NaN(), ReportBurst: -1, MaxConnections: -1, MaxUnauthenticated: -1, AgentServiceAccount: "agent", ControllerServiceAccount: "controller",
		EnergyWeight: -1, EnergyObjective: "Least",
		Profiles: "Sometimes", ProfileHalfLife: negative, CPUDemandPerCore: 2.5,
	}
	all, ok := args.Validate().(interface{ Unwrap() []error })
	if !ok {
		t.Fatalf("%v", args.Validate())
	}
	got := make(map[string]bool)
	for _, err := range all.Unwrap() {
		var f *field.Error
		if !errors.As(err, &f) || !errors.Is(err, config.ErrInvalid) {
			t.Fatalf("got %v, want a field error", err)
		}
		if want := fmt.Sprintf("plugin: %s = ", f.Field); !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %q, want %q and the reason", err, want)
		}
		got[f.Field] = true
	}
	want := map[string]bool{"stalePolicy": true, "maxAge": true, "startupGrace": true, "retryPeriod": true, "assumedTTL": true, "maxWait": true,
		"minFreePods": true, "capacityWeight": true, "tieTolerance": true, "optOutAnnotation": true, "optOutToleration": true,
		"maxReportRate": true, "reportBurst": true, "maxConnections": true, "maxUnauthenticated": true, "listen": true, "agentServiceAccount": true, "controllerServiceAccount": true, "tlsCertFile": true, "energyWeight": true, "energyObjective": true,
		"profiles": true, "profileHalfLife": true, "cpuDemandPerCore": true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
	err := config.SpazioArgs{MaxAge: metav1.Duration{Duration: time.Minute}, IdleTimeout: metav1.Duration{Duration: time.Second}}.Validate()
	if err == nil || !strings.Contains(err.Error(), "idleTimeout") {
		t.Errorf("streams that end before their reports turn stale: %v", err)
	}
}

// TestEnergyWeight: energyWeight is a part of the score, as capacityWeight is.
func TestEnergyWeight(t *testing.T) {
	for _, test := range []struct {
		k, energy float64
		ok        bool
	}{{0, 1, true}, {.5, .5, true}, {.7, .3, true}, {.75, .5, false}, {1, .0625, false}, {0, 1.5, false}, {0, math.NaN(), false}} {
		err := config.SpazioArgs{CapacityWeight: test.k, EnergyWeight: test.energy}.Validate()
		var f *field.Error
		if ok := err == nil; ok != test.ok || !ok && (!errors.As(err, &f) || f.Field != "energyWeight") {
			t.Errorf("capacityWeight %v, energyWeight %v: %v", test.k, test.energy, err)
		}
	}
	for name, want := range map[string]energy.Objective{"": energy.Marginal, "Marginal": energy.Marginal, "Remaining": energy.Remaining} {
		if got, err := (config.SpazioArgs{EnergyObjective: name}).Objective(); got != want || err != nil {
			t.Errorf("energyObjective %q is %v, %v", name, got, err)
		}
	}
}

// TestProfilesMayDiffer only in how they rank nodes, not in what they share.
func TestProfilesMayDiffer(t *testing.T) {
	own := config.SpazioArgs{CapacityWeight: .5, TieTolerance: 2, EnergyWeight: .5, EnergyObjective: "Remaining", IdleNodesPowerDown: true, ScoreOnly: true}
	if diff := cmp.Diff(config.SpazioArgs{}, own.Shared()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := (config.SpazioArgs{MinFreePods: 2}).Shared().MinFreePods; got != 2 {
		t.Errorf("got minFreePods %v of all profiles", got)
	}
}
