package comparison

// Settings is for tests.
var Settings = settingsOf
