# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# exports.sh - the library exports the hooks of hooks.def, two more and no less, and its
# version script says the same.
set -eu
command -v nm >/dev/null || { echo "nm is not installed"; exit 77; }

kernel=$RN_SOURCE/sim/kernel/hooks
# Two more are for the plugin to find (transport/io/memory/mem_guard.h, own_fd.h).
want=$({ sed -n 's/^RNK_HOOK(\([a-zA-Z0-9_]*\),.*/\1/p' "$kernel/hooks.def"
	echo rocin_watch_signals; echo rocin_watch_fds; } | sort)
got=$(nm -D --defined-only "$RN_PRELOAD" | awk '{ print $3 }' | sort)
map=$(sed -n '/^global:/,/^local:/s/^\t\(.*\);$/\1/p' "$kernel/librocin-kernel.map" | sort)

[ "$got" = "$want" ] || { printf 'exported:\n%s\nhooks.def:\n%s\n' "$got" "$want"; exit 1; }
[ "$map" = "$want" ] || { printf 'map:\n%s\nhooks.def:\n%s\n' "$map" "$want"; exit 1; }
echo "ok $(echo "$want" | wc -l) symbols"
