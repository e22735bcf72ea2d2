#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# netdrive.sh WHAT - a server of a network drive and a cuFile program on two devices.
#
# data: the bytes of a file come by RDMA into the memory of a GPU and go back, in every mode
# killed: the server ends while it is asked, and the program gets an error code
# refused: what is not served, or asked for wrongly, is an error with a sentence in the log
network=own
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
unset "${!CUFILE_@}" ROCIN_STORAGE_NEAR ROCIN_STORAGE_NVLINK ROCIN_STORAGE_POLICY
lib=$(dirname "$(find "$ROCIN_BIN/.." -name librocin-gpu.so.0 | head -1)")
[ -e "$lib/cuda/libcufile.so.0" ] || fail "no libcufile.so.0 in $lib"
export CUFILE_LOGFILE_PATH=$work/cufile.log
size=3000000

mkdir "$work/served" "$work/mount"
python3 -c "
import sys
sys.stdout.buffer.write(bytes((i * 7 + i // 251) % 255 + 1 for i in range($size)))" >"$work/served/file"
truncate -s $size "$work/mount/file" # the same name here, and no bytes
echo outside >"$work/secret"
ln -s ../secret "$work/served/link"
cp "$work/served/file" "$work/wanted"

# serve [rw]: a server on its own device; $server is its process
serve() {
	mkfifo "$work/serving" 2>/dev/null
	# setsid: the program itself, so that it can be stopped and killed
	setsid rocin run --netdev "lo:$addr_a" -- "$lib/rocin-netdrive" "$work/served" "$addr_a:$port" "$@" \
		>"$work/serving" 2>"$work/server.err" &
	server=$!
	pids+=("$server")
	read -r said <"$work/serving"
	[[ $said == serving* ]] || fail "the server says \"$said\": $(cat "$work/server.err")"
	server=$(descendants "$server" | while read -r pid; do
		[ "$(cat "/proc/$pid/comm" 2>/dev/null)" = rocin-netdrive ] && echo "$pid"
	done | head -1)
}

# reader FILE [again]: the program on a device of its own; PCIE: the mode
reader() {
	ROCIN_STORAGE_SERVER="$work/mount=$addr_a:$port" LD_LIBRARY_PATH=$lib/cuda:$lib \
		timeout 120 rocin run --netdev "lo:$addr_b" ${PCIE:+--pcie=$PCIE} -- python3 "$here/reader.py" "$@" 2>"$work/err"
}

# The NIC of the program is the one with its own address.
cat >"$work/cufile.json" <<JSON
{ "properties": { "rdma_dev_addr_list": ["$addr_b"] } }
JSON
export CUFILE_ENV_PATH_JSON=$work/cufile.json

case $1 in
data)
	for mode in '' typical adversarial; do
		serve rw
		PCIE=$mode reader "$work/mount/file" $size >"$work/out" || fail "reader: $(cat "$work/out" "$work/err" "$work/cufile.log")"
		[ "$(xargs <"$work/out")" = "register 0 cuFileRead $size same cuFileWrite $size" ] ||
			fail "with \"$mode\": $(cat "$work/out" "$work/err" "$work/cufile.log")"
		cmp "$work/served/file" "$work/wanted" || fail 'the file has changed'
		[ "$(tr -d '\0' <"$work/mount/file" | wc -c)" = 0 ] || fail 'bytes came to the place holder'
		kill -9 "$server"
		port=$((port + 1))
	done
	;;
killed)
	serve rw
	mkfifo "$work/go" "$work/said"
	reader "$work/mount/file" $size again <"$work/go" >"$work/said" &
	pids+=("$!")
	reading=$!
	exec 3>"$work/go" 4<"$work/said"
	for want in 'register 0' "cuFileRead $size" same "cuFileWrite $size"; do
		read -r said <&4
		[ "$said" = "$want" ] || fail "\"$said\", not \"$want\": $(cat "$work/err" "$work/cufile.log")"
	done
	kill -STOP "$server"
	echo >&3
	read -r said <&4
	[ "$said" = asking ] || fail "\"$said\", not asking"
	kill -9 "$server"
	# ECONNRESET, for the request under way and for the next one
	for _ in 1 2; do
		read -r said <&4
		[ "$said" = 'cuFileRead -1 errno 104' ] || fail "\"$said\" of a server that was killed: $(cat "$work/err")"
	done
	wait "$reading" || fail "the program ended with $?"
	grep -q 'cuFileRead: .*descriptor' "$work/cufile.log" || fail "the log: $(cat "$work/cufile.log")"
	;;
refused)
	truncate -s 10 "$work/mount/link" "$work/mount/nothing"
	reader "$work/mount/file" 4096 >"$work/out"
	[ "$(cat "$work/out")" = 'register 5008' ] || fail "no server: $(cat "$work/out" "$work/err")"
	grep -q 'cannot be reached' "$work/cufile.log" || fail "the log: $(cat "$work/cufile.log")"
	serve
	for name in link nothing; do
		reader "$work/mount/$name" 4096 >"$work/out"
		grep -qE 'cuFileRead -1 errno (18|2)$' "$work/out" || fail "$name: $(cat "$work/out" "$work/err")"
	done
	reader "$work/mount/file" 4096 >"$work/out"
	# The first 4096 bytes are the same, and the server is for reading only: EROFS.
	[ "$(xargs <"$work/out")" = 'register 0 cuFileRead 4096 same cuFileWrite -1 errno 30' ] ||
		fail "read only: $(cat "$work/out" "$work/err" "$work/cufile.log")"
	# What is no user of the drive does not disturb the server.
	printf 'GET / HTTP/1.0\r\n\r\nGET / HTTP/1.0\r\n\r\n' >"/dev/tcp/$addr_a/$port"
	reader "$work/mount/file" 4096 | grep -q same || fail 'the server has gone'
	"$lib/rocin-netdrive" "$work/served" nowhere 2>"$work/err" && fail 'a server nowhere'
	grep -q 'is no address like' "$work/err" || fail "nowhere: $(cat "$work/err")"
	;;
esac
