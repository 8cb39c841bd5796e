"""Images of registries: what they are called, how they are fetched, pushed and verified.

`OCIRemote` is the place that an OCIRepository names; `Registry` is what it and the commands talk through.
"""

from penstock.sources.oci.reference import parse_image, parse_repository
from penstock.sources.oci.registry import Registry
from penstock.sources.oci.remote import OCIRemote
from penstock.sources.oci.transport import Connection, RegistryError

__all__ = ["Connection", "OCIRemote", "Registry", "RegistryError", "parse_image", "parse_repository"]
