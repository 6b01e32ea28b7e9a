// Package browser drives pages in Chromium as a person does, by keyboard, and reports what they
// did: what the console printed, which origins they asked, which rules of axe-core they break.
// It is a module of its own, outside the workspace, because only the tests of pages need a browser.
//
// Chromium is the program that -browser names, else chromium or google-chrome of the path.
package browser
