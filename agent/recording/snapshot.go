package recording

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/svd"
)

// Records that are rare are JSON, whose floats are the same when read back and
// whose fields need no code of their own.

// Header begins a file.
type Header struct {
	// Part counts the files of one Recorder from 1.
	Part int `json:"part"`
	// Config is that of the pipeline recorded.
	Config agent.Config `json:"config"`
}

// fleet is a word of the aggregator and when it came.
type fleet struct {
	At     time.Time    `json:"at"`
	Schema string       `json:"schema"`
	Model  svd.State    `json:"model"`
	Costs  []agent.Cost `json:"costs"`
	Nodes  int          `json:"nodes"`
}

func appendJSON(dst []byte, k Kind, v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("recording: %s: %w", k, err)
	}
	return append(append(dst, byte(k)), text...), nil
}

// decodeJSON reads all of text into v. A field that v does not have is refused:
// without it nothing could be replayed truly.
func decodeJSON(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errBody
	}
	return nil
}

func appendFleet(dst []byte, at time.Time, f agent.Fleet) ([]byte, error) {
	return appendJSON(dst, KindFleet, fleet{at.Round(0).UTC(), f.Schema, f.Model.State(), f.Costs, f.Nodes})
}

func decodeHeader(text []byte) (Record, error) {
	h := new(Header)
	if err := decodeJSON(text, h); err != nil {
		return Record{}, err
	}
	if err := h.Config.Validate(); err != nil {
		return Record{}, err
	}
	return Record{Kind: KindHeader, Header: h}, nil
}

func decodeState(text []byte) (Record, error) {
	s := new(agent.State)
	if err := decodeJSON(text, s); err != nil {
		return Record{}, err
	}
	return Record{Kind: KindSnapshot, At: s.At, State: s}, nil
}

func decodeFleet(text []byte) (Record, error) {
	var f fleet
	if err := decodeJSON(text, &f); err != nil {
		return Record{}, err
	}
	r := Record{Kind: KindFleet, At: f.At, Fleet: &agent.Fleet{Schema: f.Schema, Costs: f.Costs, Nodes: f.Nodes}}
	if f.Model.Dim == 0 {
		return r, nil
	}
	var err error
	r.Fleet.Model, err = svd.FromState(f.Model)
	return r, err
}
