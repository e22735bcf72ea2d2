# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# excerpts.awk - makes the C file with rn_tour_code() from the lines between "/* tour: NAME */"
# and "/* tour: end */". Tabs become spaces, and one level of indentation is removed. Excerpts
# of the same name are joined, with an empty line between them.
function expanded(line,    out, i, c) {
	out = ""
	for (i = 1; i <= length(line); i++) {
		c = substr(line, i, 1)
		if (c != "\t")
			out = out c
		else
			do out = out " "; while (length(out) % 8)
	}
	return substr(out, 9)
}

/^\t\/\* tour: end \*\/$/ {
	name = ""
	next
}

/^\t\/\* tour: [a-z]+ \*\/$/ {
	name = $3
	if (name in code)
		code[name] = code[name] "\t\t\"\\n\"\n"
	else
		names[++count] = name
	next
}

name {
	line = expanded($0)
	if (length(line) > 76) {
		print FILENAME ":" FNR ": longer than 76 columns" > "/dev/stderr"
		is_wrong = 1
	}
	gsub(/\\/, "\\\\", line)
	gsub(/"/, "\\\"", line)
	code[name] = code[name] "\t\t\"" line "\\n\"\n"
}

END {
	if (is_wrong)
		exit 1
	print "/* Made by excerpts.awk. */"
	print "#include <string.h>\n\n#include \"tools/tour/lines.h\"\n#include \"rocin/types.h\"\n"
	print "static const struct {\n\tconst char *stop, *text;\n} code[] = {"
	for (i = 1; i <= count; i++)
		printf "\t{ \"%s\",\n%s\t},\n", names[i], code[names[i]]
	print "};\n\nconst char *rn_tour_code(const char *stop)\n{"
	print "\tfor (size_t i = 0; i < RN_ARRAY_SIZE(code); i++)"
	print "\t\tif (!strcmp(code[i].stop, stop))\n\t\t\treturn code[i].text;"
	print "\treturn NULL;\n}"
}
