"""`penstock up`: the main job. A cluster is kept in the state of a directory, and one sees it happen.

`folders` finds the cluster in a directory, `first` brings what a bootstrap would, `watching` follows what becomes of
it as values of `state`, and `view` or `lines` show them.
"""

from penstock.cli.up.verb import up

__all__ = ["up"]
