package spazioctl

// Checked is what spazio check prints of a report.
var Checked = checked
