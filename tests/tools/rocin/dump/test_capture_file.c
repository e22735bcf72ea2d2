/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_capture_file.c - the files of a capture, one after the other: their names, which
 * of them stay, and that each can be read without the others.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rocin/opcode.h"
#include "tools/rocin/capture/capture.h"
#include "tools/rocin/common/cmd.h"
#include "tools/rocin/dump/dump.h"

enum {
	BODY_LEN = 64,
	RING_LEN = RN_CAPTURE_SIZE_MIN,
	SOURCES = 2,
	NOTHING = UINT32_MAX, /* no limit is reached by this */
};

static char dir[64], opened[256];
static struct rn_capture_source source[SOURCES];
static struct rn_capture_packet *packet;

void rn_complain(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vprint_error(fmt, ap);
	va_end(ap);
}

static int setup(void **state)
{
	const struct rn_capture_record rec = {
		.kind = RN_CAPTURE_PACKET,
		.flags = RN_CAPTURE_SENT,
		.len = BODY_LEN,
		.cap = BODY_LEN,
		.time = 1700000000123456789,
		.number = 1,
		.flow = { .src = { { [10] = 0xff, 0xff, 10, 0, 0, 1 } },
			  .dst = { { [10] = 0xff, 0xff, 10, 0, 0, 2 } },
			  .sport = 0xc001 }
	};
	const uint8_t body[BODY_LEN] = { RN_RC_SEND_ONLY };

	(void)state;
	strcpy(dir, "/tmp/rocin-capture-XXXXXX");
	packet = rn_capture_packet_new(&rec, body);
	return packet && mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	free(packet);
	return rmdir(dir);
}

static const char *path_of(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static bool is_there(const char *name)
{
	return access(path_of(name), F_OK) == 0;
}

static void remove_file(const char *name)
{
	assert_int_equal(unlink(path_of(name)), 0);
}

/* With a file for each packet, of which @files stay, if @has_several. */
static void open_files(struct rn_capture_file *f, const char *name, bool classic,
		       bool has_several, unsigned files)
{
	const struct rn_capture_file_cfg cfg = { .path = opened,
						 .classic = classic,
						 .size = has_several ? 1 : 0,
						 .files = files };
	char why[256] = "";

	for (unsigned i = 0; i < SOURCES; i++) {
		source[i] = (struct rn_capture_source){ .tap.ifname = "lo" };
		snprintf(source[i].tap.ibdev, sizeof(source[i].tap.ibdev), "rocin%u", i);
	}
	strcpy(opened, path_of(name));
	if (rn_capture_file_open(f, &cfg, why, sizeof(why)))
		fail_msg("%s", why);
}

static void write_of(struct rn_capture_file *f, unsigned i)
{
	assert_int_equal(rn_capture_file_write(f, &source[i], packet), 0);
}

/* Return: the devices whose packets it has, in their order, as "01". */
static const char *devices_in(const char *name)
{
	static char devices[16];
	struct rn_dump_file *file = rn_dump_file_open(path_of(name));
	struct rn_pcapng_found found;
	size_t n = 0;
	int rc;

	assert_non_null(file);
	while ((rc = rn_dump_file_next(file, &found)) == 1 && n < sizeof(devices) - 1)
		devices[n++] = found.name[0] ? found.name[strlen("rocin")] : '-';
	assert_int_equal(rc, 0);
	devices[n] = '\0';
	rn_dump_file_close(file);
	return devices;
}

/* ---- Devices ---- */

static void each_file_describes_the_devices_of_its_packets(void **state)
{
	struct rn_capture_file f;

	(void)state;
	open_files(&f, "a", false, true, 0);
	write_of(&f, 0);
	write_of(&f, 1);
	/* Two packets go into the third. */
	f.cfg.size = NOTHING;
	write_of(&f, 1);
	write_of(&f, 0);
	write_of(&f, 1);
	assert_int_equal(rn_capture_file_close(&f), 0);
	assert_string_equal(devices_in("a_00001"), "0");
	assert_string_equal(devices_in("a_00002"), "1");
	assert_string_equal(devices_in("a_00003"), "101");
	for (unsigned i = 1; i <= 3; i++) {
		char name[16];

		snprintf(name, sizeof(name), "a_%05u", i);
		remove_file(name);
	}
}

/* ---- Names ---- */

static void the_number_stands_before_the_ending_of_the_name(void **state)
{
	static const struct {
		const char *name, *first;
	} names[] = {
		{ "a.pcapng", "a_00001.pcapng" },
		{ "a.b.pcapng", "a.b_00001.pcapng" },
		{ "a", "a_00001" },
		{ ".hidden", ".hidden_00001" },
		{ "in.d/a", "in.d/a_00001" },
	};

	(void)state;
	assert_int_equal(mkdir(path_of("in.d"), 0700), 0);
	for (size_t i = 0; i < RN_ARRAY_SIZE(names); i++) {
		struct rn_capture_file f;

		open_files(&f, names[i].name, false, true, 0);
		assert_int_equal(rn_capture_file_close(&f), 0);
		if (!is_there(names[i].first))
			fail_msg("%s has no %s", names[i].name, names[i].first);
		remove_file(names[i].first);
	}
	assert_int_equal(rmdir(path_of("in.d")), 0);
}

static void one_file_has_the_name_that_was_given(void **state)
{
	struct rn_capture_file f;

	(void)state;
	open_files(&f, "a.pcapng", false, false, 0);
	write_of(&f, 0);
	write_of(&f, 1);
	assert_int_equal(rn_capture_file_close(&f), 0);
	assert_string_equal(devices_in("a.pcapng"), "01");
	remove_file("a.pcapng");
}

/* ---- Which stay ---- */

static void the_last_files_stay_and_those_before_go(void **state)
{
	struct rn_capture_file f;

	(void)state;
	open_files(&f, "a", false, true, 2);
	write_of(&f, 0);
	write_of(&f, 0);
	assert_true(is_there("a_00001") && is_there("a_00002"));
	write_of(&f, 0);
	assert_false(is_there("a_00001"));
	assert_true(is_there("a_00002") && is_there("a_00003"));
	/* Somebody has taken one away: the others come and go as ever. */
	remove_file("a_00002");
	write_of(&f, 0);
	assert_true(is_there("a_00003") && is_there("a_00004"));
	assert_int_equal(rn_capture_file_close(&f), 0);
	assert_int_equal(f.packets, 4);
	remove_file("a_00003");
	remove_file("a_00004");
}

/* The last file of a capture is one that can be looked at. */
static void a_file_begins_with_a_packet(void **state)
{
	void *ring = calloc(1, rn_capture_ring_bytes(RING_LEN));
	struct rn_capture_file f;

	(void)state;
	assert_non_null(ring);
	rn_capture_format(ring, RING_LEN);
	open_files(&f, "a", false, true, 0);
	write_of(&f, 0);
	assert_false(is_there("a_00002"));
	/* What was counted is told at the end, of devices without packets too. */
	for (unsigned i = 0; i < SOURCES; i++) {
		assert_int_equal(
			rn_capture_reader_init(&source[i].reader, ring, RING_LEN), 0);
		assert_int_equal(rn_capture_file_write(&f, &source[i], NULL), 0);
	}
	assert_false(is_there("a_00002"));
	free(ring);
	assert_int_equal(rn_capture_file_close(&f), 0);
	assert_false(is_there("a_00002"));
	assert_string_equal(devices_in("a_00001"), "0");
	remove_file("a_00001");
}

/* ---- What cannot be written ---- */

/* Of both formats, the last bytes before the end and before the next file. */
static void a_file_that_took_nothing_is_an_error_when_it_is_closed(void **state)
{
	(void)state;
	for (unsigned classic = 0; classic < 2; classic++) {
		struct rn_capture_file f;

		open_files(&f, "a", classic, true, 0);
		assert_int_equal(symlink("/dev/full", path_of("a_00002")), 0);
		write_of(&f, 0);
		write_of(&f, 0);
		assert_int_equal(rn_capture_file_close(&f), -ENOSPC);
		remove_file("a_00001");

		open_files(&f, "a", classic, true, 0);
		write_of(&f, 0);
		write_of(&f, 0);
		assert_int_equal(rn_capture_file_write(&f, &source[0], packet), -ENOSPC);
		rn_capture_file_close(&f);
		remove_file("a_00001");
		remove_file("a_00002");
	}
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(each_file_describes_the_devices_of_its_packets),
		TEST(the_number_stands_before_the_ending_of_the_name),
		TEST(one_file_has_the_name_that_was_given),
		TEST(the_last_files_stay_and_those_before_go),
		TEST(a_file_begins_with_a_packet),
		TEST(a_file_that_took_nothing_is_an_error_when_it_is_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
