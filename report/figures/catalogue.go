package figures

import (
	"fmt"
	"io"
	"strings"
)

// WriteCatalogue lists all figures with what they claim.
func WriteCatalogue(w io.Writer) error {
	var b strings.Builder
	for _, f := range All() {
		fmt.Fprintf(&b, "%-8s %s: %s\n", f.ID, f.Title, f.Claim)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
