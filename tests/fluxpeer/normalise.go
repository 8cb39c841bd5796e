package main

import (
	"encoding/json"

	"github.com/fluxcd/pkg/ssa/normalize"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func normalise(question json.RawMessage) (any, error) {
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(question); err != nil {
		return nil, err
	}
	if err := normalize.UnstructuredList([]*unstructured.Unstructured{object}); err != nil {
		return nil, err
	}
	return object.Object, nil
}
