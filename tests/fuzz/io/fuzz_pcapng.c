/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fuzz_pcapng.c - a file of anything that says it is pcapng: its blocks are taken apart
 * within their bounds, and the texts are texts of one line.
 */
#include "tests/fuzz/script.h"
#include "tools/dump/pcapng.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text)
{
	for (; *text; text++)
		require((uint8_t)*text >= ' ' && *text != 0x7f);
}

static void check_found(const struct rn_pcapng_found *f, const uint8_t *block,
			uint32_t len)
{
	require(f->data >= block && f->cap <= len);
	require(f->data + f->cap <= block + len);
	require(memchr(f->comment, '\0', sizeof(f->comment)) != NULL);
	check_text(f->comment);
	check_text(f->name);
	check_text(f->description);
}

/* A copy of the exact length: a sanitizer sees a read behind it. */
static int look(struct rn_pcapng_reader *r, const uint8_t *block, uint32_t len)
{
	uint8_t *copy = malloc(len);
	struct rn_pcapng_found found;
	int rc;

	require(copy != NULL);
	memcpy(copy, block, len);
	rc = rn_pcapng_block(r, copy, len, &found);
	if (rc == 1)
		check_found(&found, copy, len);
	free(copy);
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rn_pcapng_reader r = { 0 };

	while (size >= RN_PCAPNG_HEAD) {
		uint32_t len = rn_pcapng_block_len(&r, data);

		require(len % 4 == 0 && len <= RN_PCAPNG_BLOCK_MAX);
		if (len == 0 || len > size || look(&r, data, len) < 0)
			break;
		data += len;
		size -= len;
	}
	rn_pcapng_reader_free(&r);
	return 0;
}
