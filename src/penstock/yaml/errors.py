"""What the YAML door says when a text cannot come in."""

from penstock.errors import PenstockError


class YAMLError(PenstockError):
    """The text is not YAML, or not the YAML that Kubernetes objects are made of."""


class LimitError(YAMLError):
    """The text is YAML, but larger, deeper or more repetitive than anybody needs."""
