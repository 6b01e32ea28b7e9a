package social

import "time"

// operation is what a client asks of the front.
type operation string

// The operations.
const (
	// read shows a timeline.
	read operation = "read"
	// compose writes a post.
	compose operation = "compose"
)

// Front is the tier that clients call.
const Front = "front"

// step is what a tier does for an operation: it burns CPU time, then calls others, all at
// once.
type step struct {
	cpu   time.Duration
	calls []string
}

// tiers are the steps by tier and operation.
var tiers = map[string]map[operation]step{
	Front: {
		read:    {400 * time.Microsecond, []string{"home-timeline"}},
		compose: {400 * time.Microsecond, []string{"compose"}},
	},
	"home-timeline": {
		read:    {800 * time.Microsecond, []string{"graph", "post"}},
		compose: {600 * time.Microsecond, []string{"graph"}},
	},
	"post": {
		read:    {time.Millisecond, []string{"user", "media"}},
		compose: {800 * time.Microsecond, nil},
	},
	"graph": {
		read:    {600 * time.Microsecond, nil},
		compose: {400 * time.Microsecond, nil},
	},
	"compose": {compose: {time.Millisecond, []string{"text", "media", "post", "home-timeline"}}},
	"text":    {compose: {800 * time.Microsecond, []string{"url", "user"}}},
	"user":    {read: {400 * time.Microsecond, nil}, compose: {400 * time.Microsecond, nil}},
	"media":   {read: {800 * time.Microsecond, nil}, compose: {800 * time.Microsecond, nil}},
	"url":     {compose: {400 * time.Microsecond, nil}},
}

// Tiers are the names of all tiers, the front first.
func Tiers() []string {
	return []string{Front, "home-timeline", "post", "graph", "compose", "text", "user", "media", "url"}
}

// Outward says of a tier that clients of the original call it themselves: those are not
// killed in the thesis that this is for.
func Outward(tier string) bool { return tier == Front || tier == "media" }
