/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fuzz_capture.c - `rocin capture` and programs that write into their rings whatever they
 * like, while it reads: it neither falls over nor waits for ever, and what it writes is a
 * capture file all the same.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rocin/stats.h"
#include "tests/fuzz/script.h"
#include "tools/rocin/capture/capture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	SIZE = RN_CAPTURE_SIZE_MIN,
	TAIL_AT = 128, /* in the control page */
	PROGRAMS = 2,
	BYTES_MAX = 300,
	IF_DESCRIPTION = 3, /* no other block has an option with this number */
};

static struct script script;
static struct rn_capture_sources sources;
static struct rn_capture_file file;
static int out = -1; /* what is behind the file */

/* A program and its end of the ring. */
static struct program {
	uint8_t *mem;
	uint64_t tail; /* as it ought to be */
} programs[PROGRAMS];

static uint64_t take64(void)
{
	uint64_t value;

	take_bytes(&script, &value, sizeof(value));
	return value;
}

/* --------------------------------------------------------------------- programs */
static int memory(size_t bytes)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	require(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0);
	return fd;
}

static int stats_page(void)
{
	struct rn_stats_page page = { 0 };
	int fd = memory(sizeof(page));

	take_bytes(&script, page.comm, sizeof(page.comm));
	require(pwrite(fd, &page, sizeof(page), 0) == (ssize_t)sizeof(page));
	return fd;
}

static void start_program(unsigned i)
{
	size_t bytes = rn_capture_ring_bytes(SIZE);
	struct rn_rocind_tap tap = { .id = i,
				     .ring = memory(bytes),
				     .size = SIZE,
				     .pid = (int32_t)i,
				     .ibdev = "rocin0",
				     .ifname = "lo",
				     .stats_fd = i ? stats_page() : -1 };
	struct program *p = &programs[i];

	p->mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, tap.ring, 0);
	require(p->mem != MAP_FAILED);
	p->tail = 0;
	rn_capture_format(p->mem, SIZE);
	require(rn_capture_sources_add(&sources, &tap) == 0);
}

/* ------------------------------------------------------------------- what they write */
static uint8_t *at(struct program *p, uint64_t position)
{
	return p->mem + RN_CAPTURE_CONTROL + (position & (SIZE - 1));
}

static void set_tail(struct program *p, uint64_t tail)
{
	__atomic_store_n((uint64_t *)(p->mem + TAIL_AT), tail, __ATOMIC_RELEASE);
}

/* As the ring's own writer would, but for what the script puts in. */
static void write_record(struct program *p)
{
	uint8_t body[BYTES_MAX] = { 0 };
	struct rn_capture_record rec = { .kind = (uint16_t)(take8(&script) % 4),
					 .flags = take8(&script),
					 .len = take16(&script),
					 .cap = take16(&script) % BYTES_MAX,
					 .time = take8(&script),
					 .number = take8(&script) };
	uint32_t size;

	take_bytes(&script, &rec.qpn,
		   sizeof(rec) - offsetof(struct rn_capture_record, qpn));
	if (take8(&script) & 1)
		rec.time = take64();
	if (rec.kind == RN_CAPTURE_DIAGNOSTIC)
		rec.cap = sizeof(struct rn_diagnostic);
	if (rec.len < rec.cap)
		rec.len = rec.cap;
	size = (uint32_t)(sizeof(rec) + rec.cap + RN_CAPTURE_ALIGN - 1) &
	       ~(uint32_t)(RN_CAPTURE_ALIGN - 1);
	rec.size = size;
	take_bytes(&script, body, rec.cap);
	if ((p->tail & (SIZE - 1)) + size > SIZE)
		return;
	memcpy(at(p, p->tail), &rec, sizeof(rec));
	memcpy(at(p, p->tail) + sizeof(rec), body, rec.cap);
	p->tail += size;
	set_tail(p, p->tail);
}

static void scribble(struct program *p)
{
	uint64_t word = take64();

	switch (take8(&script) % 4) {
	case 0:
		set_tail(p, word);
		break;
	case 1: /* what comes next, or came last */
		memcpy(at(p, p->tail - 8 * (take8(&script) % 16)), &word, sizeof(word));
		break;
	case 2: /* the head, which is the reader's, and counts */
		memcpy(p->mem + (word & 0x1f8), &word, sizeof(word));
		break;
	default:
		p->tail += (word & 0xff) * RN_CAPTURE_ALIGN;
		set_tail(p, p->tail);
	}
}

/* -------------------------------------------------------------------- what is written */
static uint32_t word_at(const uint8_t *p)
{
	uint32_t value;

	memcpy(&value, p, sizeof(value));
	return value;
}

/* Options up to the end of the block, whose last is the end of options. */
static void check_options(const uint8_t *p, const uint8_t *end)
{
	uint16_t code = 1, len;

	while (code != 0) {
		require(end - p >= 4);
		memcpy(&code, p, sizeof(code));
		memcpy(&len, p + 2, sizeof(len));
		require(end - p >= 4 + len);
		for (uint16_t i = 0; code == IF_DESCRIPTION && i < len; i++)
			require(p[4 + i] >= ' ' && p[4 + i] <= '~');
		p += 4 + (len + 3) / 4 * 4;
	}
	require(p == end);
}

static void check_block(const uint8_t *p, uint32_t len, uint32_t *interfaces)
{
	const uint8_t *end = p + len - 4;

	switch (word_at(p)) {
	case 0x0a0d0d0a:
		check_options(p + 24, end);
		break;
	case 1:
		++*interfaces;
		check_options(p + 16, end);
		break;
	case 5:
		require(word_at(p + 8) < *interfaces);
		check_options(p + 20, end);
		break;
	case 6:
		require(word_at(p + 8) < *interfaces);
		require(word_at(p + 20) <= word_at(p + 24));
		check_options(p + 28 + (word_at(p + 20) + 3) / 4 * 4, end);
		break;
	default:
		require(false);
	}
}

static void check_file(void)
{
	off_t size = lseek(out, 0, SEEK_END);
	uint32_t interfaces = 0;
	uint8_t *text = malloc(size ? (size_t)size : 1);

	require(text && pread(out, text, (size_t)size, 0) == size);
	for (off_t pos = 0; pos < size && !file.cfg.classic;) {
		uint32_t len;

		require(size - pos >= 12);
		len = word_at(text + pos + 4);
		require(len % 4 == 0 && len >= 12 && len <= size - pos);
		require(word_at(text + pos + len - 4) == len);
		check_block(text + pos, len, &interfaces);
		pos += len;
	}
	free(text);
}

/* ------------------------------------------------------------------------- reading */
static void begin(void)
{
	static char path[64];
	struct rn_capture_file_cfg cfg = { .path = path,
					   .classic = take8(&script) % 8 == 7,
					   .snaplen = take8(&script) };

	out = memory(0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", out);
	sources = (struct rn_capture_sources){ 0 };
	require(rn_capture_file_open(&file, &cfg, NULL, 0) == 0);
	for (unsigned i = 0; i < PROGRAMS; i++)
		start_program(i);
}

static void act(void)
{
	uint8_t what = take8(&script);
	struct program *p = &programs[what >> 7];

	switch (what % 8) {
	default:
		write_record(p);
		break;
	case 5:
		scribble(p);
		break;
	case 6:
		require(rn_capture_sources_read(&sources, take64(), rn_capture_file_write,
						&file) == 0);
		break;
	case 7:
		rn_capture_sources_end(&sources, what >> 7);
		break;
	}
}

static void finish(void)
{
	uint64_t packets, missed;

	rn_capture_sources_count(&sources, &packets, &missed);
	rn_capture_sources_end_all(&sources);
	/* However much there is said to be: a ring is not read for ever. */
	require(rn_capture_sources_read(&sources, UINT64_MAX, rn_capture_file_write,
					&file) == 0);
	rn_capture_sources_free(&sources);
	require(rn_capture_file_close(&file) == 0);
	check_file();
	close(out);
	for (unsigned i = 0; i < PROGRAMS; i++)
		munmap(programs[i].mem, rn_capture_ring_bytes(SIZE));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	script = (struct script){ data, data + size };
	begin();
	while (!script_is_over(&script))
		act();
	finish();
	return 0;
}
