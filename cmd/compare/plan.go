package compare

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/cmd/compare/social"
)

// turn is a run that is due: which scheduler of the configuration, in which pair.
type turn struct{ scheduler, pair int }

// turns puts the runs in order: forwards in one pair, backwards in the next (A B B A), so
// that a steady drift of the machine is on either side alike.
func turns(schedulers, runs int) (all []turn) {
	for pair := range runs {
		round := make([]turn, schedulers)
		for i := range round {
			round[i] = turn{i, pair}
		}
		if pair%2 == 1 {
			slices.Reverse(round)
		}
		all = append(all, round...)
	}
	return all
}

// labels returns distinct names for the schedulers, of which several may have the same name.
func labels(schedulers []string) []string {
	labels := make([]string, len(schedulers))
	seen := map[string]int{}
	for i, s := range schedulers {
		if seen[s]++; seen[s] > 1 {
			s = fmt.Sprintf("%s (%d)", s, seen[s])
		}
		labels[i] = s
	}
	return labels
}

// replica is a place for a pod of a tier, where a killed pod is replaced.
type replica struct {
	tier   string
	number int
}

func (r replica) String() string { return fmt.Sprintf("%s-%d", r.tier, r.number) }

// replicas are all of them.
func replicas(each int) (all []replica) {
	for _, tier := range social.Tiers() {
		for i := range each {
			all = append(all, replica{tier, i})
		}
	}
	return all
}

// victims are the tiers whose pods may be killed.
func victims() (tiers []string) {
	for _, tier := range social.Tiers() {
		if !social.Outward(tier) {
			tiers = append(tiers, tier)
		}
	}
	return tiers
}

// kill is whom to kill, and when since the beginning.
type kill struct {
	at       time.Duration
	replicas []replica
}

// kills are those of a pair: the same for each scheduler.
func (c Config) kills(pair int) (all []kill) {
	if c.Kill == 0 {
		return nil
	}
	random := rand.New(rand.NewPCG(c.Seed, uint64(pair)))
	var mortal []replica
	for _, tier := range victims() {
		for i := range c.Replicas {
			mortal = append(mortal, replica{tier, i})
		}
	}
	for at := c.KillEvery; at < c.Duration; at += c.KillEvery {
		random.Shuffle(len(mortal), func(i, k int) { mortal[i], mortal[k] = mortal[k], mortal[i] })
		all = append(all, kill{at, slices.Clone(mortal[:c.Kill])})
	}
	return all
}
