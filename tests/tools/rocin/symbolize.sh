#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# symbolize.sh - rocin-symbolize: functions and lines of frames in programs of all kinds.
# shellcheck source=kit/lib.sh
. "$(dirname "$0")/kit/lib.sh"
unset DEBUGINFOD_URLS
cd "$work" || exit 1
mkdir src
cat >src/program.c <<'EOF'
#include <unistd.h>
volatile int count;
static inline __attribute__((always_inline)) void inner(void)
{
	count++;
	__asm__ volatile("in_inner: .globl in_inner; nop");
}
static inline __attribute__((always_inline)) void middle(void)
{
	inner();
}
__attribute__((noinline)) void outer(void)
{
	middle();
	count++;
}
int main(void)
{
	outer();
	__asm__ volatile("in_main: .globl in_main; nop");
	return (int)read(0, &(char){ 0 }, 1);
}
EOF

# build NAME FLAG...
build() {
	local name=$1
	shift
	"$CC" -O1 -g -Wl,--build-id -o "$name" src/program.c "$@" || exit 1
}

# value FILE SYMBOL: the address of a symbol, hexadecimal
value() { nm "$1" | awk -v name="$2" '$3 == name { sub(/^0+/, "", $1); print $1; exit }'; }

# id FILE
id() { readelf -n "$1" | awk '/Build ID/ { print $3 }'; }

# named FILE ADDRESS [ID [PID]]: a frame in the file, with names
named() {
	printf '  stack\n    #0 0x1234 (%s+0x%s)%s\n' "$1" "$2" "${3:+ (BuildId: $3)}" |
		"$ROCIN_SYMBOLIZE" ${4:+"$4"} | tail -n +2
}

inlined="    #0 0x1234 in inner $work/src/program.c:6:2 (inlined)
    #1 0x1234 in middle $work/src/program.c:10:2 (inlined)
    #2 0x1234 in outer $work/src/program.c:14:2"
build pie -pie -fPIE
build fixed -no-pie
build library.so -shared -fPIC
build without-id -Wl,--build-id=none
for file in pie fixed library.so without-id; do
	is "inlined functions: $file" "$(named "$work/$file" "$(value $file in_inner)" "$(id $file)" |
		sed 's/\(c:[0-9]*\):[0-9]*/\1:2/')" "$inlined"
done
is 'a file by a relative path' "$(named "./pie" "$(value pie in_main)" "$(id pie)" | sed 's/:[0-9]*$//')" \
	"    #0 0x1234 in main $work/src/program.c:20"

# Text that is no frame, and frames of nothing, stay as they are; numbers follow.
text='rocin: finding 1
  stack       of the read:
    #0 0x7f00
    #1 0x1234 in f+0x8 (/no/such/file+0x8) (BuildId: 00ff)
    #2 0x1234 (linux-vdso.so.1+0x8)
 #nothing (a+b)
no newline'
is 'what it does not know is copied' "$(printf '%s' "$text" | "$ROCIN_SYMBOLIZE")" "$text"
is 'frames behind inlined functions have their numbers' "$(
	printf '    #%d 0x1 (%s+0x%s)\n' 0 "$work/pie" "$(value pie in_inner)" 1 "$work/pie" \
		"$(value pie in_main)" 0 "$work/pie" "$(value pie in_main)" |
		"$ROCIN_SYMBOLIZE" | awk '{ print $1, $4 }' | xargs)" \
	'#0 inner #1 middle #2 outer #3 main #0 main'

# Without debug information: the symbol table; without that, the address and the build-id.
at=$(value pie in_main)
function_at=$(value pie main)
cp pie symbols
strip --strip-debug symbols
is 'a symbol table alone' "$(named "$work/symbols" "$at" "$(id pie)")" \
	"    #0 0x1234 in main+$(printf '%#x' $((0x$at - 0x$function_at))) ($work/symbols+0x$at) (BuildId: $(id pie))"
cp pie stripped
strip stripped
is 'a stripped program' "$(named "$work/stripped" "$at" "$(id pie)")" \
	"    #0 0x1234 ($work/stripped+0x$at) (BuildId: $(id pie))"
# A debug file beside it, as .gnu_debuglink names it.
mkdir .debug
objcopy --only-keep-debug pie .debug/linked.debug
cp stripped linked
objcopy --add-gnu-debuglink=.debug/linked.debug linked
is 'a debug file' "$(named "$work/linked" "$at" "$(id pie)" | sed 's/:[0-9]*$//')" \
	"    #0 0x1234 in main $work/src/program.c:20"

# A program that was replaced while it runs: its process has the old one.
cp pie running
mkfifo input
exec 9<>input
./running <input &
pid=$!
while [ "$(readlink /proc/$pid/exe)" != "$work/running" ]; do sleep 0.01; done
rm running
cp fixed running
is 'a replaced program' "$(named "$work/running" "$at" "$(id pie)" $pid | sed 's/:[0-9]*$//')" \
	"    #0 0x1234 in main $work/src/program.c:20"
kill $pid
wait $pid 2>/dev/null
is 'a replaced file is not taken for the old one' "$(named "$work/running" "$at" "$(id pie)")" \
	"    #0 0x1234 ($work/running+0x$at) (BuildId: $(id pie))"
finish
