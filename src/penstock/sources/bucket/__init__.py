"""Buckets: S3 and what speaks like it, Google Cloud Storage and Azure Blob Storage.

The requests are our own, a hundred lines a storage. Libraries that speak all three change keys on the way: they drop a
trailing slash and match prefixes by whole names, while the revision is a digest of the keys and etags
exactly as the storage has them.
"""

from penstock.sources.bucket.remote import BucketRemote
from penstock.sources.bucket.secrets import BucketSecrets

__all__ = ["BucketRemote", "BucketSecrets"]
