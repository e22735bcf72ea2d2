/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_files.c - files come whole or with the kernel's reason, and pictures as XML. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tools/rocin/common/files.h"
#include "tools/rocin/common/html.h"

static char path[] = "/tmp/rocin-files-XXXXXX";

static int print_text(FILE *to, const void *text)
{
	return fputs(text, to) == EOF ? -EIO : 0;
}

static void a_file_is_read_as_it_was_written(void **state)
{
	char *bytes;

	(void)state;
	assert_int_equal(rn_file_write(path, print_text, "12 and more\nlast"), 0);
	assert_int_equal(rn_file_read(path, 16, &bytes), 16);
	assert_string_equal(bytes, "12 and more\nlast");
	free(bytes);
	assert_int_equal(rn_file_read(path, 15, &bytes), -EFBIG);
	assert_null(bytes);
	assert_int_equal(rn_file_number(path), 12);
}

/* More than one read() of the C library. */
static void a_long_file_is_read_to_its_end(void **state)
{
	size_t len = 300000;
	char *text = malloc(len + 1), *bytes;

	(void)state;
	assert_non_null(text);
	memset(text, 'x', len);
	text[len] = '\0';
	assert_int_equal(rn_file_write(path, print_text, text), 0);
	assert_int_equal(rn_file_read(path, len, &bytes), (ssize_t)len);
	assert_string_equal(bytes, text);
	free(bytes);
	free(text);
}

static int stop_at_two(void *count, char *line, unsigned number)
{
	++*(unsigned *)count;
	assert_int_equal(strchr(line, '\n') != NULL, 0);
	return number == 2 ? 7 : 0;
}

static void lines_end_where_their_reader_wants(void **state)
{
	unsigned count = 0;

	(void)state;
	assert_int_equal(rn_file_write(path, print_text, "a\nb\nc"), 0);
	assert_int_equal(rn_file_lines(path, stop_at_two, &count), 7);
	assert_int_equal(count, 2);
}

static void what_fails_says_why(void **state)
{
	char *bytes;

	(void)state;
	assert_int_equal(rn_file_read("/nowhere/at/all", 1, &bytes), -ENOENT);
	assert_int_equal(rn_file_read("/", 1, &bytes), -EISDIR);
	assert_int_equal(rn_file_number("/nowhere/at/all"), -1);
	assert_int_equal(rn_file_lines("/nowhere/at/all", stop_at_two, NULL), -ENOENT);
	assert_int_equal(rn_file_write("/nowhere/at/all", print_text, ""), -ENOENT);
	assert_int_equal(rn_file_write("/dev/full", print_text, "lost"), -ENOSPC);
}

static void print_elements(FILE *to)
{
	rn_svg_line(to, "class='a'", 1, 2.04, 3.5, -4);
	rn_svg_rect(to, "", (struct rn_svg_box){ 0, 0, 10.25, 7 }, "<&>");
	rn_svg_text(to, "class='n'", 5, 6, "end", "%d > %s", 2, "'one'");
}

static void numbers_end_without_zeros_and_texts_are_escaped(void **state)
{
	char *text = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&text, &len);

	(void)state;
	assert_non_null(to);
	print_elements(to);
	fclose(to);
	assert_string_equal(text, "<line class='a' x1='1' y1='2' x2='3.5' y2='-4'/>\n"
				  "<rect x='0' y='0' width='10.25' height='7'>"
				  "<title>&lt;&amp;&gt;</title></rect>\n"
				  "<text class='n' x='5' y='6' text-anchor='end'>2 &gt; "
				  "&#39;one&#39;</text>\n");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_read_as_it_was_written),
		cmocka_unit_test(a_long_file_is_read_to_its_end),
		cmocka_unit_test(lines_end_where_their_reader_wants),
		cmocka_unit_test(what_fails_says_why),
		cmocka_unit_test(numbers_end_without_zeros_and_texts_are_escaped),
	};
	int fd = mkstemp(path), failed;

	if (fd < 0)
		return 1;
	close(fd);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return failed;
}
