#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# libfabric.sh - the distribution's libfabric: what fi_info lists about the device; fi_pingpong,
# with all bytes checked, over messages, reliable datagrams and datagrams.
#
# usage: libfabric.sh lo|veth4|veth6 [long]
# shellcheck source=../kit/lib.sh
. "$(dirname "$0")/../kit/lib.sh"
where=$1
# shellcheck source=../kit/rdmacm_lib.sh
. "$(dirname "$0")/../kit/rdmacm_lib.sh"
command -v fi_pingpong >/dev/null || skip 'libfabric-bin is not installed'
unset FI_VERBS_IFACE FI_PROVIDER

"${run_client[@]}" fi_info -p verbs >"$work/info" 2>&1 || fail "fi_info: $(tail -3 "$work/info")"
# lists PROVIDER DOMAIN TYPE: true if fi_info lists such an endpoint
lists() {
	awk -v want="$1 $2 $3" '
		$1 == "provider:" { provider = $2 }
		$1 == "domain:" { domain = $2 }
		$1 == "type:" && provider " " domain " " $2 == want { found = 1 }
		END { exit !found }' "$work/info"
}
for want in 'verbs rocin0 FI_EP_MSG' 'verbs rocin0-dgram FI_EP_DGRAM' \
	'verbs;ofi_rxm rocin0 FI_EP_RDM' 'verbs;ofi_rxd rocin0-dgram FI_EP_RDM'; do
	# shellcheck disable=SC2086 # three words
	lists $want || fail "fi_info does not list: $want: $(cat "$work/info")"
done
echo 'ok: fi_info lists endpoints of every kind'

six=()
[ "$where" != veth6 ] || six=(-6)
fi_play() { # NAME OPTION...
	local name=$1
	shift
	next_port
	# The client waits at a TCP socket until the server listens.
	tcp_play "$port" "$name" fi_pingpong "${six[@]}" -B "$port" -c "$@" -- \
		fi_pingpong "${six[@]}" -P "$port" -c "$@" "$server"
	# The program ends with status 0 even if data is wrong, so its output is checked.
	! grep -iE 'error|mismatch' "$work/server.out" "$work/client.out" || fail "$name: data"
}
if [ "${2:-}" = long ]; then
	fi_play 'messages of all sizes' -p verbs -e msg -S all
	fi_play 'reliable datagrams of all sizes' -p 'verbs;ofi_rxm' -e rdm -S all
	fi_play 'tagged, of all sizes' -p 'verbs;ofi_rxm' -e rdm -m tagged -S all
	fi_play 'datagrams made reliable, of all sizes' -p 'verbs;ofi_rxd' -e rdm -S all
	exit 0
fi
wire='RC_SEND_* RC_ACK' fi_play 'messages' -p verbs -e msg -I 5
wire='RC_SEND_* RC_READ_REQUEST? RC_READ_RESPONSE_*? RC_WRITE_*? RC_ACK' \
	fi_play 'reliable datagrams over messages' -p 'verbs;ofi_rxm' -e rdm -I 5
# The remaining tests do not depend on the IP version, so they run only once.
[ "$where" = veth4 ] || exit 0
fi_play 'the same, tagged' -p 'verbs;ofi_rxm' -e rdm -m tagged -S 65536 -I 5
wire=UD_SEND_ONLY fi_play 'datagrams' -p verbs -e dgram -I 5
wire=UD_SEND_ONLY fi_play 'reliable datagrams over datagrams' -p 'verbs;ofi_rxd' -e rdm -S 4096 -I 5
