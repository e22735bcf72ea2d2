#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# completion.sh - what bash, zsh and fish complete after `rocin completion SHELL`.
# shellcheck source=kit/lib.sh
. "$(dirname "$0")/kit/lib.sh"

for shell in bash zsh fish; do
	is "rocin completion $shell" "$(status rocin completion $shell)" 0
	cp "$work/out" "$work/rocin.$shell"
done
is 'no shell' "$(status rocin completion)" 64
is 'is told' "$(grep -o 'which shell.*' "$work/err")" 'which shell? bash, zsh or fish'
is 'a shell that is none' "$(status rocin completion tcsh)" 64
is 'is told' "$(grep -o '"tcsh".*' "$work/err")" '"tcsh" is none of bash, zsh, fish'

# Every command, and every option that its help has, in all three.
commands=$(rocin --help | awk '/^$/ { part++ } part == 1 && /^  / { print $1 }')
# in_help COMMAND: its long options
in_help() {
	rocin "$1" --help | grep -oE '^  (-., |    )--[a-z-]+' | grep -oE -e '--[a-z-]+' |
		grep -vxE -e '--(help|usage|version)' | sort | xargs
}
# in_bash, in_zsh, in_fish COMMAND: the same of the scripts
in_bash() {
	(
		# shellcheck disable=SC1091 # made here
		. "$work/rocin.bash"
		_rocin_options "$1" | tr ' ' '\n' | sed 's/=$//' | grep -xE -e '--[a-z-]+' | grep -vx -e --help | sort | xargs
	)
}
in_zsh() {
	sed -n "/^	$1)$/,/;;$/p" "$work/rocin.zsh" | sed -n "s/^\t*'\*--\([a-z-]*\).*/--\1/p" | sort | xargs
}
in_fish() {
	sed -n "s/^complete -c rocin -n '__rocin_in $1' -l \([a-z-]*\) .*/--\1/p" "$work/rocin.fish" | sort | xargs
}
for command in $commands; do
	for shell in bash zsh fish; do
		is "options of rocin $command in $shell" "$(in_$shell "$command")" "$(in_help "$command")"
	done
done

# bash WORD...: what it completes the last word to
in_a_bash() {
	(
		# shellcheck disable=SC1091 # made here
		. "$work/rocin.bash"
		compopt() { :; }
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		_rocin
		printf '%s\n' "${COMPREPLY[@]}" | sort -u | xargs
	)
}
touch "$work/a-file" "$work/a-folder"
is 'bash: commands' "$(in_a_bash rocin do)" doctor
is 'bash: all commands' "$(in_a_bash rocin '')" "$(printf '%s\n' $commands help --help --version | sort -u | xargs)"
is 'bash: options' "$(in_a_bash rocin run --va)" --validate
is 'bash: an option with an argument' "$(in_a_bash rocin run --pca)" --pcap=
is 'bash: values behind =' "$(in_a_bash rocin run --cc = o)" 'observe off on'
is 'bash: all values' "$(in_a_bash rocin run --as =)" 'efa mlx5 rxe'
is 'bash: values of the next word' "$(in_a_bash rocin run --local no)" no-icrc
is 'bash: files' "$(cd "$work" && in_a_bash rocin run --record = a-fi)" a-file
is 'bash: programs' "$(in_a_bash rocin run -- bas | tr ' ' '\n' | grep -x bash)" bash
is 'bash: files of programs' "$(cd "$work" && in_a_bash rocin run -- cat a-fi)" a-file
is 'bash: commands of help' "$(in_a_bash rocin help do)" doctor
is 'bash: files of other commands' "$(cd "$work" && in_a_bash rocin dump a-fi)" a-file

if command -v fish >/dev/null; then
	export HOME=$work XDG_CONFIG_HOME=$work XDG_DATA_HOME=$work # nobody's own settings
	# in_a_fish LINE: the words that it completes to
	in_a_fish() { LD_PRELOAD='' fish -N -c "source $work/rocin.fish; complete -C '$1'" | cut -f1 | sort -u | xargs; }
	is 'fish reads it' "$(LD_PRELOAD='' fish -N -c "source $work/rocin.fish" 2>&1)" ''
	is 'fish: commands' "$(in_a_fish 'rocin do')" doctor
	is 'fish: options' "$(in_a_fish 'rocin run --va')" --validate
	is 'fish: values' "$(in_a_fish 'rocin run --cc=o')" '--cc=observe --cc=off --cc=on'
	is 'fish: programs' "$(in_a_fish 'rocin run -- bas' | tr ' ' '\n' | grep -x bash)" bash
	is 'fish: no options behind --' "$(in_a_fish 'rocin run -- cat --va')" ''
else
	echo 'no fish here'
fi
if command -v zsh >/dev/null; then
	is 'zsh reads it' "$(LD_PRELOAD='' zsh -n "$work/rocin.zsh" 2>&1)" ''
	# A zsh of its own at a pseudo-terminal lists what it completes to.
	cat >"$work/in-a-zsh" <<-'Z'
		zmodload zsh/zpty
		zpty z zsh -f -i
		zpty -w z 'autoload -Uz compinit && compinit -u -D; LISTMAX=1000; stty -echo; PS1=""; source '$2/rocin.zsh
		zpty -w z 'zstyle ":completion:*" list-prompt ""; echo READY'
		zpty -r -m z all '*READY*'
		zpty -w -n z $1$'\t\t'
		zpty -r -m z all "*$3*" && print -r -- found
		zpty -d z
	Z
	# in_a_zsh LINE WORD: does it offer the word?
	in_a_zsh() { LD_PRELOAD='' timeout 600 zsh -f "$work/in-a-zsh" "$1" "$work" "$2" | tail -1; }
	is 'zsh: commands' "$(in_a_zsh 'rocin do' doctor)" found
	is 'zsh: options' "$(in_a_zsh 'rocin run --va' --validate)" found
	is 'zsh: values' "$(in_a_zsh 'rocin run --cc=o' observe)" found
else
	echo 'no zsh here'
fi
finish
