// Package cloudwatchtest evaluates alarms as CloudWatch documents that it does,
// over values that a test makes up. An alarm is read from a synthesized template,
// so that what is tried is what would be deployed.
//
// CloudWatch looks once a minute at the last periods, and at more of them than
// the alarm has evaluation periods: the evaluation range. As long as the range
// has as many real datapoints as there are evaluation periods, the newest of
// these decide. Only what is short of them is filled, as the alarm says that
// missing data is treated. How long the range is, where periods begin that
// are longer than a minute, and what metric math makes of a metric that
// has nothing in the range, is not documented: a Reading is what a test takes for granted, and
// it had better try several.
package cloudwatchtest
