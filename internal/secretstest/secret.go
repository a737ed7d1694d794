package secretstest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// The stages of a rotation.
const (
	Current  = "AWSCURRENT"
	Pending  = "AWSPENDING"
	Previous = "AWSPREVIOUS"
)

// secret is what an ARN stands for. Its newest version is the last.
type secret struct {
	arn      string
	versions []*version
}

type version struct {
	id      string
	text    *string
	binary  []byte
	stages  []string
	created time.Time
}

// Set makes a new current version of the secret, created where it does not exist; the one before becomes AWSPREVIOUS.
func (s *Server) Set(arn, secretString string) { s.add(arn, &version{text: &secretString}, Current) }

// SetBinary is Set for a secret without a string.
func (s *Server) SetBinary(arn string, secretBinary []byte) {
	s.add(arn, &version{binary: secretBinary}, Current)
}

// SetPending makes a new pending version, as a rotation does before it changes the database.
func (s *Server) SetPending(arn, secretString string) {
	s.add(arn, &version{text: &secretString}, Pending)
}

// Promote makes the pending version the current one, as a rotation does in the end. It does nothing without a pending version.
func (s *Server) Promote(arn string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if kept := s.secrets[arn]; kept != nil {
		if pending := kept.find("", Pending); pending != nil {
			kept.move(Current, pending)
			kept.move(Pending, nil)
		}
	}
}

func (s *Server) add(arn string, v *version, stage string) {
	s.mu.Lock()
	defer s.mu.Unlock()

	kept := s.secrets[arn]
	if kept == nil {
		kept = &secret{arn: arn}
		s.secrets[arn] = kept
	}

	v.id = fmt.Sprintf("00000000-0000-4000-8000-%012x", len(kept.versions)+1)
	v.created = time.Now()
	kept.versions = append(kept.versions, v)
	kept.move(stage, v)
}

// move gives the stage to one version alone (nil: to none). The version that was current becomes the previous one.
func (k *secret) move(stage string, to *version) {
	from := k.find("", stage)
	if from == to {
		return
	}
	if from != nil {
		from.stages = slices.DeleteFunc(from.stages, func(s string) bool { return s == stage })
	}
	if to != nil {
		to.stages = append(to.stages, stage)
	}
	if stage == Current && from != nil {
		k.move(Previous, from)
	}
}

// find returns the version of an id, or at a stage, or nil.
func (k *secret) find(id, stage string) *version {
	for _, v := range k.versions {
		if (id == "" || v.id == id) && (stage == "" || slices.Contains(v.stages, stage)) {
			return v
		}
	}
	return nil
}

// suffix is the hyphen and six characters that Secrets Manager puts behind the name.
var suffix = regexp.MustCompile(`-[A-Za-z0-9]{6}$`)

func (k *secret) name() string {
	_, name, _ := strings.Cut(k.arn, ":secret:")
	return suffix.ReplaceAllString(name, "")
}

// is tells whether the id of a request means this secret: its ARN, the ARN without suffix, or its name.
func (k *secret) is(id string) bool {
	return id == k.arn || id == k.name() || id == suffix.ReplaceAllString(k.arn, "")
}
