package sample

import "testing"

func TestClamp(t *testing.T) {
	for _, c := range []struct{ x, want int }{{0, 2}, {3, 3}, {9, 4}} {
		if got := Clamp(c.x, 2, 4); got != c.want {
			t.Errorf("Clamp(%d) = %d, want %d", c.x, got, c.want)
		}
	}
}

func TestAdd(t *testing.T) {
	var c Counter[string]
	if n, err := c.Add("a", "b"); n != 2 || err != nil {
		t.Errorf("Add = %d, %v", n, err)
	}
}

func TestCountdown(t *testing.T) {
	if n, err := Countdown(3); n != 3 || err != nil {
		t.Errorf("Countdown(3) = %d, %v", n, err)
	}
	if _, err := Countdown(-1); err == nil {
		t.Error("Countdown(-1): no error")
	}
}

func TestGuard(t *testing.T) {
	if Guard() {
		t.Error("caught nothing")
	}
}

func TestOver(t *testing.T) {
	if Over(22) || !Over(23) {
		t.Error("wrong limit")
	}
}
