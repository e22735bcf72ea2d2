#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# rdma-core.sh - Rocin with another release of rdma-core than the installed one: its
# libibverbs finds the plugin, its programs work, and its own test suite passes.
#
# RDMA_CORE_BUILD names the build directory of an rdma-core tree, built in place:
#     cmake -S . -B build -G Ninja -DIN_PLACE=1 -DNO_MAN_PAGES=1 -DPYTHON_EXECUTABLE=/usr/bin/python3
#     ninja -C build
# Without pyverbs (cython is missing) the suite is left out. Is skipped without the variable.
# shellcheck disable=SC2034 # read by lib.sh
network=own
# shellcheck source=../e2e/kit/lib.sh
. "$(dirname "$0")/../e2e/kit/lib.sh"

here=$(cd "$(dirname "$0")" && pwd)
build=${RDMA_CORE_BUILD:-}
[ -n "$build" ] || skip 'RDMA_CORE_BUILD names no build of rdma-core'
build=$(cd "$build" && pwd) || fail "there is no $build"
source=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$build/CMakeCache.txt")
[ -e "$build/lib/libibverbs.so.1" ] || fail "$build has no lib/libibverbs.so.1: build it"
[ -n "$own_network" ] || skip 'the test wants a network namespace of its own'
release=$(sed -n 's/^set(PACKAGE_VERSION "\(.*\)")$/\1/p' "$source/CMakeLists.txt")
interface=$(sed -n 's/^set(IBVERBS_PABI_VERSION "\(.*\)")$/\1/p' "$source/CMakeLists.txt")
export LD_LIBRARY_PATH=$build/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
PATH=$build/bin:$PATH
failed=0

# The suite binds to the first address of the interface, so it is not to be 127.0.0.1.
ip link add va type veth peer name vb || skip 'no pair of interfaces can be made'
ip addr add 10.78.0.1/24 dev va
ip link set va up
ip link set vb up
settled_here() {
	ip -6 addr show dev va scope link | grep -q fe80 &&
		! ip -6 addr show dev va | grep -q tentative
}
wait_for settled_here || fail 'the veth pair does not come up'

# row NAME COMMAND...: runs it, and says whether it works
row() {
	local name=$1
	shift
	if "$@" >"$work/row.out" 2>&1; then
		echo "$name: works"
	else
		echo "$name: fails"
		tail -20 "$work/row.out"
		failed=1
	fi
}

on_device() {
	timeout 120 rocin run --netdev va -- "$@"
}

found() {
	on_device ibv_devices | grep -q rocin0
}

# pair SERVER... -- CLIENT...: one after the other; both have to end well
pair() {
	local server=() pid rc
	while [ "$1" != -- ]; do
		server+=("$1")
		shift
	done
	shift
	on_device "${server[@]}" >"$work/server.out" 2>&1 &
	pid=$!
	pids+=("$pid")
	# The client is refused until the server listens.
	rc=1
	for _ in $(seq 100); do
		on_device "$@" && rc=0 && break
		kill -0 "$pid" 2>/dev/null || break
		sleep 0.1
	done
	wait "$pid" || rc=1
	[ "$rc" = 0 ] || cat "$work/server.out"
	return "$rc"
}

echo "rdma-core $release, private interface $interface"
row found found
row ibv_devinfo on_device ibv_devinfo -v
for kind in rc uc ud srq xsrq; do
	[ -x "$build/bin/ibv_${kind}_pingpong" ] || continue
	row "ibv_${kind}_pingpong" pair "ibv_${kind}_pingpong" -g 0 -- \
		"ibv_${kind}_pingpong" -g 0 10.78.0.1
done
[ ! -x "$build/bin/rping" ] ||
	row rping pair rping -s -a 10.78.0.1 -C 10 -- rping -c -a 10.78.0.1 -C 10

if [ -e "$build/python/pyverbs/__init__.py" ] &&
	PYTHONPATH=$build/python /usr/bin/python3 -c 'import pyverbs.device' 2>/dev/null; then
	cp -r "$source/tests" "$work/suite"
	# On a busy machine a completion, or the other process, may come later than the suite waits.
	find "$work/suite" -name '*.py' -exec sed -i \
		-e 's/^POLL_CQ_TIMEOUT = .*/POLL_CQ_TIMEOUT = 300/' \
		-e 's/\(Barrier(.*timeout=\)15)/\1300)/' {} +
	cd "$work" || exit 1
	PYTHONPATH=$build/python rocin run --netdev va -- /usr/bin/python3 \
		"$here/rdma_core_suite.py" "$work/suite" "$here/rdma-core.txt" --dev rocin0 --gid 0 ||
		failed=1
else
	echo 'suite: left out, as there is no pyverbs'
fi
exit $failed
