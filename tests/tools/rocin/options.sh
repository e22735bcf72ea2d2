#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# options.sh - help, manual and exit statuses of `rocin` agree.
# shellcheck source=kit/lib.sh
. "$(dirname "$0")/kit/lib.sh"
man=$ROCIN_SOURCE/tools/man/rocin.1

is 'rocin --version' "$(rocin --version)" "rocin $ROCIN_VERSION"
is 'rocin help is rocin --help' "$(rocin help)" "$(rocin --help)"
is 'rocin help of what is not there' "$(status rocin help frobnicate)/$(cat "$work/err")" \
	'64/rocin: there is no command "frobnicate"; `rocin --help` lists them'
is 'rocin --help ends well' "$(status rocin --help)" 0
is 'rocin alone is wrong usage' "$(status rocin)" 64
is 'output that cannot be written is a failure' \
	"$(rocin devices >/dev/full 2>"$work/err"; echo $?)" 1
is 'a command that is none is wrong usage' "$(status rocin frobnicate)" 64
# shellcheck disable=SC2016 # not a substitution
is 'and is named' "$(cat "$work/err")" \
	'rocin: there is no command "frobnicate"; `rocin --help` lists them'

commands=$(rocin --help | awk '/^$/ { part++ } part == 1 && /^  / { print $1 }')
documented=$(sed -n 's/^\.It Nm Cm //p' "$man" | sort | xargs)
is 'the manual has every command and no other' "$documented" \
	"$(echo "$commands" | sort | xargs)"

# shellcheck disable=SC2016 # not a substitution
is 'commands.md has the same table' "$(sed -n 's/^| `rocin \([a-z]*\)` | \(.*\) |$/\1 \2/p' "$ROCIN_SOURCE/tools/docs/commands.md")" \
	"$(rocin --help | awk '/^$/ { part++ } part == 1 && /^  / { $1 = $1; print }')"
is 'a log of no level is refused' "$(status rocin run --log=warning -- true)" 64
is 'in one sentence' "$(cat "$work/err")" \
	'rocin: ROCIN_LOG is "warning"; error, warn, info, debug or trace is expected, and :FILE behind it if lines are to go there'
is 'a log that goes to a file is not' "$(status env LD_PRELOAD="${ROCIN_TEST_PRELOAD:-}" \
	rocin run --log="warn:$work/log" -- true)" 0
for wrong in 'capture --count 0' 'lab --hosts 0 -- true' 'lab --loss 200% -- true'; do
	# shellcheck disable=SC2086 # several words
	is "$wrong is refused" "$(status rocin $wrong)" 64
	read -r _ option value _ <<<"$wrong"
	is 'and the option named' "$(grep -cE "^rocin [a-z]*: \"$value\" is no value for $option=[A-Z%]+: [A-Z].* " "$work/err")" 1
done
rocin doctor --json >"$work/out" 2>"$work/err"
is 'doctor prints JSON and nothing else' "$(python3 -c '
import json, sys
d = json.load(sys.stdin)
print(d["faults"] == sum(f["result"] == "fault" for f in d["findings"]), {f["result"] for f in d["findings"]} <= {"ok", "note", "fault"}, len(d["findings"]) > 5)' <"$work/out")" 'True True True'
is 'a wrong interface is told from those there are' "$(status rocin devices --netdev nosuch9)/$(grep -c 'no network interface "nosuch9"; there are: .*lo' "$work/err")" 1/1
is 'dump -r FILE is dump FILE' "$(rocin dump -r "$ROCIN_SOURCE/tests/captures/rxe-ud-send.pcap")" "$(rocin dump "$ROCIN_SOURCE/tests/captures/rxe-ud-send.pcap")"
is 'examples are listed in JSON' "$(rocin example -lj | python3 -c 'import json, sys; print(len([json.loads(l)["name"] for l in sys.stdin]))')" "$(rocin example -l | wc -l)"
for other in --json --watch --count=1 --daemon --counters --qps; do
	is "stat --prometheus takes no $other" "$(status rocin stat --prometheus $other)" 64
done
is 'a patience that is none is refused' "$(status rocin run --timeout-scale=0 -- true)" 64
is 'and is told' "$(cat "$work/err")" \
	'rocin: ROCIN_TIMEOUT_SCALE is "0"; a number from 1 to 1000 is expected'

# options_in_help COMMAND: "-n --netdev --json ..." but for what every command has
options_in_help() {
	rocin "$1" --help | sed -n '/^  \(-.,\|   \) *--/p; /^  -.$/p' |
		grep -oE '^  (-[a-z?V], |    )?--[a-z-]+|^  -[a-z]' |
		grep -oE -e '--?[a-z?V-]+' | grep -vxE -e '-\?|-V|--help|--usage|--version' |
		sort | xargs
}

# options_in_manual COMMAND: those that have an item of their own, on the command's own page
# if it has one, else below its item
options_in_manual() {
	local own=$ROCIN_SOURCE/tools/man/rocin-$1.1
	[ -e "$own" ] || own=
	awk -v command="$1" -v own="$own" '
		BEGIN { mine = own != "" }
		/^\.It Nm Cm / { mine = $4 == command; next }
		mine && /^\.(It|Op)? ?Fl / {
			for (i = 1; i < NF; i++)
				if ($i == "Fl")
					print "-" $(i + 1)
		}' "${own:-$man}" | sort -u | xargs
}

# What one command takes from another: the page says so instead of having it twice.
taken_over() {
	[[ $1 = @(env|hunt|lab) ]] && options_in_manual run | tr ' ' '\n' | grep -vx -e --force -e --reach
}

for command in $commands; do
	is "rocin $command --help ends well" "$(status rocin "$command" --help)" 0
	is "rocin help $command is the same" "$(status rocin help "$command")/$(cat "$work/out")" "0/$(rocin "$command" --help)"
	is "and says how it is used" "$(head -c 20 "$work/out" | head -1 | cut -c1-12)" \
		'Usage: rocin'
	is "rocin $command: the manual has the options of --help and no other" \
		"$({ options_in_manual "$command"; taken_over "$command"; } |
			tr ' ' '\n' | sort -u | xargs)" "$(options_in_help "$command")"
	is "rocin $command --no-such-option is wrong usage" \
		"$(status rocin "$command" --no-such-option)" 64
done

# Every variable that the code reads has an item in the overview.
source=$(dirname "$0")/../../..
for variable in $(grep -RhoE '"ROCIN_[A-Z_]+"' --include='*.c' "$source/provider" \
	"$source/transport" "$source/tools" | tr -d '"' | sort -u | grep -v ROCIN_TREE); do
	is "$variable has an item in rocin(7) or rocind(8)" \
		"$(grep -lE "Ev $variable" "$source"/tools/man/*.[78] | head -1 | wc -l)" 1
done
finish
