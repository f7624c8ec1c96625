"""GitHub's own description of its REST API, as a judge of single requests and answers."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote

from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from tests.github_bed import npm

if TYPE_CHECKING:
    from collections.abc import Iterator

_URN = "urn:github"
_MANY_SEGMENTS = {"path", "ref", "basehead"}
_JSON = "application/json"


@dataclass(frozen=True)
class Operation:
    """One operation of the API: its template and method, and what the path said."""

    template: str
    method: str
    parameters: dict[str, str]

    @property
    def name(self) -> str:
        """As GitHub's documentation heads it, without the common beginning."""
        return f"{self.method} {self.template.removeprefix('/repos/{owner}/{repo}')}"

    @property
    def repository(self) -> str:
        """owner/name, or nothing for an operation outside a repository."""
        owner, name = self.parameters.get("owner"), self.parameters.get("repo")
        return f"{owner}/{name}" if owner and name else ""


class Contract:
    """The whole description, loaded once a session (0.6 s)."""

    def __init__(self) -> None:
        raw = json.loads(npm.data_file(npm.OPENAPI).read_bytes())
        self.spec: dict[str, Any] = _as_json_schema(raw)
        resource = DRAFT202012.create_resource(self.spec)
        self.registry: Any = Registry().with_resource(_URN, resource)
        self.routes = sorted(
            ((_pattern(template), template) for template in self.spec["paths"]),
            key=lambda route: -len(re.sub(r"{[^}]+}", "", route[1])),
        )
        self.validator = cache(self._validator)

    def operation(self, method: str, path: str) -> Operation | None:
        """The documented operation a request means; None when GitHub has no such."""
        for pattern, template in self.routes:
            match = pattern.fullmatch(path)
            if match and method.lower() in self.spec["paths"][template]:
                found = {name: unquote(value) for name, value in match.groupdict().items()}
                return Operation(template, method, found)
        return None

    def request_problems(self, operation: Operation, query: str, body: bytes) -> list[str]:
        """What is wrong with a request's query and body."""
        described = self._described(operation)
        known = {part["name"] for part in self._parameters(operation) if part["in"] == "query"}
        given = {name for name, _ in parse_qsl(query, keep_blank_values=True)}
        problems = [f"query parameter {name!r} is not documented" for name in given - known]
        content = described.get("requestBody", {}).get("content", {})
        if _JSON in content:
            pointer = f"{_pointer(operation)}/requestBody/content/{_escaped(_JSON)}/schema"
            required = described["requestBody"].get("required", False)
            problems += self._body_problems(pointer, body, required=required)
        elif body:
            problems.append("a body where none is documented")
        return problems

    def answer_problems(self, operation: Operation, status: int, body: bytes) -> list[str]:
        """What is wrong with an answer; an undocumented failure must still look like GitHub's."""
        pointer = f"{_pointer(operation)}/responses/{status}"
        described = self._described(operation)["responses"].get(str(status))
        if described is None:
            if status < 400:
                return [f"status {status} is not documented"]
            return self._body_problems("/components/schemas/basic-error", body, required=True)
        if "$ref" in described:
            pointer = described["$ref"].removeprefix("#")
            described = self._at(pointer)
        if _JSON not in described.get("content", {}):
            return ["a body where none is documented"] if body and status < 400 else []
        schema = f"{pointer}/content/{_escaped(_JSON)}/schema"
        return self._body_problems(schema, body, required=True)

    def _parameters(self, operation: Operation) -> Iterator[dict[str, Any]]:
        for part in self._described(operation).get("parameters", ()):
            yield self._at(part["$ref"].removeprefix("#")) if "$ref" in part else part

    def _body_problems(self, pointer: str, body: bytes, *, required: bool) -> list[str]:
        if not body:
            return ["the body is missing"] if required else []
        try:
            value = json.loads(body)
        except ValueError as error:
            return [f"the body is not JSON: {error}"]
        return [
            f"{'/'.join(map(str, problem.absolute_path)) or '(body)'}: {problem.message[:200]}"
            for problem in list(self.validator(pointer).iter_errors(value))[:12]
        ]

    def _validator(self, pointer: str) -> Draft202012Validator:
        return Draft202012Validator({"$ref": f"{_URN}#{pointer}"}, registry=self.registry)

    def _described(self, operation: Operation) -> dict[str, Any]:
        described: dict[str, Any] = self.spec["paths"][operation.template][operation.method.lower()]
        return described

    def _at(self, pointer: str) -> dict[str, Any]:
        value: Any = self.spec
        for part in pointer.split("/")[1:]:
            value = value[part.replace("~1", "/").replace("~0", "~")]
        found: dict[str, Any] = value
        return found


def _escaped(part: str) -> str:
    return part.replace("~", "~0").replace("/", "~1")


def _pointer(operation: Operation) -> str:
    return f"/paths/{_escaped(operation.template)}/{operation.method.lower()}"


def _pattern(template: str) -> re.Pattern[str]:
    parts = re.split(r"{([^}]+)}", template)
    text = "".join(
        re.escape(part)
        if index % 2 == 0
        else f"(?P<{part.replace('-', '_')}>{'.+' if part in _MANY_SEGMENTS else '[^/]+'})"
        for index, part in enumerate(parts)
    )
    return re.compile(text)


def _as_json_schema(node: Any) -> Any:
    """OpenAPI 3.0's `nullable` in the words of JSON Schema; the rest is the same."""
    if isinstance(node, list):
        return [_as_json_schema(part) for part in node]
    if not isinstance(node, dict):
        return node
    fixed = {key: _as_json_schema(value) for key, value in node.items()}
    if fixed.pop("nullable", False) is not True:
        return fixed
    if isinstance(fixed.get("enum"), list) and None not in fixed["enum"]:
        fixed["enum"] = [*fixed["enum"], None]
    if isinstance(fixed.get("type"), str):
        fixed["type"] = [fixed["type"], "null"]
    elif {"$ref", "allOf", "anyOf", "oneOf"} & fixed.keys():
        fixed = {"anyOf": [fixed, {"type": "null"}]}
    return fixed
