/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tokens.h - the tokens of one line of a scenario. */
#ifndef RN_TOKENS_H
#define RN_TOKENS_H

#include "rocin/token.h"
#include "scenario.h"

/* A line that is being read; the comment is not part of it. */
struct rn_tokens {
	const char *begin, *at, *end;
	uint32_t number; /* of the line */
	struct rn_scn_error *err;
};

struct rn_token rn_tokens_next(struct rn_tokens *w);
struct rn_token rn_tokens_peek(const struct rn_tokens *w);

/* "0", "5us", "1.5ms", "2T" (ACK timeouts), "2T+5us" is not one. */
bool rn_token_time(struct rn_token word, struct rn_scn_time *time);

/* Note the place of @word (its end of the line if it is empty) and a sentence made of two
 * parts. Always false.
 */
bool rn_tokens_fail(const struct rn_tokens *w, struct rn_token word, const char *sentence,
		    const char *more);

#endif /* RN_TOKENS_H */
