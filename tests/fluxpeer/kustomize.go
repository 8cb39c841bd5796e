package main

import (
	"encoding/json"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// Builds a folder as the command does, many in one process: most of a command's time goes into reading its schema.
func kustomizeBuild(question json.RawMessage) (any, error) {
	var folder string
	if err := json.Unmarshal(question, &folder); err != nil {
		return nil, err
	}
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionNone
	built, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		return nil, err
	}
	text, err := built.AsYaml()
	return string(text), err
}
