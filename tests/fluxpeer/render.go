package main

import (
	"context"
	"encoding/json"

	"github.com/fluxcd/pkg/kustomize"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Generates, builds and substitutes as the controller does; the tree is written, so it is a copy.
func render(question json.RawMessage) (any, error) {
	var asked struct {
		Root string         `json:"root"`
		Path string         `json:"path"`
		Spec map[string]any `json:"spec"`
	}
	if err := json.Unmarshal(question, &asked); err != nil {
		return nil, err
	}
	object := unstructured.Unstructured{Object: map[string]any{"spec": asked.Spec}}
	folder := asked.Root + "/" + asked.Path
	if _, err := kustomize.NewGenerator(asked.Root, object).WriteFile(folder); err != nil {
		return nil, err
	}
	built, err := kustomize.SecureBuild(asked.Root, folder, false)
	if err != nil {
		return nil, err
	}
	for _, resource := range built.Resources() {
		if asked.Spec["postBuild"] == nil {
			continue
		}
		changed, err := kustomize.SubstituteVariables(
			context.Background(), nil, object, resource, kustomize.SubstituteWithDryRun(true))
		if err != nil {
			return nil, err
		}
		if changed != nil {
			if _, err := built.Replace(changed); err != nil {
				return nil, err
			}
		}
	}
	text, err := built.AsYaml()
	return string(text), err
}
