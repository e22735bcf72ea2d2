/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* stats_pages.c - reads the stats pages of programs. */
#include "stats_pages.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --------------------------------------------------------- one stats page */
/* Decodes the UTF-8 character at @s. Returns its length in bytes; 0 if the bytes there
 * are not a valid character.
 */
static unsigned utf8_len(const unsigned char *s)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned len = s[0] < 0x80 ? 1 : s[0] < 0xc0 ? 0 : s[0] < 0xe0 ? 2 : 3;
	uint32_t code;

	if (s[0] >= 0xf0)
		len = s[0] < 0xf8 ? 4 : 0;
	if (len < 2)
		return len;
	code = s[0] & (0x7fu >> len);
	for (unsigned i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (s[i] & 0x3f);
	}
	/* valid: as short as possible, at most U+10FFFF, and not half of a UTF-16 pair */
	return code >= least[len] && code <= 0x10ffff && code >> 11 != 0x1b ? len : 0;
}

/* Makes a string safe that another program has written: terminates it, and replaces
 * bytes that are no text or that would control a terminal.
 */
static void clean_text(char *text, size_t size)
{
	text[size - 1] = '\0';
	for (unsigned len; *text; text += len) {
		len = utf8_len((const unsigned char *)text);
		if (len && (unsigned char)*text >= ' ' && *text != 0x7f)
			continue;
		*text = '?';
		len = 1;
	}
}

/* The form that records of QPs and of other objects have in common: the first word is 0
 * in a free record.
 */
struct record {
	uint32_t in_use;
	uint8_t rest[68];
};

static_assert(sizeof(struct record) == sizeof(struct rn_stats_qp) &&
		      sizeof(struct record) == sizeof(struct rn_stats_object),
	      "records are read alike");
static_assert(offsetof(struct rn_stats_qp, qpn) == 0 &&
		      offsetof(struct rn_stats_object, kind) == 0,
	      "0 means a free record");

/* Copies the records in use from the file @fd, from the offset @from on. @capacity:
 * number of records according to the page; if that is too large, copying ends at the end
 * of the file. @count: out: number of records copied. Returns NULL if there is not
 * enough memory.
 */
static void *read_records(int fd, off_t from, uint32_t capacity, uint32_t *count)
{
	struct record *rec;
	struct stat st;
	uint64_t room = 0;
	ssize_t n;

	if (fstat(fd, &st) == 0 && st.st_size > from)
		room = (uint64_t)(st.st_size - from) / sizeof(*rec);
	if (room > RN_STATS_RECORDS_MAX)
		room = RN_STATS_RECORDS_MAX;
	if (capacity > room)
		capacity = (uint32_t)room;
	*count = 0;
	rec = calloc(capacity ? capacity : 1, sizeof(*rec));
	if (!rec)
		return NULL;
	n = pread(fd, rec, capacity * sizeof(*rec), from);
	for (size_t i = 0; n > 0 && i < (size_t)n / sizeof(*rec); i++)
		if (rec[i].in_use)
			rec[(*count)++] = rec[i];
	return rec;
}

int rn_stats_read(int fd, struct rn_stats_copy *copy)
{
	struct rn_stats_page *page = &copy->page;
	ssize_t n;

	*copy = (struct rn_stats_copy){ 0 };
	n = pread(fd, page, sizeof(*page), 0);
	if (n < 0)
		return -errno;
	if (n != (ssize_t)sizeof(*page) || page->magic != RN_STATS_PAGE_MAGIC ||
	    page->version != RN_STATS_PAGE_VERSION)
		return -EPROTO;
	clean_text(page->ibdev, sizeof(page->ibdev));
	clean_text(page->comm, sizeof(page->comm));
	copy->counter_count =
		page->counter_count < RN_STAT_COUNT ? page->counter_count : RN_STAT_COUNT;
	copy->qp =
		read_records(fd, RN_STATS_QP_OFFSET, page->qp_capacity, &copy->qp_count);
	copy->object = read_records(fd, RN_STATS_OBJECT_OFFSET, page->object_capacity,
				    &copy->object_count);
	return copy->qp && copy->object ? 0 : -ENOMEM;
}

uint32_t rn_stats_icrc(int fd)
{
	struct rn_stats_page page;
	const size_t len = offsetof(struct rn_stats_page, counter);

	if (fd < 0 || pread(fd, &page, len, 0) != (ssize_t)len ||
	    page.magic != RN_STATS_PAGE_MAGIC || page.version != RN_STATS_PAGE_VERSION)
		return 0;
	return page.icrc;
}

void rn_stats_free(struct rn_stats_copy *copy)
{
	free(copy->qp);
	free(copy->object);
	*copy = (struct rn_stats_copy){ 0 };
}

enum {
	CHUNK = 64, /* number of records that are read at a time: 4.5 KiB */
};

/* Returns the number of QP records that the page @fd has according to its header; 0 if
 * it is not a statistics page.
 */
static uint32_t qp_capacity(int fd)
{
	struct rn_stats_page page;
	const size_t len = offsetof(struct rn_stats_page, pid);

	if (pread(fd, &page, len, 0) != (ssize_t)len ||
	    page.magic != RN_STATS_PAGE_MAGIC || page.version != RN_STATS_PAGE_VERSION)
		return 0;
	return page.qp_capacity < RN_STATS_RECORDS_MAX ? page.qp_capacity
						       : RN_STATS_RECORDS_MAX;
}

/* Reads @n records of QPs from index @first on. Returns how many there were; that is less
 * than @n only at the end of the file.
 */
static uint32_t read_qps(int fd, uint32_t first, uint32_t n, struct rn_stats_qp *to)
{
	ssize_t got = pread(fd, to, n * sizeof(*to),
			    RN_STATS_QP_OFFSET + (off_t)first * (off_t)sizeof(*to));

	return got > 0 ? (uint32_t)((size_t)got / sizeof(*to)) : 0;
}

bool rn_stats_find_qp(int fd, uint32_t qpn, uint32_t *next, uint32_t *left,
		      struct rn_stats_qp *out)
{
	const uint32_t capacity = qp_capacity(fd);
	uint32_t at = *next < capacity ? *next : 0, seen = 0;
	struct rn_stats_qp rec[CHUNK];

	while (seen < capacity && *left) {
		uint32_t n = capacity - (at > seen ? at : seen), got;

		n = n < CHUNK ? n : CHUNK;
		n = n < *left ? n : *left;
		got = read_qps(fd, at, n, rec);
		*left -= n;
		seen += n;
		for (uint32_t i = 0; i < got; i++)
			if (rec[i].qpn == qpn) {
				*out = rec[i];
				*next = at + i + 1;
				return true;
			}
		at = at + n < capacity ? at + n : 0;
	}
	*next = at;
	return false;
}

/* ---------------------------------------------------- stats pages of all programs */
const char *const rn_drop_name[RN_ROCIND_DROP_COUNT] = {
	[RN_ROCIND_DROP_SHORT] = "short",
	[RN_ROCIND_DROP_QP0] = "qp0",
	[RN_ROCIND_DROP_QP1] = "qp1",
	[RN_ROCIND_DROP_RESERVED] = "reserved_qp",
	[RN_ROCIND_DROP_MULTICAST] = "multicast",
	[RN_ROCIND_DROP_UNKNOWN_SLOT] = "unknown_slot",
	[RN_ROCIND_DROP_FOREIGN] = "foreign",
};

static int on_client(void *ctx, const struct rn_rocind_client *c)
{
	struct rn_stats_list *list = ctx;
	struct rn_stats_client *grown =
		reallocarray(list->client, list->count + 1, sizeof(*grown));

	if (!grown) {
		if (c->stats_fd >= 0)
			close(c->stats_fd);
		return -ENOMEM;
	}
	list->client = grown;
	grown += list->count++;
	*grown = (struct rn_stats_client){ .id = *c };
	/* A client whose page cannot be read is listed, too, because it has a slot. */
	if (c->stats_fd >= 0) {
		if (rn_stats_read(c->stats_fd, &grown->copy))
			rn_stats_free(&grown->copy);
		close(c->stats_fd);
	}
	grown->id.stats_fd = -1;
	return 0;
}

int rn_stats_gather(struct rn_rocind *daemon, struct rn_stats_list *list, char *err,
		    size_t err_len)
{
	*list = (struct rn_stats_list){ 0 };
	return rn_rocind_list(daemon, on_client, list, err, err_len);
}

void rn_stats_list_free(struct rn_stats_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		rn_stats_free(&list->client[i].copy);
	free(list->client);
	*list = (struct rn_stats_list){ 0 };
}

const struct rn_stats_client *rn_stats_find(const struct rn_stats_list *list,
					    const struct rn_stats_client *client)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct rn_stats_client *c = &list->client[i];

		if (c->id.pid == client->id.pid && c->id.slot == client->id.slot &&
		    strcmp(c->id.ibdev, client->id.ibdev) == 0)
			return c;
	}
	return NULL;
}
