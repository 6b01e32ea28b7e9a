package config

import (
	"fmt"
	"math"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/spazio-scheduler/spazio/reserve"
)

// Validate returns all errors of a, as one aggregate of *field.Error whose
// paths start at path (nil for the root).
func (a SpazioArgs) Validate(path *field.Path) error {
	a = a.WithDefaults()
	errs := a.validateTimes(path)
	errs = append(errs, a.validateNumbers(path)...)
	if _, err := reserve.ParseStalePolicy(a.StalePolicy); err != nil {
		errs = append(errs, field.NotSupported(path.Child("stalePolicy"), a.StalePolicy,
			[]string{reserve.Neutral.String(), reserve.Reject.String(), reserve.Allow.String()}))
	}
	for _, f := range []struct{ name, value string }{{"optOutAnnotation", a.OptOutAnnotation}, {"optOutToleration", a.OptOutToleration}} {
		for _, problem := range validation.IsQualifiedName(f.value) {
			errs = append(errs, field.Invalid(path.Child(f.name), f.value, problem))
		}
	}
	if err := a.Transport().Validate(); err != nil {
		errs = append(errs, field.Invalid(path.Child("listen"), a.Listen, err.Error()))
	}
	for _, f := range []struct {
		name  string
		value int32
	}{{"maxConnections", a.MaxConnections}, {"maxStrangers", a.MaxStrangers}} {
		if f.value < 0 {
			errs = append(errs, field.Invalid(path.Child(f.name), f.value, "must not be negative"))
		}
	}
	errs = append(errs, a.validateIdentity(path)...)
	return errs.ToAggregate()
}

func (a SpazioArgs) validateIdentity(path *field.Path) (errs field.ErrorList) {
	if a.AgentServiceAccount == "" {
		return nil
	}
	account := path.Child("agentServiceAccount")
	namespace, name, _ := strings.Cut(a.AgentServiceAccount, "/")
	for _, problem := range append(validation.IsDNS1123Label(namespace), validation.IsDNS1123Subdomain(name)...) {
		errs = append(errs, field.Invalid(account, a.AgentServiceAccount, "must be namespace/name: "+problem))
	}
	if a.TLSCertFile == "" {
		errs = append(errs, field.Required(path.Child("tlsCertFile"), "agentServiceAccount is given, and tokens are not to be sent in plaintext"))
	}
	return errs
}

func (a SpazioArgs) validateTimes(path *field.Path) (errs field.ErrorList) {
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"maxAge", a.MaxAge.Duration}, {"startupGrace", a.StartupGrace.Duration}, {"retryPeriod", a.RetryPeriod.Duration},
		{"assumedTTL", a.AssumedTTL.Duration},
	} {
		if d.value < 0 {
			errs = append(errs, field.Invalid(path.Child(d.name), d.value.String(), "must not be negative"))
		}
	}
	// A default that a bad maxAge made is not worth a second error.
	if a.MaxAge.Duration > 0 && a.IdleTimeout.Duration < a.MaxAge.Duration {
		errs = append(errs, field.Invalid(path.Child("idleTimeout"), a.IdleTimeout.Duration.String(), "must not be shorter than maxAge"))
	}
	return errs
}

func (a SpazioArgs) validateNumbers(path *field.Path) (errs field.ErrorList) {
	for _, f := range []struct {
		name        string
		value, most float64
	}{
		{"epsilon", a.Epsilon, math.MaxFloat64}, {"kWeight", a.KWeight, 1}, {"tieWidth", a.TieWidth, math.MaxFloat64},
		{"maxReportRate", a.MaxReportRate, math.MaxFloat64},
	} {
		if !(f.value >= 0 && f.value <= f.most) {
			errs = append(errs, field.Invalid(path.Child(f.name), f.value, "must be a number between 0 and "+fmt.Sprint(f.most)))
		}
	}
	if a.ReportBurst < 1 {
		errs = append(errs, field.Invalid(path.Child("reportBurst"), a.ReportBurst, "must be at least 1"))
	}
	return errs
}
