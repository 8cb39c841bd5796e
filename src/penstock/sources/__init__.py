"""From a place (a Git repository, a registry, a bucket) to an artifact: fetch, verify, archive, store, serve.

Each kind of place is a `Remote`. What it fetches is packed by `archive`, kept by the artifact store and served over
HTTP in the format of Flux, so that either side can be exchanged for Flux's own.
"""

from penstock.sources.remote import Fetched, Remote, SourceError, Stalled, Waiting

__all__ = ["Fetched", "Remote", "SourceError", "Stalled", "Waiting"]
