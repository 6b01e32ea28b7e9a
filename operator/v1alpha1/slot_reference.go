package v1alpha1

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
)

// +kubebuilder:validation:Type=""
// +kubebuilder:validation:XIntOrString
// +kubebuilder:validation:MaxLength=257
// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?/(0|[1-9][0-9]{0,2})$`

// SlotReference is the index of a slot, from 0, or its ID, NODE/POSITION: in JSON a
// number or a string. Whatever number an API server has taken can be read, or one
// object would keep all others from being read; one that is too large names no slot.
type SlotReference struct {
	// Text is the ID, or the index in decimal.
	Text string `json:"-"`
}

// SlotIndex refers to a slot by its index.
func SlotIndex(i int) SlotReference { return SlotReference{strconv.Itoa(i)} }

// SlotID refers to a slot by its ID.
func SlotID(id string) SlotReference { return SlotReference{id} }

// Index returns the index of the slot, and whether it was given by one.
func (r SlotReference) Index() (int, bool) {
	i, err := strconv.Atoi(r.Text)
	return i, err == nil && i >= 0
}

func (r SlotReference) String() string { return r.Text }

// errSlotReference means that a slot is neither a number nor a string.
var errSlotReference = errors.New("neither an index nor NODE/POSITION")

var integer = regexp.MustCompile(`^(0|-?[1-9][0-9]*)$`)

// MarshalJSON writes a number where the text is one.
func (r SlotReference) MarshalJSON() ([]byte, error) {
	if integer.MatchString(r.Text) {
		return []byte(r.Text), nil
	}
	return json.Marshal(r.Text)
}

// UnmarshalJSON reads a string or an integer of any size.
func (r *SlotReference) UnmarshalJSON(data []byte) error {
	if integer.Match(data) {
		r.Text = string(data)
		return nil
	}
	if !bytes.HasPrefix(data, []byte(`"`)) {
		return fmt.Errorf("slot %.64q: %w", data, errSlotReference)
	}
	return json.Unmarshal(data, &r.Text)
}
