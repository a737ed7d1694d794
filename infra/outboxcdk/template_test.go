package outboxcdk_test

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
	"github.com/stretchr/testify/require"

	"outboxrelay/infra/outboxcdk"
)

// object is a part of a template.
type object = map[string]any

// template is a synthesized stack.
type template struct{ root object }

// resource is one of a template.
type resource struct {
	id         string
	body       object
	properties object
}

// resources are those of a type, in the order of their ids.
func (v template) resources(kind string) (found []resource) {
	all := v.root["Resources"].(object)
	for _, id := range slices.Sorted(maps.Keys(all)) {
		body := all[id].(object)
		if body["Type"] == kind {
			properties, _ := body["Properties"].(object)
			found = append(found, resource{id, body, properties})
		}
	}
	return found
}

// at walks to a member by names and indexes; nil: there is none.
func at(value any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			members, _ := value.(object)
			value = members[step]
		case int:
			elements, _ := value.([]any)
			if step >= len(elements) {
				return nil
			}
			value = elements[step]
		}
	}
	return value
}

// text is any part of a template, as JSON.
func text(t *testing.T, value any) string {
	t.Helper()
	bytes, err := json.Marshal(value)
	require.NoError(t, err)
	return string(bytes)
}

// synthesize makes the template of one stack. The app has the feature flags that
// the real one has.
func synthesize(build func(stack awscdk.Stack), props *awscdk.StackProps) template {
	app := newApp()
	stack := awscdk.NewStack(app, jsii.String("Test"), props)
	build(stack)
	return templateOf(app, stack)
}

func newApp() awscdk.App {
	dir, err := os.MkdirTemp(scratch, "")
	if err != nil {
		panic(err)
	}
	return awscdk.NewApp(&awscdk.AppProps{Context: cdkContext(), Outdir: jsii.String(dir)})
}

func templateOf(app awscdk.App, stack awscdk.Stack) template {
	assembly := app.Synth(nil)
	bytes, err := json.Marshal(assembly.GetStackArtifact(stack.ArtifactId()).Template())
	if err != nil {
		panic(err)
	}
	var root object
	if err := json.Unmarshal(bytes, &root); err != nil {
		panic(err)
	}
	return template{root}
}

var cdkContext = sync.OnceValue(func() *map[string]any {
	bytes, err := os.ReadFile("../cdk.json")
	if err != nil {
		panic(err)
	}
	var file struct{ Context map[string]any }
	if err := json.Unmarshal(bytes, &file); err != nil {
		panic(err)
	}
	return &file.Context
})

// once synthesizes a variant for all tests that look at it. If that fails, the first
// of them fails and says so. The others are skipped: nothing is wrong with what they
// are about, or nobody knows.
func once(synthesized func() template) func(t *testing.T) template {
	result := sync.OnceValues(func() (made template, failure any) {
		defer func() { failure = recover() }()
		return synthesized(), nil
	})
	var failed string // the test that has told
	return func(t *testing.T) template {
		t.Helper()
		made, failure := result()
		if failure == nil {
			return made
		}
		if failed != "" {
			t.Skipf("what it looks at is not synthesized, for which %s has failed", failed)
		}
		failed = t.Name()
		require.Fail(t, "synthesis failed", "%v", failure)
		return made
	}
}

// build adds a relay to a stack for one test, which alone fails if there is none to be had:
// a panic would end all tests.
func build(t *testing.T, stack awscdk.Stack, props outboxcdk.Props) {
	t.Helper()
	require.NotPanics(t, func() { outboxcdk.NewOutboxRelay(stack, "Outbox", props) })
}

// TestMain also ends the Node.js process of the CDK.
func TestMain(m *testing.M) {
	code := m.Run()
	jsii.Close()
	_ = os.RemoveAll(scratch)
	os.Exit(code)
}

// withPrefix is the only resource of a type whose id begins so.
func (v template) withPrefix(t *testing.T, kind, prefix string) (found resource) {
	t.Helper()
	count := 0
	for _, candidate := range v.resources(kind) {
		if strings.HasPrefix(candidate.id, prefix) {
			found = candidate
			count++
		}
	}
	require.Equal(t, 1, count, "resources %s... of %s", prefix, kind)
	return found
}

// reference refers to the only resource of a type.
func (v template) reference(t *testing.T, kind string) object {
	t.Helper()
	return object{"Ref": v.withPrefix(t, kind, "").id}
}

// arn is what other resources have for it.
func (r resource) arn() object { return object{"Fn::GetAtt": []any{r.id, "Arn"}} }
