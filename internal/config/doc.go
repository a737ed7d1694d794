// Package config reads the environment, as the only one to do so. What it
// returns are plain values; what they are for is the business of those who get
// them.
//
// A function reads all its settings in one call, at start-up:
//
//	settings, err := config.ForRelay(os.Environ())
//
// The error names every problem at once, so that one deployment is enough to
// learn of them all: the key, what was given and what is expected. It never
// shows what may be a secret. A key that looks like one of ours but is none is
// a problem too: a typo would otherwise be a setting that silently has no effect.
package config
