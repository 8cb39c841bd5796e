"""A real Kubernetes control plane for tests.

etcd, kube-apiserver and kube-controller-manager run as three processes. They come from one Go
program (`main.go`), built once and cached outside the checkout. There are no nodes and no scheduler;
`penstock.embedded.pods` plays the kubelets where a test wants pods to run.

    from tests.controlplane.plane import controlplane

    async with controlplane() as plane:
        await plane.kubectl("get", "namespaces")
        await plane.apiserver.kill()  # as with kill -9
        await plane.apiserver.start()  # the same port, the same data

Nothing is exported here: `build` and `e2e` are commands too (`python -m`), and would be imported twice.
"""
