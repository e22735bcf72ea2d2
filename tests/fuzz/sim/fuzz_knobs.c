/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fuzz_knobs.c - what people write about the simulated PCIe layer. */
#include <errno.h>

#include "sim/pcie/model/knobs.h"
#include "tests/fuzz/script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	SENTENCE_MAX = 400,
	FORMAT_MAX = 1024,
};

static bool is_sentence(const char *s)
{
	for (; *s; s++)
		if (*s < ' ' || *s > '~')
			return false;
	return true;
}

static bool is_same(const struct rn_pcie_knobs *a, const struct rn_pcie_knobs *b)
{
	for (int i = 0; rn_pcie_knob_list[i].name; i++)
		if (rn_knob_differs(a, b, i))
			return false;
	return a->mode == b->mode;
}

/* What was read, written out, must be read the same. */
static void check_format(const struct rn_pcie_knobs *k)
{
	struct rn_pcie_knobs again;
	char text[FORMAT_MAX], why[SENTENCE_MAX];
	int len = rn_pcie_format(k, text, sizeof(text));

	require(len > 0 && len < FORMAT_MAX && strlen(text) == (size_t)len);
	require(rn_pcie_format(k, NULL, 0) == len);
	rn_pcie_preset(&again, RN_PCIE_STRICT);
	require(rn_pcie_parse(&again, text, why, sizeof(why)) == 0);
	require(is_same(&again, k));
}

/* Words may hold NUL bytes here, as in a file. */
static void words(const uint8_t *data, size_t size)
{
	char *text = malloc(size ? size : 1);
	char why[SENTENCE_MAX];
	struct rn_pcie_knobs k;
	int rc;

	require(text != NULL);
	if (size)
		memcpy(text, data, size);
	rn_pcie_preset(&k, RN_PCIE_TYPICAL);
	rc = rn_knobs_parse_words(&k, (struct rn_token){ text, size }, why, sizeof(why));
	require(rc == 0 || rc == -EINVAL);
	require((rc == 0) == (why[0] == '\0') && is_sentence(why));
	if (rc == 0 && rn_pcie_check(&k, why, sizeof(why)) == 0)
		check_format(&k);
	free(text);
}

static void argument(struct script *s)
{
	struct rn_pcie_knobs k, before;
	char why[SENTENCE_MAX];
	char *text = take_text(s);
	int rc;

	rn_pcie_preset(&before, RN_PCIE_TYPICAL);
	k = before;
	if (text[0] != '@') {
		rc = rn_pcie_parse(&k, text, why, sizeof(why));
		require((rc == 0) == (why[0] == '\0') && is_sentence(why));
		require(rc == 0 || is_same(&k, &before));
		if (rc == 0)
			check_format(&k);
	}
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct script s = { data, data + size };

	words(data, size);
	argument(&s);
	return 0;
}
