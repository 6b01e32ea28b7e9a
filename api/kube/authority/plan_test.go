package authority_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/api/kube/authority"
	"github.com/spazio-scheduler/spazio/field"
)

const day = 24 * time.Hour

// behind is the maximum age of what a reader has.
const behind = 2 * time.Hour

var began = time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)

var wanted = map[string]authority.Leaf{
	"scheduler":  {Names: serviceNames("spazio-scheduler")},
	"aggregator": {Names: serviceNames("spazio-aggregator"), Client: true},
}

// serviceNames returns the DNS names of a service.
func serviceNames(service string) []string {
	return []string{service, service + ".spazio-system", service + ".spazio-system.svc", service + ".spazio-system.svc.cluster.local"}
}

var places = []string{"servers", "agents"}

// parse returns the certificates of PEM blocks.
func parse(t testing.TB, text []byte) (all []*x509.Certificate) {
	t.Helper()
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return all
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil || block.Type != "CERTIFICATE" {
			t.Fatalf("a %s that is no certificate: %v", block.Type, err)
		}
		all = append(all, c)
	}
}

// verify checks the leaf as a TLS client checks a server's certificate, and as a server checks a
// client's.
func verify(t testing.TB, want authority.Leaf, leaf authority.Pair, bundle []byte, now time.Time) error {
	t.Helper()
	if _, err := tls.X509KeyPair(leaf.Certificate, leaf.Key); err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	c := parse(t, leaf.Certificate)[0]
	usages := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	if want.Client {
		usages = append(usages, x509.ExtKeyUsageClientAuth)
	}
	for _, usage := range usages {
		for _, name := range want.Names {
			if _, err := c.Verify(x509.VerifyOptions{Roots: roots, DNSName: name, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{usage}}); err != nil {
				return err
			}
		}
	}
	return nil
}

// history is the versions of a stored object.
type history[T any] []struct {
	from, to time.Time
	value    T
}

func (h *history[T]) put(now time.Time, value T) {
	if n := len(*h); n > 0 {
		(*h)[n-1].to = now
	}
	*h = append(*h, struct {
		from, to time.Time
		value    T
	}{now, time.Time{}, value})
}

// at returns the versions that a reader may have at a time.
func (h history[T]) at(now time.Time) (values []T) {
	for _, v := range slices.Backward(h) {
		if v.to.IsZero() || !v.to.Before(now.Add(-behind)) {
			values = append(values, v.value)
		}
	}
	return values
}

// store is the stored objects with their histories.
type store struct {
	t           *testing.T
	state       authority.State
	leaves      map[string]*history[authority.Pair]
	bundles     map[string]*history[[]byte]
	authorities map[string]bool // that were ever trusted
}

func newStore(t *testing.T) *store {
	s := &store{
		t: t, leaves: map[string]*history[authority.Pair]{}, bundles: map[string]*history[[]byte]{}, authorities: map[string]bool{},
		state: authority.State{Leaves: map[string]authority.Pair{}, Bundles: map[string][]byte{}},
	}
	for name := range wanted {
		s.leaves[name] = &history[authority.Pair]{}
	}
	for _, place := range places {
		s.state.Bundles[place], s.bundles[place] = nil, &history[[]byte]{}
	}
	return s
}

// run plans and stores at most so many of the changes.
func (s *store) run(now time.Time, most int) (changed bool) {
	s.t.Helper()
	planned, changes, err := authority.Plan(wanted, s.state, now)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, c := range changes[:min(most, len(changes))] {
		switch c.Kind {
		case "authorities":
			s.state.Authority, s.state.Next = planned.Authority, planned.Next
			s.state.Published, s.state.Former = planned.Published, planned.Former
		case "bundle":
			s.state.Bundles[c.Name] = planned.Bundles[c.Name]
			s.bundles[c.Name].put(now, planned.Bundles[c.Name])
			s.judgeBundle(planned.Bundles[c.Name], now)
		case "leaf":
			s.state.Leaves[c.Name] = planned.Leaves[c.Name]
			s.leaves[c.Name].put(now, planned.Leaves[c.Name])
		}
	}
	return len(changes) > 0
}

func (s *store) judgeBundle(bundle []byte, now time.Time) {
	s.t.Helper()
	if bytes.Contains(bundle, []byte("PRIVATE")) {
		s.t.Errorf("%v: got a bundle with a private key", now)
	}
	all := parse(s.t, bundle)
	if len(all) == 0 || len(all) > 3 {
		s.t.Errorf("%v: got %d trusted authorities", now, len(all))
	}
	for _, c := range all {
		s.authorities[string(c.Raw)] = true
		if life := c.NotAfter.Sub(now); life <= 0 {
			s.t.Errorf("%v: got a trusted authority that expired on %v", now, c.NotAfter)
		}
	}
}

// judge fails the test unless each leaf in use verifies against each bundle in use.
func (s *store) judge(now time.Time) {
	s.t.Helper()
	for name, want := range wanted {
		for _, leaf := range s.leaves[name].at(now) {
			for place, bundles := range s.bundles {
				for _, bundle := range bundles.at(now) {
					if err := verify(s.t, want, leaf, bundle, now); err != nil {
						s.t.Errorf("%v: certificate of the %s against the bundle of the %s: %v", now, name, place, err)
					}
				}
			}
		}
	}
}

// judgeOverlap checks that authorities are trusted in the weeks before they sign and after.
func (s *store) judgeOverlap() {
	s.t.Helper()
	week := 7 * day
	for name, want := range wanted {
		for _, leaf := range *s.leaves[name] {
			from, to := leaf.from.Add(-week), leaf.to.Add(week)
			for place, bundles := range s.bundles {
				for _, bundle := range *bundles {
					before, after := !bundle.to.IsZero() && bundle.to.Before(from), !leaf.to.IsZero() && !bundle.from.Before(to)
					if before || after || leaf.from.Equal(began) && bundle.from.Equal(began) {
						continue
					}
					if err := verify(s.t, want, leaf.value, bundle.value, leaf.from.Add(time.Hour)); err != nil {
						s.t.Errorf("certificate of the %s of %v against the bundle of the %s of %v: %v", name, leaf.from, place, bundle.from, err)
					}
				}
			}
		}
	}
}

// TestPlanHoldsForTenYears: runs are missing for up to 25 days, stop between any two changes, and
// readers are up to two hours behind.
func TestPlanHoldsForTenYears(t *testing.T) {
	seeds := uint64(4)
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 15))
			s := newStore(t)
			s.run(began, 99)
			last := began // the last complete run
			for now := began; now.Before(began.Add(3650 * day)); {
				pause := day + time.Duration(random.Int64N(int64(2*time.Hour))) - time.Hour
				if random.IntN(20) == 0 {
					pause = time.Duration(random.Int64N(int64(25 * day)))
				}
				now = now.Add(pause)
				if latest := last.Add(25 * day); now.After(latest) {
					now = latest
				}
				if pause > 2*day {
					s.judge(now)
				}
				most := 99
				if random.IntN(4) == 0 && now.Before(last.Add(24*day)) {
					most = random.IntN(5)
				} else {
					last = now
				}
				if s.run(now, most) {
					s.judge(now)
					s.judge(now.Add(behind))
				}
			}
			s.judgeOverlap()
			if n := len(s.authorities); n < 9 || n > 10 {
				t.Errorf("got %d authorities in ten years, want one a year", n)
			}
			for name, leaves := range s.leaves {
				if n := len(*leaves); n < 3650/85 || n > 3650/60+1 {
					t.Errorf("got %d certificates for the %s in ten years", n, name)
				}
			}
		})
	}
}

// settle runs until there are no changes left.
func settle(t *testing.T, s *store, now time.Time) {
	t.Helper()
	for range 3 {
		if !s.run(now, 99) {
			return
		}
	}
	t.Fatal("the plan never ends")
}

// TestPlanRepairs damaged objects, without breaking what relies on the intact ones.
func TestPlanRepairs(t *testing.T) {
	for _, tt := range []struct {
		name   string
		damage func(*authority.State)
		// renewed are the leaves that are replaced at once.
		renewed []string
		// authorities are those in a bundle afterwards.
		authorities int
	}{
		{"nothing", func(*authority.State) {}, nil, 1},
		{"no leaf", func(s *authority.State) { delete(s.Leaves, "scheduler") }, []string{"scheduler"}, 1},
		{"another's key", func(s *authority.State) {
			s.Leaves["scheduler"] = authority.Pair{Certificate: s.Leaves["scheduler"].Certificate, Key: s.Leaves["aggregator"].Key}
		}, []string{"scheduler"}, 1},
		{"another's certificate", func(s *authority.State) { s.Leaves["scheduler"] = s.Leaves["aggregator"] }, []string{"scheduler"}, 1},
		{"an authority's certificate", func(s *authority.State) { s.Leaves["scheduler"] = s.Authority }, []string{"scheduler"}, 1},
		{"no bundles", func(s *authority.State) { s.Bundles["servers"], s.Bundles["agents"] = nil, []byte("gone") }, nil, 1},
		{"a bundle that trusts a foreign authority", func(s *authority.State) {
			s.Bundles["agents"] = append(s.Bundles["agents"], foreign(t).Bundles["agents"]...)
		}, nil, 1},
		{"no authority's key", func(s *authority.State) { s.Authority.Key = nil }, nil, 2},
		{"no authority", func(s *authority.State) { s.Authority = authority.Pair{} }, nil, 2},
		{"no authority, and a leaf lost", func(s *authority.State) { s.Authority = authority.Pair{}; delete(s.Leaves, "scheduler") }, []string{"scheduler"}, 2},
		{"withdrawn", func(s *authority.State) { s.Authority, s.Leaves = authority.Pair{}, map[string]authority.Pair{} }, []string{"aggregator", "scheduler"}, 1},
		{"a foreign leaf", func(s *authority.State) { s.Leaves["scheduler"] = foreign(t).Leaves["scheduler"] }, []string{"scheduler"}, 1},
		{"an invalid former authority", func(s *authority.State) { s.Former = s.Leaves["scheduler"].Certificate }, nil, 1},
		{"all of it", func(s *authority.State) {
			s.Authority, s.Leaves = authority.Pair{}, map[string]authority.Pair{"scheduler": {Certificate: []byte("x")}}
			s.Bundles = map[string][]byte{"servers": {0}, "agents": nil}
		}, []string{"aggregator", "scheduler"}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStore(t)
			settle(t, s, began)
			now := began.Add(30 * day)
			tt.damage(&s.state)
			former := maps.Clone(s.state.Leaves)
			settle(t, s, now)
			var renewed []string
			for _, name := range slices.Sorted(maps.Keys(wanted)) {
				if !bytes.Equal(former[name].Certificate, s.state.Leaves[name].Certificate) {
					renewed = append(renewed, name)
				}
				for _, place := range places {
					if err := verify(t, wanted[name], s.state.Leaves[name], s.state.Bundles[place], now); err != nil {
						t.Errorf("%s, %s: %v", name, place, err)
					}
				}
			}
			if !slices.Equal(renewed, tt.renewed) {
				t.Errorf("renewed %v, want %v", renewed, tt.renewed)
			}
			for _, place := range places {
				if n := len(parse(t, s.state.Bundles[place])); n != tt.authorities {
					t.Errorf("got %d authorities for the %s, want %d", n, place, tt.authorities)
				}
			}
		})
	}
}

// foreign returns the state of a foreign installation.
func foreign(t *testing.T) authority.State {
	t.Helper()
	s := newStore(t)
	settle(t, s, began.Add(-time.Hour))
	return s.state
}

// TestPlanWaitsForALostAuthority: while the leaves are valid, the new authority is trusted for a week
// before it signs.
func TestPlanWaitsForALostAuthority(t *testing.T) {
	s := newStore(t)
	settle(t, s, began)
	s.state.Authority.Key = []byte("lost")
	lost := began.Add(58 * day)
	for now := lost; now.Before(lost.Add(80 * day)); now = now.Add(day) {
		s.run(now, 99)
		s.judge(now)
		s.judge(now.Add(behind))
		if n := len(*s.leaves["scheduler"]); n > 1 && now.Before(lost.Add(7*day)) {
			t.Fatalf("%v: an authority signed that was unknown a week ago", now)
		}
	}
	s.judgeOverlap()
	if n := len(*s.leaves["scheduler"]); n != 3 {
		t.Errorf("got %d certificates in 138 days, want 3", n)
	}
	if n := len(parse(t, s.state.Bundles["agents"])); n != 1 {
		t.Errorf("got %d trusted authorities at the end, want 1", n)
	}
}

// TestPlanWaitsForTheBundles: an authority that is in no bundle yet does not sign, however old it is.
func TestPlanWaitsForTheBundles(t *testing.T) {
	s := newStore(t)
	settle(t, s, began)
	for now := began; now.Before(began.Add(364 * day)); now = now.Add(20 * day) {
		s.run(now, 99)
	}
	s.run(began.Add(370*day), 1) // stops before the bundles are stored
	s.run(began.Add(375*day), 1)
	leaves := len(*s.leaves["scheduler"])
	now := began.Add(395 * day)
	s.state.Leaves = map[string]authority.Pair{} // they are lost and signed at once
	s.run(now, 99)
	s.judge(now)
	if n := len(parse(t, s.state.Bundles["agents"])); n != 2 {
		t.Errorf("got %d trusted authorities, want 2", n)
	}
	if n := len(*s.leaves["scheduler"]); n != leaves+1 {
		t.Errorf("got %d certificates after the loss of one", n-leaves)
	}
}

// TestPlanGivesNewNames: a server whose names have changed gets a certificate of the same authority.
func TestPlanGivesNewNames(t *testing.T) {
	s := newStore(t)
	settle(t, s, began)
	changed := maps.Clone(wanted)
	changed["aggregator"] = authority.Leaf{Names: []string{"elsewhere.example"}, Client: true}
	planned, changes, err := authority.Plan(changed, s.state, began.Add(day))
	if err != nil || len(changes) != 1 || changes[0].Name != "aggregator" {
		t.Fatalf("%+v, %v", changes, err)
	}
	if err := verify(t, changed["aggregator"], planned.Leaves["aggregator"], s.state.Bundles["agents"], began.Add(day)); err != nil {
		t.Error(err)
	}
	if err := verify(t, wanted["scheduler"], planned.Leaves["scheduler"], planned.Bundles["agents"], began.Add(day)); err != nil {
		t.Error(err)
	}
}

func TestPlanRefusesNames(t *testing.T) {
	for _, names := range [][]string{nil, {""}, {"UPPER"}, {"under_score"}, {"*.wild"}, {"ok", "a..b"}, {"ümlaut"}} {
		before := authority.State{Published: began}
		got, changes, err := authority.Plan(map[string]authority.Leaf{"x": {Names: names}}, before, began)
		var name *field.Error
		if !errors.As(err, &name) || !errors.Is(err, authority.ErrInvalid) || name.Field != "wanted[x].Names" {
			t.Errorf("%q: %v", names, err)
		}
		if changes != nil || !got.Published.Equal(began) {
			t.Errorf("%q: %+v, %+v", names, got, changes)
		}
	}
}

// FuzzPlan: whatever is stored, everything verifies after planning, and continues to.
func FuzzPlan(f *testing.F) {
	var seed authority.State
	for i, now := range []time.Time{began, began.Add(366 * day), began.Add(367 * day), began.Add(380 * day)} {
		if i == 0 {
			seed.Bundles = map[string][]byte{"servers": nil, "agents": nil}
		}
		var err error
		if seed, _, err = authority.Plan(wanted, seed, now); err != nil {
			f.Fatal(err)
		}
		l := seed.Leaves["scheduler"]
		f.Add(seed.Authority.Certificate, seed.Authority.Key, seed.Next.Certificate, seed.Next.Key, seed.Former, l.Certificate, l.Key, seed.Bundles["agents"], int64(i*400))
		f.Add(l.Certificate, l.Key, seed.Authority.Certificate, seed.Authority.Key, seed.Bundles["agents"], seed.Authority.Certificate, seed.Authority.Key, seed.Former, int64(i*100))
		f.Add(seed.Authority.Certificate, l.Key, []byte("-----BEGIN"), []byte(nil), seed.Former, l.Certificate, l.Key, seed.Bundles["agents"], int64(-i*10))
	}
	f.Fuzz(func(t *testing.T, signer, signerKey, next, nextKey, former, leaf, leafKey, bundle []byte, days int64) {
		now := began.Add(time.Duration(days%4000) * day)
		s := authority.State{
			Authority: authority.Pair{Certificate: signer, Key: signerKey}, Next: authority.Pair{Certificate: next, Key: nextKey},
			Published: began, Former: former,
			Leaves:  map[string]authority.Pair{"scheduler": {Certificate: leaf, Key: leafKey}},
			Bundles: map[string][]byte{"servers": former, "agents": bundle},
		}
		for round := range 4 {
			planned, changes, err := authority.Plan(wanted, s, now)
			if err != nil {
				t.Fatal(err)
			}
			if len(changes) == 0 {
				break
			}
			if round == 3 {
				t.Fatalf("the plan never ends: %+v", changes)
			}
			s = planned
			for name, want := range wanted {
				for place, bundle := range s.Bundles {
					if err := verify(t, want, s.Leaves[name], bundle, now); err != nil {
						t.Fatalf("%s at the %s: got %v", name, place, err)
					}
				}
			}
		}
	})
}
