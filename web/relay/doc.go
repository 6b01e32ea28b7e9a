// Package relay carries the answers of a web.Source over HTTP, as JSON: a program that has it in
// hand serves it by Handler, and another, in front of its user, shows the page from a Client.
// The two may be of different versions: what one does not know the other leaves out.
package relay
