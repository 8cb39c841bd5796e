"""A cluster, the controllers and a directory, put together and run."""

from __future__ import annotations

import asyncio
import gc
import signal
import time
from contextlib import AsyncExitStack, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.api.durations import SECOND, Duration
from penstock.cli.foreground import Home
from penstock.cli.output import say
from penstock.cli.up import first
from penstock.cli.up.files import Explainer
from penstock.cli.up.lines import Lines, told
from penstock.cli.up.watching import Watching
from penstock.controllers.kustomization.settings import Settings
from penstock.controllers.process import Options, assembled
from penstock.controllers.sources.local import LocalSources
from penstock.errors import PenstockError
from penstock.kube import connect, load
from penstock.runtime.logs import configure
from penstock.sources.local import LocalDirectory, LocalSource, Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.cli.up.folders import Place
    from penstock.cli.up.state import State
    from penstock.cli.up.view import View
    from penstock.cli.up.watching import Show
    from penstock.kube import Client
    from penstock.kube.settings import Settings as Connection
    from penstock.runtime import Manager

TIMED_OUT = 124
INTERRUPTED = 130
LOG = "penstock.log"


class ControllersStopped(PenstockError):
    """The controllers have not ended well."""

    def __init__(self, told: str = "the controllers have stopped") -> None:
        super().__init__(told)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is to run, all questions answered."""

    place: Place
    cluster: str
    """The folder, as in `clusters/staging`."""
    named: tuple[LocalSource, ...] = ()
    first: tuple[Path, ...] = ()
    offline: bool = False
    once: bool = False
    live: bool = False
    timeout: Duration
    """For `once`."""
    data_dir: Path | None = None
    kubeconfig: Path | None = None
    context: str | None = None

    @property
    def real(self) -> bool:
        return self.kubeconfig is not None or self.context is not None


async def run(plan: Plan, home: Path) -> int:
    """Run until it is stopped, or has settled; the answer is the exit code. Keys, artifacts and logs lie in `home`."""
    task = asyncio.current_task()
    if task is not None:
        # Until the controllers take the signals, a request to end must not leave keys behind.
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    # Nearly all that is made while everything starts stays; looking for garbage in it takes long.
    gc.disable()
    async with AsyncExitStack() as stack:
        log = stack.enter_context((await asyncio.to_thread(_made, home) / LOG).open("a", encoding="utf-8"))
        configure(encoding="console", level="info", stream=log)
        connection, kubeconfig = await _cluster(stack, plan, home)
        client = await stack.enter_async_context(connect(connection))
        workspace, wanted = await _wanted(plan)
        objects = await asyncio.to_thread(first.read, [*plan.place.first, *plan.first])
        await first.prepare(client, objects, wanted, token=f"up-{time.time():.3f}", guest=plan.real)
        options = Options(storage=home / "controllers", kustomize=Settings(requeue_dependency=Duration(5 * SECOND)))
        local = LocalSources(workspace, offline=plan.offline)
        manager = await stack.enter_async_context(assembled(client, options, local=local))
        gc.freeze()
        gc.enable()
        explainer = Explainer([directory.root for directory in workspace.directories])
        try:
            if plan.once:
                return await _once(client, manager, plan, explainer)
            return await _stay(client, manager, plan, explainer, kubeconfig)
        except ControllersStopped as stopped:
            raise ControllersStopped(f"{stopped}: {await asyncio.to_thread(_last_line, home / LOG)}") from None


def _last_line(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return next((line for line in reversed(lines) if line), "they said nothing")


def _made(home: Path) -> Path:
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    return home


async def _cluster(stack: AsyncExitStack, plan: Plan, home: Path) -> tuple[Connection, Path | None]:
    """How to reach the cluster, started first when it is ours, and the kubeconfig that others need for it."""
    if plan.real:
        return await asyncio.to_thread(load, plan.kubeconfig, context=plan.context), plan.kubeconfig
    from penstock.embedded import cluster

    if plan.data_dir is not None:
        stack.enter_context(Home.of(plan.data_dir).held())
    running = await stack.enter_async_context(cluster(data_dir=plan.data_dir, home=home))
    if plan.data_dir is not None:
        Home.of(plan.data_dir).tell(running.server, plan.data_dir)
    return running.settings, running.kubeconfig


async def _wanted(plan: Plan) -> tuple[Workspace, first.Sync]:
    """The directories that stand for sources, and the objects that follow the cluster's folder."""
    root = plan.place.root
    whole = await LocalDirectory.find(root)
    remotes = await whole.remotes() if whole.root == root else []
    wanted = await asyncio.to_thread(first.sync, root, plan.cluster, *remotes[:1])
    named = [LocalSource(wanted.source, root), *plan.named]
    workspace = await Workspace.open([root] if remotes else [], named, plan.place.beside)
    return workspace, wanted


async def _once(client: Client, manager: Manager, plan: Plan, explainer: Explainer) -> int:
    lines = Lines()

    async def show(state: State) -> None:
        lines.show(await explainer.explain(state))

    code = INTERRUPTED
    async with asyncio.TaskGroup() as group, Watching.open(client) as watching:
        running = group.create_task(manager.run())
        settling = group.create_task(_settle(watching, plan, show))
        await asyncio.wait((running, settling), return_when=asyncio.FIRST_COMPLETED)
        if settling.done():
            state, in_time = settling.result()
            code = _verdict(await explainer.explain(state), in_time=in_time, plan=plan)
        settling.cancel()
        manager.stop()
        failed = await running
    if failed:
        raise ControllersStopped
    return code


async def _settle(watching: Watching, plan: Plan, show: Show) -> tuple[State, bool]:
    try:
        async with asyncio.timeout(plan.timeout.seconds):
            return await watching.until_settled(show), True
    except TimeoutError:
        return watching.state, False


def _verdict(state: State, *, in_time: bool, plan: Plan) -> int:
    print(state.counted, flush=True)
    if in_time and not state.unready:
        return 0
    if not in_time:
        say(f"✗ out of time: not settled within {plan.timeout}")
    say("not ready:")
    for item in state.unready:
        say(f"  {told(item)}")
    return 1 if in_time else TIMED_OUT


async def _stay(client: Client, manager: Manager, plan: Plan, explainer: Explainer, kubeconfig: Path | None) -> int:
    """Show what happens until somebody stops it."""
    title = f"penstock up: {plan.cluster} of {plan.place.root}"
    hint = f"for kubectl and flux: export KUBECONFIG={kubeconfig}" if kubeconfig is not None else ""
    with _shown(title, hint, live=plan.live) as view:

        async def show(state: State) -> None:
            view.show(await explainer.explain(state))

        async with asyncio.TaskGroup() as group, Watching.open(client, workloads=plan.live) as watching:
            following = group.create_task(watching.follow(show))
            code = await manager.run()
            following.cancel()
    if code:
        raise ControllersStopped
    say("stopped")
    return 0


def _shown(title: str, hint: str, *, live: bool) -> View | nullcontext[Lines]:
    if live:
        from penstock.cli.up.view import Heading, View

        return View(Heading(title, hint))
    for words in filter(None, (title, hint)):
        say(words)
    return nullcontext(Lines())
