/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* setups.c - the situations from which most scenarios start, in their own language. */
#include <string.h>

#include "parse_internal.h"

#define REGIONS                                                              \
	"mr m len 8192 access all\n"	/* what the peer reads and writes */ \
	"mr r len 32768 access local\n" /* receives */

#define RC                                                                      \
	"qp 1 rc rts epsn 100 psn 200 mtu 1024 timeout 14 retry 3 rnr_retry 3 " \
	"rnr_timer 12 rd 2 dest_rd 2 access remote\n"

/* From the side that asks, and from the side that is asked. */
#define ASKED            \
	"conn c\n"       \
	"+0 connect c\n" \
	"+0 > c REQ\n"
#define ANSWERED       \
	ASKED          \
	"+0 < c REP\n" \
	"+0 event c rep\n"
#define REQUESTED       \
	"conn c\n"      \
	"+0 listen c\n" \
	"+0 < c REQ\n"  \
	"+0 event c req\n"
#define ACCEPTED        \
	REQUESTED       \
	"+0 accept c\n" \
	"+0 > c REP\n"

static const struct {
	const char *name, *text;
} setups[] = {
	/* RC0 of tests/rules.md; rc is the same without receives. */
	{ "rc0", REGIONS RC "recv 1 wr 1 len 4096\n"
			    "recv 1 wr 2 len 4096\n" },
	{ "rc", REGIONS RC },
	{ "uc0", REGIONS "qp 1 uc rts epsn 100 psn 200 mtu 1024 access write\n"
			 "recv 1 wr 1 len 4096\n"
			 "recv 1 wr 2 len 4096\n" },
	{ "ud0", REGIONS "qp 1 ud rts psn 200 qkey 0x11111111\n"
			 "recv 1 wr 1 len 4096\n"
			 "recv 1 wr 2 len 4096\n" },
	{ "asked", ASKED },
	{ "answered", ANSWERED },
	{ "active", ANSWERED "+0 ready c\n"
			     "+0 > c RTU\n" },
	{ "requested", REQUESTED },
	{ "accepted", ACCEPTED },
	{ "passive", ACCEPTED "+0 < c RTU\n"
			      "+0 event c established\n" },
	{ "looking", "conn c udp\n"
		     "+0 ask c\n"
		     "+0 > c SIDR_REQ\n" },
	{ "looked", "conn c udp\n"
		    "+0 listen c\n"
		    "+0 < c SIDR_REQ\n"
		    "+0 event c sidr_req\n" },
};

const char rn_scn_setup_names[] = "rc0, rc, uc0, ud0, asked, answered, active, "
				  "requested, accepted, passive, looking, looked";

const char *rn_scn_setup(const char *name, size_t len)
{
	for (size_t i = 0; i < RN_ARRAY_SIZE(setups); i++)
		if (strlen(setups[i].name) == len && !memcmp(setups[i].name, name, len))
			return setups[i].text;
	return NULL;
}
