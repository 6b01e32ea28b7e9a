package authority_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/api/kube/authority"
)

// unqualified returns an authority whose certificate does not allow signing.
func unqualified(t *testing.T, now time.Time) authority.Pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: now.Add(-time.Hour), NotAfter: now.Add(700 * day), BasicConstraintsValid: true, IsCA: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return authority.Pair{
		Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		Key:         pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	}
}

// An authority that may not sign is ignored, whatever its name.
func TestPlanTakesNoUnqualifiedAuthority(t *testing.T) {
	s := newStore(t)
	settle(t, s, began)
	foreign := unqualified(t, began)
	s.state.Authority = foreign
	settle(t, s, began.Add(day))
	if bytes.Equal(s.state.Authority.Certificate, foreign.Certificate) && s.state.Next.Certificate == nil {
		t.Error("it continues to sign")
	}
	for place, bundle := range s.state.Bundles {
		if bytes.Contains(bundle, foreign.Certificate) {
			t.Errorf("it is trusted by the %s", place)
		}
	}
}

// TestPlanReasons follows an authority through its year, run by run.
func TestPlanReasons(t *testing.T) {
	s := newStore(t)
	why := func(now time.Time) string {
		t.Helper()
		_, changes, err := authority.Plan(wanted, s.state, now)
		if err != nil {
			t.Fatal(err)
		}
		s.run(now, 99)
		for _, c := range changes {
			if c.Kind == "authorities" {
				return c.Reason
			}
		}
		return ""
	}
	if got, want := why(began), "no authority can sign: there is a next one: the next one does"; got != want {
		t.Errorf("at first: got %q, want %q", got, want)
	}
	for now := began; now.Before(began.Add(350 * day)); now = now.Add(20 * day) {
		if got := why(now); got != "" {
			t.Errorf("%v: %q", now, got)
		}
	}
	year := parse(t, s.state.Authority.Certificate)[0].NotBefore.Add(365 * day)
	if got := why(year.Add(-time.Nanosecond)); got != "" {
		t.Errorf("before a year is over: got %q", got)
	}
	for _, tt := range []struct {
		after time.Duration
		want  string
	}{
		{0, "the authority has signed for a year: there is a next one"},
		{time.Hour, "the authority has signed for a year"}, // it is trusted everywhere by now
		{time.Hour + 7*day, "the authority has signed for a year: the next one does"},
		{100 * day, "who knows whom has changed"}, // the former one is dropped
	} {
		if tt.after == 100*day { // once the last of its certificates is replaced
			for now := year.Add(20 * day); now.Before(year.Add(tt.after)); now = now.Add(20 * day) {
				s.run(now, 99)
			}
			s.state.Former = append(s.state.Former, foreign(t).Authority.Certificate...)
		}
		if got := why(year.Add(tt.after)); got != tt.want {
			t.Errorf("after a year and %v: got %q, want %q", tt.after, got, tt.want)
		}
	}
}

// TestPlanDoesNotWaitForTheEnd: if the authority is lost and certificates expire within two weeks, the
// next one signs at once, although it is not trusted yet.
func TestPlanDoesNotWaitForTheEnd(t *testing.T) {
	for left, signs := range map[time.Duration]bool{14*day + time.Nanosecond: false, 14 * day: true, 10 * day: true} {
		s := newStore(t)
		settle(t, s, began)
		former := s.state.Leaves["scheduler"].Certificate
		now := parse(t, former)[0].NotAfter.Add(-left)
		s.state.Authority.Key = []byte("lost")
		s.run(now, 99)
		if renewed := !bytes.Equal(s.state.Leaves["scheduler"].Certificate, former); renewed != signs {
			t.Errorf("%v before the end: got signing at once %v, want %v", left, renewed, signs)
		}
	}
}

// TestPlanKnowsTheFormer: the former authority's certificates stay valid after all bundles were lost,
// until they are due.
func TestPlanKnowsTheFormer(t *testing.T) {
	s := newStore(t)
	settle(t, s, began)
	now := began
	for len(s.state.Former) == 0 && now.Before(began.Add(500*day)) {
		now = now.Add(day)
		s.run(now, 99)
	}
	if len(s.state.Former) == 0 {
		t.Fatal("no authority was ever replaced")
	}
	former := s.state.Leaves["scheduler"].Certificate
	for place := range s.state.Bundles {
		s.state.Bundles[place] = nil
	}
	s.run(now, 99)
	if !bytes.Equal(s.state.Leaves["scheduler"].Certificate, former) {
		t.Error("a valid certificate was replaced")
	}
	s.judge(now)
}

// A DNS name has at most 253 bytes.
func TestPlanTakesLongNames(t *testing.T) {
	label := strings.Repeat("a", 61) + "."
	longest := strings.Repeat(label, 4)
	longest += strings.Repeat("b", 253-len(longest))
	for name, ok := range map[string]bool{longest: true, longest + "b": false} {
		_, _, err := authority.Plan(map[string]authority.Leaf{"x": {Names: slices.Concat([]string{"short"}, []string{name})}}, authority.State{}, began)
		if (err == nil) != ok {
			t.Errorf("%d bytes: %v", len(name), err)
		}
	}
}
