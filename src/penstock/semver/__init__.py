"""Versions such as `v1.2.3-rc.1+build` and ranges of them, in the grammar of the Go library that Flux and Helm use.

A range is text such as `>=1.2 <2 || ^3.1.0-0`: `Constraint.parse` reads it, `allows` answers for one version.
"""

from penstock.semver.constraint import Constraint, InvalidConstraint
from penstock.semver.version import InvalidVersion, Version

__all__ = ["Constraint", "InvalidConstraint", "InvalidVersion", "Version"]
