#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# trace.sh - the trace points are hit, with the right arguments. gdb shows this, because it needs no
# privilege to trace its own child.
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
command -v gdb >/dev/null || skip 'no gdb'
plugin=$ROCIN_BIN/../lib/rocin/librocin-rdmav34.so
readelf -n "$plugin" | grep -q stapsdt || skip 'built without <sys/sdt.h> (systemtap-sdt-dev)'

# The addresses in the plugin are known when it has been loaded, which happens at the first verbs
# call.
cat >"$work/script" <<'END'
set pagination off
set breakpoint pending on
set debuginfod enabled off
break ibv_create_qp
run
delete
break -probe-stap rocin:qp_create
commands
silent
printf "qp_create qpn=%d type=%d\n", $_probe_arg0, $_probe_arg1
continue
end
break -probe-stap rocin:qp_modify
commands
silent
printf "qp_modify state=%d err=%d\n", $_probe_arg2, $_probe_arg3
continue
end
break -probe-stap rocin:post_send
commands
silent
printf "post_send opcode=%d err=%d\n", $_probe_arg2, $_probe_arg4
continue
end
break -probe-stap rocin:completion
commands
silent
printf "completion status=%d\n", $_probe_arg2
continue
end
continue
END
timeout 1800 gdb -batch -nx -x "$work/script" --args rocin run --netdev "lo:$addr_a" -- \
	"$ROCIN_TESTS/hasty" polled >"$work/out" 2>&1 || fail "gdb: $(tail -5 "$work/out")"
for line in 'qp_create qpn=[1-9][0-9]* type=2' 'qp_modify state=3 err=0' 'post_send opcode=[0-9] err=0' \
	'completion status=0'; do
	grep -qx "$line" "$work/out" || fail "no $line: $(cat "$work/out")"
done
echo 'ok: trace points are passed, with their arguments'
