#!/usr/bin/awk -f
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# leaks.awk - which of the leaks that LeakSanitizer reports are Rocin's?
#
# usage: leaks.awk -v source=DIRECTORY REPORT...
#
# A leak is Rocin's if a function of Rocin has allocated the memory. What a verb has made for a
# program is the program's, and distributed programs do not destroy all that they have; our own
# do. Prints the leaks that count; the exit status is 1 if there are some.
#
# A frame is "#N ADDRESS in FUNCTION FILE:LINE" or "#N ADDRESS in FUNCTION (MODULE+OFFSET)",
# and may say "(BuildId: ...)" behind that.

function place(    where)
{
	where = $0
	sub(/ \(BuildId.*/, "", where)
	sub(/^.* \(?/, "", where)
	return where
}

function end_of_leak()
{
	if (is_rocins && (is_tests || !is_objects)) {
		printf "%s", leak
		found = 1
	}
	leak = ""
	is_leak = is_rocins = is_tests = is_objects = 0
}

function frame(where)
{
	if (!allocator && where !~ /libsanitizer|libasan/) {
		allocator = 1
		is_rocins = where ~ ("^" source "/(provider|transport|sim|tools|include)/") ||
			where ~ /\/(librocin|bin\/rocin)/
	}
	if ($4 ~ /^(ibv|rdma)_(create|open|alloc|reg|get_device|import|resolve)/)
		is_objects = 1
	if (index(where, source "/tests/") == 1)
		is_tests = 1
}

/^(Direct|Indirect) leak of |^SUMMARY|^=====/ { end_of_leak() }
/^Direct leak of / { is_leak = 1; allocator = 0 }
is_leak { leak = leak $0 "\n" }
is_leak && $1 ~ /^#/ { frame(place()) }
END { end_of_leak(); exit found }
