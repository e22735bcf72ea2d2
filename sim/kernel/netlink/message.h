/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* message.h - netlink messages: writes answers, and reads the attributes of requests.
 *
 * libmnl offers the same, but is not used: this code is in the preloaded library, which
 * must not bring other libraries into the program.
 *
 * If an attribute does not fit into the datagram, the functions that write set
 * rnk_nl_buf.full. The caller must then remove the unfinished message, by restoring the
 * length that the datagram had before. Nothing here does I/O or allocates.
 */
#ifndef RNK_NETLINK_MESSAGE_H
#define RNK_NETLINK_MESSAGE_H

#include <linux/netlink.h>
#include <string.h>

#include "rocin/types.h"

enum {
	/* Size of a datagram in bytes. Programs that use libmnl receive into a buffer of
	 * 8192 bytes, or of a page if that is smaller. The kernel's own datagrams are of
	 * this size, too.
	 */
	RNK_NL_DATAGRAM = 4096,
};

/* A datagram that is being written. */
struct rnk_nl_buf {
	_Alignas(struct nlmsghdr) uint8_t data[RNK_NL_DATAGRAM];
	uint32_t len; /* bytes written, a multiple of NLA_ALIGNTO */
	uint32_t msg; /* offset of the message that is being written */
	bool full;    /* some data did not fit; only the caller clears this flag */
};

/* Rounds @len up to the offset where the next message or attribute begins. */
static inline size_t rnk_nl_padded(size_t len)
{
	return (len + NLMSG_ALIGNTO - 1) & ~(size_t)(NLMSG_ALIGNTO - 1);
}

/* Reserves @len bytes in the datagram, and zeroes them up to the next multiple of four.
 * Returns their address, or NULL if they do not fit.
 */
static inline void *rnk_nl_reserve(struct rnk_nl_buf *b, size_t len)
{
	size_t padded = rnk_nl_padded(len);
	void *at = b->data + b->len;

	if (b->full || padded > sizeof(b->data) - b->len) {
		b->full = true;
		return NULL;
	}
	memset(at, 0, padded);
	b->len += (uint32_t)padded;
	return at;
}

static inline void rnk_nl_put(struct rnk_nl_buf *b, uint16_t type, const void *data,
			      size_t len)
{
	struct nlattr *a = rnk_nl_reserve(b, sizeof(struct nlattr) + len);

	if (!a)
		return;
	a->nla_type = type;
	a->nla_len = (uint16_t)(sizeof(struct nlattr) + len);
	memcpy(a + 1, data, len);
}

static inline void rnk_nl_put_u8(struct rnk_nl_buf *b, uint16_t type, uint8_t value)
{
	rnk_nl_put(b, type, &value, sizeof(value));
}

static inline void rnk_nl_put_u32(struct rnk_nl_buf *b, uint16_t type, uint32_t value)
{
	rnk_nl_put(b, type, &value, sizeof(value));
}

static inline void rnk_nl_put_u64(struct rnk_nl_buf *b, uint16_t type, uint64_t value)
{
	rnk_nl_put(b, type, &value, sizeof(value));
}

static inline void rnk_nl_put_text(struct rnk_nl_buf *b, uint16_t type, const char *text)
{
	rnk_nl_put(b, type, text, strlen(text) + 1);
}

/* Begins a nested attribute. Returns its offset, for rnk_nl_unnest(). */
static inline uint32_t rnk_nl_nest(struct rnk_nl_buf *b, uint16_t type)
{
	uint32_t at = b->len;

	rnk_nl_put(b, type | NLA_F_NESTED, "", 0);
	return at;
}

/* Ends the nested attribute that begins at @at. */
static inline void rnk_nl_unnest(struct rnk_nl_buf *b, uint32_t at)
{
	struct nlattr *a = (struct nlattr *)(void *)(b->data + at);

	if (!b->full)
		a->nla_len = (uint16_t)(b->len - at);
}

/* Begins a message, which rnk_nl_end() ends. */
static inline void rnk_nl_begin(struct rnk_nl_buf *b, const struct nlmsghdr *hdr)
{
	struct nlmsghdr *h;

	b->msg = b->len;
	h = rnk_nl_reserve(b, sizeof(*h));
	if (h)
		*h = *hdr;
}

static inline void rnk_nl_end(struct rnk_nl_buf *b)
{
	struct nlmsghdr *h = (struct nlmsghdr *)(void *)(b->data + b->msg);

	if (!b->full)
		h->nlmsg_len = b->len - b->msg;
}

/* An attribute of a request. @data: its bytes; NULL: the request does not have it. */
struct rnk_nl_attr {
	const uint8_t *data;
	uint16_t len;
};

/* Finds the attributes of a request by type; if a type occurs twice, the last attribute
 * counts. Like the kernel's lenient parser, ignores attributes of type @count or higher,
 * and bytes at the end that form no attribute.
 */
static inline void rnk_nl_parse(const uint8_t *data, size_t len, struct rnk_nl_attr *attr,
				unsigned count)
{
	struct nlattr a;

	memset(attr, 0, count * sizeof(*attr));
	while (len >= sizeof(a)) {
		size_t step;
		unsigned type;

		memcpy(&a, data, sizeof(a));
		if (a.nla_len < sizeof(a) || a.nla_len > len)
			return;
		type = a.nla_type & (unsigned)NLA_TYPE_MASK;
		if (type < count)
			attr[type] = (struct rnk_nl_attr){
				.data = data + sizeof(a),
				.len = (uint16_t)(a.nla_len - sizeof(a)),
			};
		step = rnk_nl_padded(a.nla_len);
		if (step > len)
			return;
		data += step;
		len -= step;
	}
}

/* Reads a 32-bit attribute. Returns false if the attribute is missing or too short. */
static inline bool rnk_nl_u32(const struct rnk_nl_attr *attr, uint32_t *value)
{
	if (!attr->data || attr->len < sizeof(*value))
		return false;
	memcpy(value, attr->data, sizeof(*value));
	return true;
}

/* Returns true if the value of the attribute is @text. */
static inline bool rnk_nl_is_text(const struct rnk_nl_attr *attr, const char *text)
{
	return attr->data && attr->len == strlen(text) + 1 &&
	       memcmp(attr->data, text, attr->len) == 0;
}

#endif /* RNK_NETLINK_MESSAGE_H */
