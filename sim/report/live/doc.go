// Package live shows tables that change on a whole terminal, and keeps the reader's place
// in them.
//
// A Model is the state of such a view: what is shown, the row that is held, the order, the
// filter. It is pure: Press takes a key, Show takes data, Lines are the screen. A Painter
// turns screens into what a terminal has to be sent, which is what has changed alone. A
// Terminal reads keys and draws by both until the reader quits:
//
//	t, ok := live.Open(os.Stdin, os.Stdout)
//	if ok {
//		err = t.Run(ctx, live.Config{Ask: ask, Detail: detail})
//	}
//
// It has the terminal as it found it when Run returns, whatever the reason. A
// Terminal is for one goroutine. Types that do not speak of concurrent use are plain values.
package live
