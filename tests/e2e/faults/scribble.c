/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* scribble.c - a hostile process: maps the local wires of another process and writes
 * random data to them until that process has ended or has no more wires.
 *
 * usage: scribble WHAT SEED PID
 *
 * WHAT is "all" or one of:
 *
 *	payload		bytes anywhere in the data of the rings
 *	records		the first words of what may be records
 *	control		tails and heads, and what a ring begins with
 *	closed		the words by which an end says that it stops
 *	doorbell	the pages by which sleepers are woken
 *	capture		anything in the rings by which packets go to a capture
 *	stats		anything in the pages of counters and records
 *	board		anything in the board of rdma_cm ids, which must be refused
 *
 * The last three are not in "all". Ends with 77 where one process may not map what
 * another has mapped, with 3 if the process has no such memory, or has ended, and with 1
 * if the board was not refused.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
	MAPS_MAX = 64,
	/* bytes of the control page at the start of each ring (transport/io/shm/ring.h)
	 */
	CONTROL = 4096,
	LINE = 64,    /* records begin at multiples of this number of bytes */
	WRITES = 8,   /* maximum number of writes at a time */
	TOO_LATE = 3, /* exit status if the process has ended, or has no such memory */
};

#define WAIT_NS 200000 /* maximum time in ns between two groups of writes */

enum mode {
	PAYLOAD,
	RECORDS,
	CONTROL_PAGE,
	CLOSED,
	DOORBELL,
	MODES,
	CAPTURE, /* this mode and the following ones are not part of "all" */
	STATS,
	BOARD,
};

static const char *const mode_name[MODES] = {
	[PAYLOAD] = "payload", [RECORDS] = "records",	[CONTROL_PAGE] = "control",
	[CLOSED] = "closed",   [DOORBELL] = "doorbell",
};

struct map {
	volatile uint8_t *mem;
	size_t len;
	bool is_wire; /* false: the map is a doorbell page; true: it is other memory */
};

static struct map maps[MAPS_MAX];
static unsigned map_count, wires;
static const char *wanted = "memfd:rocin-wire";
static uint64_t state;

static uint64_t next_random(void)
{
	state += UINT64_C(0x9e3779b97f4a7c15);
	uint64_t z = (state ^ state >> 30) * UINT64_C(0xbf58476d1ce4e5b9);

	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* Maps a range of the process's memory. Returns false if the system does not permit it.
 */
static bool map_range(const char *pid, const char *range, size_t len, bool is_wire)
{
	char path[128];
	void *mem;
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/map_files/%s", pid, range);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		/* other errors: the range was unmapped a moment ago */
		return errno != EPERM && errno != EACCES;
	mem = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (mem == MAP_FAILED)
		return false;
	maps[map_count++] = (struct map){ mem, len, is_wire };
	wires += is_wire;
	return true;
}

static bool map_all(const char *pid)
{
	char path[64], line[512], range[64];
	bool ok = true;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/maps", pid);
	f = fopen(path, "re");
	if (!f)
		return true;
	while (ok && map_count < MAPS_MAX && fgets(line, sizeof(line), f)) {
		bool is_wire = strstr(line, wanted);
		uint64_t from, to;

		if ((!is_wire && !strstr(line, "memfd:rocin-doorbell")) ||
		    sscanf(line, "%" SCNx64 "-%" SCNx64, &from, &to) != 2)
			continue;
		snprintf(range, sizeof(range), "%" PRIx64 "-%" PRIx64, from, to);
		ok = map_range(pid, range, to - from, is_wire);
	}
	fclose(f);
	return ok;
}

/* Returns a wrong word. Many of the words are almost right, because these do more harm.
 */
static uint64_t rubbish(uint64_t was)
{
	switch (next_random() % 6) {
	case 0:
		return next_random();
	case 1:
		return was + LINE * (next_random() % 64);
	case 2:
		return was - LINE * (next_random() % 64);
	case 3:
		return was ^ UINT64_C(1) << next_random() % 64;
	case 4:
		return 0;
	default:
		return UINT64_MAX - next_random() % 4;
	}
}

static void write_word(const struct map *m, size_t at)
{
	volatile uint64_t *word = (volatile uint64_t *)(m->mem + (at & ~(size_t)7));

	*word = rubbish(*word);
}

/* Returns a position in the data of one of the two rings. Most positions are in the first
 * part, which is in use.
 */
static size_t data_place(const struct map *m)
{
	size_t ring = m->len / 2, room = ring - CONTROL;

	if (next_random() % 4)
		room = 16 << 10;
	return next_random() % 2 * ring + CONTROL + next_random() % room;
}

/* Writes to the ring of a capture: mostly to its records, rarely to the words of both
 * ends, so that records are exchanged in between.
 */
static bool scribble_capture(const struct map *m)
{
	static const uint16_t control[] = { 0, 8, 128, 256 };

	if (next_random() % 64 == 0)
		write_word(m, control[next_random() % 4]);
	else
		write_word(m, CONTROL + next_random() % (16 << 10));
	return true;
}

/* Writes to a statistics page: its counters, and the words that describe its contents. */
static bool scribble_stats(const struct map *m)
{
	size_t room = next_random() % 4 ? 256 : 16 << 10;

	write_word(m, next_random() % (room < m->len ? room : m->len));
	return true;
}

/* Writes once to a map. Returns false if the map has no place for this mode. */
static bool scribble_once(const struct map *m, enum mode mode)
{
	static const uint16_t control[] = { 0, 8, 128, 256 }, closed[] = { 136, 264 };
	size_t ring = next_random() % 2 * (m->len / 2);

	if (m->is_wire == (mode == DOORBELL))
		return false;
	if (mode == CAPTURE)
		return scribble_capture(m);
	if (mode == STATS)
		return scribble_stats(m);
	switch (mode) {
	case PAYLOAD:
		m->mem[data_place(m)] ^= (uint8_t)(1 + next_random() % 255);
		break;
	case RECORDS:
		write_word(m,
			   (data_place(m) & ~(size_t)(LINE - 1)) + next_random() % 2 * 8);
		break;
	case CONTROL_PAGE:
		write_word(m, ring + control[next_random() % 4]);
		break;
	case CLOSED:
		write_word(m, ring + closed[next_random() % 2]);
		break;
	case DOORBELL:
	case MODES:
	case CAPTURE:
	case STATS:
	case BOARD:
		write_word(m, next_random() % 2 * 128 + next_random() % 16);
		break;
	}
	return true;
}

static bool is_alive(const char *pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%s/maps", pid);
	return access(path, R_OK) == 0;
}

/* Parses the mode. The modes that are not part of "all" use memory with another name. */
static bool parse_mode(const char *word, enum mode *mode)
{
	static const struct {
		const char *word, *name;
		enum mode mode;
	} others[] = {
		{ "capture", "memfd:rocin-capture", CAPTURE },
		{ "stats", "memfd:rocin-stats", STATS },
		{ "board", "memfd:rocin-cm-board", BOARD },
	};

	for (*mode = 0; *mode < MODES; (*mode)++)
		if (strcmp(word, mode_name[*mode]) == 0)
			return true;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (strcmp(word, others[i].word) != 0)
			continue;
		*mode = others[i].mode;
		wanted = others[i].name;
		return true;
	}
	return strcmp(word, "all") == 0; /* "all" is the value MODES */
}

/* Checks that the process has a board of rdma_cm ids which this process cannot map for
 * writing.
 */
static int try_board(const char *pid)
{
	bool is_mapped = map_all(pid);

	if (wires == 0 && is_mapped) {
		fprintf(stderr, "process %s has no board\n", pid);
		return TOO_LATE;
	}
	printf(is_mapped ? "the board can be written\n" : "the board is refused\n");
	return is_mapped;
}

int main(int argc, char **argv)
{
	uint64_t writes = 0;
	enum mode mode;

	if (argc != 4 || !parse_mode(argv[1], &mode)) {
		fprintf(stderr, "usage: scribble MODE SEED PID\n");
		return 64;
	}
	state = strtoull(argv[2], NULL, 0);
	if (mode == BOARD)
		return try_board(argv[3]);
	if (!map_all(argv[3]))
		return 77;
	if (wires == 0) {
		fprintf(stderr, "process %s has no such memory\n", argv[3]);
		return TOO_LATE;
	}
	while (is_alive(argv[3])) {
		struct timespec wait = { .tv_nsec = (long)(next_random() % WAIT_NS) };

		for (uint64_t n = next_random() % WRITES; n > 0;) {
			enum mode now = mode == MODES ? next_random() % MODES : mode;

			if (!scribble_once(&maps[next_random() % map_count], now))
				continue;
			n--;
			writes++;
		}
		nanosleep(&wait, NULL);
	}
	printf("%" PRIu64 " writes to %u of %s\n", writes, wires, wanted);
	return 0;
}
