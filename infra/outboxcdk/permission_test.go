package outboxcdk_test

import (
	"maps"
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

func TestByIAMMigrateMayConnectToTheDatabaseItselfWhereThereIsAProxy(t *testing.T) {
	for _, function := range functions {
		login := "prx-ABCDEFGHIJ/outbox"
		if function == "migrate" {
			login = "cluster-ABCDEFGHIJ/owner"
		}
		arns := proxied(t).allowed(t, function, "rds-db:connect")
		require.Len(t, arns, 1, function)
		require.Contains(t, text(t, arns[0]), ":dbuser:"+login+`"`, function)
	}
}

func TestMigrateConnectsToTheDatabaseItselfWhereThereIsAPooler(t *testing.T) {
	for _, function := range functions {
		host, port := "pooler.example", "6432"
		if function == "migrate" {
			host, port = "database.example", "5433"
		}
		environment := variables(everything(t).function(t, function))
		require.Equal(t, host, environment["PGHOST"], function)
		require.Equal(t, port, environment["PGPORT"], function)
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
	for name, variant := range variants(t) {
		for _, granted := range variant.granted(t) {
			if strings.HasPrefix(granted.role, cdksOwn) {
				continue
			}
			wildcard := strings.Contains(text(t, granted.statement["Resource"]), "*")
			interfaces := granted.statement["Sid"] == "NetworkInterfaces"
			require.Equal(t, interfaces, wildcard, "%s %s: %s", name, granted.role, text(t, granted.statement))
			for _, action := range elements(granted.statement["Action"]) {
				require.NotContains(t, action, "*", "%s %s", name, granted.role)
				if interfaces {
					require.Regexp(t, "^ec2:", action, "%s %s", name, granted.role)
				}
			}
		}
	}
}

// cdksOwn is how the role begins of the function that the CDK adds to run migrate.
// It has permissions that are not ours to choose.
const cdksOwn = "AWSCDKTriggerCustomResourceProvider"

func TestTheCDKsOwnFunctionMayInvokeMigrateAndWriteLogs(t *testing.T) {
	for name, variant := range variants(t) {
		role := variant.withPrefix(t, "AWS::IAM::Role", cdksOwn)
		require.JSONEq(t, `[{"Fn::Sub":"arn:${AWS::Partition}:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole"}]`,
			text(t, role.properties["ManagedPolicyArns"]), name)
		migrate := variant.function(t, "migrate").arn()
		var statements []object
		for _, granted := range variant.granted(t) {
			if granted.role == role.id {
				statements = append(statements, granted.statement)
			}
		}
		require.Len(t, statements, 1, name)
		require.Equal(t, []any{"lambda:InvokeFunction"}, elements(statements[0]["Action"]), name)
		require.Equal(t, []any{object{"Fn::Join": []any{"", []any{migrate, ":*"}}}}, elements(statements[0]["Resource"]), name)
	}
}

// grant is a statement of a role.
type grant struct {
	role      string
	statement object
}

// granted are all statements of all roles of a template, wherever they stand. A
// kind of policy that is not known here fails the test.
func (v template) granted(t *testing.T) (all []grant) {
	t.Helper()
	add := func(role string, document any) {
		statements := elements(at(document, "Statement"))
		require.NotEmpty(t, statements, role)
		for _, statement := range statements {
			require.Subset(t, []string{"Action", "Condition", "Effect", "Resource", "Sid"}, slices.Collect(maps.Keys(statement.(object))), role)
			all = append(all, grant{role, statement.(object)})
		}
	}
	for _, role := range v.resources("AWS::IAM::Role") {
		if !strings.HasPrefix(role.id, cdksOwn) {
			require.NotContains(t, role.properties, "ManagedPolicyArns", role.id)
		}
		policies, _ := role.properties["Policies"].([]any)
		for _, policy := range policies {
			add(role.id, at(policy, "PolicyDocument"))
		}
	}
	for _, policy := range v.resources("AWS::IAM::Policy") {
		for _, role := range policy.properties["Roles"].([]any) {
			add(at(role, "Ref").(string), policy.properties["PolicyDocument"])
		}
	}
	for id, body := range v.root["Resources"].(object) {
		kind := at(body, "Type").(string)
		known := kind == "AWS::IAM::Role" || kind == "AWS::IAM::Policy"
		require.True(t, known || !strings.HasPrefix(kind, "AWS::IAM::"), "%s is of %s", id, kind)
	}
	return all
}

// variants are templates that differ in what is allowed.
func variants(t *testing.T) map[string]template {
	t.Helper()
	return map[string]template{
		"minimal": minimal(t), "everything": everything(t), "by IAM": byIam(t), "by a proxy": proxied(t), "GovCloud": govCloud(t), "China": china(t),
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
