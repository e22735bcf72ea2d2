#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# versions.sh - one plugin under other releases of libibverbs. By hand: it wants their build
# trees (rdma-core: ninja ibverbs ibv_devinfo ibv_rc_pingpong).
#
# usage: versions.sh BIN-DIRECTORY RDMA-CORE-BUILD...
set -u
here=$(cd "$(dirname "$0")" && pwd)
bin=$1 tests=$1/../tests/provider
shift
failed=0

check() {
	local name=$1 output
	shift
	if output=$("$@" 2>&1); then
		echo "ok $name"
	else
		printf 'not ok %s\n%s\n' "$name" "$output"
		failed=1
	fi
}

for build in "$@"; do
	export LD_LIBRARY_PATH=$build/lib
	check "$build: layout" "$tests/abi/tests_provider_abi_rnp_abi_PkgConfig__IBVERBS" driver_abi
	check "$build: requests" "$tests/abi/tests_provider_abi_rnp_abi_rnp_engine_PkgConfig__IBVERBS" cmd_ioctl
	check "$build: devinfo" "$here/../kit/run_verbs.sh" "$bin" "$build/bin/ibv_devinfo"
	for test in smoke events objects threads; do
		check "$build: $test" "$here/../kit/run_verbs.sh" "$bin" "$tests/verbs_$test"
	done
done
exit $failed
