package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOnlyAlarmsThatMiniStackDoesNotKnowAreLeftOut(t *testing.T) {
	t.Parallel()

	file := filepath.Join(t.TempDir(), "template.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"Resources": {
		"Any": {"Type": "AWS::CloudWatch::CompositeAlarm"},
		"Math": {"Type": "AWS::CloudWatch::Alarm", "Properties": {"Metrics": [{"Expression": "FILL(a, 0)"}]}},
		"Plain": {"Type": "AWS::CloudWatch::Alarm", "Properties": {"MetricName": "Lag", "Threshold": 12345678901234567}},
		"Board": {"Type": "AWS::CloudWatch::Dashboard", "Properties": {"DashboardBody": {"Fn::Join": ["", [
			{"Fn::GetAtt": ["Any", "Arn"]}, {"Fn::GetAtt": ["Plain", "Arn"]}]]}}}
	}}`), 0o600))
	names, err := leaveOut(file)
	require.NoError(t, err)
	require.Equal(t, []string{"Any", "Math"}, names)
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	require.JSONEq(t, `{"Resources": {
		"Plain": {"Type": "AWS::CloudWatch::Alarm", "Properties": {"MetricName": "Lag", "Threshold": 12345678901234567}},
		"Board": {"Type": "AWS::CloudWatch::Dashboard", "Properties": {"DashboardBody": {"Fn::Join": ["", [
			"arn:aws:cloudwatch:us-east-1:000000000000:alarm:Any", {"Fn::GetAtt": ["Plain", "Arn"]}]]}}}
	}}`, string(content))
}
