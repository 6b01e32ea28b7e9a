// Package browser tests pages in Chromium, as a person uses them: those of package ui by keyboard
// alone, while servers are killed, with hostile names and with 5,000 slots (the files ui_), and that
// of package web with 5,000 nodes, hostile names and a source that fails (the files web_). The other
// files drive Chromium and report what a page did: what the console printed, which origins it asked,
// which rules of axe-core it breaks. It lies outside the workspace because only these tests need a
// browser.
//
// Run it with .ci/run ui and .ci/run web. Chromium is the program that -browser names, else chromium
// or google-chrome of the path.
package browser
