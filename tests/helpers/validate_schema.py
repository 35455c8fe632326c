#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Validates JSON documents against one of our schemas, with only the standard library.

usage: validate_schema.py SCHEMA [--lines] DOCUMENT...

Supports the keywords of JSON Schema (draft 2020-12) that docs/schemas/ uses, and refuses a schema with any other, so that a
misspelt keyword is an error and not a missing check. With --lines every line of a document is a separate document.
Exit status: 0 valid, 1 not valid, 2 usage or a bad schema.
"""

import json
import re
import sys

ANNOTATIONS = {"$schema", "$id", "$defs", "title", "description", "default"}


class BadSchema(Exception):
    """The schema uses a keyword that this program does not support."""


def is_type(value, name):
    """Whether a value has one of JSON Schema's types."""
    if name == "integer":
        return isinstance(value, (int, float)) and not isinstance(value, bool) and value == int(value)
    if name == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
    if name not in kinds:
        raise BadSchema(f"type {name!r}")
    return isinstance(value, kinds[name])


def same(a, b):
    """Equality in which true differs from 1."""
    return type(a) is type(b) and a == b


class Validator:
    """Collects the faults of a value as lines 'path: fault'."""

    def __init__(self, root):
        self.root = root
        self.problems = []

    def fail(self, path, text):
        self.problems.append(f"{path or '$'}: {text}")

    def passes(self, schema, value):
        other = Validator(self.root)
        other.check(schema, value, "")
        return not other.problems

    def check(self, schema, value, path):
        for keyword, argument in schema.items():
            if keyword in ANNOTATIONS:
                continue
            method = getattr(self, "on_" + keyword.replace("$", "").lower(), None)
            if method is None:
                raise BadSchema(f"keyword {keyword!r} at {path or '$'}")
            method(argument, value, path, schema)

    def on_ref(self, argument, value, path, _schema):
        if not argument.startswith("#/$defs/") or argument[8:] not in self.root.get("$defs", {}):
            raise BadSchema(f"reference {argument!r}")
        self.check(self.root["$defs"][argument[8:]], value, path)

    def on_type(self, argument, value, path, _schema):
        names = argument if isinstance(argument, list) else [argument]
        if not any(is_type(value, name) for name in names):
            self.fail(path, f"{json.dumps(value)[:60]} is not of type {' or '.join(names)}")

    def on_const(self, argument, value, path, _schema):
        if not same(argument, value):
            self.fail(path, f"{json.dumps(value)[:60]} is not {json.dumps(argument)}")

    def on_enum(self, argument, value, path, _schema):
        if not any(same(item, value) for item in argument):
            self.fail(path, f"{json.dumps(value)[:60]} is none of {json.dumps(argument)}")

    def on_pattern(self, argument, value, path, _schema):
        if isinstance(value, str) and not re.search(argument, value):
            self.fail(path, f"{value[:60]!r} does not match {argument}")

    def on_minimum(self, argument, value, path, _schema):
        if is_type(value, "number") and value < argument:
            self.fail(path, f"{value} is less than {argument}")

    def on_maximum(self, argument, value, path, _schema):
        if is_type(value, "number") and value > argument:
            self.fail(path, f"{value} is more than {argument}")

    def on_minitems(self, argument, value, path, _schema):
        if isinstance(value, list) and len(value) < argument:
            self.fail(path, f"{len(value)} items, fewer than {argument}")

    def on_maxitems(self, argument, value, path, _schema):
        if isinstance(value, list) and len(value) > argument:
            self.fail(path, f"{len(value)} items, more than {argument}")

    def on_items(self, argument, value, path, _schema):
        for i, item in enumerate(value if isinstance(value, list) else []):
            self.check(argument, item, f"{path}[{i}]")

    def on_properties(self, argument, value, path, _schema):
        for name, schema in argument.items():
            if isinstance(value, dict) and name in value:
                self.check(schema, value[name], f"{path}.{name}")

    def on_patternproperties(self, argument, value, path, _schema):
        for pattern, schema in argument.items():
            for name in value if isinstance(value, dict) else []:
                if re.search(pattern, name):
                    self.check(schema, value[name], f"{path}.{name}")

    def on_required(self, argument, value, path, _schema):
        for name in argument:
            if isinstance(value, dict) and name not in value:
                self.fail(path, f"{name!r} is missing")

    def on_propertynames(self, argument, value, path, _schema):
        for name in value if isinstance(value, dict) else []:
            self.check(argument, name, f"{path}.{name}")

    def on_additionalproperties(self, argument, value, path, schema):
        known = schema.get("properties", {})
        patterns = schema.get("patternProperties", {})
        for name in value if isinstance(value, dict) else []:
            if name in known or any(re.search(pattern, name) for pattern in patterns):
                continue
            if argument is False:
                self.fail(path, f"{name!r} is not in the schema")
            else:
                self.check(argument, value[name], f"{path}.{name}")

    def on_anyof(self, argument, value, path, _schema):
        if not any(self.passes(schema, value) for schema in argument):
            self.fail(path, "fits none of the alternatives")

    def on_oneof(self, argument, value, path, _schema):
        n = sum(self.passes(schema, value) for schema in argument)
        if n != 1:
            self.fail(path, f"fits {n} of the alternatives, not exactly one")


def documents(path, by_line):
    """Pairs of a name for messages and a parsed document."""
    with open(path, encoding="utf-8") as file:
        if not by_line:
            yield path, json.load(file)
            return
        for number, line in enumerate(file, 1):
            yield f"{path}:{number}", json.loads(line)


def main(arguments):
    by_line = "--lines" in arguments
    names = [a for a in arguments if a != "--lines"]
    if len(names) < 2:
        sys.stderr.write(__doc__)
        return 2
    with open(names[0], encoding="utf-8") as file:
        schema = json.load(file)
    n_problems = 0
    for path in names[1:]:
        n = 0
        for name, document in documents(path, by_line):
            validator = Validator(schema)
            try:
                validator.check(schema, document, "")
            except BadSchema as problem:
                print(f"{names[0]}: unknown: {problem}")
                return 2
            for line in validator.problems:
                print(f"{name}: {line}")
            n_problems += len(validator.problems)
            n += 1
        if n == 0:
            print(f"{path}: no document")
            n_problems += 1
    return 1 if n_problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
