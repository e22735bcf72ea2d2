/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rocind_faults.c - the requests about faults. See rocind_client.h. */
#include <errno.h>
#include <string.h>

#include "rocind_conn.h"

/* Takes the descriptors of @pkt. */
static int take_reply(struct rn_rocind *r, struct rn_ctl_packet *pkt,
		      struct rn_rocind_faults *out, const struct rn_complaint *c)
{
	const struct rn_ctl_faults_reply *answer = &pkt->msg.faults_reply;

	if (pkt->fd_count != (answer->has_text ? 1 : 0)) {
		rn_ctl_close_fds(pkt);
		return rn_rocind_lose(r, -EBADMSG, c);
	}
	*out = (struct rn_rocind_faults){ .generation = answer->generation,
					  .fd = pkt->fd_count ? pkt->fd[0] : -1 };
	memcpy(out->seen, answer->seen, sizeof(out->seen));
	memcpy(out->hits, answer->hits, sizeof(out->hits));
	return 0;
}

int rn_rocind_faults(struct rn_rocind *r, struct rn_rocind_faults *out, char *err,
		     size_t err_len)
{
	const struct rn_complaint c = { err, err_len };
	const struct rn_ctl_hdr msg = rn_ctl_hdr(RN_CTL_FAULTS_GET);
	struct rn_ctl_packet pkt;
	int before = rn_rocind_cancel_off();
	int rc = rn_rocind_request(r, &msg, -1, &pkt, RN_CTL_FAULTS_REPLY, &c);

	if (rc == 0)
		rc = take_reply(r, &pkt, out, &c);
	rn_rocind_cancel_restore(before);
	return rc;
}

int rn_rocind_set_faults(struct rn_rocind *r, struct rn_rocind_faults *now, int fd,
			 const uint8_t from[RN_ROCIND_RULES_MAX], char *err,
			 size_t err_len)
{
	const struct rn_complaint c = { err, err_len };
	struct rn_ctl_faults_set msg = { .hdr = rn_ctl_hdr(RN_CTL_FAULTS_SET),
					 .generation = now->generation };
	struct rn_ctl_packet pkt;
	int before = rn_rocind_cancel_off();
	int rc;

	static_assert((int)RN_ROCIND_RULES_MAX == (int)RN_CTL_RULES_MAX, "same rules");
	memcpy(msg.from, from, sizeof(msg.from));
	rc = rn_rocind_request(r, &msg, fd, &pkt, RN_CTL_FAULTS_REPLY, &c);
	if (rc == 0)
		rc = take_reply(r, &pkt, now, &c);
	rn_rocind_cancel_restore(before);
	return rc;
}
