/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* knobs.c - the knobs of the model: their table, the presets of the modes, parsing
 * and formatting of MODE[,KNOB=VALUE]..., and the check for contradictions.
 */
#include "knobs.h"

#include <errno.h>
#include <string.h>

enum {
	/* Highest value of the knob mtt.cache, in translations: those of 128 MiB of
	 * memory. Caches of hardware are not much larger, and simulated programs register
	 * so little memory that a larger cache would behave like `inf'.
	 */
	MTT_CACHE_MAX = 32768,
	/* Highest value of the knob for the time that a NIC needs to read a translation,
	 * in ns. The thread of the program that makes the access sleeps for that long.
	 */
	MISS_MAX_NS = 1000 * 1000,
	/* maximum number of bytes of a wrong word that an error text quotes */
	SHOWN_MAX = 40,
	/* longest word in bytes; the longest valid word is replay=FILE */
	WORD_MAX = sizeof(((struct rn_pcie_knobs *)0)->replay) + sizeof("replay=") - 1,
};

/* ---- Words to values; these functions return false if a word is not valid ---- */
static bool is_blank(char c)
{
	return rn_char_is_blank(c) || c == '\n';
}

/* Returns @w without leading and trailing blanks. */
static struct rn_token trim_word(struct rn_token w)
{
	while (w.len > 0 && is_blank(w.at[0])) {
		w.at++;
		w.len--;
	}
	while (w.len > 0 && is_blank(w.at[w.len - 1]))
		w.len--;
	return w;
}

struct rn_token rn_token_cut(struct rn_token *text, char mark)
{
	struct rn_token before = *text;
	const char *at = text->len ? memchr(text->at, mark, text->len) : NULL;

	if (!at) {
		*text = (struct rn_token){ NULL, 0 };
		return before;
	}
	before.len = (size_t)(at - text->at);
	text->at = at + 1;
	text->len -= before.len + 1;
	return before;
}

/* Appends the word in quotes to an error text. Unprintable bytes are replaced by '?', and
 * a long word is cut.
 */
static void add_word(struct rn_text *t, struct rn_token w)
{
	size_t shown = w.len < SHOWN_MAX ? w.len : SHOWN_MAX;

	rn_text_char(t, '"');
	for (size_t i = 0; i < shown; i++) {
		char c = w.at[i];

		rn_text_char(t, (char)(c >= ' ' && c <= '~' ? c : '?'));
	}
	rn_text_add(t, shown < w.len ? "...\"" : "\"");
}

/* Finds word @w in a list such as "none|owner|all", and sets *@out to its index, from 0.
 * Returns false if it is not in the list.
 */
static bool word_to_choice(struct rn_token w, const char *choices, uint64_t *out)
{
	struct rn_token left = { choices, strlen(choices) };

	for (uint64_t n = 0; left.at; n++) {
		struct rn_token choice = rn_token_cut(&left, '|');

		if (choice.len == w.len && memcmp(choice.at, w.at, w.len) == 0) {
			*out = n;
			return true;
		}
	}
	return false;
}

/* Returns the word at index @n of a list of choices; empty if the list is shorter. */
static struct rn_token choice_name(const char *choices, uint64_t n)
{
	struct rn_token left = { choices, strlen(choices) }, name = { choices, 0 };

	for (uint64_t i = 0; i <= n; i++) {
		if (!left.at)
			return (struct rn_token){ choices, 0 };
		name = rn_token_cut(&left, '|');
	}
	return name;
}

/* Reads a decimal number, or a hexadecimal number after 0x. Returns false on other text.
 */
static bool word_to_number(struct rn_token w, uint64_t *out)
{
	bool hex = w.len > 2 && w.at[0] == '0' && (w.at[1] == 'x' || w.at[1] == 'X');

	if (hex)
		return rn_token_digits((struct rn_token){ w.at + 2, w.len - 2 }, 16, out);
	return rn_token_digits(w, 10, out);
}

static bool multiply(uint64_t value, uint64_t by, uint64_t *out)
{
	if (value > UINT64_MAX / by)
		return false;
	*out = value * by;
	return true;
}

/* Reads a number with or without a suffix K, M, G or T (powers of 1024). */
static bool word_to_size(struct rn_token w, uint64_t *out)
{
	static const char units[] = { 'K', 'M', 'G', 'T' };
	const char *unit = w.len ? memchr(units, w.at[w.len - 1], sizeof(units)) : NULL;
	uint64_t value;

	if (!unit)
		return word_to_number(w, out);
	w.len--;
	return rn_token_digits(w, 10, &value) &&
	       multiply(value, UINT64_C(1) << 10 * (unit - units + 1), out);
}

/* Units of time, the largest first. */
static const struct {
	const char *name;
	uint64_t ns;
} time_units[] = { { "s", 1000000000 }, { "ms", 1000000 }, { "us", 1000 }, { "ns", 1 } };

/* Reads a decimal number with the suffix ns, us, ms or s, and sets *@out to the time in
 * ns. Returns false on other text.
 */
static bool word_to_time(struct rn_token w, uint64_t *out)
{
	size_t digits = 0;
	uint64_t value;

	while (digits < w.len && rn_char_is_digit(w.at[digits]))
		digits++;
	if (!rn_token_digits((struct rn_token){ w.at, digits }, 10, &value))
		return false;
	w.at += digits;
	w.len -= digits;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(time_units); i++)
		if (rn_token_is(w, time_units[i].name))
			return multiply(value, time_units[i].ns, out);
	return false;
}

/* Reads the value of the knob hold. */
static bool word_to_hold(struct rn_token w, uint64_t *out)
{
	if (rn_token_is(w, "inf") || rn_token_is(w, "event")) {
		*out = rn_token_is(w, "inf") ? 0 : RN_PCIE_HOLD_EVENT;
		return true;
	}
	return word_to_time(w, out) && *out != 0 && *out != RN_PCIE_HOLD_EVENT;
}

/* Adds a time to the text, in the largest unit that needs no fraction, in the form that
 * word_to_time() reads.
 */
static void add_time(struct rn_text *t, uint64_t ns)
{
	unsigned i = 0;

	while (ns % time_units[i].ns != 0)
		i++;
	rn_text_number(t, ns / time_units[i].ns);
	rn_text_add(t, time_units[i].name);
}

/* ---- Modes and their presets ---- */
static const char *const mode_names[RN_PCIE_MODE_COUNT] = {
	[RN_PCIE_STRICT] = "strict",
	[RN_PCIE_IBTA] = "ibta",
	[RN_PCIE_TYPICAL] = "typical",
	[RN_PCIE_ADVERSARIAL] = "adversarial",
};

const char *rn_pcie_mode_name(enum rn_pcie_mode mode)
{
	return (unsigned)mode < RN_PCIE_MODE_COUNT ? mode_names[mode] : "?";
}

static const struct rn_pcie_knobs common = {
	.place = RN_PLACE_NOW,
	.reads = RN_READS_SERIAL,
	.nic_queues = RN_NIC_SHARED,
	.p2p = RN_P2P_SHARED,
	.gpu_ordering = RN_GPU_ORDER_OWNER,
	.gpu_link = RN_GPU_PCIE,
	.atomic = RN_ATOMIC_BY_NIC,
	.ack = RN_ACK_EARLY,
	.relaxed = RN_RELAXED_REGISTERED,
	.driver = RN_DRIVER_RANDOM,
	.cpu = RN_CPU_TSO,
	.granule = 64,
	.max_payload = 256,
	.seed = 1,
	.hold_ns = 2000000,
	.hold_polls = 1000,
};

void rn_pcie_preset(struct rn_pcie_knobs *k, enum rn_pcie_mode mode)
{
	*k = common;
	k->mode = mode;
	switch (mode) {
	case RN_PCIE_STRICT:
		return;
	case RN_PCIE_IBTA:
		k->place = RN_PLACE_MSG;
		return;
	case RN_PCIE_TYPICAL:
		k->place = RN_PLACE_PCIE;
		k->reads = RN_READS_PIPELINED;
		return;
	case RN_PCIE_ADVERSARIAL:
		k->place = RN_PLACE_ANY;
		k->reads = RN_READS_PIPELINED;
		k->nic_queues = RN_NIC_PERQP;
		k->p2p = RN_P2P_SPLIT;
		k->gpu_ordering = RN_GPU_ORDER_NONE;
		k->ooo = true;
		k->driver = RN_DRIVER_ADVERSARIAL;
		k->hold_ns = RN_PCIE_HOLD_EVENT;
		return;
	case RN_PCIE_MODE_COUNT:
		break;
	}
	assert(!"mode");
}

/* ---- The table of knobs ---- */
/* How the value of a knob is stored and written. */
enum form {
	/* Stored as an enum, whose values count from 0. Written as the word of
	 * rn_pcie_knob.values that has this index.
	 */
	CHOICE,
	SWITCH,	      /* stored as bool, written as 0 or 1 */
	POWER_OF_TWO, /* stored as uint32_t; a power of two from min to max */
	NUMBER,	      /* stored as uint64_t; any number from min to max */
	SIZE_OR_ALL,  /* stored as uint64_t; `all` is stored as 0 */
	TIME,	      /* a time in ns, stored as uint64_t */
	/* Stored as uint64_t; `inf` is stored as 0, `event` as RN_PCIE_HOLD_EVENT. */
	TIME_OR_WORD,
	COUNT_OR_INF, /* stored as uint32_t; `inf` is stored as 0 */
	FILE_NAME,
};

struct row {
	enum form form;
	uint16_t offset;
	uint16_t min, max;
	/* A knob may have a second name (alias). This is the list of values that may be
	 * written after that name. NULL: the same values as after the first name.
	 */
	const char *alias_values;
	/* How error texts describe the values, in words that follow the name ("granule is
	 * ..."). NULL: the error text lists the values.
	 */
	const char *what;
};

enum {
	KNOB_PLACE,
	KNOB_READS,
	KNOB_NIC_QUEUES,
	KNOB_P2P,
	KNOB_GPU_ORDERING,
	KNOB_GPU_LINK,
	KNOB_ATOMIC,
	KNOB_ACK,
	KNOB_OOO,
	KNOB_RELAXED,
	KNOB_GRANULE,
	KNOB_CPU,
	KNOB_IDO,
	KNOB_MAX_PAYLOAD,
	KNOB_BAR,
	KNOB_DRIVER,
	KNOB_SEED,
	KNOB_HOLD,
	KNOB_HOLD_POLLS,
	KNOB_NIC_WQE,
	KNOB_MTT_CACHE,
	KNOB_MTT_TABLE,
	KNOB_MTT_MISS,
	KNOB_REPLAY,
	KNOB_RECORD,
	KNOB_COUNT,
};

/* clang-format off */
const struct rn_pcie_knob rn_pcie_knob_list[KNOB_COUNT + 1] = {
	[KNOB_PLACE] = { "place", NULL, "now|pcie|msg|any",
		"order among data writes: none is delayed, PCIe's, free in a message, free" },
	[KNOB_READS] = { "rr", NULL, "serial|pipelined",
		"READs of one QP at the responder: one after the other, or overlapping" },
	[KNOB_NIC_QUEUES] = { "nic.queues", "nicq", "shared|perqp",
		"do the QPs of a NIC share their way out?" },
	[KNOB_P2P] = { "rc.p2p", "ports", "shared|split|deny",
		"device to device: below one switch, through two root ports, not at all" },
	[KNOB_GPU_ORDERING] = { "gpu.ordering", "gpu", "none|owner|all",
		"who sees the writes of other devices to a GPU in order" },
	[KNOB_GPU_LINK] = { "gpu.link", "c2c", "pcie|c2c",
		"between CPU and GPU: PCIe, or a coherent link" },
	[KNOB_ATOMIC] = { "atomic", NULL, "hca|pcie",
		"atomics: by the NIC under its lock, or as AtomicOp TLPs" },
	[KNOB_ACK] = { "ack", "ackearly", "early|placed",
		"acknowledge a WRITE on arrival, or when its bytes are in memory" },
	[KNOB_OOO] = { "nic.ooo", "ooo", "0|1",
		"may packets of a WRITE be placed out of order?" },
	[KNOB_RELAXED] = { "mr.relaxed", NULL, "registered|force|ignore",
		"data with RO: of MRs registered so, of all, of none" },
	[KNOB_GRANULE] = { "granule", NULL, "8..4096",
		"bytes that become visible together" },
	[KNOB_CPU] = { "cpu", NULL, "tso|sc|pso",
		"memory model of the CPUs; explorer of litmus tests only" },
	[KNOB_IDO] = { "ido", NULL, "0|1",
		"do the NIC's TLPs carry ID-based ordering?" },
	[KNOB_MAX_PAYLOAD] = { "max_payload", NULL, "128..4096",
		"bytes of a TLP at most" },
	[KNOB_BAR] = { "bar", NULL, "BYTES|all",
		"bytes of a GPU that other devices reach" },
	[KNOB_DRIVER] = { "driver", NULL, "random|adversarial|replay",
		"who chooses the next TLP that moves" },
	[KNOB_SEED] = { "seed", NULL, "NUMBER", "of the random driver" },
	[KNOB_HOLD] = { "hold", NULL, "TIME|event|inf",
		"until when a TLP is held: 2ms, what the rules name, for ever" },
	[KNOB_HOLD_POLLS] = { "hold.polls", NULL, "COUNT|inf",
		"nor for more polls that find nothing" },
	[KNOB_NIC_WQE] = { "nic.wqe", NULL, "given|fetched|blueflame",
		"WQEs: from the call, read behind a doorbell, or carried by it if short" },
	[KNOB_MTT_CACHE] = { "mtt.cache", NULL, "COUNT|inf",
		"translations of pages that a NIC keeps; it reads the others" },
	[KNOB_MTT_TABLE] = { "mtt.table", NULL, "flat|tree",
		"a translation is one read, or a second one says where it is" },
	[KNOB_MTT_MISS] = { "mtt.miss", NULL, "TIME",
		"what reading a translation costs, such as 500ns" },
	[KNOB_REPLAY] = { "replay", NULL, "FILE", "choices for driver=replay" },
	[KNOB_RECORD] = { "record", NULL, "FILE", "where choices are written to" },
	[KNOB_COUNT] = { NULL, NULL, NULL, NULL },
};

#define AT(field) offsetof(struct rn_pcie_knobs, field)
#define FILE_NAME_IS \
	"a file name of 1 to 255 characters, none of them a comma, '#' or a control " \
	"character"

static const struct row rows[KNOB_COUNT] = {
	[KNOB_PLACE]	    = { .form = CHOICE, .offset = AT(place) },
	[KNOB_READS]	    = { .form = CHOICE, .offset = AT(reads) },
	[KNOB_NIC_QUEUES]   = { .form = CHOICE, .offset = AT(nic_queues) },
	[KNOB_P2P]	    = { .form = CHOICE, .offset = AT(p2p),
				.alias_values = "same|split|deny" },
	[KNOB_GPU_ORDERING] = { .form = CHOICE, .offset = AT(gpu_ordering) },
	[KNOB_GPU_LINK]	    = { .form = CHOICE, .offset = AT(gpu_link),
				.alias_values = "0|1" },
	[KNOB_ATOMIC]	    = { .form = CHOICE, .offset = AT(atomic) },
	[KNOB_ACK]	    = { .form = CHOICE, .offset = AT(ack),
				.alias_values = "1|0" },
	[KNOB_OOO]	    = { .form = SWITCH, .offset = AT(ooo) },
	[KNOB_RELAXED]	    = { .form = CHOICE, .offset = AT(relaxed) },
	[KNOB_GRANULE]	    = { .form = POWER_OF_TWO, .offset = AT(granule),
				.min = 8, .max = 4096,
				.what = "a power of two from 8 to 4096" },
	[KNOB_CPU]	    = { .form = CHOICE, .offset = AT(cpu) },
	[KNOB_IDO]	    = { .form = SWITCH, .offset = AT(ido) },
	[KNOB_MAX_PAYLOAD]  = { .form = POWER_OF_TWO, .offset = AT(max_payload),
				.min = 128, .max = 4096,
				.what = "a power of two from 128 to 4096" },
	[KNOB_BAR]	    = { .form = SIZE_OR_ALL, .offset = AT(bar_size),
				.what = "a number of bytes above 0, such as 256M, or all" },
	[KNOB_DRIVER]	    = { .form = CHOICE, .offset = AT(driver) },
	[KNOB_SEED]	    = { .form = NUMBER, .offset = AT(seed),
				.what = "a number of up to 64 bits" },
	[KNOB_HOLD]	    = { .form = TIME_OR_WORD, .offset = AT(hold_ns),
				.what = "a time above 0, such as 500us or 2ms, event, or inf" },
	[KNOB_HOLD_POLLS]   = { .form = COUNT_OR_INF, .offset = AT(hold_polls),
				.what = "a number from 1 to 4294967295, or inf" },
	[KNOB_NIC_WQE]	    = { .form = CHOICE, .offset = AT(nic_wqe) },
	[KNOB_MTT_CACHE]    = { .form = COUNT_OR_INF, .offset = AT(mtt_cache),
				.max = MTT_CACHE_MAX,
				.what = "a number of pages from 1 to 32768, or inf" },
	[KNOB_MTT_TABLE]    = { .form = CHOICE, .offset = AT(mtt_table) },
	[KNOB_MTT_MISS]	    = { .form = TIME, .offset = AT(mtt_miss_ns),
				.what = "a time of 1ms at most, such as 500ns" },
	[KNOB_REPLAY]	    = { .form = FILE_NAME, .offset = AT(replay),
				.what = FILE_NAME_IS },
	[KNOB_RECORD]	    = { .form = FILE_NAME, .offset = AT(record),
				.what = FILE_NAME_IS },
};
/* clang-format on */

static_assert(sizeof(enum rn_place) == sizeof(uint32_t), "enums are kept in 32 bits");
static_assert(sizeof(bool) == 1, "and switches in 8");

static_assert(sizeof(common.replay) == sizeof(common.record), "of one length");

static char *file_name(struct rn_pcie_knobs *k, unsigned knob)
{
	return (char *)k + rows[knob].offset;
}

static const char *const_file_name(const struct rn_pcie_knobs *k, unsigned knob)
{
	return (const char *)k + rows[knob].offset;
}

static size_t width_of(enum form form)
{
	switch (form) {
	case SWITCH:
		return sizeof(bool);
	case NUMBER:
	case SIZE_OR_ALL:
	case TIME:
	case TIME_OR_WORD:
		return sizeof(uint64_t);
	case CHOICE:
	case POWER_OF_TWO:
	case COUNT_OR_INF:
		return sizeof(uint32_t);
	case FILE_NAME:
		break;
	}
	assert(!"form of a number");
	return 0;
}

static uint64_t get_field(const struct rn_pcie_knobs *k, const struct row *row)
{
	const char *at = (const char *)k + row->offset;
	uint64_t v64;
	uint32_t v32;
	uint8_t v8;

	switch (width_of(row->form)) {
	case sizeof(v8):
		memcpy(&v8, at, sizeof(v8));
		return v8;
	case sizeof(v32):
		memcpy(&v32, at, sizeof(v32));
		return v32;
	default:
		memcpy(&v64, at, sizeof(v64));
		return v64;
	}
}

static void set_field(struct rn_pcie_knobs *k, const struct row *row, uint64_t value)
{
	char *at = (char *)k + row->offset;
	uint32_t v32 = (uint32_t)value;
	uint8_t v8 = (uint8_t)value;

	switch (width_of(row->form)) {
	case sizeof(v8):
		memcpy(at, &v8, sizeof(v8));
		return;
	case sizeof(v32):
		memcpy(at, &v32, sizeof(v32));
		return;
	default:
		memcpy(at, &value, sizeof(value));
	}
}

/* ---- Values of knobs ---- */
static bool is_file_name(struct rn_token w)
{
	if (w.len == 0 || w.len >= sizeof(common.replay))
		return false;
	for (size_t i = 0; i < w.len; i++)
		if ((unsigned char)w.at[i] < ' ' || w.at[i] == 0x7f || w.at[i] == ',' ||
		    w.at[i] == '#')
			return false;
	return true;
}

/* Returns true if @value is in the range of the knob. */
static bool is_in_range(unsigned knob, uint64_t value)
{
	const struct row *row = &rows[knob];

	switch (row->form) {
	case CHOICE:
	case SWITCH:
		return choice_name(rn_pcie_knob_list[knob].values, value).len > 0;
	case POWER_OF_TWO:
		return value >= row->min && value <= row->max &&
		       (value & (value - 1)) == 0;
	case COUNT_OR_INF:
		return value <= (row->max ? row->max : UINT32_MAX);
	case TIME:
		return value <= MISS_MAX_NS;
	case NUMBER:
	case SIZE_OR_ALL:
	case TIME_OR_WORD:
		return true;
	case FILE_NAME:
		break;
	}
	assert(!"form of a number");
	return false;
}

static bool read_number(unsigned knob, const char *choices, struct rn_token w,
			uint64_t *value)
{
	switch (rows[knob].form) {
	case CHOICE:
	case SWITCH:
		return word_to_choice(w, choices, value);
	case POWER_OF_TWO:
	case NUMBER:
		return word_to_number(w, value);
	case SIZE_OR_ALL:
		*value = 0;
		return rn_token_is(w, "all") || (word_to_size(w, value) && *value != 0);
	case TIME_OR_WORD:
		return word_to_hold(w, value);
	case TIME:
		return word_to_time(w, value);
	case COUNT_OR_INF:
		*value = 0;
		return rn_token_is(w, "inf") || (word_to_number(w, value) && *value != 0);
	case FILE_NAME:
		break;
	}
	assert(!"form of a number");
	return false;
}

static bool read_value(struct rn_pcie_knobs *k, unsigned knob, const char *choices,
		       struct rn_token w)
{
	uint64_t value;

	assert(w.at);
	if (rows[knob].form == FILE_NAME) {
		if (!is_file_name(w))
			return false;
		memset(file_name(k, knob), 0, sizeof(k->replay));
		memcpy(file_name(k, knob), w.at, w.len);
		return true;
	}
	if (!read_number(knob, choices, w, &value) || !is_in_range(knob, value))
		return false;
	set_field(k, &rows[knob], value);
	return true;
}

/* ---- Reading and writing one knob ---- */
/* Finds the knob with this name or second name (alias). Returns its index, or -1. Sets
 * *@choices to the list of values that may be written after this name.
 */
static int find_knob(struct rn_token name, const char **choices)
{
	for (int i = 0; i < KNOB_COUNT; i++) {
		const struct rn_pcie_knob *knob = &rn_pcie_knob_list[i];
		bool is_alias = knob->alias && rn_token_is(name, knob->alias);

		*choices = is_alias && rows[i].alias_values ? rows[i].alias_values
							    : knob->values;
		if (is_alias || rn_token_is(name, knob->name))
			return i;
	}
	return -1;
}

/* Sets a knob from text. Returns false if the knob has no such value; @k is
 * unchanged then.
 */
static bool read_knob(struct rn_pcie_knobs *k, int knob, const char *choices,
		      struct rn_token value)
{
	return read_value(k, (unsigned)knob, choices, value);
}

static bool is_knob_valid(const struct rn_pcie_knobs *k, int knob)
{
	const char *name;
	size_t len;

	if (rows[knob].form == FILE_NAME) {
		name = const_file_name(k, (unsigned)knob);
		len = strnlen(name, sizeof(k->replay));
		return len == 0 || is_file_name((struct rn_token){ name, len });
	}
	return is_in_range((unsigned)knob, get_field(k, &rows[knob]));
}

bool rn_knob_differs(const struct rn_pcie_knobs *a, const struct rn_pcie_knobs *b,
		     int knob)
{
	if (rows[knob].form == FILE_NAME)
		return strcmp(const_file_name(a, (unsigned)knob),
			      const_file_name(b, (unsigned)knob)) != 0;
	return get_field(a, &rows[knob]) != get_field(b, &rows[knob]);
}

/* Appends a description of the values that the knob may have, such as "now|pcie|msg|any"
 * or "a number of up to 64 bits".
 */
static void add_knob_range(struct rn_text *t, int knob, const char *choices)
{
	rn_text_add(t, rows[knob].what ? rows[knob].what : choices);
}

static void add_knob_value(struct rn_text *t, const struct rn_pcie_knobs *k, int knob)
{
	uint64_t value = rows[knob].form == FILE_NAME ? 0 : get_field(k, &rows[knob]);
	struct rn_token name;

	switch (rows[knob].form) {
	case CHOICE:
	case SWITCH:
		name = choice_name(rn_pcie_knob_list[knob].values, value);
		for (size_t i = 0; i < name.len; i++)
			rn_text_char(t, name.at[i]);
		return;
	case SIZE_OR_ALL:
		if (value == 0)
			rn_text_add(t, "all");
		else
			rn_text_number(t, value);
		return;
	case TIME_OR_WORD:
		if (value == 0)
			rn_text_add(t, "inf");
		else if (value == RN_PCIE_HOLD_EVENT)
			rn_text_add(t, "event");
		else
			add_time(t, value);
		return;
	case TIME:
		add_time(t, value);
		return;
	case COUNT_OR_INF:
		if (value == 0)
			rn_text_add(t, "inf");
		else
			rn_text_number(t, value);
		return;
	case POWER_OF_TWO:
	case NUMBER:
		rn_text_number(t, value);
		return;
	case FILE_NAME:
		rn_text_add(t, const_file_name(k, (unsigned)knob));
	}
}

/* ---- Parsing of a list of knobs ---- */
/* Finds a mode by its name, and sets *@mode. Also knows "adv", which litmus files write
 * for adversarial. Returns false if there is no such mode.
 */
static bool find_mode(struct rn_token w, enum rn_pcie_mode *mode)
{
	if (rn_token_is(w, "adv")) {
		*mode = RN_PCIE_ADVERSARIAL;
		return true;
	}
	for (unsigned i = 0; i < RN_PCIE_MODE_COUNT; i++)
		if (rn_token_is(w, rn_pcie_mode_name(i))) {
			*mode = i;
			return true;
		}
	return false;
}

static int refuse_word(struct rn_text *t, struct rn_token w, const char *why)
{
	add_word(t, w);
	rn_text_add(t, why);
	return -EINVAL;
}

static int parse_knob(struct rn_pcie_knobs *k, struct rn_token word, struct rn_text *err)
{
	struct rn_token value = word, name = trim_word(rn_token_cut(&value, '='));
	const char *choices;
	int knob = find_knob(name, &choices);

	if (knob < 0)
		return refuse_word(err, word, ": no such knob");
	if (read_knob(k, knob, choices, trim_word(value)))
		return 0;
	refuse_word(err, word, ": ");
	add_word(err, name);
	rn_text_add(err, " is ");
	add_knob_range(err, knob, choices);
	return -EINVAL;
}

static int parse_word(struct rn_pcie_knobs *k, struct rn_token word, struct rn_text *err)
{
	struct rn_token value = word, name = trim_word(rn_token_cut(&value, '='));
	enum rn_pcie_mode mode;
	bool is_mode = rn_token_is(name, "mode");

	if (word.len == 0)
		return refuse_word(err, word, ": a word is missing between commas");
	if (word.len > WORD_MAX)
		return refuse_word(err, word, ": too long");
	if (memchr(word.at, '\0', word.len))
		return refuse_word(err, word, ": has a NUL byte");
	if (value.at && !is_mode)
		return parse_knob(k, word, err);
	if (!find_mode(is_mode ? trim_word(value) : word, &mode))
		return refuse_word(err, word,
				   ": a mode is strict, ibta, typical or adversarial, "
				   "a knob is KNOB=VALUE");
	rn_pcie_preset(k, mode);
	return 0;
}

int rn_knobs_parse_words(struct rn_pcie_knobs *k, struct rn_token text, char *err,
			 size_t err_len)
{
	struct rn_text t;
	int rc = 0;

	rn_text_init(&t, err, err_len);
	if (trim_word(text).len == 0)
		return 0;
	while (rc == 0 && text.at)
		rc = parse_word(k, trim_word(rn_token_cut(&text, ',')), &t);
	return rc;
}

/* ---- Settings that contradict each other ---- */
/* Pairs of settings that contradict each other, and why. */
static const struct {
	const char *a, *b, *why;
} pairs[] = {
	{ "place=now", "nic.ooo=1", "nothing is out of order if nothing is on its way" },
	{ "place=now", "gpu.ordering=none", "nothing waits inside a GPU then" },
	{ "place=now", "driver=replay", "nothing is chosen then" },
	{ "place=now", "nic.wqe=fetched", "nothing is a TLP then" },
	{ "place=now", "nic.wqe=blueflame", "nothing is a TLP then" },
};

/* Returns true if @k has the value that @word, in the form "knob=value", names. */
static bool has_value(const struct rn_pcie_knobs *k, const char *word)
{
	struct rn_token value = { word, strlen(word) };
	struct rn_pcie_knobs with = *k;
	struct rn_token name = rn_token_cut(&value, '=');
	const char *choices;
	int knob = find_knob(name, &choices);
	bool is_known = knob >= 0 && read_knob(&with, knob, choices, value);

	assert(is_known);
	return is_known && !rn_knob_differs(k, &with, knob);
}

static int contradict(struct rn_text *err, const char *a, const char *b, const char *why)
{
	rn_text_add(err, a);
	rn_text_add(err, " contradicts ");
	rn_text_add(err, b);
	rn_text_add(err, ": ");
	rn_text_add(err, why);
	return -EINVAL;
}

static int check_each(const struct rn_pcie_knobs *k, struct rn_text *err)
{
	if ((unsigned)k->mode >= RN_PCIE_MODE_COUNT) {
		rn_text_add(err, "mode: no such mode");
		return -EINVAL;
	}
	for (int i = 0; rn_pcie_knob_list[i].name; i++) {
		if (is_knob_valid(k, i))
			continue;
		rn_text_add(err, rn_pcie_knob_list[i].name);
		rn_text_add(err, " is ");
		add_knob_range(err, i, rn_pcie_knob_list[i].values);
		return -EINVAL;
	}
	return 0;
}

int rn_pcie_check(const struct rn_pcie_knobs *k, char *err, size_t err_len)
{
	struct rn_text t;
	int rc;

	rn_text_init(&t, err, err_len);
	rc = check_each(k, &t);
	if (rc)
		return rc;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(pairs); i++)
		if (has_value(k, pairs[i].a) && has_value(k, pairs[i].b))
			return contradict(&t, pairs[i].a, pairs[i].b, pairs[i].why);
	if (k->granule > k->max_payload)
		return contradict(&t, "granule", "max_payload",
				  "a granule is not larger than a TLP");
	if (k->driver == RN_DRIVER_REPLAY && !k->replay[0])
		return contradict(&t, "driver=replay", "no replay",
				  "replay=FILE says what to replay");
	if (k->driver != RN_DRIVER_REPLAY && k->replay[0])
		return contradict(&t, "replay", "driver",
				  "a file is replayed by driver=replay only");
	if (k->place == RN_PLACE_NOW && k->record[0])
		return contradict(&t, "place=now", "record", "nothing is chosen then");
	if (k->place == RN_PLACE_NOW && k->mtt_cache)
		return contradict(&t, "place=now", "mtt.cache", "nothing is a TLP then");
	if (k->mtt_table != RN_TABLE_FLAT && !k->mtt_cache)
		return contradict(&t, "mtt.table", "mtt.cache=inf",
				  "no translation is read then");
	if (k->mtt_miss_ns && !k->mtt_cache)
		return contradict(&t, "mtt.miss", "mtt.cache=inf",
				  "no translation is read then");
	if (k->record[0] && strcmp(k->record, k->replay) == 0)
		return contradict(&t, "record", "replay", "both name one file");
	return 0;
}

/* ---- Knobs as text ---- */
int rn_pcie_format(const struct rn_pcie_knobs *k, char *buf, size_t len)
{
	struct rn_pcie_knobs preset;
	struct rn_text t;

	assert((unsigned)k->mode < RN_PCIE_MODE_COUNT);
	rn_text_init(&t, buf, len);
	rn_pcie_preset(&preset, k->mode);
	rn_text_add(&t, rn_pcie_mode_name(k->mode));
	for (int i = 0; rn_pcie_knob_list[i].name; i++) {
		if (!rn_knob_differs(k, &preset, i))
			continue;
		rn_text_char(&t, ',');
		rn_text_add(&t, rn_pcie_knob_list[i].name);
		rn_text_char(&t, '=');
		add_knob_value(&t, k, i);
	}
	return (int)t.used;
}
