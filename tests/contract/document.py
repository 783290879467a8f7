"""doc/openapi.yaml as tests use it: made strict, and which operation a request belongs to."""
import copy
import os
import re

import yaml

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "doc", "openapi.yaml")
DIALECT = "https://json-schema.org/draft/2020-12/schema"
METHODS = ("get", "post", "put", "delete", "patch")
REQUESTS = ("GroupFields", "Group", "JobSpec", "TokenSpec")  # schemas of what is asked


def load():
    with open(SOURCE, encoding="utf-8") as f:
        return yaml.safe_load(f)


def close_schema(node, root):
    """Each object of an answer names all its members."""
    target = node
    if "$ref" in node:
        target = root["components"]["schemas"].get(node["$ref"].split("/")[-1], {})
    if ("properties" in target or "allOf" in target) and "additionalProperties" not in target:
        node["unevaluatedProperties"] = False
    for part in node.get("properties", {}).values():
        close_schema(part, root)
    if isinstance(node.get("items"), dict):
        close_schema(node["items"], root)


def strict(document):
    """Answers closed, in a copy; what requests use stays as it is."""
    d = copy.deepcopy(document)
    d["jsonSchemaDialect"] = DIALECT  # else prism takes draft 7, which does not know how to close
    for name, schema in d["components"]["schemas"].items():
        if name in REQUESTS:
            continue
        for part in schema.get("properties", {}).values():
            close_schema(part, d)
        if isinstance(schema.get("items"), dict):
            close_schema(schema["items"], d)
    responses = [r for path in d["paths"].values() for m, op in path.items() if m in METHODS
                 for r in op["responses"].values()] + list(d["components"]["responses"].values())
    for response in responses:
        for media in response.get("content", {}).values():
            close_schema(media["schema"], d)
    return d


def operations(document):
    """(method, path, operation) of all."""
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                yield method.upper(), path, item[method]


def operation_of(document, method, target):
    """The id of the operation that a request is for, or None: a fixed path goes before a pattern."""
    found = []
    for known, path, operation in operations(document):
        pattern = re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path))
        if known == method and re.fullmatch(pattern, target.split("?")[0]):
            found.append(("{" in path, operation["operationId"]))
    return min(found)[1] if found else None


def codes_of(document, operation_id):
    """The codes that the document says an operation may answer."""
    (operation,) = [o for _, _, o in operations(document) if o["operationId"] == operation_id]
    return set(operation.get("x-codes", [])) | set(document["x-codes"])
