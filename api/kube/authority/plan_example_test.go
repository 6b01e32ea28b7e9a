package authority_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/api/kube/authority"
)

func Example_plan() {
	wanted := map[string]authority.Leaf{"web": {Names: []string{"web.example"}}}
	stored := authority.State{Bundles: map[string][]byte{"clients": nil}}
	now := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	for range 430 { // days
		planned, changes, err := authority.Plan(wanted, stored, now)
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, c := range changes {
			fmt.Println(strings.TrimSpace(fmt.Sprintln(now.Format(time.DateOnly), c.Kind, c.Name)))
		}
		stored, now = planned, now.AddDate(0, 0, 1)
	}
	// Output:
	// 2026-11-22 authorities
	// 2026-11-22 bundle clients
	// 2026-11-22 leaf web
	// 2027-01-21 leaf web
	// 2027-03-22 leaf web
	// 2027-05-21 leaf web
	// 2027-07-20 leaf web
	// 2027-09-18 leaf web
	// 2027-11-17 leaf web
	// 2027-11-22 authorities
	// 2027-11-22 bundle clients
	// 2027-11-23 authorities
	// 2027-11-30 authorities
	// 2027-11-30 bundle clients
	// 2028-01-16 leaf web
	// 2028-01-23 authorities
	// 2028-01-23 bundle clients
}
