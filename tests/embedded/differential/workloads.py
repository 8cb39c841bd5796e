"""Random workloads and the pod templates in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.embedded.differential.making import few, some, words

if TYPE_CHECKING:
    from random import Random

    from penstock.kube.resources import Object


def _container_port(random: Random, name: str) -> Object:
    return {
        "containerPort": {"a": 80, "b": 443, "c": 53}[name],
        **some(random, name=f"port-{name}", protocol=("TCP", "UDP"), hostPort=0),
    }


def _variable(random: Random, name: str) -> Object:
    return {"name": name.upper(), "value": random.choice(("1", "2", "<&>"))}


def _mount(random: Random, name: str) -> Object:
    return {"name": "data", "mountPath": f"/{name}", **some(random, readOnly=(True, False), subPath="x")}


def _probe(random: Random) -> Object:
    return {
        "httpGet": {"path": "/", "port": random.choice((80, "web"))},
        **some(random, periodSeconds=(5, 10), failureThreshold=(1, 3)),
    }


def _resources(random: Random) -> Object:
    return some(
        random,
        requests=lambda each: some(each, cpu=("100m", "0.5"), memory=("64Mi", "1024Ki")),
        limits=lambda each: some(each, cpu=("1", "2000m"), memory=("1Gi", "2Gi")),
    )


def _container(random: Random, name: str) -> Object:
    return {
        "name": name,
        "image": random.choice(("web:1", "web:2")),
        **some(
            random,
            args=(["a"], ["a", "b"], []),
            env=few(_variable),
            ports=few(_container_port),
            resources=_resources,
            volumeMounts=few(_mount),
            livenessProbe=_probe,
            imagePullPolicy=("Always", "IfNotPresent"),
            securityContext=lambda each: some(each, runAsNonRoot=(True, False), runAsUser=(0, 1000)),
        ),
    }


def _volume(random: Random, name: str) -> Object:
    source: Object = random.choice(({"emptyDir": {}}, {"configMap": {"name": name}}, {"secret": {"secretName": name}}))
    return {"name": "data" if name == "a" else name, **source}


def pod_template(random: Random, restart: str | None = None) -> Object:
    """A pod template whose labels fit the selector of all workloads here."""
    return {
        "metadata": {
            "labels": {"app": "web", **some(random, tier=("x", "y"))},
            **some(random, annotations=words("1", "2")),
        },
        "spec": {
            "containers": few(_container)(random),
            "volumes": [{"name": "data", "emptyDir": {}}, *few(_volume, ("b", "c"))(random)],
            **({"restartPolicy": restart} if restart else {}),
            **some(
                random,
                initContainers=few(_container, ("i", "j")),
                nodeSelector=words("x", "y"),
                terminationGracePeriodSeconds=(0, 10),
                serviceAccountName=("default", "web"),
                hostNetwork=False,
                tolerations=(
                    [{"key": "x", "operator": "Exists"}],
                    [{"key": "y", "value": "1", "effect": "NoSchedule"}],
                ),
                imagePullSecrets=few(lambda _, name: {"name": name}),
                securityContext=lambda each: some(each, runAsUser=(0, 1000), fsGroup=(1, 2)),
            ),
        },
    }


def pod(random: Random) -> Object:
    """A random pod, mostly without the token that admission would mount under a random name."""
    spec = pod_template(random)["spec"]
    spec.pop("serviceAccountName", None)
    return {"spec": {**spec, **({"automountServiceAccountToken": False} if random.random() < 0.8 else {})}}


SELECTOR = {"matchLabels": {"app": "web"}}


def deployment(random: Random) -> Object:
    """A random Deployment."""
    return {
        "spec": {
            "selector": SELECTOR,
            "template": pod_template(random),
            **some(
                random,
                replicas=(0, 1, 3),
                minReadySeconds=(0, 5),
                paused=(True, False),
                revisionHistoryLimit=(0, 2),
                strategy=(
                    {"type": "Recreate"},
                    {"rollingUpdate": {"maxSurge": 1}},
                    {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "10%"}},
                ),
            ),
        }
    }


def stateful_set(random: Random) -> Object:
    """A random StatefulSet."""
    return {
        "spec": {
            "selector": SELECTOR,
            "serviceName": "web",
            "template": pod_template(random),
            **some(
                random,
                replicas=(0, 1, 3),
                podManagementPolicy="OrderedReady",
                updateStrategy=({"type": "OnDelete"}, {"rollingUpdate": {"partition": 1}}),
            ),
        }
    }


def daemon_set(random: Random) -> Object:
    """A random DaemonSet."""
    return {
        "spec": {
            "selector": SELECTOR,
            "template": pod_template(random),
            **some(random, minReadySeconds=(0, 5), updateStrategy=({"type": "OnDelete"}, {"type": "RollingUpdate"})),
        }
    }


def job(random: Random) -> Object:
    """A random Job."""
    return {
        "spec": {
            "template": {"spec": {"containers": [{"name": "a", "image": "web:1"}], "restartPolicy": "Never"}},
            **some(
                random,
                parallelism=(1, 2),
                suspend=(True, False),
                ttlSecondsAfterFinished=(0, 60),
                activeDeadlineSeconds=(5, 9),
            ),
        }
    }


def cron_job(random: Random) -> Object:
    """A random CronJob."""
    return {
        "spec": {
            "schedule": random.choice(("* * * * *", "@daily")),
            "jobTemplate": {
                "spec": {"template": pod_template(random, "OnFailure"), **some(random, backoffLimit=(1, 2))},
                **some(random, metadata=lambda each: {"labels": words("x", "y")(each)}),
            },
            **some(
                random, suspend=(True, False), concurrencyPolicy=("Allow", "Forbid"), startingDeadlineSeconds=(10, 20)
            ),
        }
    }


def condition(random: Random, name: str) -> Object:
    """A condition of a status."""
    return {
        "type": name.upper(),
        "status": random.choice(("True", "False")),
        **some(random, reason="Because", message=("x", "y")),
    }


def status(random: Random) -> Object:
    """The status of a workload."""
    return {"status": {"observedGeneration": 1, **some(random, replicas=(1, 3), conditions=few(condition))}}
