package authority

import (
	"bytes"
	"cmp"
	"crypto/x509"
	"maps"
	"slices"
	"time"
)

// plan returns what should be stored at a time, given what is, and the changes
// in the order in which to store them; without changes the state is the same.
// What is stored in part only is planned anew. Leaves that are not wanted stay as
// they are. Errors are *field.Error, or crypto/x509's of a key that does not sign.
func plan(wanted map[string]wantedLeaf, s state, now time.Time) (state, []Change, error) {
	if err := validateLeaves(wanted); err != nil {
		return s, nil, err
	}
	p := newPlanner(wanted, s, now)
	reason, err := p.succeed()
	if err != nil {
		return s, nil, err
	}
	signed, err := p.sign(wanted)
	if err != nil {
		return s, nil, err
	}
	p.retire()
	planned := p.state(s)
	var changes []Change
	if !sameAuthorities(s, planned) {
		changes = append(changes, Change{Kind: changeAuthorities, Reason: reason})
	}
	for _, place := range slices.Sorted(maps.Keys(s.Bundles)) {
		if !bytes.Equal(s.Bundles[place], planned.Bundles[place]) {
			changes = append(changes, Change{Kind: changeBundle, Name: place, Reason: "it does not say who is trusted"})
		}
	}
	return planned, append(changes, signed...), nil
}

// planner is a state that was read.
type planner struct {
	now             time.Time
	authority, next *holder // nil unless it can sign
	published       time.Time
	former          []*x509.Certificate // as the state calls them
	known           []*x509.Certificate // authorities in some bundle
	leaves          map[string]*leaf    // those that hold
	due             map[string]string   // why a leaf is to be replaced
	urgent          bool                // that can't wait for lead
}

// leaf is a certificate that holds, and the authority that signed it.
type leaf struct {
	*holder
	by *x509.Certificate
}

func newPlanner(wanted map[string]wantedLeaf, s state, now time.Time) *planner {
	p := &planner{now: now, former: readAll(s.Former, now), leaves: map[string]*leaf{}, due: map[string]string{}}
	p.known = slices.Clone(p.former)
	next, everywhere := readAuthority(s.Next, now), true
	for _, place := range slices.Sorted(maps.Keys(s.Bundles)) {
		bundle := readAll(s.Bundles[place], now)
		p.known = append(p.known, bundle...)
		everywhere = everywhere && next != nil && has(bundle, next.certificate)
	}
	p.authority, p.next = p.signer(readAuthority(s.Authority, now)), p.signer(next)
	if p.next != nil && everywhere {
		p.published = s.Published
		if p.published.IsZero() || p.published.After(now) {
			p.published = now.UTC().Truncate(time.Second)
		}
	}
	for name, want := range wanted {
		p.readLeaf(name, want, s.Leaves[name])
	}
	return p
}

// signer keeps an authority only if it outlives what it signs now; known it is
// in any case.
func (p *planner) signer(h *holder) *holder {
	if h == nil {
		return nil
	}
	p.known = append(p.known, h.certificate)
	if h.certificate.NotAfter.Before(p.now.Add(leafLife)) {
		return nil
	}
	return h
}

func (p *planner) readLeaf(name string, want wantedLeaf, pair pair) {
	h := read(pair)
	if h == nil {
		p.due[name], p.urgent = "there is none that can be read, with its key", true
		return
	}
	roots := x509.NewCertPool()
	for _, authority := range p.known {
		roots.AddCert(authority)
	}
	chains, err := h.certificate.Verify(x509.VerifyOptions{
		Roots: roots, CurrentTime: p.now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	})
	if err != nil {
		p.due[name], p.urgent = err.Error(), true
		return
	}
	p.leaves[name] = &leaf{h, chains[0][len(chains[0])-1]}
	left := h.certificate.NotAfter.Sub(p.now)
	switch {
	case !slices.Equal(h.certificate.DNSNames, want.Names) || !slices.Equal(h.certificate.ExtKeyUsage, want.usages()):
		p.due[name] = "it is for something else"
	case left <= leafLife-leafUse || left > leafLife:
		p.due[name] = "it has been in use for 60 days"
	}
	p.urgent = p.urgent || left <= 2*lead
}

// succeed makes the next authority when the one that signs has done so for
// long enough, or is lost; it signs when it has been known for long enough, or
// no other authority can sign and there is no time to wait.
func (p *planner) succeed() (reason string, err error) {
	reason = "who knows whom has changed"
	switch {
	case p.authority == nil:
		reason = "no authority can sign"
	case p.now.Sub(p.authority.certificate.NotBefore) >= authorityUse:
		reason = "the authority has signed for a year"
	case p.next == nil:
		return reason, nil
	}
	if p.next == nil {
		if p.next, err = newAuthority(p.now); err != nil {
			return "", err
		}
		reason += ": there is a next one"
	}
	known := !p.published.IsZero() && p.now.Sub(p.published) >= lead
	if known || p.authority == nil && p.urgent {
		p.promote()
		reason += ": the next one does"
	}
	return reason, nil
}

func (p *planner) promote() {
	if p.authority != nil {
		p.former = append(p.former, p.authority.certificate)
	}
	p.authority, p.next, p.published = p.next, nil, time.Time{}
}

// sign replaces the leaves that are due, unless no authority can sign yet.
func (p *planner) sign(wanted map[string]wantedLeaf) (changes []Change, err error) {
	for _, name := range slices.Sorted(maps.Keys(p.due)) {
		if p.authority == nil {
			continue
		}
		h, err := newLeaf(p.authority, wanted[name], p.now)
		if err != nil {
			return nil, err
		}
		p.leaves[name] = &leaf{h, p.authority.certificate}
		changes = append(changes, Change{Kind: changeLeaf, Name: name, Reason: p.due[name]})
	}
	return changes, nil
}

// retire keeps of the former authorities those that signed a leaf which is in
// use, and those which did so a while ago.
func (p *planner) retire() {
	var newest time.Time
	var signed []*x509.Certificate
	for _, l := range p.leaves {
		signed = append(signed, l.by)
		if l.certificate.NotBefore.After(newest) {
			newest = l.certificate.NotBefore
		}
	}
	lately := p.now.Sub(newest) < lead+skew
	var kept []*x509.Certificate
	for _, c := range append(p.former, p.known...) {
		current := p.authority != nil && c.Equal(p.authority.certificate) || p.next != nil && c.Equal(p.next.certificate)
		if !current && !has(kept, c) && (has(signed, c) || lately && has(p.former, c)) {
			kept = append(kept, c)
		}
	}
	slices.SortFunc(kept, func(a, b *x509.Certificate) int {
		return cmp.Or(b.NotBefore.Compare(a.NotBefore), bytes.Compare(a.Raw, b.Raw))
	})
	p.former = kept
}

// state returns the planner's result; a key that can't sign yet is kept, since
// an administrator may have put it there.
func (p *planner) state(s state) state {
	planned := state{
		Authority: s.Authority, Published: p.published, Former: encode(p.former...),
		Leaves: maps.Clone(s.Leaves), Bundles: map[string][]byte{},
	}
	var trusted []*x509.Certificate
	if p.authority != nil {
		planned.Authority = p.authority.pair
		trusted = append(trusted, p.authority.certificate)
	}
	if p.next != nil {
		planned.Next = p.next.pair
		trusted = append(trusted, p.next.certificate)
	}
	trusted = append(trusted, p.former...)
	for place := range s.Bundles {
		planned.Bundles[place] = encode(trusted...)
	}
	if planned.Leaves == nil {
		planned.Leaves = map[string]pair{}
	}
	for name, l := range p.leaves {
		planned.Leaves[name] = l.pair
	}
	return planned
}

func sameAuthorities(s, t state) bool {
	return s.Authority.equal(t.Authority) && s.Next.equal(t.Next) &&
		s.Published.Equal(t.Published) && bytes.Equal(s.Former, t.Former)
}
