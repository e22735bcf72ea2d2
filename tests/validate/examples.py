#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""examples - the examples of `rocin explain` are C: all of them compile, in one file.

usage: examples SOURCE-DIRECTORY

Each example, wrong and mended, becomes the body of a function behind examples.h. What it names
and does not make itself is declared there, or by NAMES, if its type depends on the use. A line
"..." stands for what is left out.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# name: (what the example has, the declaration); the first that it has counts, and the last has no
# condition.
NAMES = {
    "attr": [
        (r"attr\[", "struct ibv_qp_attr attr[2]"),
        (r"ibv_modify_srq|srq_limit", "struct ibv_srq_attr attr"),
        (r"ibv_create_srq", "struct ibv_srq_init_attr attr"),
        (r"ibv_create_ah\(", "struct ibv_ah_attr attr"),
        (r"ibv_alloc_dm", "struct ibv_alloc_dm_attr attr"),
        (r"ibv_create_counters", "struct ibv_counters_init_attr attr"),
        (r"ibv_create_wq", "struct ibv_wq_init_attr attr"),
        (r"ibv_create_qp\(\w+, &attr", "struct ibv_qp_init_attr attr"),
        ("", "struct ibv_qp_attr attr"),
    ],
    "init": [
        (r"ibv_create_srq|init\.attr", "struct ibv_srq_init_attr init"),
        ("", "struct ibv_qp_init_attr init"),
    ],
    "qp": [(r"qp\[", "struct ibv_qp *qp[2]"), ("", "struct ibv_qp *qp")],
    "mr": [(r"mr\[", "struct ibv_mr *mr[1000]"), ("", "struct ibv_mr *mr")],
    "wr": [
        (r"ibv_post_(srq_)?recv\(\w+, &wr", "struct ibv_recv_wr wr"),
        (r"wr\[", "struct ibv_send_wr wr[16]"),
        ("", "struct ibv_send_wr wr"),
    ],
    "bad": [
        (r"ibv_post_(srq_)?recv\([^;]*&bad\)", "struct ibv_recv_wr *bad"),
        ("", "struct ibv_send_wr *bad"),
    ],
    "wc": [(r"[^&]wc\)|wc\[", "struct ibv_wc wc[16]"), ("", "struct ibv_wc wc")],
    "sge": [(r"sge\[", "struct ibv_sge sge[2]"), ("", "struct ibv_sge sge")],
    "bind": [("", "struct ibv_mw_bind bind")],
    "peer": [
        (r"peer\.", "struct end peer"),
        (r"ibv_post_\w+\(peer", "struct ibv_qp *peer"),
        ("", "struct end *peer"),
    ],
    "server": [(r"server\[", "struct end server[4]"), ("", "struct end server")],
    "gid": [("", "union ibv_gid gid")],
    "device": [
        (r"odp_caps|max_dm_size|max_wq_type_rq", "struct wide device"),
        ("", "struct ibv_device_attr device"),
    ],
    "buf": [("", "char *buf")],
    "context": [("", "void *context")],
    "access": [("", "int access")],
    "write": [("", "struct ibv_send_wr write")],
    "send": [("", "struct ibv_send_wr send")],
    "recv": [("", "struct ibv_recv_wr recv")],
    "socket": [(r"socket\(AF", ""), ("", "int socket")],
    "read": [("", "void read(struct ibv_sge *, int)")],
    "poll": [("", "int poll(struct ibv_cq *)")],
    "hash": [("", "uint32_t hash")],
}


def declarations(body):
    words = set(re.findall(r"(?<![.>\w])[a-z_]\w*", re.sub(r"/\*.*?\*/|\"[^\"]*\"", "", body)))
    made = [next(text for what, text in NAMES[name] if re.search(what, body)) for name in sorted(words & NAMES.keys())]
    return "".join(f"{text}; " for text in made if text)


def functions_of(path):
    """Yields a C function for each example."""
    parts = re.split(r"^(?:([a-z]+/[a-z0-9-]+)\n)?(wrong|mended):\n", path.read_text(), flags=re.M)
    line, rule = 1, None
    for i in range(1, len(parts), 3):
        rule = parts[i] or rule
        line += bool(parts[i]) + 1
        body = re.sub(r"^\t\.\.\..*", "", parts[i + 2], flags=re.M)
        inner = f"switch (event.event_type) {{\n#line {line}\n{body}\n}}" if "\tcase " in body else body
        result = "int" if re.search(r"\treturn ", body) else "void"
        name = re.sub(r"\W", "_", rule) + "_" + parts[i + 1]
        yield f'{result} {name}(void)\n{{\n{declarations(body)}\n#line {line} "{path.name}"\n{inner}\n{"return 0;" if result == "int" else ""}}}\n'
        line += parts[i + 2].count("\n")


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    texts = sorted((root / "provider/validate/rules").glob("*.txt"))
    functions = [function for path in texts for function in functions_of(path)]
    source = f'#include "{root}/tests/validate/examples.h"\n' + "\n".join(functions)
    count = sum(len(re.findall(r"^(?:wrong|mended):$", path.read_text(), flags=re.M)) for path in texts)
    if len(functions) != count or count < 240:
        sys.exit(f"{len(functions)} functions of {count} examples")
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "examples.c")
        file.write_text(source)
        quiet = ["-Wno-unused", "-Wno-uninitialized", "-Wno-maybe-uninitialized", "-Wno-switch", "-Wno-unknown-warning-option"]
        compiler = os.environ.get("CC", "cc")
        return subprocess.call([compiler, "-std=gnu11", "-fsyntax-only", "-Wall", "-Werror", *quiet, file])


if __name__ == "__main__":
    sys.exit(main())
