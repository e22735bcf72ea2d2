/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* visit.h - one description of a structure, used to write, read, print and compare it.
 *
 * A function visits the fields of a structure in order; what that does is up to the mode.
 * Numbers are written in groups of seven bits, the lowest first; bytes after their
 * number. So a file does not depend on sizes, padding and byte order.
 */
#ifndef RN_VISIT_H
#define RN_VISIT_H

#include "rocin/types.h"

enum rn_visit_mode {
	RN_VISIT_PUT,  /* structure -> bytes */
	RN_VISIT_GET,  /* bytes -> structure */
	RN_VISIT_LIST, /* structure -> see() */
};

/* @data: NULL for a number, else @value bytes. */
typedef void rn_visit_see(void *arg, const char *name, uint64_t value,
			  const uint8_t *data);

struct rn_visit {
	enum rn_visit_mode mode;
	uint8_t *out;	   /* PUT: next free byte */
	const uint8_t *in; /* GET: next byte */
	size_t left;	   /* PUT, GET: bytes from there */
	/* PUT: no room. GET: the bytes end too early, or a number does not fit. From then
	 * on nothing is written, and everything reads as 0.
	 */
	bool failed;
	rn_visit_see *see;
	void *arg;
};

/* Visit a number of @size bytes (a signed one as it lies in memory). Return: what it is
 * afterwards.
 */
uint64_t rn_visit_number(struct rn_visit *v, const char *name, uint64_t value,
			 size_t size);

/* The same for a member of the structure @s points to. */
#define RN_VISIT_NUMBER(v, s, member)                            \
	((s)->member = (__typeof__((s)->member))rn_visit_number( \
		 v, #member, (uint64_t)(s)->member, sizeof((s)->member)))

/* Visit bytes that lie elsewhere. GET: *@data points into what is read. */
void rn_visit_bytes(struct rn_visit *v, const char *name, const uint8_t **data,
		    uint32_t *len);

/* Visit bytes in the structure itself. */
void rn_visit_raw(struct rn_visit *v, const char *name, uint8_t *data, uint32_t len);

#endif /* RN_VISIT_H */
