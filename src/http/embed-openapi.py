#!/usr/bin/env python3
"""embed-openapi.py YAML OUT.c OUT.json: the API document as JSON, and that as a C array."""
import json
import sys

import yaml


def main():
    source, out_c, out_json = sys.argv[1:]
    with open(source, encoding="utf-8") as f:
        document = yaml.safe_load(f)
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=False) + "\n"
    data = text.encode("utf-8")
    with open(out_json, "wb") as f:
        f.write(data)
    lines = [", ".join(str(b) for b in data[i:i + 24]) for i in range(0, len(data), 24)]
    with open(out_c, "w", encoding="ascii") as f:
        f.write('#include "http/openapi.h"\n\nconst unsigned char OPENAPI_JSON[] = {\n')
        f.write(",\n".join(lines))
        f.write("};\nconst size_t OPENAPI_JSON_BYTES = sizeof(OPENAPI_JSON);\n")


main()
