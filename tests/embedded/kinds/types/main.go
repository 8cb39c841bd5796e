// Command types tells how the types of the Kubernetes API look in Go: every field with its JSON tag and its type.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/controlplane"
)

type field = []string

var types = map[string][]field{}
var seen = map[reflect.Type]string{}

func name(t reflect.Type) string {
	p := t.PkgPath()
	p = strings.TrimPrefix(p, "k8s.io/api/")
	p = strings.TrimPrefix(p, "k8s.io/kubernetes/pkg/apis/")
	p = strings.TrimPrefix(p, "k8s.io/apimachinery/pkg/")
	p = strings.TrimPrefix(p, "k8s.io/")
	return p + "." + t.Name()
}

var special = map[string]string{
	"api/resource.Quantity": "quantity", "util/intstr.IntOrString": "intstr", "apis/meta/v1.Time": "time",
	"apis/meta/v1.MicroTime": "microtime", "apis/meta/v1.Duration": "duration", "runtime.RawExtension": "raw",
	"apis/meta/v1.FieldsV1": "raw", "runtime.Object": "raw",
	"apiextensions-apiserver/pkg/apis/apiextensions/v1.JSON":            "raw",
	"apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaProps": "raw",
}

func expr(t reflect.Type) string {
	if s, ok := special[name(t)]; ok {
		return s
	}
	switch t.Kind() {
	case reflect.Ptr:
		return "*" + expr(t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
		return "[" + short(t) + "]" + expr(t.Elem())
	case reflect.Map:
		return "{" + short(t) + "}" + expr(t.Elem())
	case reflect.Struct:
		visit(t)
		return "@" + name(t)
	case reflect.Interface:
		return "raw"
	default:
		if t.PkgPath() != "" {
			return t.Kind().String() + ":" + t.String()
		}
		return t.Kind().String()
	}
}

// short is the name of a named list or map, as error messages have it.
func short(t reflect.Type) string {
	if t.Name() != "" {
		return t.String()
	}
	if t.Kind() == reflect.Map && t.Key().Name() != "string" {
		return strings.ReplaceAll(t.String(), " ", "")
	}
	return ""
}

func visit(t reflect.Type) {
	if _, ok := seen[t]; ok {
		return
	}
	n := name(t)
	seen[t] = n
	out := []field{}
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i)
		if f.PkgPath != "" && !f.Anonymous {
			continue
		}
		tag := f.Tag.Get("json")
		if tag == "-" {
			continue
		}
		out = append(out, field{f.Name, tag, expr(f.Type), fmt.Sprint(f.Anonymous)})
	}
	types[n] = out
}

func main() {
	kinds := map[string]string{}
	for gvk, t := range legacyscheme.Scheme.AllKnownTypes() {
		if strings.HasSuffix(gvk.Kind, "Options") || gvk.Kind == "WatchEvent" {
			continue
		}
		visit(t)
		kinds[gvk.Group+"/"+gvk.Version+"/"+gvk.Kind] = name(t)
	}
	for gvk, o := range map[schema.GroupVersionKind]any{
		{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}: apiextensions.CustomResourceDefinition{},
		{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"}:             apiregistration.APIService{},
	} {
		t := reflect.TypeOf(o)
		visit(t)
		kinds[gvk.Group+"/"+gvk.Version+"/"+gvk.Kind] = name(t)
	}
	json.NewEncoder(os.Stdout).Encode(map[string]any{"kinds": kinds, "types": types})
}
