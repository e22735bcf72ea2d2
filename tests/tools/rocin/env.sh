#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# env.sh - `rocin env` says what `rocin run` sets, in the words of each launcher.
# shellcheck source=kit/lib.sh
. "$(dirname "$0")/kit/lib.sh"
# A program instrumented for a sanitizer wants its runtime first in LD_PRELOAD.
[ -z "${ROCIN_TEST_PRELOAD:-}" ] || export LD_PRELOAD=$ROCIN_TEST_PRELOAD

spec=(--netdev lo:127.9.8.7 --fault 'drop=1%')
ours() { grep -E '^(ROCIN_(TREE|NETDEVS|FAULT)|LD_PRELOAD|RDMAV_DRIVERS)=' | sort; }
in_shell() { # COMMAND...: with what rocin env says
	(
		eval "$(rocin env "${spec[@]}")"
		"$@"
	)
}
wanted=$(rocin run "${spec[@]}" -- env | ours)
is 'rocin run sets five of them' "$(echo "$wanted" | wc -l)" 5
is 'a file has what rocin run sets' "$(rocin env "${spec[@]}" --format=file | ours)" "$wanted"
is 'so has a shell' "$(in_shell env | ours)" "$wanted"

# What a launcher could take for its own.
export ROCIN_ODD="it's 5% \"of\" \$HOME \\ a"
line() { rocin env --format="$1" | tr -d '\n' | grep -oF -- "$2"; }
said() { is "$1" "$(line "$1" "$2")" "$2"; }
said systemd 'Environment="ROCIN_ODD=it'\''s 5%% \"of\" $HOME \\ a"'
said compose 'ROCIN_ODD: "it'\''s 5% \"of\" $$HOME \\ a"'
said mpirun "-x ROCIN_ODD='it'\\''s 5% \"of\" \$HOME \\ a'"
said command "ROCIN_ODD='it'\\''s 5% \"of\" \$HOME \\ a' "
said file "ROCIN_ODD=$ROCIN_ODD"
is 'a shell gets odd values as they are' "$(in_shell printenv ROCIN_ODD)" "$ROCIN_ODD"

export ROCIN_ODD=$'two\nlines'
is 'but not in JSON' "$(rocin env --json | python3 -c 'import json, sys; print(repr(json.load(sys.stdin)["ROCIN_ODD"]))')" "'two\\nlines'"
is 'a line break is refused' "$(status rocin env)" 1
is 'and named' "$(cat "$work/err")" 'rocin: ROCIN_ODD has a line break in it'
unset ROCIN_ODD
is 'an unknown format is wrong usage' "$(status rocin env --format=csh)" 64
is 'so is a program' "$(status rocin env ibv_devices)" 64
is 'an interface that is not there' "$(status rocin env --netdev nosuch)" 1
finish
