package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
)

// template is one of CloudFormation, as the CDK has synthesized it.
type template map[string]any

// leaveOut takes from the template in a file what MiniStack's CloudFormation does
// not know: alarms of several alarms, and of metric math. It returns their names
// in the template.
func leaveOut(file string) ([]string, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var t template
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber()
	if err := decoder.Decode(&t); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	names := t.leaveOutAlarms()
	if content, err = json.MarshalIndent(t, "", " "); err != nil {
		return nil, err
	}
	return names, os.WriteFile(file, content, 0o600)
}

func (t template) leaveOutAlarms() []string {
	resources, _ := t["Resources"].(map[string]any)
	out := map[string]bool{}
	for name, resource := range resources {
		if resource, ok := resource.(map[string]any); ok && isUnknownAlarm(resource) {
			out[name] = true
			delete(resources, name)
		}
	}
	t["Resources"] = withoutReferences(resources, out)
	return slices.Sorted(maps.Keys(out))
}

func isUnknownAlarm(resource map[string]any) bool {
	properties, _ := resource["Properties"].(map[string]any)
	return resource["Type"] == "AWS::CloudWatch::CompositeAlarm" ||
		resource["Type"] == "AWS::CloudWatch::Alarm" && properties["Metrics"] != nil
}

// withoutReferences puts an ARN in the place of each reference to the ARN of what
// is left out, as the dashboard has.
func withoutReferences(value any, out map[string]bool) any {
	switch value := value.(type) {
	case map[string]any:
		if attribute, ok := value["Fn::GetAtt"].([]any); ok && len(attribute) == 2 {
			if name, _ := attribute[0].(string); out[name] {
				return "arn:aws:cloudwatch:" + region + ":" + account + ":alarm:" + name
			}
		}
		for key := range value {
			value[key] = withoutReferences(value[key], out)
		}
	case []any:
		for i := range value {
			value[i] = withoutReferences(value[i], out)
		}
	}
	return value
}
