package config

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/reserve"
)

// ErrInvalid is wrapped by the errors for values that are not allowed where they stand.
var ErrInvalid = errors.New("invalid configuration or input")

func invalid(name string, value any, must string) error {
	return &field.Error{Package: "plugin", Field: name, Value: value, Err: fmt.Errorf("%w: %s", ErrInvalid, must)}
}

// Validate returns a *field.Error for each wrong field, joined.
func (a SpazioArgs) Validate() error {
	a = a.WithDefaults()
	errs := append(a.validateTimes(), a.validateNumbers()...)
	if _, err := reserve.ParseStalePolicy(a.StalePolicy); err != nil {
		errs = append(errs, invalid("stalePolicy", a.StalePolicy,
			fmt.Sprintf("must be %v, %v or %v", reserve.Neutral, reserve.Reject, reserve.Allow)))
	}
	if _, err := a.Objective(); err != nil {
		errs = append(errs, err)
	}
	if !slices.Contains([]string{ProfilesOff, ProfilesObserve, ProfilesOn}, a.Profiles) {
		errs = append(errs, invalid("profiles", a.Profiles, "must be Off, Observe or On"))
	}
	for _, f := range []struct{ name, value string }{{"optOutAnnotation", a.OptOutAnnotation}, {"optOutToleration", a.OptOutToleration}} {
		for _, problem := range validation.IsQualifiedName(f.value) {
			errs = append(errs, invalid(f.name, f.value, problem))
		}
	}
	if err := a.Transport().Validate(); err != nil {
		errs = append(errs, &field.Error{Package: "plugin", Field: "listen", Value: a.Listen, Err: fmt.Errorf("%w: %w", ErrInvalid, err)})
	}
	return errors.Join(append(errs, a.validateIdentity()...)...)
}

func (a SpazioArgs) validateIdentity() (errs []error) {
	for _, f := range []struct{ name, value string }{
		{"agentServiceAccount", a.AgentServiceAccount}, {"controllerServiceAccount", a.ControllerServiceAccount},
	} {
		if f.value == "" {
			continue
		}
		namespace, name, _ := strings.Cut(f.value, "/")
		for _, problem := range append(validation.IsDNS1123Label(namespace), validation.IsDNS1123Subdomain(name)...) {
			errs = append(errs, invalid(f.name, f.value, "must be namespace/name: "+problem))
		}
		if a.TLSCertFile == "" {
			errs = append(errs, invalid("tlsCertFile", a.TLSCertFile, "must be given with "+f.name+", for tokens are not to be sent in plaintext"))
		}
	}
	return errs
}

func (a SpazioArgs) validateTimes() (errs []error) {
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"maxAge", a.MaxAge.Duration}, {"startupGrace", a.StartupGrace.Duration}, {"retryPeriod", a.RetryPeriod.Duration},
		{"assumedTTL", a.AssumedTTL.Duration}, {"maxWait", a.MaxWait.Duration},
		{"profileHalfLife", a.ProfileHalfLife.Duration},
	} {
		if d.value < 0 {
			errs = append(errs, invalid(d.name, d.value, "must not be negative"))
		}
	}
	// A default that follows from a bad maxAge is not worth a second error.
	if a.MaxAge.Duration > 0 && a.IdleTimeout.Duration < a.MaxAge.Duration {
		errs = append(errs, invalid("idleTimeout", a.IdleTimeout.Duration, "must not be shorter than maxAge"))
	}
	if a.MaxAge.Duration > 0 && a.SignalLostAfter.Duration < a.MaxAge.Duration {
		errs = append(errs, invalid("signalLostAfter", a.SignalLostAfter.Duration, "must not be shorter than maxAge"))
	}
	return errs
}

// mustBeUpTo returns what a refused number must be.
func mustBeUpTo(most float64) string {
	if most == math.MaxFloat64 {
		return "must be a finite number of at least 0"
	}
	return fmt.Sprintf("must be a number between 0 and %g", most)
}

func (a SpazioArgs) validateNumbers() (errs []error) {
	for _, f := range []struct {
		name        string
		value, most float64
	}{
		{"minFreePods", a.MinFreePods, math.MaxFloat64}, {"capacityWeight", a.CapacityWeight, 1}, {"energyWeight", a.EnergyWeight, 1}, {"tieTolerance", a.TieTolerance, math.MaxFloat64},
		{"maxReportRate", a.MaxReportRate, math.MaxFloat64}, {"cpuDemandPerCore", a.CPUDemandPerCore, 2},
	} {
		if !(f.value >= 0 && f.value <= f.most) {
			errs = append(errs, invalid(f.name, f.value, mustBeUpTo(f.most)))
		}
	}
	if a.CapacityWeight >= 0 && a.CapacityWeight <= 1 && a.EnergyWeight <= 1 && a.CapacityWeight+a.EnergyWeight > 1 {
		errs = append(errs, invalid("energyWeight", a.EnergyWeight, fmt.Sprintf("must be at most 1 together with a capacityWeight of %g", a.CapacityWeight)))
	}
	for _, f := range []struct {
		name         string
		value, least int32
	}{{"reportBurst", a.ReportBurst, 1}, {"maxConnections", a.MaxConnections, 0}, {"maxUnauthenticated", a.MaxUnauthenticated, 0}} {
		if f.value < f.least {
			errs = append(errs, invalid(f.name, f.value, fmt.Sprint("must be at least ", f.least)))
		}
	}
	return errs
}
