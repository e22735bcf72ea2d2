#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# named.sh - every variable, command and option has its place in a man page.
#
# usage: named.sh SOURCE-DIRECTORY ROCIN
set -eu
cd "$1"
rocin=$2
missing=0

# said WHERE TEXT PATTERN
said() {
	# shellcheck disable=SC2086 # several pages
	grep -qE -e "$3" $1 || {
		echo "$1: nothing about $2"
		missing=1
	}
}
for variable in $(grep -rhoE 'getenv\("ROCIN_[A-Z_]+"\)' provider sim tools transport --include='*.c' |
	grep -o 'ROCIN_[A-Z_]*' | sort -u); do
	said 'tools/man/rocin.7 tools/man/rocind.8' "$variable" "Ev $variable( |$)"
done
commands=$("$rocin" --help | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p')
[ -n "$commands" ]
for command in $commands; do
	said tools/man/rocin.1 "rocin $command" "^\\.It Nm Cm $command"
	page=tools/man/rocin.1
	[ ! -e "tools/man/rocin-$command.1" ] || page=tools/man/rocin-$command.1
	for option in $("$rocin" "$command" --help | grep -oE '^ +(-[a-zA-Z], +)?--[a-z-]+' | grep -oE '[-]-[a-z-]+$' |
		sort -u); do
		case $option in --help | --usage | --version) continue ;; esac
		said "$page" "$command $option" "Fl -${option#--}"
	done
done
exit $missing
