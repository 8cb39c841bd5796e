"""Custom resources: definitions that are served as soon as they are stored, and the rules of their objects.

A definition's structural schema prunes unknown fields, fills in defaults and checks objects with the real server's
words. Expressions (`x-kubernetes-validations`) are stored, and not evaluated yet.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.embedded.definitions.controller import CLEANUP, GROUP, PLURAL, Definitions, mark_deleted
from penstock.embedded.definitions.definition_rules import DefinitionRules

if TYPE_CHECKING:
    from penstock.embedded.server.ports import Context, Plugins

__all__ = ["CLEANUP", "install", "mark_deleted"]


def install(plugins: Plugins, context: Context) -> None:
    """Serve custom resources."""
    catalog = context.api.catalog
    resource = catalog.find(GROUP, "v1", PLURAL)
    if resource is None:
        return
    rules = DefinitionRules()
    catalog.add([replace(resource, rules=lambda: rules)])
    definitions = Definitions(context.api, context.now)
    definitions.load()
    plugins.observers.append(definitions)
    plugins.background.append(definitions.run)
