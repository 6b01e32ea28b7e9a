package server_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/go-stomp/stomp/v3"
	"github.com/go-stomp/stomp/v3/frame"

	"github.com/spazio-scheduler/spazio/external/server"
	"github.com/spazio-scheduler/spazio/external/server/servertest"
	"github.com/spazio-scheduler/spazio/external/wire"
)

func seedPaths(c *server.Config) { c.SeedPaths = true }

func dialStomp(t *testing.T, b *servertest.Bench, header http.Header) *websocket.Conn {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), b.URL+"/scheduler", &websocket.DialOptions{HTTPHeader: header, Subprotocols: []string{"v12.stomp", "v11.stomp", "v10.stomp"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.CloseNow() })
	return conn
}

func connectStomp(t *testing.T, b *servertest.Bench, options ...func(*stomp.Conn) error) *stomp.Conn {
	t.Helper()
	rwc := websocket.NetConn(context.Background(), dialStomp(t, b, nil), websocket.MessageText)
	conn, err := stomp.Connect(rwc, append(options, stomp.ConnOpt.UnsubscribeReceiptTimeout(time.Second), stomp.ConnOpt.Header("Authorization", "Bearer "+servertest.Viewer))...)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// unsubscribe waits for the receipt, at which the client closes the subscription's channel. The
// return of Unsubscribe is no such sign: it checks and then waits without a lock, so that it may
// miss the receipt and time out.
func unsubscribe(s *stomp.Subscription) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Unsubscribe() // its time-out, perhaps, which is no news
	}()
	for range s.C {
	}
	<-done
}

func TestStomp(t *testing.T) {
	for _, version := range []stomp.Version{stomp.V10, stomp.V11, stomp.V12} {
		t.Run(version.String(), func(t *testing.T) {
			b := servertest.Start(t, seedPaths)
			conn := connectStomp(t, b, stomp.ConnOpt.AcceptVersion(version))
			if conn.Version() != version {
				t.Errorf("speaks %v", conn.Version())
			}
			names, err := conn.Subscribe("/topic/jobs", stomp.AckAuto)
			if err != nil {
				t.Fatal(err)
			}
			objects, err := conn.Subscribe("/topic/jobs/one", stomp.AckAuto)
			if err != nil {
				t.Fatal(err)
			}
			other, err := conn.Subscribe("/topic/schedulings", stomp.AckAuto)
			if err != nil {
				t.Fatal(err)
			}
			unsubscribe(other) // its receipt comes after what was before
			b.Store.PutJob(job("other", "elsewhere"))
			b.Store.PutJob(job("default", "one"))
			if m := <-names.C; m.Err != nil || string(m.Body) != "one" || m.Header.Get("event") != wire.Added {
				t.Errorf("%+v", m)
			}
			m := <-objects.C
			var object struct{ Name, State string }
			if err := json.Unmarshal(m.Body, &object); err != nil || object.Name != "one" || object.State != "ReadyState" {
				t.Errorf("%s: %+v, %v", m.Body, object, err)
			}
			unsubscribe(objects)
			b.Store.Remove(wire.Jobs, "default", "one")
			if m := <-names.C; string(m.Body) != "one" || m.Header.Get("event") != wire.Deleted {
				t.Errorf("%+v", m)
			}
			if err := conn.Disconnect(); err != nil {
				t.Error(err)
			}
		})
	}
}

// raw is a client that can send anything.
type raw struct {
	t    *testing.T
	conn *websocket.Conn
}

func (r *raw) say(text string) {
	r.t.Helper()
	if err := r.conn.Write(r.t.Context(), websocket.MessageText, []byte(text)); err != nil {
		r.t.Fatal(err)
	}
}

// next returns the next message, or how the connection was closed.
func (r *raw) next() (string, websocket.StatusCode) {
	_, data, err := r.conn.Read(r.t.Context())
	return string(data), websocket.CloseStatus(err)
}

func TestStompRefuses(t *testing.T) {
	b := servertest.Start(t, seedPaths)
	const ok = "CONNECT\naccept-version:1.2\nAuthorization:Bearer " + servertest.Viewer + "\n\n\x00"
	for name, c := range map[string]struct {
		frames []string
		code   websocket.StatusCode
		want   string
	}{
		"no token":      {[]string{"CONNECT\naccept-version:1.2\n\n\x00"}, wire.CloseUnauthorized, "401"},
		"wrong token":   {[]string{"CONNECT\naccept-version:1.2\nAuthorization:Bearer " + servertest.Foreign + "\n\n\x00"}, wire.CloseUnauthorized, "401"},
		"version":       {[]string{"CONNECT\naccept-version:2.0\n\n\x00"}, websocket.StatusPolicyViolation, "1.2"},
		"heart-beat":    {[]string{"CONNECT\naccept-version:1.2\nheart-beat:-1,x\n\n\x00"}, websocket.StatusPolicyViolation, "malformed"},
		"not connected": {[]string{"SUBSCRIBE\nid:1\ndestination:/topic/jobs\n\n\x00"}, websocket.StatusPolicyViolation, "not connected"},
		"twice":         {[]string{ok, ok}, websocket.StatusPolicyViolation, "already"},
		"send":          {[]string{ok, "SEND\ndestination:/topic/jobs\nreceipt:r7\n\nx\x00"}, websocket.StatusPolicyViolation, "receipt-id:r7"},
		"topic":         {[]string{ok, "SUBSCRIBE\nid:1\ndestination:/queue/jobs\n\n\x00"}, websocket.StatusPolicyViolation, "not /topic/"},
		"bare topic":    {[]string{ok, "SUBSCRIBE\nid:1\ndestination:jobs\n\n\x00"}, websocket.StatusPolicyViolation, "not /topic/"},
		"slots":         {[]string{ok, "SUBSCRIBE\nid:1\ndestination:/topic/slots\n\n\x00"}, websocket.StatusPolicyViolation, "not /topic/"},
		"name":          {[]string{ok, "SUBSCRIBE\nid:1\ndestination:/topic/jobs/../x\n\n\x00"}, websocket.StatusPolicyViolation, "name"},
		"id":            {[]string{ok, "UNSUBSCRIBE\nid:1\n\n\x00"}, websocket.StatusPolicyViolation, "no subscription"},
		"same id":       {[]string{ok, strings.Repeat("SUBSCRIBE\nid:1\ndestination:/topic/jobs\n\n\x00", 2)}, websocket.StatusPolicyViolation, "there is a subscription"},
		"length":        {[]string{"CONNECT\ncontent-length:2000000000\n\nx\x00"}, websocket.StatusPolicyViolation, "malformed"},
		"no frame":      {[]string{"GET / HTTP/1.1\r\n\r\n"}, websocket.StatusPolicyViolation, "malformed"},
		"half a frame":  {[]string{"CONNECT\naccept-version:1.2\n"}, websocket.StatusPolicyViolation, "malformed"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &raw{t, dialStomp(t, b, nil)}
			for i, f := range c.frames {
				r.say(f)
				if i < len(c.frames)-1 {
					if got, _ := r.next(); !strings.HasPrefix(got, "CONNECTED\nversion:1.2\n") {
						t.Fatalf("%q", got)
					}
				}
			}
			got, _ := r.next()
			if !strings.HasPrefix(got, "ERROR\n") || !strings.Contains(got, c.want) {
				t.Errorf("%q", got)
			}
			if _, code := r.next(); code != c.code {
				t.Errorf("closed with %d, want %d", code, c.code)
			}
		})
	}
	nobody := &raw{t, dialStomp(t, b, bearer(servertest.Nothing))} // by the request's header
	nobody.say("STOMP\naccept-version:1.1\n\n\x00SUBSCRIBE\nid:1\ndestination:/topic/jobs\n\n\x00")
	if got, _ := nobody.next(); !strings.HasPrefix(got, "CONNECTED\nversion:1.1\n") {
		t.Errorf("%q", got)
	}
	if got, _ := nobody.next(); !strings.Contains(got, "403") {
		t.Errorf("%q", got)
	}
	if _, code := nobody.next(); code != wire.CloseForbidden {
		t.Errorf("closed with %d", code)
	}
	if _, answer, err := websocket.Dial(t.Context(), b.URL+"/scheduler", &websocket.DialOptions{HTTPHeader: bearer(servertest.Unknown)}); err == nil || answer == nil || answer.StatusCode != 401 {
		t.Errorf("%v, %v", answer, err)
	}
	off := servertest.Start(t, nil)
	if _, answer, err := websocket.Dial(t.Context(), off.URL+"/scheduler", nil); err == nil || answer == nil || answer.StatusCode != 404 {
		t.Errorf("without the thesis's paths: %v, %v", answer, err)
	}
}

// Both sides send heart-beats as agreed, or the connection is closed.
func TestStompHeartBeats(t *testing.T) {
	b := servertest.Start(t, func(c *server.Config) {
		c.SeedPaths = true
		c.Watch = server.WatchConfig{Ping: 50 * time.Millisecond}
	})
	const connect = "CONNECT\naccept-version:1.2\nAuthorization:Bearer " + servertest.Viewer + "\nheart-beat:"
	var r *raw
	for _, c := range []struct{ offered, agreed string }{
		{"20,30", "50,50"}, {"1000,80", "80,1000"}, // silence of two beats and a second ends it: a slow machine needs long beats
	} {
		r = &raw{t, dialStomp(t, b, nil)}
		r.say(connect + c.offered + "\n\n\x00")
		if got, _ := r.next(); !strings.Contains(got, "heart-beat:"+c.agreed+"\n") {
			t.Fatalf("%q of %s", got, c.offered)
		}
	}
	for range 3 {
		if got, code := r.next(); got != "\n" {
			t.Fatalf("%q, %d", got, code)
		}
		r.say("\n")
	}
	for {
		got, code := r.next() // and nothing more from here
		if got == "" {
			if code != wire.CloseSlow {
				t.Errorf("closed with %d", code)
			}
			break
		}
	}
	late := servertest.Start(t, func(c *server.Config) {
		c.SeedPaths = true
		c.Watch = server.WatchConfig{Slow: 50 * time.Millisecond}
	})
	silent := &raw{t, dialStomp(t, late, nil)}
	if _, code := silent.next(); code != wire.CloseUnauthorized {
		t.Errorf("who says nothing: closed with %d", code)
	}
	// Heart-beats of an unconnected client extend no deadline.
	beating := dialStomp(t, late, nil)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for beating.Write(t.Context(), websocket.MessageText, []byte("\n")) == nil {
		}
	}()
	if _, _, err := beating.Read(t.Context()); websocket.CloseStatus(err) != wire.CloseUnauthorized {
		t.Errorf("who only beats: %v", err)
	}
	_ = beating.CloseNow()
	<-ended
}

// TestStompStrangersOfOneAddress: unauthenticated clients of one address leave room for other
// addresses and for authenticated ones.
func TestStompStrangersOfOneAddress(t *testing.T) {
	b := servertest.Start(t, seedPaths)
	var last *raw
	for range 33 {
		last = &raw{t, dialStomp(t, b, nil)}
	}
	if _, code := last.next(); code != wire.CloseTooMany {
		t.Errorf("the 33rd: closed with %d", code)
	}
	known := &raw{t, dialStomp(t, b, bearer(servertest.Viewer))}
	known.say("CONNECT\naccept-version:1.2\n\n\x00")
	if text, code := known.next(); !strings.HasPrefix(text, "CONNECTED") {
		t.Errorf("who is known: %q, closed with %d", text, code)
	}
}

// TestStompJS uses the browsers' own library as the client: it needs node, and the package
// @stomp/stompjs 7.5.0 in the directory STOMPJS.
func TestStompJS(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node on PATH")
	}
	module := os.Getenv("STOMPJS")
	if module == "" {
		t.Skip("STOMPJS does not say where @stomp/stompjs 7.5.0 is")
	}
	if module, err = filepath.Abs(filepath.Join(module, "esm6", "index.js")); err != nil {
		t.Fatal(err)
	}
	b := servertest.Start(t, seedPaths)
	script := `
import { Client } from "` + module + `";
const client = new Client({
  brokerURL: "` + strings.Replace(b.URL, "http", "ws", 1) + `/scheduler",
  connectHeaders: { Authorization: "Bearer ` + servertest.Viewer + `" },
  heartbeatIncoming: 4000, heartbeatOutgoing: 4000,
});
client.onConnect = () => {
  client.watchForReceipt("ready", () => console.log("ready"));
  client.subscribe("/topic/jobs", (m) => {
    console.log(m.headers.event, m.body);
    if (m.headers.event === "DELETED") client.deactivate().then(() => console.log("gone"));
  }, { receipt: "ready" });
};
client.onStompError = (f) => { console.log("error", f.body); process.exit(1); };
client.activate();
`
	file := filepath.Join(t.TempDir(), "client.mjs")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), node, "--experimental-websocket", file)
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	command.Stderr = os.Stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string)
	go func() {
		defer close(lines)
		buffer := make([]byte, 4096)
		for {
			n, err := out.Read(buffer)
			for line := range strings.Lines(string(buffer[:n])) {
				lines <- strings.TrimSpace(line)
			}
			if err != nil {
				return
			}
		}
	}()
	for _, step := range []struct {
		want string
		then func()
	}{
		{"ready", func() { b.Store.PutJob(job("default", "one")) }},
		{"ADDED one", func() { b.Store.Remove(wire.Jobs, "default", "one") }},
		{"DELETED one", func() {}},
		{"gone", func() {}},
	} {
		if got := <-lines; got != step.want {
			t.Fatalf("%q, want %q", got, step.want)
		}
		step.then()
	}
	for range lines {
	}
	if err := command.Wait(); err != nil {
		t.Error(err)
	}
}

// Parsed frames are the same after encoding and parsing again.
func FuzzFrame(f *testing.F) {
	for _, seed := range []string{
		"CONNECT\naccept-version:1.0,1.1,1.2\nheart-beat:10,10\n\n\x00", "\n", "\r\n\r\n", "",
		"SUBSCRIBE\r\nid:1\r\ndestination:/topic/jobs\r\n\r\n\x00\nDISCONNECT\nreceipt:1\n\n\x00",
		"SEND\ncontent-length:3\n\na\x00b\x00", "SEND\ncontent-length:99999999999\n\n\x00", "SEND\ncontent-length:-1\n\n\x00",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		frames, err := server.ParseFrames(data)
		if err != nil {
			return
		}
		for _, one := range frames {
			if one.Header.Get(frame.ContentLength) == "" {
				continue // a body's end is where the first zero is
			}
			encoded, err := server.EncodeFrame(one)
			if err != nil {
				t.Fatal(err)
			}
			again, err := server.ParseFrames(encoded)
			if err != nil || len(again) != 1 || string(again[0].Body) != string(one.Body) || again[0].Header.Len() != one.Header.Len() {
				t.Fatalf("%q is %+v once, %+v then: %v", data, one, again, err)
			}
		}
	})
}
