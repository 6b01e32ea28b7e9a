package server

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-stomp/stomp/v3/frame"
)

// errFrame is what is no frame.
var errFrame = errors.New("malformed frame")

var contentLength = regexp.MustCompile(`(?m)^content-length:([^\r\n]*)\r?$`)

// parseFrames reads the frames of a message; line ends between them are heart-beats.
func parseFrames(data []byte) ([]*frame.Frame, error) {
	// The reader makes room for a body of the length that the frame claims.
	for _, match := range contentLength.FindAllSubmatch(data, -1) {
		if n, err := strconv.ParseUint(string(match[1]), 10, 31); err != nil || n > uint64(len(data)) {
			return nil, errFrame
		}
	}
	var all []*frame.Frame
	r := frame.NewReader(bytes.NewReader(data))
	for {
		f, err := r.Read()
		switch {
		case errors.Is(err, io.EOF):
			// What ends amid a frame ends so, too.
			if rest := bytes.TrimRight(data, "\r\n"); len(rest) > 0 && (len(all) == 0 || rest[len(rest)-1] != 0) {
				return nil, errFrame
			}
			return all, nil
		case err != nil:
			return nil, errFrame
		case f != nil:
			all = append(all, f)
		}
	}
}

// encodeFrame is the inverse of parseFrames.
func encodeFrame(f *frame.Frame) ([]byte, error) {
	var b bytes.Buffer
	err := frame.NewWriter(&b).Write(f)
	return b.Bytes(), err
}

// stompVersions are in the order of preference.
var stompVersions = []string{"1.2", "1.1", "1.0"}

// negotiate returns the newest version that both know; who accepts nothing in particular
// knows the first.
func negotiate(accepted string) (string, bool) {
	if accepted == "" {
		return "1.0", true
	}
	theirs := strings.Split(accepted, ",")
	for _, v := range stompVersions {
		if slices.ContainsFunc(theirs, func(their string) bool { return strings.TrimSpace(their) == v }) {
			return v, true
		}
	}
	return "", false
}

// beats are how often each side of a connection says something; 0 is as it likes.
type beats struct{ send, expect time.Duration }

// agree returns what comes of what both offer and want: the slower of both.
func agree(header string, own time.Duration) (beats, error) {
	if header == "" {
		return beats{}, nil
	}
	offered, wanted, err := frame.ParseHeartBeat(header)
	if err != nil {
		return beats{}, errFrame
	}
	if wanted > 0 {
		wanted = max(wanted, own)
	}
	if offered > 0 {
		offered = max(offered, own)
	}
	return beats{send: wanted, expect: offered}, nil
}
