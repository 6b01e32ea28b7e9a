// Package browser drives pages in Chromium as a person does, by keyboard, and tells what they
// did behind the scenes: what the console said, which origins they asked, which rules of
// axe-core they break. It is a module of its own, outside the workspace: nobody but the tests
// of pages needs a browser.
//
// Chromium is the program that -browser names, else chromium or google-chrome of the path.
package browser
