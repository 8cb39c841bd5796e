package main

import (
	"encoding/json"

	"github.com/fluxcd/pkg/envsubst"
)

func substitute(question json.RawMessage) (any, error) {
	var asked struct {
		Text      string            `json:"text"`
		Variables map[string]string `json:"variables"`
		Strict    bool              `json:"strict"`
	}
	if err := json.Unmarshal(question, &asked); err != nil {
		return nil, err
	}
	return envsubst.Eval(asked.Text, func(name string) (string, bool) {
		value, exists := asked.Variables[name]
		return value, exists || !asked.Strict
	})
}
