// Package web is a page that shows at a glance what a scheduler knows and does: the nodes by
// the pods that still fit, which pods wait and why, when pods were done under each profile,
// and what has happened to one of them.
//
// What it shows it asks of a Source and knows nothing of Kubernetes, nor where a Source has it
// from. A Server serves the page to browsers; all that it loads is in the program.
package web
