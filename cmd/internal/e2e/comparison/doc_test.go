// Package comparison tests spazio-demo compare from end to end.
package comparison
