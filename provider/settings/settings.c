/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* settings.c - reads the ROCIN_* environment variables of the provider. */
#include "settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "provider/persona/persona.h"
#include "transport/io/host/clock.h"
#include "transport/io/host/log.h"

enum {
	KIB = 1024,
	/* window at the start, in bytes: what a receive buffer of the default size
	 * can hold
	 */
	WINDOW_START = 192 * KIB,
	WINDOW_MIN = 64 * KIB, /* minimum window in bytes: one super-packet */
	/* maximum window in bytes; a larger one is no faster on loopback */
	WINDOW_MAX = 1024 * KIB,
	WINDOW_LIMIT = 1 << 30,
	READ_CHUNK_MAX = 256 * KIB,
	/* maximum part of a receive buffer that super-packets in flight may fill,
	 * in sixteenths
	 */
	JOINED_SHARE = 11,
	RCVBUF_LEAST = 64 * KIB, /* smallest receive buffer in bytes: one super-packet */
	RCVBUF_MOST = 1 << 30,
	LINGER_US = 50,
	LINGER_US_MAX = 1000,
	LINE_MIN = 1000, /* lowest rate of a link in kbps */
};

#define PIN_SIZE_MAX (UINT64_C(1) << 40) /* maximum limit on pinned memory in bytes */
#define PIN_PAGE_NS_MAX 1000000

/* highest rate of a link that the core supports, in kbps */
#define LINE_MAX UINT64_C(4000000000)

/* A variable whose value is one of two words, such as "off" and "on". */
struct choice {
	const char *name, *off, *on; /* @off is the default if @preset is false */
	bool preset;
};

static int read_choice(const struct choice *c, bool *value, char *err, size_t err_len)
{
	const char *text = secure_getenv(c->name);

	*value = c->preset;
	if (!text || !*text)
		return 0;
	if (strcmp(text, c->on) == 0)
		*value = true;
	else if (strcmp(text, c->off) == 0)
		*value = false;
	else
		return rn_fail(err, err_len, -EINVAL, "%s is \"%s\"; it may be %s or %s",
			       c->name, text, c->on, c->off);
	return 0;
}

/* Parses a size such as "192K" into *@value, in bytes. Returns the address of the
 * character after it; NULL if there is no number or it is over @max.
 */
static const char *parse_size(const char *s, uint64_t max, uint64_t *value)
{
	unsigned shift = 0;

	if (*s < '0' || *s > '9')
		return NULL;
	for (*value = 0; *s >= '0' && *s <= '9' && *value <= max; s++)
		*value = *value * 10 + (uint64_t)(*s - '0');
	if (*s == 'K')
		shift = 10;
	else if (*s == 'M')
		shift = 20;
	if (shift)
		s++;
	*value <<= shift;
	return *value <= max ? s : NULL;
}

static int read_window(struct rnp_settings *s, char *err, size_t err_len)
{
	const char *text = secure_getenv("ROCIN_WINDOW");
	uint32_t *field[] = { &s->window_start, &s->window_min, &s->window_max };
	const char *at = text;
	uint64_t value = 0;

	s->window_start = WINDOW_START;
	s->window_min = WINDOW_MIN;
	s->window_max = WINDOW_MAX;
	if (!text || !*text)
		return 0;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(field); i++) {
		at = parse_size(at, WINDOW_LIMIT, &value);
		if (!at || value == 0)
			break;
		*field[i] = (uint32_t)value;
		if (*at != ':' || i + 1 == RN_ARRAY_SIZE(field))
			break;
		at++;
	}
	if (!at || *at || value == 0)
		return rn_fail(err, err_len, -EINVAL,
			       "ROCIN_WINDOW is \"%s\"; sizes START[:MIN[:MAX]] such as "
			       "192K:64K:1M are expected",
			       text);
	if (s->window_min > s->window_start)
		s->window_min = s->window_start;
	if (s->window_max < s->window_start)
		s->window_max = s->window_start;
	return 0;
}

static int read_linger(struct rnp_settings *s, char *err, size_t err_len)
{
	const char *text = secure_getenv("ROCIN_LINGER_US");
	uint64_t value = LINGER_US;
	const char *end = "";

	if (text && *text)
		end = parse_size(text, LINGER_US_MAX, &value);
	if (!end || *end)
		return rn_fail(err, err_len, -EINVAL,
			       "ROCIN_LINGER_US is \"%s\"; microseconds from 0 to %d are "
			       "expected",
			       text, LINGER_US_MAX);
	s->linger_ns = RN_USEC((rn_ns)value);
	return 0;
}

static int read_rcvbuf(struct rnp_settings *s, char *err, size_t err_len)
{
	const char *text = secure_getenv("ROCIN_RCVBUF");
	uint64_t value;
	const char *end;

	if (!text || !*text)
		return 0;
	end = parse_size(text, RCVBUF_MOST, &value);
	if (!end || *end || value < RCVBUF_LEAST)
		return rn_fail(err, err_len, -EINVAL,
			       "ROCIN_RCVBUF is \"%s\"; a size from 64K to 1024M is "
			       "expected",
			       text);
	s->rcvbuf = (uint32_t)value;
	return 0;
}

static int read_fault(struct rnp_settings *s, char *err, size_t err_len)
{
	const char *text = secure_getenv("ROCIN_FAULT");
	char why[300];

	if (!text || !*text)
		return 0;
	s->has_fault = true;
	if (rn_fault_read(text, &s->fault, why, sizeof(why)))
		return rn_fail(err, err_len, -EINVAL, "ROCIN_FAULT: %s", why);
	return 0;
}

/* Parses a rate in bits per second, with K, M or G, into *@kbps (kilobits per second).
 * Returns the address of the character after it; NULL if the text is not a rate.
 */
static const char *parse_rate(const char *s, uint32_t *kbps)
{
	static const struct {
		char unit;
		uint64_t kbps;
	} units[] = { { 'K', 1 }, { 'M', 1000 }, { 'G', 1000000 } };
	uint64_t value = 0;

	if (*s < '0' || *s > '9')
		return NULL;
	while (*s >= '0' && *s <= '9' && value <= LINE_MAX)
		value = value * 10 + (uint64_t)(*s++ - '0');
	for (unsigned i = 0; i < RN_ARRAY_SIZE(units); i++) {
		if (*s != units[i].unit)
			continue;
		value *= units[i].kbps;
		*kbps = (uint32_t)value;
		return value >= LINE_MIN && value <= LINE_MAX ? s + 1 : NULL;
	}
	return NULL;
}

static int read_congestion(struct rnp_settings *s, char *err, size_t err_len)
{
	static const char *const modes[] = {
		[RN_CC_OFF] = "off",
		[RN_CC_OBSERVE] = "observe",
		[RN_CC_ON] = "on",
	};
	const char *text = secure_getenv("ROCIN_CC");

	if (!text || !*text)
		return 0;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(modes); i++) {
		const char *end = text + strlen(modes[i]);

		if (strncmp(text, modes[i], strlen(modes[i])) != 0)
			continue;
		s->cc = (enum rn_cc_mode)i;
		if (*end == ':' && i != RN_CC_OFF)
			end = parse_rate(end + 1, &s->cc_line);
		if (end && !*end)
			return 0;
	}
	return rn_fail(
		err, err_len, -EINVAL,
		"ROCIN_CC is \"%s\"; off, on or observe is expected, the latter two "
		"with :RATE of the link if known, such as on:25G",
		text);
}

static const char *read_text(const char *name)
{
	const char *text = secure_getenv(name);

	return text && *text ? text : NULL;
}

static int read_local(struct rnp_settings *s, char *err, size_t err_len)
{
	static const char *const words[] = {
		[RNP_LOCAL_OFF] = "off",
		[RNP_LOCAL_AUTO] = "auto",
		[RNP_LOCAL_NO_ICRC] = "no-icrc",
	};
	const char *text = secure_getenv("ROCIN_LOCAL");
	unsigned i = RNP_LOCAL_AUTO;

	if (text && *text)
		for (i = 0; i < RN_ARRAY_SIZE(words) && strcmp(text, words[i]) != 0;)
			i++;
	if (i == RN_ARRAY_SIZE(words))
		return rn_fail(err, err_len, -EINVAL,
			       "ROCIN_LOCAL is \"%s\"; it may be auto, off or no-icrc",
			       text);
	s->local = (enum rnp_local)i;
	/* If the run is recorded, packets between processes of this machine have ICRCs,
	 * too, as on a network.
	 */
	if (s->local == RNP_LOCAL_NO_ICRC && read_text("ROCIN_RECORD"))
		s->local = RNP_LOCAL_AUTO;
	return 0;
}

static int read_io(struct rnp_settings *s, char *err, size_t err_len)
{
	static const struct {
		const char *name;
		enum rnp_io io;
	} words[] = {
		/* no measured workload is faster with io_uring */
		{ "auto", RNP_IO_EPOLL },
		{ "epoll", RNP_IO_EPOLL },
		{ "uring", RNP_IO_URING },
	};
	const char *text = secure_getenv("ROCIN_IO");

	if (!text || !*text)
		return 0;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(words); i++) {
		if (strcmp(text, words[i].name) == 0) {
			s->io = words[i].io;
			return 0;
		}
	}
	return rn_fail(err, err_len, -EINVAL,
		       "ROCIN_IO is \"%s\"; it may be auto, epoll or uring", text);
}

static int read_cpu(struct rnp_settings *s, char *err, size_t err_len)
{
	const char *text = read_text("ROCIN_CPU");
	int rc = rn_cpu_read(text, &s->cpu);

	if (rc == -ENOTSUP)
		return rn_fail(
			err, err_len, -EINVAL,
			"ROCIN_CPU is %s, which this processor does not have; it may "
			"be %s at most",
			text, rn_cpu_name(rn_cpu_best()));
	if (rc)
		return rn_fail(
			err, err_len, -EINVAL,
			"ROCIN_CPU is \"%s\"; it may be auto, scalar, avx2 or avx512",
			text);
	return 0;
}

/* Parses one word of ROCIN_PIN: "limit", "limit:SIZE" or "cost:NS". Returns the address
 * of the character after the word; NULL if the text is none of these, or if it repeats a
 * word.
 */
static const char *parse_pin_word(const char *at, struct rnp_settings *s)
{
	uint64_t cost = 0;

	if (strncmp(at, "cost:", strlen("cost:")) == 0 && !s->pin_page_ns) {
		at = parse_size(at + strlen("cost:"), PIN_PAGE_NS_MAX, &cost);
		s->pin_page_ns = (uint32_t)cost;
		return cost ? at : NULL;
	}
	if (strncmp(at, "limit", strlen("limit")) != 0 || s->pin_limited)
		return NULL;
	at += strlen("limit");
	s->pin_limited = true;
	s->pin_has_size = *at == ':';
	return s->pin_has_size ? parse_size(at + 1, PIN_SIZE_MAX, &s->pin_size) : at;
}

static int read_pin(struct rnp_settings *s, char *err, size_t err_len)
{
	const char *text = read_text("ROCIN_PIN");
	const char *at = text;

	if (!text || strcmp(text, "off") == 0)
		return 0;
	do
		at = parse_pin_word(at, s);
	while (at && *at++ == ',');
	if (at && !at[-1])
		return 0;
	return rn_fail(
		err, err_len, -EINVAL,
		"ROCIN_PIN is \"%s\"; off is expected, or limit[:SIZE] and cost:NS "
		"separated by a comma, SIZE in bytes, K or M",
		text);
}

int rnp_settings_read(struct rnp_settings *s, char *err, size_t err_len)
{
	static const struct choice gso = { "ROCIN_GSO", "off", "on", true };
	static const struct choice icrc = { "ROCIN_ICRC", "solve", "exact", false };
	static const struct choice credits = { "ROCIN_CREDITS", "off", "on", false };
	int rc;

	*s = (struct rnp_settings){ .netdevs = read_text("ROCIN_NETDEVS"),
				    .pcap = read_text("ROCIN_PCAP"),
				    .pcie = read_text("ROCIN_PCIE"),
				    .tree = read_text("ROCIN_TREE") };
	rc = read_choice(&gso, &s->gso, err, err_len);
	if (!rc)
		rc = read_choice(&icrc, &s->icrc_exact, err, err_len);
	if (!rc)
		rc = read_choice(&credits, &s->credits, err, err_len);
	if (!rc)
		rc = read_local(s, err, err_len);
	if (!rc)
		rc = read_io(s, err, err_len);
	if (!rc)
		rc = read_cpu(s, err, err_len);
	if (!rc)
		rc = read_fault(s, err, err_len);
	if (!rc)
		rc = read_congestion(s, err, err_len);
	if (!rc)
		rc = read_linger(s, err, err_len);
	if (!rc)
		rc = read_rcvbuf(s, err, err_len);
	if (!rc)
		rc = rn_timeout_scale_read(&s->timeout_scale, err, err_len);
	if (!rc)
		rc = read_window(s, err, err_len);
	if (!rc)
		rc = read_pin(s, err, err_len);
	if (!rc)
		rc = rnp_persona_read(&s->persona, err, err_len);
	return rc;
}

static uint32_t at_most(uint32_t value, uint32_t limit)
{
	return value < limit ? value : limit;
}

static uint32_t at_least(uint32_t value, uint32_t limit)
{
	return value > limit ? value : limit;
}

struct rnp_budget rnp_settings_budget(const struct rnp_settings *s, uint32_t rcvbuf,
				      uint32_t mtu)
{
	uint32_t half = at_least(rcvbuf / 2, mtu);
	uint32_t most = at_least(s->gso ? rcvbuf / 16 * JOINED_SHARE : half, mtu);
	struct rnp_budget b;

	/* The size of the peer's receive buffer is not known. It is assumed to be the
	 * size of this device's buffer, which it mostly is.
	 */
	b.window_max = at_least(at_most(s->window_max, most), mtu);
	b.window_start = at_least(at_most(s->window_start, b.window_max), mtu);
	b.window_min = at_least(at_most(s->window_min, b.window_start), mtu);
	b.read_window = at_most(half, s->window_max);
	b.read_window = at_least(b.read_window, mtu);
	b.read_chunk = at_most(READ_CHUNK_MAX, b.read_window / 2);
	b.read_chunk = at_least(b.read_chunk - b.read_chunk % mtu, mtu);
	return b;
}
