package loop

// What tests of the package outside of it look at.

type Schedule = schedule
