#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# gds.sh - `rocin gds check` tells what cufile.json leads to, and `rocin gds stats' what a running
# program has transferred.
# shellcheck source=../../e2e/kit/lib.sh
. "$ROCIN_SOURCE/tests/e2e/kit/lib.sh"
unset "${!CUFILE_@}" ROCIN_STORAGE_NEAR ROCIN_STORAGE_NVLINK ROCIN_STORAGE_POLICY

# is WHAT GOT WANTED
is() {
	[ "$2" = "$3" ] || fail "$1: got \"$2\", not \"$3\""
}
status() {
	"$@" >"$work/out" 2>"$work/err"
	echo $?
}

cat >"$work/cufile.json" <<'JSON'
{ // comments are allowed
 "profile": { "cufile_stats": 3 },
 "properties": { "rdma_dynamic_routing": true, "allow_compat_mode": false,
  "rdma_dynamic_routing_order": ["GPU_MEM_NVLINKS", "P2P"] },
 "fs": { "nfs": { "mount_table": { "/mnt/a": { "rdma_dev_addr_list": ["10.0.0.1"] } } } }
}
JSON
export CUFILE_ENV_PATH_JSON=$work/cufile.json CUFILE_LOGFILE_PATH=$work/cufile.log
is 'a good file' "$(status rocin gds check)" 0
is 'routes' "$(sed -n '/^ROUTES/,/PCIe/s/^ \([a-z0-9]*\) .*/\1/p' "$work/out" | xargs)" 'direct nvlink p2p'
is 'compatibility mode is off' "$(grep -c ' : compat$' "$work/out")" 0
is 'mounts' "$(grep -c 'fs.nfs.mount_table /mnt/a : 10.0.0.1' "$work/out")" 1
rocin gds check --json >"$work/json" || fail 'gds check --json'
is 'JSON' "$(python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
print(d["routes"], d["settings"]["profile.cufile_stats"], d["settings"]["mount_table"], d["wrong"])' "$work/json")" \
	"['direct', 'nvlink', 'p2p'] 3 {'/mnt/a': ['10.0.0.1']} []"
is 'no process yet' "$(status rocin gds stats)/$(cat "$work/err")" \
	'1/rocin: no process uses the cuFile library of Rocin'
is 'words that are none' "$(status rocin gds)/$(status rocin gds statistics)/$(status rocin gds stats x)/$(status rocin gds check 7)" 64/64/64/64

# A program that reads a file into host memory, and waits.
head -c 65536 /dev/zero >"$work/data"
cat >"$work/program.py" <<'PY'
import ctypes, os, sys
lib = ctypes.CDLL("libcufile.so.0", use_errno=True)
class Descr(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("fd", ctypes.c_void_p), ("ops", ctypes.c_void_p)]
handle = ctypes.c_void_p()
descr = Descr(1, os.open(sys.argv[1], os.O_RDWR), None)
lib.cuFileHandleRegister.restype = ctypes.c_uint64
assert lib.cuFileHandleRegister(ctypes.byref(handle), ctypes.byref(descr)) == 0
lib.cuFileRead.restype = ctypes.c_ssize_t
buffer = ctypes.create_string_buffer(65536)
assert lib.cuFileRead(handle, buffer, ctypes.c_size_t(65536), ctypes.c_long(0), ctypes.c_long(0)) == 65536
print("ready", flush=True)
sys.stdin.read()
PY
mkfifo "$work/go" "$work/said"
LD_LIBRARY_PATH=$(dirname "$LIBCUFILE"):$(dirname "$LIBROCIN_GPU") command python3 "$work/program.py" "$work/data" \
	<"$work/go" >"$work/said" &
pid=$!
pids+=("$pid")
exec 3>"$work/go"
read -r said <"$work/said"
is 'the program reads' "$said" ready
is 'statistics' "$(status rocin gds stats)" 0
is 'a read is counted' "$(grep -c "reads  *ok 1, errors 0" "$work/out")" 1
is 'its size' "$(grep -c 'reads of 64 to 128 KiB: 1' "$work/out")" 1
is 'of that process' "$(rocin gds stats --json "$pid" | python3 -c '
import json, sys
d = json.load(sys.stdin)
print(len(d), d[0]["pid"] == int(sys.argv[1]), d[0]["read_bytes"], d[0]["policy"])' "$pid")" '1 True 65536 direct,nvlink,p2p'
is 'another process' "$(status rocin gds stats 1)" 1
exec 3>&-
wait "$pid" || fail 'the program failed'
is 'no process any more' "$(status rocin gds stats)" 1

sed -i 's/"P2P"/"P2Q"/' "$work/cufile.json"
is 'a wrong word' "$(status rocin gds check)/$(grep -c '"P2Q" is none of' "$work/out")" 1/1
echo '{' >"$work/cufile.json"
is 'no JSON' "$(status rocin gds check)/$(grep -c 'cufile.json, line' "$work/err")" 1/1
