package outboxcdk_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// statements are all that the policy of one function's role says.
func (v template) statements(t *testing.T, function string) (found []object) {
	t.Helper()
	policy := v.withPrefix(t, "AWS::IAM::Policy", "Outbox"+strings.ToUpper(function[:1])+function[1:]+"Role")
	for _, statement := range at(policy.properties, "PolicyDocument", "Statement").([]any) {
		found = append(found, statement.(object))
	}
	return found
}

// allowed are the resources that a function's role may do something with; nil: it may not.
func (v template) allowed(t *testing.T, function, action string) []any {
	t.Helper()
	for _, statement := range v.statements(t, function) {
		if slices.Contains(elements(statement["Action"]), any(action)) {
			return elements(statement["Resource"])
		}
	}
	return nil
}

// elements are those of what may be one or a list.
func elements(value any) []any {
	if list, ok := value.([]any); ok {
		return list
	}
	return []any{value}
}

var functions = []string{"relay", "cleanup", "lag", "migrate", "admin"}

func TestEachFunctionReadsItsSecretAndNoOther(t *testing.T) {
	for _, function := range functions {
		secret := secretArn
		if function == "migrate" {
			secret = ownerSecretArn
		}
		require.Equal(t, secret, variables(everything(t).function(t, function))["DATABASE_SECRET_ARN"], function)
		require.Equal(t, []any{secret}, everything(t).allowed(t, function, "secretsmanager:GetSecretValue"), function)
	}
}

func TestTheKeyOfTheSecretIsForSecretsManagerOnly(t *testing.T) {
	require.Nil(t, minimal(t).allowed(t, "relay", "kms:Decrypt"))
	for _, function := range functions {
		require.Equal(t, []any{keyArn}, everything(t).allowed(t, function, "kms:Decrypt"), function)
		for _, statement := range everything(t).statements(t, function) {
			if statement["Action"] == "kms:Decrypt" {
				services := text(t, at(statement, "Condition", "StringEquals", "kms:ViaService"))
				require.Contains(t, services, `["secretsmanager.",{"Ref":"AWS::Region"},".amazonaws.com"]`)
				require.Contains(t, services, `["secretsmanager.",{"Ref":"AWS::Region"},".",{"Ref":"AWS::URLSuffix"}]`)
			}
		}
	}
}

func TestByIAMEachFunctionConnectsAsItsUserAndNoOther(t *testing.T) {
	for _, function := range functions {
		user := "outbox"
		if function == "migrate" {
			user = "owner"
		}
		arns := byIam(t).allowed(t, function, "rds-db:connect")
		require.Len(t, arns, 1, function)
		require.JSONEq(t, `{"Fn::Join":["",["arn:",{"Ref":"AWS::Partition"},":rds-db:",{"Ref":"AWS::Region"},":",{"Ref":"AWS::AccountId"},
			":dbuser:cluster-ABCDEFGHIJ/`+user+`"]]}`, text(t, arns[0]), function)
		require.Nil(t, byIam(t).allowed(t, function, "secretsmanager:GetSecretValue"), function)
		environment := variables(byIam(t).function(t, function))
		require.Equal(t, "true", environment["DATABASE_IAM_AUTH"], function)
		require.Equal(t, user, environment["PGUSER"], function)
		require.NotContains(t, environment, "DATABASE_SECRET_ARN", function)
	}
}

func TestMigrateConnectsToTheDatabaseItselfWhereThereIsAPooler(t *testing.T) {
	for _, function := range functions {
		host := "pooler.example"
		if function == "migrate" {
			host = "database.example"
		}
		environment := variables(everything(t).function(t, function))
		require.Equal(t, host, environment["PGHOST"], function)
		require.Equal(t, "6432", environment["PGPORT"], function)
		require.Equal(t, "shop", environment["PGDATABASE"], function)
		require.Equal(t, "verify-ca", environment["PGSSLMODE"], function)
	}
}

func TestOnlyTheRelayPublishesAndOnlyToItsBuses(t *testing.T) {
	const here = `{"Fn::Join":["",["arn:",{"Ref":"AWS::Partition"},":events:",{"Ref":"AWS::Region"},":",{"Ref":"AWS::AccountId"},":event-bus/`
	for _, action := range []string{"events:PutEvents", "events:DescribeEventBus"} {
		require.JSONEq(t, `[`+here+`orders"]]}]`, text(t, minimal(t).allowed(t, "relay", action)))
		require.Equal(t, []any{foreignBusArn}, slow(t).allowed(t, "relay", action))
		bus := everything(t).withPrefix(t, "AWS::Events::EventBus", "")
		require.ElementsMatch(t, []string{text(t, bus.arn()), `"` + foreignBusArn + `"`, here + `billing"]]}`},
			texts(t, everything(t).allowed(t, "relay", action)))
		for _, function := range functions[1:] {
			require.Nil(t, everything(t).allowed(t, function, action), function)
		}
	}
}

func texts(t *testing.T, values []any) (all []string) {
	t.Helper()
	for _, value := range values {
		all = append(all, text(t, value))
	}
	return all
}

func TestEachFunctionWritesToItsOwnLog(t *testing.T) {
	for _, function := range functions {
		group := at(minimal(t).function(t, function).properties, "LoggingConfig", "LogGroup", "Ref")
		require.Equal(t, []any{object{"Fn::GetAtt": []any{group, "Arn"}}}, minimal(t).allowed(t, function, "logs:PutLogEvents"), function)
	}
}

func TestFunctionsHaveRolesOfTheirOwnAndNoManagedPolicies(t *testing.T) {
	roles := map[string]bool{}
	for name, function := range everything(t).functions(t) {
		id := at(function.properties, "Role", "Fn::GetAtt", 0).(string)
		roles[id] = true
		role := everything(t).withPrefix(t, "AWS::IAM::Role", id)
		require.NotContains(t, role.properties, "ManagedPolicyArns", name)
	}
	require.Len(t, roles, len(functions))
}

// What Lambda needs to make network interfaces is all that AWS forces on *.
func TestNothingIsAllowedOnEverythingButNetworkInterfaces(t *testing.T) {
	for name, variant := range map[string]template{"minimal": minimal(t), "everything": everything(t), "by IAM": byIam(t)} {
		for _, function := range functions {
			for _, statement := range variant.statements(t, function) {
				wildcard := strings.Contains(text(t, statement["Resource"]), "*")
				require.Equal(t, statement["Sid"] == "NetworkInterfaces", wildcard, "%s %s: %s", name, function, text(t, statement))
				require.NotContains(t, text(t, statement["Action"]), "*", function)
			}
		}
	}
	for _, statement := range everything(t).statements(t, "relay") {
		if statement["Sid"] == "NetworkInterfaces" {
			require.Equal(t, "*", statement["Resource"])
			for _, action := range elements(statement["Action"]) {
				require.Contains(t, action, "ec2:")
			}
		}
	}
}

func TestWhoNudgesMayInvokeTheRelayAndWhoOperatesAdmin(t *testing.T) {
	for role, function := range map[string]string{"Application": "relay", "Operator": "admin"} {
		policy := embedded(t).withPrefix(t, "AWS::IAM::Policy", role+"DefaultPolicy")
		statements := at(policy.properties, "PolicyDocument", "Statement").([]any)
		require.Len(t, statements, 1, role)
		require.Equal(t, "lambda:InvokeFunction", at(statements[0], "Action"), role)
		resources := text(t, at(statements[0], "Resource"))
		require.Contains(t, resources, embedded(t).function(t, function).id, role)
		require.NotContains(t, resources, "*", role)
	}
}
