#!/usr/bin/env python3
"""openapi.py SERVICE_H OPENAPI_JSON: the document and SERVICE_TABLE name the same operations, and the
document keeps its own rules.

openapi.py --answer OPENAPI_JSON OPERATION STATUS FILE: is FILE (JSON; - is standard input) what the
document promises for this operation and status?  Each thing that is not so is one line; exit 1.
"""
import json
import os
import re
import sys

PAGES = {("GET", "/healthz"): "healthz", ("GET", "/metrics"): "metrics",
         ("GET", "/openapi.json"): "openapi"}
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


class Document:
    def __init__(self, path):
        with open(path, encoding="utf-8") as f:
            self.root = json.load(f)

    def resolve(self, node):
        while isinstance(node, dict) and "$ref" in node:
            at = self.root
            assert node["$ref"].startswith("#/"), node["$ref"]
            for part in node["$ref"][2:].split("/"):
                at = at[part]
            node = at
        return node

    def operations(self):
        for path, item in self.root["paths"].items():
            for method, operation in item.items():
                if method in ("get", "post", "put", "delete", "patch"):
                    yield method.upper(), path, operation, item.get("parameters", [])

    def members(self, schema):
        """The properties that a schema and its allOf name."""
        schema = self.resolve(schema)
        names = dict(schema.get("properties", {}))
        for part in schema.get("allOf", []):
            names.update(self.members(part))
        return names

    def wrong(self, value, schema, where="$"):
        """What is wrong with value, as lines."""
        schema = self.resolve(schema)
        kinds = schema.get("type", [])
        kinds = [kinds] if isinstance(kinds, str) else kinds
        if kinds and not any(is_kind(value, kind) for kind in kinds):
            return [f"{where}: {value!r} is not {' or '.join(kinds)}"]
        lines = []
        for part in schema.get("allOf", []):
            lines += self.wrong(value, part, where)
        if "const" in schema and value != schema["const"]:
            lines.append(f"{where}: {value!r} is not {schema['const']!r}")
        if "enum" in schema and value not in schema["enum"]:
            lines.append(f"{where}: {value!r} is not one of {schema['enum']}")
        if isinstance(value, str) and not re.search(schema.get("pattern", ""), value):
            lines.append(f"{where}: {value!r} does not match {schema['pattern']}")
        if isinstance(value, int) and not isinstance(value, bool):
            if value < schema.get("minimum", value) or value > schema.get("maximum", value):
                lines.append(f"{where}: {value} is out of range")
        if isinstance(value, list):
            if len(value) < schema.get("minItems", 0):
                lines.append(f"{where}: has {len(value)} items")
            for i, item in enumerate(value):
                lines += self.wrong(item, schema.get("items", {}), f"{where}[{i}]")
        if isinstance(value, dict):
            lines += self.wrong_object(value, schema, where)
        return lines

    def wrong_object(self, value, schema, where):
        members = schema.get("properties", {})
        lines = [f"{where}: has no {name}" for name in schema.get("required", [])
                 if name not in value]
        closed = schema.get("additionalProperties") is False
        known = members
        if schema.get("unevaluatedProperties") is False:
            closed, known = True, self.members(schema)
        for name, item in value.items():
            if name in members:
                lines += self.wrong(item, members[name], f"{where}.{name}")
            elif isinstance(schema.get("additionalProperties"), dict):
                lines += self.wrong(item, schema["additionalProperties"], f"{where}.{name}")
            if closed and name not in known:
                lines.append(f"{where}: has an unknown {name}")
        return lines

    def unknown_members(self, value, schema, where="$"):
        """Members that the document does not name: not wrong by JSON Schema, but not documented."""
        schema = self.resolve(schema)
        lines = []
        if isinstance(value, dict):
            known = self.members(schema)
            for name, item in value.items():
                if name in known:
                    lines += self.unknown_members(item, known[name], f"{where}.{name}")
                elif known:
                    lines.append(f"{where}: {name} is not documented")
        elif isinstance(value, list):
            for i, item in enumerate(value):
                lines += self.unknown_members(item, schema.get("items", {}), f"{where}[{i}]")
        return lines

    def answer_schema(self, operation_id, status):
        for _, _, operation, _ in self.operations():
            if operation["operationId"] == operation_id:
                responses = operation["responses"]
                response = responses.get(status) or responses.get(status[0] + "XX")
                assert response, f"{operation_id} has no answer {status}"
                (media,) = self.resolve(response)["content"].values()
                return media["schema"]
        raise AssertionError(f"there is no operation {operation_id}")


def is_kind(value, kind):
    if kind in ("integer", "number"):
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, TYPES[kind])


def table(path):
    """(method, path) -> (operation, needs a body) of SERVICE_TABLE."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    rows = re.findall(r'X\((\w+),\s*"(\w+)",\s*"([^"]+)",\s*\w+,\s*(\w+)\)', text)
    return {(method, where): (name.lower(), body == "true") for name, method, where, body in rows}


def refs(node, where="#"):
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"], where
        for key, value in node.items():
            yield from refs(value, f"{where}/{key}")
    elif isinstance(node, list):
        for i, value in enumerate(node):
            yield from refs(value, f"{where}/{i}")


def media_of(doc, operation):
    """Each content of an operation, with a name for messages."""
    body = doc.resolve(operation.get("requestBody", {}))
    for kind, media in body.get("content", {}).items():
        yield f"{operation['operationId']} body", kind, media
    for status, response in operation["responses"].items():
        for kind, media in doc.resolve(response).get("content", {}).items():
            yield f"{operation['operationId']} {status}", kind, media


def check_rows(doc, rows):
    found = {(method, path): operation["operationId"]
             for method, path, operation, _ in doc.operations()}
    want = {key: name for key, (name, _) in rows.items()}
    want.update(PAGES)
    return [f"{key}: the table has {want.get(key)}, the document {found.get(key)}"
            for key in sorted(set(want) | set(found)) if want.get(key) != found.get(key)]


def check_bodies(doc, rows):
    lines = []
    for method, path, operation, _ in doc.operations():
        needs = rows.get((method, path), ("", False))[1]
        body = doc.resolve(operation.get("requestBody", {}))
        if needs != body.get("required", False):
            lines.append(f"{method} {path}: the table says body {needs}")
        if method != "POST" and body:
            lines.append(f"{method} {path}: has a body")
    return lines


def check_parameters(doc):
    lines = []
    for method, path, operation, shared in doc.operations():
        own = [doc.resolve(p) for p in shared + operation.get("parameters", [])]
        in_path = sorted(p["name"] for p in own if p["in"] == "path")
        if in_path != sorted(re.findall(r"{(\w+)}", path)):
            lines.append(f"{method} {path}: path parameters {in_path}")
        if len(own) != len({(p["in"], p["name"]) for p in own}):
            lines.append(f"{method} {path}: a parameter twice")
    return lines


def check_answers(doc):
    lines = []
    for method, path, operation, _ in doc.operations():
        responses = operation["responses"]
        if not any(status in responses for status in ("200", "201")) or "4XX" not in responses:
            lines.append(f"{method} {path}: answers {sorted(responses)}")
        if not operation.get("summary"):
            lines.append(f"{method} {path}: no summary")
    return lines


def check_refs(doc):
    lines = []
    for ref, where in refs(doc.root):
        try:
            doc.resolve({"$ref": ref})
        except (KeyError, AssertionError):
            lines.append(f"{where}: {ref} leads nowhere")
    used = {ref for ref, _ in refs(doc.root)}
    for kind, parts in doc.root["components"].items():
        for name in parts:
            if kind != "securitySchemes" and f"#/components/{kind}/{name}" not in used:
                lines.append(f"{kind}/{name} is not used")
    return lines


def check_examples(doc):
    lines, count = [], 0
    for _, _, operation, _ in doc.operations():
        for name, _, media in media_of(doc, operation):
            for key, example in media.get("examples", {}).items():
                count += 1
                for check in (doc.wrong, doc.unknown_members):
                    lines += [f"{name} {key} {line}"
                              for line in check(example["value"], media["schema"])]
    return lines if count >= 15 else lines + [f"only {count} examples"]


ELSEWHERE = {  # codes that no answer over HTTP carries
    "server.unreachable",  # of the command line
    "server.locked",       # of musterd, when it starts
    "journal.newer",       # the same
}


def check_codes(doc, err_h):
    """Each code of the table is one that some operation may answer, and none is made up."""
    with open(err_h, encoding="utf-8") as f:
        known = set(re.findall(r'X\(\w+, -\d+, "([^"]+)", \d+, \d+\)', f.read()))
    known = {code for code in known if not code.startswith("why.")}
    own = [(operation["operationId"], code) for _, _, operation, _ in doc.operations()
           for code in operation.get("x-codes", [])]
    common = doc.root.get("x-codes", [])
    lines = [f"{name}: {code} is no code" for name, code in own if code not in known]
    lines += [f"{name}: {code} is one of all operations" for name, code in own if code in common]
    lines += [f"{code} is no code" for code in common if code not in known]
    said = set(common) | {code for _, code in own} | ELSEWHERE
    return lines + [f"{code} is nowhere in x-codes" for code in sorted(known - said)]


def check_objects(doc):
    """A schema that requires a member names it."""
    return [f"{name}: requires {member}, does not name it"
            for name, schema in doc.root["components"]["schemas"].items()
            for member in schema.get("required", []) if member not in doc.members(schema)]


def answer(path, operation_id, status, name):
    doc = Document(path)
    with (sys.stdin if name == "-" else open(name, encoding="utf-8")) as f:
        value = json.load(f)
    schema = doc.answer_schema(operation_id, status)
    lines = doc.wrong(value, schema) + doc.unknown_members(value, schema)
    for line in lines:
        print(f"{operation_id} {status} {line}")
    sys.exit(1 if lines else 0)


def main():
    if sys.argv[1] == "--answer":
        answer(*sys.argv[2:])
    rows = table(sys.argv[1])
    doc = Document(sys.argv[2])
    checks = [
        ("the table and the document have the same operations", check_rows(doc, rows)),
        ("the table was read", [] if len(rows) > 30 else [f"{len(rows)} rows"]),
        ("bodies are required where the table says so", check_bodies(doc, rows)),
        ("path parameters are described, none twice", check_parameters(doc)),
        ("each operation has an answer, problems and a summary", check_answers(doc)),
        ("each reference leads somewhere, each part is used", check_refs(doc)),
        ("each example fits its schema", check_examples(doc)),
        ("what is required is described", check_objects(doc)),
        ("the codes of errors are those of base/err.h",
         check_codes(doc, os.path.join(os.path.dirname(sys.argv[1]), "..", "base", "err.h"))),
        ("the version is 3.1", [] if doc.root["openapi"].startswith("3.1") else ["it is not"]),
    ]
    print(f"1..{len(checks)}")
    for i, (what, lines) in enumerate(checks, 1):
        print(f"{'not ok' if lines else 'ok'} {i} - {what}")
        for line in lines:
            print(f"# {line}")
    sys.exit(1 if any(lines for _, lines in checks) else 0)


main()
