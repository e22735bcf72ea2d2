/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* knobs.c - the knobs of the model as a table: presets, words, contradictions. */
#include <string.h>

#include "knobs.h"

/* ---- Modes ---- */

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
		return;
	case RN_PCIE_MODE_COUNT:
		break;
	}
	assert(!"mode");
}

/* ---- The table ---- */

/* How a knob is kept and written. */
enum form {
	CHOICE,	      /* an enum; one of rn_pcie_knob.values, in the enum's order */
	SWITCH,	      /* a bool: 0|1 */
	POWER_OF_TWO, /* uint32_t, min .. max */
	NUMBER,	      /* uint64_t */
	SIZE_OR_ALL,  /* uint64_t, all is 0 */
	TIME_OR_INF,  /* uint64_t, inf is 0 */
	COUNT_OR_INF, /* uint32_t, inf is 0 */
	FILE_NAME,
};

struct row {
	enum form form;
	uint16_t offset;
	uint16_t min, max;
	const char *alias_values; /* where the alias has words of its own */
	const char *what;	  /* "granule is ..." of sentences; NULL: the values */
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
	[KNOB_CPU] = { "cpu", NULL, "tso|sc",
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
	[KNOB_HOLD] = { "hold", NULL, "TIME|inf",
		"a TLP is held no longer, such as 2ms" },
	[KNOB_HOLD_POLLS] = { "hold.polls", NULL, "COUNT|inf",
		"nor for more polls that find nothing" },
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
	[KNOB_HOLD]	    = { .form = TIME_OR_INF, .offset = AT(hold_ns),
				.what = "a time above 0, such as 500us or 2ms, or inf" },
	[KNOB_HOLD_POLLS]   = { .form = COUNT_OR_INF, .offset = AT(hold_polls),
				.what = "a number from 1 to 4294967295, or inf" },
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
	case TIME_OR_INF:
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

static uint64_t get(const struct rn_pcie_knobs *k, const struct row *row)
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

static void set(struct rn_pcie_knobs *k, const struct row *row, uint64_t value)
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

/* ---- Values ---- */

static bool is_file_name(struct rn_word w)
{
	if (w.len == 0 || w.len >= sizeof(common.replay))
		return false;
	for (size_t i = 0; i < w.len; i++)
		if ((unsigned char)w.at[i] < ' ' || w.at[i] == 0x7f || w.at[i] == ',' ||
		    w.at[i] == '#')
			return false;
	return true;
}

/* Is @value one that this knob can have? */
static bool is_in_range(unsigned knob, uint64_t value)
{
	const struct row *row = &rows[knob];

	switch (row->form) {
	case CHOICE:
	case SWITCH:
		return rn_value_choice_name(rn_pcie_knob_list[knob].values, value).len >
		       0;
	case POWER_OF_TWO:
		return value >= row->min && value <= row->max &&
		       (value & (value - 1)) == 0;
	case COUNT_OR_INF:
		return value <= UINT32_MAX;
	case NUMBER:
	case SIZE_OR_ALL:
	case TIME_OR_INF:
		return true;
	case FILE_NAME:
		break;
	}
	assert(!"form of a number");
	return false;
}

static bool read_number(unsigned knob, const char *choices, struct rn_word w,
			uint64_t *value)
{
	switch (rows[knob].form) {
	case CHOICE:
	case SWITCH:
		return rn_value_choice(w, choices, value);
	case POWER_OF_TWO:
	case NUMBER:
		return rn_value_number(w, value);
	case SIZE_OR_ALL:
		*value = 0;
		return rn_word_is(w, "all") || (rn_value_size(w, value) && *value != 0);
	case TIME_OR_INF:
		*value = 0;
		return rn_word_is(w, "inf") || (rn_value_time(w, value) && *value != 0);
	case COUNT_OR_INF:
		*value = 0;
		return rn_word_is(w, "inf") || (rn_value_number(w, value) && *value != 0);
	case FILE_NAME:
		break;
	}
	assert(!"form of a number");
	return false;
}

static bool read_value(struct rn_pcie_knobs *k, unsigned knob, const char *choices,
		       struct rn_word w)
{
	uint64_t value;

	if (rows[knob].form == FILE_NAME) {
		if (!is_file_name(w))
			return false;
		memset(file_name(k, knob), 0, sizeof(k->replay));
		memcpy(file_name(k, knob), w.at, w.len);
		return true;
	}
	if (!read_number(knob, choices, w, &value) || !is_in_range(knob, value))
		return false;
	set(k, &rows[knob], value);
	return true;
}

/* ---- For knobs_words.c ---- */

int rn_knob_find(struct rn_word name, const char **choices)
{
	for (int i = 0; i < KNOB_COUNT; i++) {
		const struct rn_pcie_knob *knob = &rn_pcie_knob_list[i];
		bool is_alias = knob->alias && rn_word_is(name, knob->alias);

		*choices = is_alias && rows[i].alias_values ? rows[i].alias_values
							    : knob->values;
		if (is_alias || rn_word_is(name, knob->name))
			return i;
	}
	return -1;
}

bool rn_knob_read(struct rn_pcie_knobs *k, int knob, const char *choices,
		  struct rn_word value)
{
	return read_value(k, (unsigned)knob, choices, value);
}

bool rn_knob_is_valid(const struct rn_pcie_knobs *k, int knob)
{
	const char *name;
	size_t len;

	if (rows[knob].form == FILE_NAME) {
		name = const_file_name(k, (unsigned)knob);
		len = strnlen(name, sizeof(k->replay));
		return len == 0 || is_file_name((struct rn_word){ name, len });
	}
	return is_in_range((unsigned)knob, get(k, &rows[knob]));
}

bool rn_knob_differs(const struct rn_pcie_knobs *a, const struct rn_pcie_knobs *b,
		     int knob)
{
	if (rows[knob].form == FILE_NAME)
		return strcmp(const_file_name(a, (unsigned)knob),
			      const_file_name(b, (unsigned)knob)) != 0;
	return get(a, &rows[knob]) != get(b, &rows[knob]);
}

void rn_text_knob_range(struct rn_text *t, int knob, const char *choices)
{
	rn_text_add(t, rows[knob].what ? rows[knob].what : choices);
}

void rn_text_knob_value(struct rn_text *t, const struct rn_pcie_knobs *k, int knob)
{
	uint64_t value = rows[knob].form == FILE_NAME ? 0 : get(k, &rows[knob]);
	struct rn_word name;

	switch (rows[knob].form) {
	case CHOICE:
	case SWITCH:
		name = rn_value_choice_name(rn_pcie_knob_list[knob].values, value);
		for (size_t i = 0; i < name.len; i++)
			rn_text_char(t, name.at[i]);
		return;
	case SIZE_OR_ALL:
		if (value == 0)
			rn_text_add(t, "all");
		else
			rn_text_number(t, value);
		return;
	case TIME_OR_INF:
		if (value == 0)
			rn_text_add(t, "inf");
		else
			rn_text_time(t, value);
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
