// Package live draws views on a terminal while a program runs.
//
// A [Screen] redraws a few lines in place, below the lines that stay.
//
// A [Terminal] shows tables that change on the whole screen, and keeps the reader's place in them:
//
//	t, ok := live.Open(os.Stdin, os.Stdout)
//	if ok {
//		err = t.Run(ctx, live.Config{Ask: ask, Detail: detail})
//	}
//
// The terminal is as before when Run returns, whatever the reason. A Terminal is for one goroutine. Types
// are plain values unless they say otherwise.
package live
