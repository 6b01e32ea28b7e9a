package browser

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"io"
	"strings"

	"github.com/chromedp/cdproto/page"
)

// axeSum is the sha256 of axe.min.js in npm's axe-core 4.14.1, which is here compressed.
const axeSum = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c"

//go:embed axe-core/axe.min.js.gz
var axeCompressed []byte

// axe is axe-core's script.
func (b *Tab) axe() string {
	b.T.Helper()
	z, err := gzip.NewReader(bytes.NewReader(axeCompressed))
	b.Fail(err)
	script, err := io.ReadAll(z)
	b.Fail(err)
	if sum := sha256.Sum256(script); hex.EncodeToString(sum[:]) != axeSum {
		b.T.Fatal("axe-core/axe.min.js.gz is not axe-core 4.14.1")
	}
	return string(script)
}

// LetAxe lets axe do in pages what their policies keep scripts from. It is for before they are
// visited.
func (b *Tab) LetAxe() {
	b.T.Helper()
	Call(b, page.SetBypassCSP, page.SetBypassCSPParams{Enabled: true})
}

// Axe fails the test for each rule of axe-core that the page breaks.
func (b *Tab) Axe(what string) {
	b.T.Helper()
	if !Eval[bool](b, `"axe" in window`) {
		b.Script(b.axe())
	}
	for _, v := range Eval[[]struct {
		ID, Help string
		Nodes    []string
	}](b, `axe.run().then((r) => r.violations.map((v) => ({ ID: v.id, Help: v.help, Nodes: v.nodes.slice(0, 20).map((n) => n.html + " " + n.failureSummary) })))`) {
		b.T.Errorf("%s: %s: %s\n\t%s", what, v.ID, v.Help, strings.Join(v.Nodes, "\n\t"))
	}
}
