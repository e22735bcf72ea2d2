/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_knobs.c - knobs as text: modes, words, files, what is refused and why. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sim/pcie/model/knobs.h"

static char err[400];

static struct rn_pcie_knobs parsed(const char *text)
{
	struct rn_pcie_knobs k;

	rn_pcie_preset(&k, RN_PCIE_TYPICAL);
	if (rn_pcie_parse(&k, text, err, sizeof(err)) != 0)
		fail_msg("%s: %s", text, err);
	assert_string_equal(err, "");
	return k;
}

static void assert_same(const struct rn_pcie_knobs *a, const struct rn_pcie_knobs *b)
{
	assert_int_equal(a->mode, b->mode);
	for (int i = 0; rn_pcie_knob_list[i].name; i++)
		if (rn_knob_differs(a, b, i))
			fail_msg("%s differs", rn_pcie_knob_list[i].name);
}

/* The sentence begins with @sentence, and nothing is changed. */
static void assert_refused(const char *text, const char *sentence)
{
	struct rn_pcie_knobs k, before;

	rn_pcie_preset(&k, RN_PCIE_TYPICAL);
	before = k;
	assert_int_equal(rn_pcie_parse(&k, text, err, sizeof(err)), -EINVAL);
	if (strncmp(err, sentence, strlen(sentence)) != 0)
		fail_msg("%s: said %s", text, err);
	assert_memory_equal(&k, &before, sizeof(k));
}

static void formatted(const struct rn_pcie_knobs *k, const char *text)
{
	char buf[500];

	assert_int_equal(rn_pcie_format(k, buf, sizeof(buf)), strlen(text));
	assert_string_equal(buf, text);
}

/* ---- Modes ---- */

static const struct {
	const char *mode, *same_as; /* from typical */
} modes[] = {
	{ "strict", "place=now,rr=serial" },
	{ "ibta", "place=msg,rr=serial" },
	{ "typical",
	  "place=pcie,rr=pipelined,nic.queues=shared,rc.p2p=shared,gpu.ordering=owner,"
	  "gpu.link=pcie,atomic=hca,ack=early,nic.ooo=0,mr.relaxed=registered,granule=64,"
	  "cpu=tso,ido=0,max_payload=256,bar=all,driver=random,seed=1,hold=2ms,"
	  "hold.polls=1000" },
	{ "adversarial", "place=any,nic.queues=perqp,rc.p2p=split,gpu.ordering=none,"
			 "nic.ooo=1,driver=adversarial,hold=event" },
};

static void modes_are_sets_of_knobs(void **state)
{
	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(modes); i++) {
		struct rn_pcie_knobs mode = parsed(modes[i].mode);
		struct rn_pcie_knobs words = parsed(modes[i].same_as), preset;

		assert_int_equal(mode.mode, i);
		rn_pcie_preset(&preset, i);
		assert_same(&mode, &preset);
		words.mode = i;
		assert_same(&mode, &words);
		assert_string_equal(rn_pcie_mode_name(i), modes[i].mode);
		formatted(&mode, modes[i].mode);
	}
	assert_string_equal(rn_pcie_mode_name(RN_PCIE_MODE_COUNT), "?");
}

static void a_mode_resets_all_that_is_before_it(void **state)
{
	const struct rn_pcie_knobs k = parsed("seed=5,granule=8,ibta,granule=16");

	(void)state;
	formatted(&k, "ibta,granule=16");
}

static void a_mode_has_other_spellings(void **state)
{
	(void)state;
	assert_int_equal(parsed("mode=adversarial").mode, RN_PCIE_ADVERSARIAL);
	assert_int_equal(parsed("mode=adv").mode, RN_PCIE_ADVERSARIAL);
	assert_int_equal(parsed("adv").mode, RN_PCIE_ADVERSARIAL);
	assert_int_equal(parsed("mode=strict").mode, RN_PCIE_STRICT);
}

/* ---- Knobs ---- */

/* What a choice needs beside it. */
static const char *company_of(const struct rn_token *value)
{
	if (rn_token_is(*value, "replay"))
		return ",replay=x";
	return rn_token_is(*value, "tree") ? ",mtt.cache=1" : "";
}

static void every_choice_of_every_knob_can_be_said(void **state)
{
	(void)state;
	for (unsigned i = 0; rn_pcie_knob_list[i].name; i++) {
		const struct rn_pcie_knob *knob = &rn_pcie_knob_list[i];
		struct rn_token left = { knob->values, strlen(knob->values) };

		assert_true(strlen(knob->help) > 10);
		if (strpbrk(knob->values, "ABCDEFGHIJKLMNOPQRSTUVWXYZ.") != NULL)
			continue;
		while (left.at) {
			struct rn_token value = rn_token_cut(&left, '|');
			char text[100];

			snprintf(text, sizeof(text), "%s=%.*s%s", knob->name,
				 (int)value.len, value.at, company_of(&value));
			parsed(text);
		}
	}
}

static const struct {
	const char *text, *format;
} spellings[] = {
	{ "gpu=none", "typical,gpu.ordering=none" },
	{ "gpu=all", "typical,gpu.ordering=all" },
	{ "ports=split", "typical,rc.p2p=split" },
	{ "ports=split,ports=same", "typical" },
	{ "rc.p2p=deny", "typical,rc.p2p=deny" },
	{ "c2c=1", "typical,gpu.link=c2c" },
	{ "c2c=1,c2c=0", "typical" },
	{ "nicq=perqp", "typical,nic.queues=perqp" },
	{ "ackearly=0", "typical,ack=placed" },
	{ "ack=placed,ackearly=1", "typical" },
	{ "ooo=1", "typical,nic.ooo=1" },
	{ "ido=1", "typical,ido=1" },
	{ "atomic=pcie", "typical,atomic=pcie" },
	{ "mr.relaxed=force", "typical,mr.relaxed=force" },
	{ "cpu=sc", "typical,cpu=sc" },
	{ "granule=8", "typical,granule=8" },
	{ "max_payload=4096,granule=4096", "typical,granule=4096,max_payload=4096" },
	{ "bar=1", "typical,bar=1" },
	{ "bar=256M", "typical,bar=268435456" },
	{ "bar=2K", "typical,bar=2048" },
	{ "bar=1T,bar=all", "typical" },
	{ "seed=0", "typical,seed=0" },
	{ "seed=0xFf", "typical,seed=255" },
	{ "seed=18446744073709551615", "typical,seed=18446744073709551615" },
	{ "hold=1500us", "typical,hold=1500us" },
	{ "hold=3000ms", "typical,hold=3s" },
	{ "hold=7ns", "typical,hold=7ns" },
	{ "hold=inf", "typical,hold=inf" },
	{ "hold=event", "typical,hold=event" },
	{ "mtt.cache=32768,mtt.miss=1ms", "typical,mtt.cache=32768,mtt.miss=1ms" },
	{ "mtt.cache=1,mtt.miss=0ns", "typical,mtt.cache=1" },
	{ "mtt.cache=8,mtt.table=tree", "typical,mtt.cache=8,mtt.table=tree" },
	{ "mtt.cache=inf,nic.wqe=given", "typical" },
	{ "nic.wqe=blueflame", "typical,nic.wqe=blueflame" },
	{ "hold=2000us", "typical" },
	{ "hold.polls=inf", "typical,hold.polls=inf" },
	{ "hold.polls=4294967295", "typical,hold.polls=4294967295" },
	{ "driver=replay,replay=/tmp/a b=c", "typical,driver=replay,replay=/tmp/a b=c" },
	{ "driver=replay,replay=x,record=y", "typical,driver=replay,replay=x,record=y" },
	{ "record=x,record=a", "typical,record=a" },
	{ "seed=3,seed=4", "typical,seed=4" },
	{ "  seed = 3 ,\tibta ", "ibta" },
	{ "", "typical" },
	{ "  ", "typical" },
};

static void words_mean_what_they_say_and_read_back(void **state)
{
	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(spellings); i++) {
		const struct rn_pcie_knobs k = parsed(spellings[i].text);
		const struct rn_pcie_knobs again = parsed(spellings[i].format);

		formatted(&k, spellings[i].format);
		assert_same(&k, &again);
	}
}

static void numbers_are_kept_in_their_units(void **state)
{
	const struct rn_pcie_knobs k = parsed("hold=2us,bar=3G,hold.polls=inf");

	(void)state;
	assert_int_equal(k.hold_ns, 2000);
	assert_int_equal(k.bar_size, UINT64_C(3) << 30);
	assert_int_equal(k.hold_polls, 0);
	assert_int_equal(parsed("hold=inf").hold_ns, 0);
	assert_true(parsed("hold=event").hold_ns == RN_PCIE_HOLD_EVENT);
	assert_int_equal(parsed("bar=all").bar_size, 0);
}

static void format_needs_no_room_to_say_how_much(void **state)
{
	const struct rn_pcie_knobs k = parsed("strict,seed=12");
	char buf[9] = "12345678";

	(void)state;
	assert_int_equal(rn_pcie_format(&k, NULL, 0), 14);
	assert_int_equal(rn_pcie_format(&k, buf, sizeof(buf)), 14);
	assert_string_equal(buf, "strict,s");
}

/* ---- Refusals ---- */

static void what_is_no_word_is_named(void **state)
{
	(void)state;
	assert_refused("tipical", "\"tipical\": a mode is strict, ");
	assert_refused("mode=weak", "\"mode=weak\": a mode is strict, ");
	assert_refused("mode=", "\"mode=\": a mode is strict, ");
	assert_refused("typical,place", "\"place\": a mode is strict, ");
	assert_refused("plaice=now", "\"plaice=now\": no such knob");
	assert_refused("=now", "\"=now\": no such knob");
	assert_refused("typical,,seed=1", "\"\": a word is missing between commas");
	assert_refused("typical,", "\"\": a word is missing between commas");
	assert_refused("Typical", "\"Typical\": a mode is ");
	assert_refused("strict\a", "\"strict?\": a mode is ");
}

static void what_is_no_value_is_named_with_what_would_be(void **state)
{
	(void)state;
	assert_refused("place=later", "\"place=later\": \"place\" is now|pcie|msg|any");
	assert_refused("ports=shared", "\"ports=shared\": \"ports\" is same|split|deny");
	assert_refused("ackearly=2", "\"ackearly=2\": \"ackearly\" is 1|0");
	assert_refused("nic.ooo=yes", "\"nic.ooo=yes\": \"nic.ooo\" is 0|1");
	assert_refused("place=", "\"place=\": \"place\" is now|");
	assert_refused("place=now|pcie", "\"place=now|pcie\": ");
	assert_refused("granule=7", "\"granule=7\": \"granule\" is a power of two ");
	assert_refused("granule=4", "\"granule=4\": \"granule\" is a power of two ");
	assert_refused("granule=8192", "\"granule=8192\": ");
	assert_refused("granule=", "\"granule=\": ");
	assert_refused("max_payload=64", "\"max_payload=64\": ");
	assert_refused("hold=2", "\"hold=2\": \"hold\" is a time ");
	assert_refused("hold=0ms", "\"hold=0ms\": \"hold\" is a time ");
	assert_refused("hold=18446744073709551615ns",
		       "\"hold=18446744073709551615ns\": ");
	assert_refused("hold=ms", "\"hold=ms\": ");
	assert_refused("mtt.cache=0",
		       "\"mtt.cache=0\": \"mtt.cache\" is a number of pages ");
	assert_refused("mtt.cache=32769", "\"mtt.cache=32769\": ");
	assert_refused("mtt.cache=8,mtt.miss=1001us",
		       "\"mtt.miss=1001us\": \"mtt.miss\" is a time of 1ms at most");
	assert_refused("mtt.miss=1us", "mtt.miss contradicts mtt.cache=inf: ");
	assert_refused("mtt.table=tree", "mtt.table contradicts mtt.cache=inf: ");
	assert_refused("place=now,mtt.cache=8", "place=now contradicts mtt.cache: ");
	assert_refused("place=now,nic.wqe=fetched",
		       "place=now contradicts nic.wqe=fetched: ");
	assert_refused("place=now,nic.wqe=blueflame",
		       "place=now contradicts nic.wqe=blueflame: ");
	assert_refused("hold=-1ms", "\"hold=-1ms\": ");
	assert_refused("hold.polls=0", "\"hold.polls=0\": ");
	assert_refused("bar=0", "\"bar=0\": ");
	assert_refused("bar=M", "\"bar=M\": ");
	assert_refused("bar=0x1M", "\"bar=0x1M\": ");
	assert_refused("seed=", "\"seed=\": ");
	assert_refused("seed=0x", "\"seed=0x\": ");
	assert_refused("seed=1 2", "\"seed=1 2\": ");
	assert_refused("driver=replay,replay=",
		       "\"replay=\": \"replay\" is a file name ");
	assert_refused("driver=replay,replay=a\nb", "\"replay=a?b\": ");
}

static void numbers_beyond_their_width_are_refused(void **state)
{
	(void)state;
	assert_refused("seed=18446744073709551616", "\"seed=18446744073709551616\": ");
	assert_refused("seed=0x10000000000000000", "\"seed=0x10000000000000000\": ");
	assert_refused("hold.polls=4294967296", "\"hold.polls=4294967296\": ");
	assert_refused("granule=4294967304", "\"granule=4294967304\": ");
	assert_refused("hold=18446744073710s", "\"hold=18446744073710s\": ");
	assert_refused("bar=16777216T", "\"bar=16777216T\": ");
}

static void long_words_are_refused_and_cut_short(void **state)
{
	char text[1000] = "driver=replay,replay=", *end = text + strlen(text);

	(void)state;
	memset(end, 'x', 255);
	assert_int_equal(strlen(parsed(text).replay), 255);
	memset(end, 'x', 256);
	assert_refused(text,
		       "\"replay=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...\": \"replay\" is ");
	memset(text, 'y', sizeof(text) - 1);
	assert_refused(text, "\"yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy...\": too long");
}

static void a_nul_byte_is_refused(void **state)
{
	static const char text[] = "seed=1\0,seed=2";
	struct rn_pcie_knobs k;

	(void)state;
	rn_pcie_preset(&k, RN_PCIE_TYPICAL);
	assert_int_equal(rn_knobs_parse_words(&k,
					      (struct rn_token){ text, sizeof(text) - 1 },
					      err, sizeof(err)),
			 -EINVAL);
	assert_string_equal(err, "\"seed=1?\": has a NUL byte");
}

static void contradictions_are_named_by_both(void **state)
{
	(void)state;
	assert_refused("strict,ooo=1", "place=now contradicts nic.ooo=1: ");
	assert_refused("place=now,gpu=none", "place=now contradicts gpu.ordering=none: ");
	assert_refused("strict,driver=replay,replay=x",
		       "place=now contradicts driver=replay: ");
	assert_refused("driver=replay", "driver=replay contradicts no replay: ");
	assert_refused("replay=x", "replay contradicts driver: ");
	assert_refused("strict,record=x", "place=now contradicts record: ");
	assert_refused("driver=replay,replay=x,record=x",
		       "record contradicts replay: both name one file");
	assert_refused("granule=512", "granule contradicts max_payload: ");
	assert_refused("adversarial,place=now", "place=now contradicts ");
	parsed("strict,ack=placed,rc.p2p=split,nicq=perqp,granule=256");
}

/* Not from text: a struct that somebody filled in. */
static void check_finds_what_no_word_can_say(void **state)
{
	struct rn_pcie_knobs k = parsed("typical");

	(void)state;
	assert_int_equal(rn_pcie_check(&k, err, sizeof(err)), 0);
	k.place = 4;
	assert_int_equal(rn_pcie_check(&k, err, sizeof(err)), -EINVAL);
	assert_string_equal(err, "place is now|pcie|msg|any");
	k = parsed("typical");
	k.granule = 0;
	assert_int_equal(rn_pcie_check(&k, err, sizeof(err)), -EINVAL);
	k = parsed("typical");
	k.mode = RN_PCIE_MODE_COUNT;
	assert_int_equal(rn_pcie_check(&k, err, sizeof(err)), -EINVAL);
	k = parsed("typical");
	k.driver = RN_DRIVER_REPLAY;
	memset(k.replay, 'x', sizeof(k.replay));
	assert_int_equal(rn_pcie_check(&k, err, sizeof(err)), -EINVAL);
}

/* A sentence of any size of buffer ends with NUL. */
static void a_short_buffer_gets_the_beginning(void **state)
{
	struct rn_pcie_knobs k = parsed("typical");
	char small[6];

	(void)state;
	assert_int_equal(rn_pcie_parse(&k, "nothing", small, sizeof(small)), -EINVAL);
	assert_string_equal(small, "\"noth");
	assert_int_equal(rn_pcie_parse(&k, "nothing", NULL, 0), -EINVAL);
	assert_int_equal(rn_pcie_parse(&k, "strict", NULL, 0), 0);
}

/* ---- Files ---- */

static char file_name[] = "/tmp/rocin-knobs-XXXXXX";

static const char *write_file(const void *text, size_t len)
{
	static char arg[sizeof(file_name) + 1];
	int fd;

	memcpy(file_name + sizeof(file_name) - 7, "XXXXXX", 7);
	fd = mkstemp(file_name);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), len);
	close(fd);
	snprintf(arg, sizeof(arg), "@%s", file_name);
	return arg;
}

static void assert_file_refused(const char *text, size_t len, const char *sentence)
{
	const char *arg = write_file(text, len);
	char expected[200];

	snprintf(expected, sizeof(expected), "%s%s", file_name, sentence);
	assert_refused(arg, expected);
	unlink(file_name);
}

static void a_file_has_a_word_per_line(void **state)
{
	static const char text[] = "# for the tests\n"
				   "adversarial\r\n"
				   "\n"
				   "  granule = 8   # the smallest\n"
				   "seed=7, ack=placed";
	struct rn_pcie_knobs k;

	(void)state;
	k = parsed(write_file(text, strlen(text)));
	unlink(file_name);
	formatted(&k, "adversarial,ack=placed,granule=8,seed=7");
}

static void an_error_in_a_file_has_its_line(void **state)
{
	static const char nul[] = "ibta\nseed=\0";

	(void)state;
	assert_file_refused("ibta\n\nplace=x\n", 14, ":3: \"place=x\": \"place\" is ");
	assert_file_refused("ibta # fine\n,", 13, ":2: \"\": a word is missing");
	assert_file_refused(nul, sizeof(nul), ":2: \"seed=??\": has a NUL byte");
}

static void contradictions_in_a_file_are_found_at_its_end(void **state)
{
	static const char fine[] = "ooo=1\nplace=now\nooo=0\n", wrong[] =
									"ooo=1\nstrict\n"
									"ooo=1\n";
	struct rn_pcie_knobs k = parsed(write_file(fine, strlen(fine)));

	(void)state;
	unlink(file_name);
	formatted(&k, "typical,place=now");
	assert_refused(write_file(wrong, strlen(wrong)), "place=now contradicts ");
	unlink(file_name);
}

static void a_file_that_cannot_be_read_says_why(void **state)
{
	static char large[16385];
	struct rn_pcie_knobs k = parsed("typical");
	const char *arg;

	(void)state;
	assert_int_equal(rn_pcie_parse(&k, "@/nowhere/at all", err, sizeof(err)),
			 -ENOENT);
	assert_string_equal(err, "/nowhere/at all: No such file or directory");
	assert_int_equal(rn_pcie_parse(&k, "@/", err, sizeof(err)), -EISDIR);
	assert_int_equal(rn_pcie_parse(&k, "@", err, sizeof(err)), -ENOENT);
	memset(large, '\n', sizeof(large));
	arg = write_file(large, sizeof(large));
	assert_int_equal(rn_pcie_parse(&k, arg, err, sizeof(err)), -EFBIG);
	unlink(file_name);
	parsed(write_file(large, sizeof(large) - 1));
	unlink(file_name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(modes_are_sets_of_knobs),
		cmocka_unit_test(a_mode_resets_all_that_is_before_it),
		cmocka_unit_test(a_mode_has_other_spellings),
		cmocka_unit_test(every_choice_of_every_knob_can_be_said),
		cmocka_unit_test(words_mean_what_they_say_and_read_back),
		cmocka_unit_test(numbers_are_kept_in_their_units),
		cmocka_unit_test(format_needs_no_room_to_say_how_much),
		cmocka_unit_test(what_is_no_word_is_named),
		cmocka_unit_test(what_is_no_value_is_named_with_what_would_be),
		cmocka_unit_test(numbers_beyond_their_width_are_refused),
		cmocka_unit_test(long_words_are_refused_and_cut_short),
		cmocka_unit_test(a_nul_byte_is_refused),
		cmocka_unit_test(contradictions_are_named_by_both),
		cmocka_unit_test(check_finds_what_no_word_can_say),
		cmocka_unit_test(a_short_buffer_gets_the_beginning),
		cmocka_unit_test(a_file_has_a_word_per_line),
		cmocka_unit_test(an_error_in_a_file_has_its_line),
		cmocka_unit_test(contradictions_in_a_file_are_found_at_its_end),
		cmocka_unit_test(a_file_that_cannot_be_read_says_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
