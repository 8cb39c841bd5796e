"""The one door for YAML: texts come in as plain Python values, objects go out as kustomize prints them.

In: `documents` reads a file of manifests, `mapping` one configuration file. Both are bounded in size, depth
and aliases, refuse duplicate keys, and know two dialects (see `scalars`). Out: `dump` and `dump_all`.
"""

from penstock.yaml.document import Document, Limits
from penstock.yaml.emit import dump, dump_all
from penstock.yaml.errors import LimitError, YAMLError
from penstock.yaml.read import config, documents
from penstock.yaml.scalars import plain, text_of, through_json

__all__ = [
    "Document",
    "LimitError",
    "Limits",
    "YAMLError",
    "config",
    "documents",
    "dump",
    "dump_all",
    "plain",
    "text_of",
    "through_json",
]
