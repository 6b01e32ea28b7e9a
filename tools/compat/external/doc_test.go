// Package external drives the pages of package ui in Chromium, as a person does: by keyboard
// alone, while servers are killed, with hostile names, and with 5,000 slots. It lies outside the
// workspace because only these tests need a browser.
//
// Run it with .ci/run ui. Chromium is the program that -browser names, else chromium or
// google-chrome of the path.
package external
