package main

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	"google.golang.org/protobuf/types/known/structpb"
)

// The environment of Flux; the result is shown whatever its type is, and the type with it.
func evaluate(question json.RawMessage) (any, error) {
	var asked struct {
		Expression string         `json:"expression"`
		Declared   []string       `json:"declared"`
		Variables  map[string]any `json:"variables"`
	}
	if err := json.Unmarshal(question, &asked); err != nil {
		return nil, err
	}
	options := []cel.EnvOption{
		cel.HomogeneousAggregateLiterals(),
		cel.EagerlyValidateDeclarations(true),
		cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true),
		cel.OptionalTypes(),
		ext.Strings(),
		ext.Sets(),
		ext.Encoders(),
	}
	for _, name := range asked.Declared {
		options = append(options, cel.Variable(name, cel.ObjectType("google.protobuf.Struct")))
	}
	env, err := cel.NewEnv(options...)
	if err != nil {
		return nil, err
	}
	parse := env.Parse
	if asked.Declared != nil {
		parse = env.Compile
	}
	parsed, issues := parse(asked.Expression)
	if issues != nil {
		return nil, fmt.Errorf("compile: %s", issues.String())
	}
	program, err := env.Program(parsed, cel.EvalOptions(cel.OptOptimize), cel.InterruptCheckFrequency(100))
	if err != nil {
		return nil, fmt.Errorf("program: %w", err)
	}
	result, _, err := program.ContextEval(context.Background(), whole(asked.Variables).(map[string]any))
	if err != nil {
		return nil, fmt.Errorf("evaluate: %w", err)
	}
	told := map[string]any{"static": parsed.OutputType().String(), "type": result.Type().TypeName()}
	native, err := result.ConvertToNative(reflect.TypeOf(&structpb.Value{}))
	if err == nil {
		told["result"] = native.(*structpb.Value).AsInterface()
	}
	return told, nil
}

// Numbers without a fraction are integers in Kubernetes objects.
func whole(value any) any {
	switch typed := value.(type) {
	case map[string]any:
		for key, inner := range typed {
			typed[key] = whole(inner)
		}
	case []any:
		for index, inner := range typed {
			typed[index] = whole(inner)
		}
	case float64:
		if typed == float64(int64(typed)) {
			return int64(typed)
		}
	}
	return value
}
