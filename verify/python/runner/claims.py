# SPDX-License-Identifier: MIT
"""The entries of a Triton cache in the judge's format: the sources that each kernel was compiled from.

Runs in the candidate's process, after the candidate. Nothing here needs to be honest: the judge compiles the claimed text and
trusts its own result only. Read by verify/provenance/triton_claims.c.
"""

import hashlib
import json
import os
import re

SCHEMA = "kgb.claims/1"
CLAIMS_MAX = 4096
BYTES_MAX = 48 << 20
WARPS = re.compile(r'"ttg\.num-warps" = (\d+) : i32')


def read(path):
    with open(path, "rb") as file:
        return file.read()


def claim(stem):
    """The files beside stem + ".cubin"; None when one is missing, as for a kernel that is no Triton source."""
    try:
        ttir = read(stem + ".ttir").decode()
        metadata = read(stem + ".json").decode()
        cubin = read(stem + ".cubin")
    except (FileNotFoundError, UnicodeDecodeError):
        return None
    warps = None
    if os.path.exists(stem + ".ttgir"):
        warps = WARPS.search(read(stem + ".ttgir").decode("utf-8", "replace"))
    return {"name": os.path.basename(stem), "cubin_sha256": hashlib.sha256(cubin).hexdigest(), "ttir": ttir,
            "metadata": metadata, "num_warps": int(warps.group(1)) if warps else 0}


def collect(cache, wanted=None):
    """Claims about every kernel below the directory `cache`, as bytes; with `wanted`, only those whose cubin has one of
    these digests. A tuned kernel leaves hundreds of entries of which few are ever launched."""
    found = []
    total = 0
    for folder, _, names in sorted(os.walk(cache)):
        for name in sorted(names):
            if not name.endswith(".cubin"):
                continue
            entry = claim(os.path.join(folder, name[:-len(".cubin")]))
            if entry is None or (wanted is not None and entry["cubin_sha256"] not in wanted):
                continue
            total += len(json.dumps(entry))
            if len(found) == CLAIMS_MAX or total > BYTES_MAX - (1 << 20):
                break
            found.append(entry)
    return json.dumps({"schema": SCHEMA, "claims": found}).encode()
