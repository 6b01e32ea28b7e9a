// Package web drives the page of package web in Chromium: with 5,000 nodes, hostile names, a
// source that fails, and by keyboard alone. It lies outside the workspace because only these
// tests need a browser.
//
// Run it with .ci/run web.
package web
