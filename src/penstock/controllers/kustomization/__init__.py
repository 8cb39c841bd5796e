"""The Kustomization controller: a path in a source, built and kept applied, as Flux shows it.

`reconcile` has the way of one run from the first look to the report. Each file beside it is one stage or one side of
it: what is read before (`source`, `dependencies`, `references`, `target`), what is told (`report`, `events`), what
wakes it (`triggers`), and how it ends (`finalize`).
"""
