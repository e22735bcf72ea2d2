#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# exports.sh - the plugin shows no symbol to the program that it is loaded into, and every
# name that libibverbs may ask for leads to it.
#
# usage: exports.sh PLUGIN-DIRECTORY
set -eu
symbols=$(nm -D --defined-only "$1/librocin-rdmav34.so")
if [ -n "$symbols" ]; then
	echo "exported, and should not be:"
	echo "$symbols"
	exit 1
fi
for version in 34 57 59 64 65 99; do
	[ -e "$1/librocin-rdmav$version.so" ] ||
		{ echo "librocin-rdmav$version.so is missing"; exit 1; }
done
# Loaded when they are wanted: a program must have its devices without them.
if readelf -d "$1/librocin-rdmav34.so" | grep -E 'NEEDED.*(liburing|libpcap)'; then
	echo "the plugin cannot be loaded without these"
	exit 1
fi
readelf -d "$1/librocin-rdmav34.so" | grep -q NODELETE ||
	{ echo "the plugin is not linked nodelete"; exit 1; }
