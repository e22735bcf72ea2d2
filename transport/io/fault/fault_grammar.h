/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fault_grammar.h - the words of the rules, as tables; private to the reader. */
#ifndef RN_FAULT_GRAMMAR_H
#define RN_FAULT_GRAMMAR_H

#include "fault_rules.h"

/* One word: NAME or NAME=VALUE. */
struct rn_fault_piece {
	const char *name, *value; /* value NULL: no "=" */
	size_t name_len, value_len;
};

struct rn_fault_word {
	const char *name;
	bool (*read)(struct rn_fault_rule *r, const struct rn_fault_piece *p);
	uint32_t acts;	      /* that it goes with */
	bool of_packet;	      /* it says which packets, not which device */
	const char *expected; /* NULL: it takes no value */
};

struct rn_fault_action {
	const char *name;
	bool (*read)(struct rn_fault_rule *r, const struct rn_fault_piece *p);
	enum rn_fault_act act;
	const char *expected;
};

extern const struct rn_fault_word rn_fault_words[];
extern const unsigned rn_fault_word_count;
extern const struct rn_fault_action rn_fault_actions[];
extern const unsigned rn_fault_action_count;

#endif /* RN_FAULT_GRAMMAR_H */
