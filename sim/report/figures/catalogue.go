package figures

import (
	"fmt"
	"io"
	"strings"

	"github.com/spazio-scheduler/spazio/sim/report/table"
	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// WriteCatalogue lists all figures with what they claim, in lines that a terminal holds.
func WriteCatalogue(w io.Writer) error {
	var b strings.Builder
	for _, f := range All() {
		b.WriteString(text.Hang(fmt.Sprintf("%-8s ", f.ID), f.Title+": "+f.Claim, table.Terminal) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
