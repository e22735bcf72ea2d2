# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# life.sh - fork, vfork, exec, threads, signals, and use before anything is set up.
. "$(dirname "$0")/lib.sh"
hooked "$RN_BIN/hooked" life

# A malloc of another library's, with the stand-in on either side of it. A sanitizer has
# its own malloc.
[ -z "$RN_SANITIZER_RUNTIME" ] || exit 0
for order in "$RN_EARLY:$RN_PRELOAD" "$RN_PRELOAD:$RN_EARLY"; do
	is "use before the constructor: $order" "$(env LD_PRELOAD="$order" ROCIN_TREE="$tree" \
		RN_EARLY_REPORT="early and well" /bin/ls -d /sys/class/infiniband/rocin0 2>&1)" \
		"early and well
/sys/class/infiniband/rocin0"
done
finish
