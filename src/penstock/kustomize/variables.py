"""Variables: `$(NAME)` in well-known fields, replaced by a field of some object."""

import re
from collections.abc import Iterable
from typing import Any

from penstock.kustomize import fieldspecs
from penstock.kustomize.collection import Collection
from penstock.kustomize.context import Context
from penstock.kustomize.errors import FieldError, KustomizationError
from penstock.kustomize.fieldpaths import lookup, split_dotted
from penstock.kustomize.fieldspecs import FieldSpecs
from penstock.kustomize.ids import DEFAULT_NAMESPACE, Gvk
from penstock.kustomize.kustomization import Variable
from penstock.kustomize.resource import Resource
from penstock.yaml import plain, text_of

Variables = dict[str, Variable]
_INDEX = re.compile(r"(.*)\[(\d+)\]\Z")


def declare(variables: Variables, more: Iterable[Variable], collection: Collection) -> None:
    """Add variables and mark the objects they read; a name may be declared once in a build."""
    for variable in more:
        matched = _matched(variable, collection)
        if len(matched) > 1:
            raise KustomizationError(f"the variable '{variable.name}' could read any of {len(matched)} objects")
        for resource in matched:
            resource.variables = (*resource.variables, variable.name)
        join(variables, [variable])


def join(variables: Variables, more: Iterable[Variable]) -> None:
    """Add variables that are declared already elsewhere."""
    for variable in more:
        if variable.name in variables:
            raise KustomizationError(f"the variable '{variable.name}' is declared twice")
        variables[variable.name] = variable


def _matched(variable: Variable, collection: Collection) -> list[Resource]:
    reference = variable.objref
    gvk = reference.gvk
    scoped = collection.resources and collection.resources[0].schema.is_cluster_scoped(gvk.api_version, gvk.kind)
    namespace = reference.namespace if not scoped else None

    def matches(resource: Resource) -> bool:
        for one in resource.ids:
            if (one.name, Gvk(one.group, one.version, one.kind)) != (reference.name, gvk):
                continue
            if not namespace or (namespace or DEFAULT_NAMESPACE) == one.namespace:
                return True
        return False

    return [resource for resource in collection if not resource.is_empty and matches(resource)]


def resolve(collection: Collection, variables: Variables, specs: FieldSpecs, context: Context) -> None:
    """Replace the variables in all fields that the specs lead to."""
    values = {name: _value(variables[name], collection) for name in sorted(variables)}
    if not values:
        return
    used: set[str] = set()
    setter = _setter(values, used)
    find = fieldspecs.by_type(specs)
    for resource in collection:
        resource.release()  # all of them, before what others see of the first changes
    for resource in collection:
        resource.forget()
        for spec in find(resource.gvk):
            try:
                fieldspecs.visit(resource.object, spec, setter)
            except FieldError as error:
                raise FieldError(f"{resource.id}: {error}") from error
    if unused := [name for name in values if name not in used]:
        context.warn(f"well-defined vars that were never replaced: {','.join(unused)}")


def _value(variable: Variable, collection: Collection) -> Any:
    path = variable.fieldref.field_path or "metadata.name"
    for resource in collection:
        if variable.name in resource.variables:
            found, value = lookup(resource.object, _indexes(split_dotted(path)))
            if not found:
                raise KustomizationError(f"the variable '{variable.name}' reads '{path}', which {resource.id} has not")
            return plain(value)
    raise KustomizationError(f"the variable '{variable.name}' reads an object that is not part of the build")


def _indexes(parts: list[str]) -> list[str]:
    """`a[0]` becomes `a`, `0`."""
    result: list[str] = []
    for part in parts:
        match = _INDEX.match(part)
        result += [piece for piece in match.groups() if piece] if match else [part]
    return result


def _setter(values: dict[str, Any], used: set[str]) -> fieldspecs.Setter:
    def setter(container: Any, key: Any) -> None:
        value = container[key]
        if isinstance(value, str):
            container[key] = expand(value, values, used)
        elif isinstance(value, dict):
            for name, item in value.items():
                if isinstance(item, str):
                    value[name] = expand(item, values, used)
        elif isinstance(value, list):
            for index, item in enumerate(value):
                if not isinstance(item, str):
                    raise FieldError(f"expected a list of strings, found {item!r}")
                value[index] = expand(item, values, used)

    return setter


def expand(text: str, values: dict[str, Any], used: set[str]) -> Any:
    """The text with its variables replaced.

    A text that is nothing but one variable takes over the type of its value. `$$` is a dollar sign; an
    unknown variable stays.
    """
    if "$" not in text:
        return text
    parts: list[str] = []
    at = 0
    while (dollar := text.find("$", at)) >= 0 and dollar + 1 < len(text):
        parts.append(text[at:dollar])
        close = text.find(")", dollar + 2) if text[dollar + 1] == "(" else -1
        if close >= 0:
            name = text[dollar + 2 : close]
            value = values.get(name)
            if isinstance(value, (str, int, float)):
                used.add(name)
                if (dollar, close) == (0, len(text) - 1):
                    return value
                parts.append(text_of(value))
            else:
                parts.append(text[dollar : close + 1])
            at = close + 1
        else:
            parts.append("$" if text[dollar + 1] == "$" else text[dollar : dollar + 2])
            at = dollar + 2
    return "".join(parts) + text[at:]
