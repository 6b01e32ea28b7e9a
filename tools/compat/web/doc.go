// Package web drives the page of package web in Chromium: with 5,000 nodes, names that
// mean harm, a source that fails, and by keyboard alone. It lies outside the
// workspace: nobody else needs a browser.
//
// Run it with .ci/run web.
package web
