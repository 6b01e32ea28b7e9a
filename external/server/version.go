package server

import (
	"cmp"
	"fmt"
	"strings"
)

// CompareVersions returns -1, 0 or 1 if a is before b, b or behind it. A version is a
// positive decimal number of any length, without leading zeros.
func CompareVersions(a, b Version) (int, error) {
	for _, v := range []Version{a, b} {
		if v == "" || v[0] == '0' || strings.Trim(v, "0123456789") != "" {
			return 0, fmt.Errorf("resourceVersion %q: not a positive decimal number", v)
		}
	}
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)), nil
}
