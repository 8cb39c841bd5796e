// Judges Kubernetes objects by the rules of Flux: one JSON object a line in, one status a line out.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/fluxcd/pkg/runtime/statusreaders"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func judge(line []byte) (string, error) {
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal(line, object); err != nil {
		return "", err
	}
	if kind := object.GroupVersionKind().GroupKind(); kind.Group == "batch" && kind.Kind == "Job" {
		return statusreaders.ComputeJobStatus(object).Status.String(), nil
	}
	result, err := status.Compute(object)
	if err != nil {
		return status.UnknownStatus.String(), nil
	}
	return result.Status.String(), nil
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		told, err := judge(lines.Bytes())
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(told)
	}
}
