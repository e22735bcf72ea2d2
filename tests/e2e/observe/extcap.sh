#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# extcap.sh - Rocin's devices are in Wireshark's list of interfaces: answers to the questions of
# Wireshark, in the form in which it asks them, and tshark with the program in the user's extcap
# directory.
#
# usage: extcap.sh BUILD-DIRECTORY
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
command -v tshark >/dev/null || skip 'tshark is missing (package tshark)'
build=$1
export HOME=$work/home XDG_CONFIG_HOME=$work/home/.config ROCIN_NETDEVS=lo:$addr_a
export TMPDIR=$work
mkdir -p "$HOME"

# --- The link ---
# If Rocin is installed, Wireshark finds it without the link.
if tshark -D 2>/dev/null | grep -qw rocin; then
	skip 'Rocin is installed in the system, and Wireshark knows of it'
fi
LD_PRELOAD='' rocin extcap --install >"$work/out" || fail 'rocin extcap --install'
link=$(sed 's/ is a link to .*//' "$work/out")
[ -L "$link" ] && [ "$(readlink -f "$link")" = "$(readlink -f "$ROCIN_BIN/rocin")" ] ||
	fail "no link: $(cat "$work/out")"
case $link in "$HOME"/*/extcap/rocin) ;; *) fail "a link elsewhere: $link" ;; esac
LD_PRELOAD='' rocin extcap --install >"$work/out" || fail 'a second time'
[ "$(ls "$(dirname "$link")")" = rocin ] || fail 'more than a link'

# --- The questions ---
"$link" --extcap-interfaces --extcap-version=4.0 >"$work/out" 2>"$work/err" || fail interfaces
grep -qx 'extcap {version=[0-9.]*}{display=Rocin}' "$work/out" || fail "$(cat "$work/out")"
grep -qx 'interface {value=rocin}{display=RDMA devices of all programs}' "$work/out" || fail "$(cat "$work/out")"
grep -qx 'interface {value=rocin0}{display=RDMA device on lo}' "$work/out" || fail "$(cat "$work/out")"
grep -qx 'interface {value=rocind}{display=RDMA connection manager (QP 1)}' "$work/out" || fail "$(cat "$work/out")"
[ "$(wc -l <"$work/out")" = 4 ] || fail "interfaces: $(cat "$work/out")"
"$link" --extcap-dlts --extcap-interface rocin0 >"$work/out" 2>>"$work/err" || fail dlts
grep -qx 'dlt {number=113}{name=LINUX_SLL}{display=Linux cooked mode}' "$work/out" || fail "$(cat "$work/out")"
"$link" --extcap-config --extcap-interface rocin0 >"$work/out" 2>>"$work/err" || fail config
for call in pid qp snaplen buffer; do
	grep -q "^arg {number=[0-9]}{call=--$call}{display=.*}{type=" "$work/out" || fail "no option $call"
done
# Each option has its own number, and values belong to the option with the list.
[ "$(grep -oE '^arg \{number=[0-9]+' "$work/out" | sort -u | wc -l)" = 4 ] || fail "$(cat "$work/out")"
grep -qx 'value {arg=0}{value=0}{display=all}{default=true}' "$work/out" || fail 'no process to choose'
for filter in 'udp port 4791 and outbound' 'ip[1] & 3 == 3' ''; do
	"$link" --extcap-capture-filter "$filter" --extcap-interface rocin0 >"$work/out" 2>>"$work/err"
	[ -s "$work/out" ] && fail "\"$filter\" is refused: $(cat "$work/out")"
done
"$link" --extcap-capture-filter 'udp prot 4791' --extcap-interface rocin0 >"$work/out" 2>>"$work/err"
[ "$(wc -l <"$work/out")" = 1 ] || fail "a filter that is none: $(cat "$work/out")"
! [ -s "$work/err" ] || fail "an answer with words beside it: $(cat "$work/err")"
for wrong in --extcap-config --extcap-dlts '--capture --extcap-interface rocin0' '--capture --fifo x'; do
	# shellcheck disable=SC2086 # several words
	"$link" $wrong >"$work/out" 2>"$work/err"
	[ $? = 64 ] || fail "$wrong: status"
done
echo 'ok: interfaces, link types, options and filters are answered'

# --- A capture, started as Wireshark does it ---
mkfifo "$work/fifo"
"$link" --capture --extcap-interface rocin --fifo "$work/fifo" --extcap-capture-filter outbound --snaplen 80 \
	2>"$work/err" &
plugin=$!
pids+=("$plugin")
cat "$work/fifo" >"$work/fifo.pcapng" &
reader=$!
pids+=("$reader")
wait_for test -s "$work/fifo.pcapng" || fail "no capture: $(cat "$work/err")"
unset ROCIN_NETDEVS
verify_pair 'by the fifo' --type rc -n 20
kill -TERM "$plugin"
wait "$plugin" || fail "plugin: status $?"
wait "$reader"
! [ -s "$work/err" ] || fail "words on standard error, which Wireshark takes for errors: $(cat "$work/err")"
tshark -r "$work/fifo.pcapng" -T fields -e frame.packet_flags_direction -e frame.cap_len -e frame.protocols \
	2>/dev/null >"$work/packets"
[ "$(wc -l <"$work/packets")" -gt 40 ] || fail "$(wc -l <"$work/packets") packets"
awk '$1 !~ /2$/ || $2 > 80 || $3 !~ /sll:ethertype:ip:udp:infiniband/ { bad = 1; print }
	END { exit bad }' "$work/packets" || fail 'not what was asked for'
# The reader closes the FIFO: the program ends by itself, although there are no packets.
"$link" --capture --extcap-interface rocin0 --fifo "$work/fifo" 2>"$work/err" &
plugin=$!
pids+=("$plugin")
head -c 32 "$work/fifo" >"$work/out"
gone() { ! kill -0 "$plugin" 2>/dev/null; }
wait_for gone || fail 'a capture that nobody reads goes on'
wait "$plugin" || fail "a reader that goes away: status $?: $(cat "$work/err")"
echo 'ok: a capture through a fifo, filtered and cut'

# --- tshark ---
export ROCIN_NETDEVS=lo:$addr_a
LD_PRELOAD='' tshark -D 2>/dev/null >"$work/out"
grep -qE '^[0-9]+\. rocin \(RDMA devices of all programs\)$' "$work/out" || fail "$(cat "$work/out")"
grep -qE '^[0-9]+\. rocin0 \(RDMA device on lo\)$' "$work/out" || fail "$(cat "$work/out")"
unset ROCIN_NETDEVS
# tshark_capture PACKETS OPTION...: captures while programs exchange packets
tshark_capture() {
	local want=$1 tshark
	shift
	rm -f "$work/tshark.err" # left by the capture before
	LD_PRELOAD='' timeout 1800 tshark -c "$want" "$@" -T fields -e ip.src -e frame.protocols -e frame.len \
		-e frame.cap_len -e infiniband.bth.destqp -e infiniband.bth.opcode >"$work/packets" 2>"$work/tshark.err" &
	tshark=$!
	pids+=("$tshark")
	wait_for grep -qs 'Capture started' "$work/tshark.err" || fail "tshark does not capture: $(cat "$work/tshark.err")"
	verify_pair "beside tshark $*" --type rc -n 100
	wait "$tshark" || fail "tshark: $(cat "$work/tshark.err")"
	[ "$(wc -l <"$work/packets")" = "$want" ] || fail "$(wc -l <"$work/packets") packets: $(cat "$work/tshark.err")"
	awk -F '\t' '$2 !~ /sll:ethertype:ip:udp:infiniband/ || $5 == "" || $6 == "" { bad = 1; print }
		END { exit bad }' "$work/packets" || fail 'not dissected as RoCE'
	! grep -iE 'error|extcap' "$work/tshark.err" || fail "tshark complains: $(cat "$work/tshark.err")"
}
tshark_capture 200 -i rocin
tshark_capture 30 -i rocin0 -f "src host $addr_a and outbound" -o extcap.rocin0.snaplen:90
awk -F '\t' -v from="$addr_a" '$1 != from || $4 > 90 { bad = 1; print } END { exit bad }' "$work/packets" ||
	fail 'what was filtered and cut'
echo 'ok: tshark captures from the devices'

# --- Removing the link; a file of the user is not removed; an installed package ---
LD_PRELOAD='' rocin extcap --remove >"$work/out" || fail "$(cat "$work/out")"
[ -e "$link" ] && fail 'the link is there still'
LD_PRELOAD='' rocin extcap --remove | grep -q 'is not there$' || fail 'a link that is not there'
echo mine >"$link"
for what in --install --remove; do
	LD_PRELOAD='' rocin extcap $what 2>"$work/err" && fail "$what: somebody else's file"
	grep -q 'left as it is$' "$work/err" || fail "$(cat "$work/err")"
done
[ "$(cat "$link")" = mine ] || fail "somebody else's file is gone"
PATH=$ROCIN_BIN rocin extcap --install 2>"$work/err" && fail 'without Wireshark'
grep -q 'install one of them$' "$work/err" || fail "$(cat "$work/err")"
LD_PRELOAD='' DESTDIR=$work/root cmake --install "$build" --prefix /usr >"$work/out" 2>&1 || fail "$(tail -3 "$work/out")"
system=$(tshark -G folders 2>/dev/null | sed -n 's/^Extcap path:[[:space:]]*//p')
[ "$(readlink -f "$work/root$system/rocin")" = "$(readlink -f "$work/root/usr/bin/rocin")" ] ||
	fail "an installed Rocin has no $system/rocin"
"$work/root$system/rocin" --extcap-interfaces | grep -q '^interface {value=rocin}' || fail 'as installed'
echo 'ok: the link comes and goes; a package has it at the place of the system'
