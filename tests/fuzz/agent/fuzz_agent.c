/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fuzz_agent.c - what whoever connects to `rocin conform --agent' may say. Whatever that
 * is, each line has one answer of known form, and with the connection everything goes
 * that it made.
 */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fake_verbs.h"
#include "tests/fuzz/script.h"
#include "tools/rocin/conform/agent/agent.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	GOOD_LINES = 12, /* that a scenario begins with, see below */
};

/* The answer is there at once: both ends are ours. */
static void take_answer(int fd)
{
	char text[2 * RN_CONFORM_LINE];
	ssize_t n = recv(fd, text, sizeof(text), MSG_DONTWAIT);

	require(n >= 3 && n <= RN_CONFORM_LINE && text[n - 1] == '\n');
	require(memchr(text, '\n', (size_t)n) == text + n - 1);
	require(memcmp(text, "ok", 2) == 0 || memcmp(text, "no ", 3) == 0);
}

/* A script has a start like that of a tester, as far as it wants. */
static void begin(struct script *s, int fd)
{
	static const char *const lines[GOOD_LINES] = {
		"hello 2\n",
		"begin 80 0 1ffff0000 0 0 0 0\n",
		"mr 1000 ffffffffffffffff f 1\nmr 20 10000 f 2\n",
		"mw 1 1\nmw 2 1\n",
		"srq 1 10 0\nsrq 1 10 3\n",
		"qp 2 1 10 10 0 0 40 1\nqp 4 2 1 1 0 0 0 0\n",
		"qp 9 1 10 0 0 0 0 0\nqp a 1 0 0 0 3 0 0\nqp 2 1 1 0 1 0 0 0\n",
		"dereg 1\narm 1 0\n",
		"listen 0 0 1c06 0\nlisten 1 1 1c06 4\npoll\npoll\npoll\npoll\npoll\n",
		"take 0\naccept 0 0 0 0 31 4 2 7 6 6869000000000000\ntold 0\n"
		"established 0\ndisconnect 0\nclose 0\n",
		"connect 2 0 1c06 0 31 4 2 7 6 0\npoll\nready 2\ntold 2\npoll\n",
		"connect 3 1 1c06 1 31 4 2 7 6 1\npoll\nreject 3 68\nunlisten 0\n",
	};
	unsigned which = take8(s);

	/* A byte that no word begins with chooses the lines about connections. */
	if (!script_is_over(s) && *s->at & 0x80)
		which |= (take8(s) & 0x7fu) << 8;

	for (unsigned i = 0; i < GOOD_LINES; i++)
		if (which & 1u << i)
			require(send(fd, lines[i], strlen(lines[i]), 0) > 0);
}

static void serve(struct rn_agent *a, int ours, int theirs)
{
	struct rn_conform_wire w = { .fd = ours };
	struct rn_conform_line l;

	while (!rn_conform_receive(&w, &l, 0)) {
		rn_agent_answer(a, &l);
		require(l.count <= RN_CONFORM_NUMBERS);
		require(rn_conform_send(&w, &l) == 0);
		take_answer(theirs);
	}
	rn_agent_clear(a);
	rn_agent_cm_close(a);
	require(fake_objects() == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct rn_agent agent;
	struct script s = { data, data + size };
	int fd[2];

	agent = (struct rn_agent){ .ctx = fake_context(),
				   .gid_index = { 0, RN_AGENT_GID_NONE },
				   .gid[0].raw = { [10] = 0xff, 0xff, 127, [15] = 1 } };
	fake_fail(0);
	require(rn_agent_cm_open(&agent));
	require(socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0);
	fake_fail(take8(&s));
	begin(&s, fd[1]);
	if (!script_is_over(&s))
		require(send(fd[1], s.at, script_left(&s), MSG_DONTWAIT) ==
			(ssize_t)script_left(&s));
	require(shutdown(fd[1], SHUT_WR) == 0);
	serve(&agent, fd[0], fd[1]);
	close(fd[0]);
	close(fd[1]);
	return 0;
}
