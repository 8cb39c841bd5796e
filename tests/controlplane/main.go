// Command controlplane is a Kubernetes control plane in one file, for tests.
//
// It links the upstream programs and runs the one named by its first argument, so that a single
// cached build serves kube-apiserver, kube-controller-manager, etcd and kubectl, and each of them
// is still a process that a test can stop and start alone.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	_ "time/tzdata" // CronJobs name time zones, and a bare machine has no database of them

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

func main() {
	if len(os.Args) < 2 {
		fail("usage: controlplane etcd|kube-apiserver|kube-controller-manager|kubectl [flags]")
	}
	program := os.Args[1]
	// Each program reads os.Args itself and expects its own name in the first place.
	os.Args = append([]string{filepath.Join(filepath.Dir(os.Args[0]), program)}, os.Args[2:]...)
	switch program {
	case "etcd":
		etcdmain.Main(os.Args)
	case "kube-apiserver":
		run(apiserver.NewAPIServerCommand())
	case "kube-controller-manager":
		run(controllers.NewControllerManagerCommand())
	case "kubectl":
		if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
			util.CheckErr(err)
		}
	default:
		fail("controlplane: no program is called " + program)
	}
}

func run(command *cobra.Command) {
	os.Exit(cli.Run(command))
}

func fail(sentence string) {
	fmt.Fprintln(os.Stderr, sentence)
	os.Exit(2)
}
