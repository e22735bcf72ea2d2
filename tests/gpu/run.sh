#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# run.sh - builds Rocin on a machine with a GPU and runs what uses memory of the GPU, ours and
# others' programs. Prints raw lines, each test with its name and status; never stops at a failure.
#
# usage: tests/gpu/run.sh [TEST...]     (all of: verbs perftest nccl2 nccl4 loss pcie flush)
#
# ROCIN_DEPS=FOLDER: unpacked Debian packages (dpkg -x PACKAGE FOLDER/root), for a machine that lacks
# them. To build and run Rocin: libibverbs-dev libibverbs1 librdmacm-dev librdmacm1 libpcap-dev
# libpcap0.8-dev libpcap0.8 libdeflate-dev libdeflate0 libjansson-dev libjansson4 libmnl-dev libmnl0
# libnl-3-dev libnl-3-200 libnl-route-3-dev libnl-route-3-200 liburing-dev liburing2 systemtap-sdt-dev
# libdbus-1-dev libdbus-1-3 pkgconf pkgconf-bin libpkgconf3; for perftest ibverbs-providers libnuma1
# libpci3 libibumad3. Programs of perftest that were built with CUDA are looked for in FOLDER/perftest-bin, and a
# Rocin that was built elsewhere, should the build fail, in FOLDER/rocin.
# OUT=FOLDER: whole logs go there.
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
deps=${ROCIN_DEPS:-}
out=${OUT:-$(mktemp -d)}
work=$(mktemp -d)
mkdir -p "$out"
begun=$SECONDS
say() { echo "[$((SECONDS - begun)) s] $*"; }

if [ -n "$deps" ]; then
	deps=$(cd "$deps" && pwd)
	lib=$deps/root/usr/lib/x86_64-linux-gnu
	export PATH=$PATH:$deps/root/usr/bin
	export PKG_CONFIG_SYSROOT_DIR=$deps/root PKG_CONFIG_LIBDIR=$lib/pkgconfig:$deps/root/usr/share/pkgconfig
	export C_INCLUDE_PATH=$deps/root/usr/include:$deps/root/usr/include/x86_64-linux-gnu:$deps/root/usr/include/libnl3
	export LIBRARY_PATH=$lib:$deps/root/lib/x86_64-linux-gnu
	export LD_LIBRARY_PATH=$lib:$deps/root/lib/x86_64-linux-gnu${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
	export CMAKE_PREFIX_PATH=$deps/root/usr
	# rocind is started with an empty environment: for root the libraries are put where it finds them.
	if [ "$(id -u)" = 0 ] && ! ldconfig -p | grep -q libdeflate.so.0; then
		cp -an "$lib"/lib*.so.* "$deps"/root/lib/x86_64-linux-gnu/lib*.so.* /usr/local/lib/
		ldconfig
	fi
	command -v pkg-config >/dev/null || export PKG_CONFIG=$deps/root/usr/bin/pkgconf
fi

# ------------------------------------------------------------------------------ build
build=${ROCIN_BUILD:-$work/build}
if [ ! -x "$build/bin/rocin" ]; then
	{ cmake -S "$top" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DRN_TESTS=OFF \
		-DCMAKE_C_FLAGS="-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=0" &&
		cmake --build "$build"; } >"$out/build.log" 2>&1 || {
		say "build failed: $(grep -m3 -iE 'error|not found|required' "$out/build.log")"
		build=$deps/rocin
	}
fi
export PATH=$build/bin:$PATH
say "rocin: $(rocin --version 2>&1 | head -1) in $build"
gcc -D_GNU_SOURCE -O2 -g -I"$top" -o "$work/gpu_verbs" "$here/gpu_verbs.c" "$top/tests/e2e/kit/loop.c" \
	${deps:+-L"$lib"} -libverbs -ldl 2>"$out/gpu_verbs.log" || {
	say "gpu_verbs does not build: $(head -3 "$out/gpu_verbs.log")"
	cp "$deps/gpu_verbs" "$work/gpu_verbs"
}
nvidia-smi --query-gpu=name,driver_version,pci.bus_id --format=csv,noheader 2>/dev/null | sed 's/^/gpu: /'
export ROCIN_RUNTIME_DIR=$work/run ROCIN_NETDEVS=lo

# run NAME SECONDS COMMAND...: output into a log, of which the lines for `show` are printed
show='ok$|ok,|skipped|MB/s|:[0-9]+:|wrong|failed|Error|error'
run() {
	local name=$1 limit=$2 status
	shift 2
	timeout -k 5 "$limit" "$@" >"$out/$name.log" 2>&1
	status=$?
	grep -E "$show" "$out/$name.log" | cut -c1-200 | tail -n "${lines:-40}"
	say "== $name: status $status"
	[ "$status" = 0 ] || tail -n 15 "$out/$name.log" | cut -c1-300
}

# ---------------------------------------------------------------------------- our own
verbs() {
	run verbs-early 60 rocin run -- "$work/gpu_verbs" early 16
	lines=12 run verbs-late 60 rocin run -- "$work/gpu_verbs" late 4
	lines=12 run verbs-udp 60 env ROCIN_LOCAL=off rocin run -- "$work/gpu_verbs" early 4
}

pcie() {
	local mode
	for mode in strict typical adversarial,hold=1ms typical,gpu.ordering=none; do
		show='gpu_verbs' run "pcie-$mode-flush" 60 rocin run "--pcie=$mode" -- "$work/gpu_verbs" early 1 flush
	done
	# Without a flush the first look at the GPU finds old bytes: status 1 is right.
	show='gpu_verbs' run pcie-late 60 rocin run --pcie=typical,gpu.ordering=none -- "$work/gpu_verbs" early 1
}

# -------------------------------------------------------------------------- perftest
# perf NAME PROGRAM OPTION...: a server and a client
perf() {
	local name=$1 status
	shift
	port=$((port + 1))
	timeout 40 rocin run -- "$@" -p $port >"$out/$name.server.log" 2>&1 &
	sleep 2
	timeout 40 rocin run -- "$@" -p $port 127.0.0.1 >"$out/$name.log" 2>&1
	status=$?
	say "== perftest $name: status $status"
	grep -E '^ *[0-9]+ +[0-9]+ ' "$out/$name.log"
	[ $status = 0 ] || tail -n 5 "$out/$name.log" "$out/$name.server.log"
	wait
}
port=18600
perftest() {
	local bin=$deps/perftest-bin size how
	[ -x "$bin/ib_write_bw" ] || {
		say "== perftest: skipped, there is none with CUDA in $bin"
		return
	}
	for how in "" --use_cuda=0 "--use_cuda=0 --use_cuda_dmabuf"; do
		for size in 8 65536 1048576; do
			# shellcheck disable=SC2086 # options
			perf "write-$size$how" "$bin/ib_write_bw" -d rocin0 -x 0 $how -s $size -n 500
		done
		# shellcheck disable=SC2086
		perf "read-65536$how" "$bin/ib_read_bw" -d rocin0 -x 0 $how -s 65536 -n 500
		# shellcheck disable=SC2086
		perf "send-65536$how" "$bin/ib_send_bw" -d rocin0 -x 0 $how -s 65536 -n 500
	done
	perf read-lat-gpu "$bin/ib_read_lat" -d rocin0 -x 0 --use_cuda=0 -s 8 -n 500
	perf atomic-gpu "$bin/ib_atomic_bw" -d rocin0 -x 0 --use_cuda=0 -n 500
}

# ------------------------------------------------------------------------------ NCCL
# nccl NAME RANKS ROUNDS [VARIABLE=VALUE...] [-- OPTION-OF-ROCIN...]
nccl() {
	local name=$1 ranks=$2 rounds=$3 rank options=() env=() status=0 pids=()
	shift 3
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		env+=("$1")
		shift
	done
	[ $# -gt 0 ] && shift && options=("$@")
	port=$((port + 1))
	for ((rank = 0; rank < ranks; rank++)); do
		env NCCL_HOSTID="host$rank" NCCL_IB_HCA=rocin0 NCCL_SOCKET_IFNAME=lo NCCL_NET=IB NCCL_GIN_TYPE=2 \
			NCCL_IB_GID_INDEX=0 NCCL_NET_GDR_LEVEL=SYS NCCL_NET_GDR_READ=1 NCCL_NVLS_ENABLE=0 \
			NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,GRAPH "${env[@]}" \
			timeout -k 5 100 rocin run "${options[@]}" -- python3 "$here/nccl_all_reduce.py" \
			$rank "$ranks" $port "$rounds" >"$out/$name.$rank.log" 2>&1 &
		pids+=($!)
	done
	for rank in "${pids[@]}"; do wait "$rank" || status=$?; done
	say "== nccl $name: status $status"
	grep -hE 'GPU Direct RDMA|GDR [01]|GDRDMA' "$out/$name.0.log" | sed 's/^.*NCCL INFO //' | sort | uniq -c | sort -rn | head -6
	grep -hE '^all_|wrong|nccl_all_reduce|rocin:' "$out/$name".*.log | cut -c1-200 | tail -12
	[ "$status" = 0 ] || { grep -hE 'WARN|Error' "$out/$name".*.log | cut -c1-250 | head -8; tail -4 "$out/$name.0.log" | cut -c1-250; }
}
nccl2() {
	nccl host-2 2 10 NCCL_NET_GDR_LEVEL=LOC
	nccl gdr-2 2 20
	nccl gdr-dmabuf-off-2 2 5 NCCL_DMABUF_ENABLE=0
}
nccl4() { nccl gdr-4 4 5; }
loss() { nccl gdr-loss-2 2 3 ROCIN_FAULT='drop=1%'; }
flush() {
	local few=COUNTS=1,1000,16384 # the hierarchy copies piece by piece
	nccl none-flush 2 5 $few NCCL_NET_FORCE_FLUSH=1 -- --pcie=typical,gpu.ordering=none
	nccl typical-flush 2 5 $few NCCL_NET_FORCE_FLUSH=1 -- --pcie=typical
	nccl none-no-flush 2 5 $few -- --pcie=typical,gpu.ordering=none
	nccl typical-no-flush 2 5 $few -- --pcie=typical
}

[ $# -gt 0 ] || set -- verbs perftest nccl2 nccl4 loss pcie flush
for test; do "$test"; done
say "end"
