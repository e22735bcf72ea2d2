/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ctl_client.c - a client of rocind that makes requests, and a daemon that says anything.
 *
 * The daemon speaks when the client waits: poll() is ours (-Wl,--wrap), so nothing takes
 * time. At the end of the script it closes the connection.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ctl_sides.h"
#include "rocin/netdev.h"
#include "transport/io/rocind/rocind_conn.h"

int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout);

enum {
	ENOUGH = 1 /* what on_client() ends a list with */
};

static struct {
	struct script *script;
	int sock; /* -1: closed */
} rocind;

static void close_rocind(void)
{
	if (rocind.sock >= 0)
		close(rocind.sock);
	rocind.sock = -1;
}

int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout)
{
	require(count == 1 && timeout > 0);
	if (script_is_over(rocind.script))
		close_rocind();
	else
		ctl_speak(rocind.script, rocind.sock);
	fds->revents = POLLIN;
	return 1;
}

/* ---- Requests ---- */

/* Room for a sentence that is not terminated as long as none is written: rocind may
 * refuse in any words.
 */
struct sentence {
	char text[RN_CTL_TEXT_LEN + 100];
};

static struct sentence no_sentence(void)
{
	struct sentence why;

	memset(why.text, '?', sizeof(why.text));
	return why;
}

static void check_result(int rc, const struct sentence *why)
{
	bool written = memchr(why->text, '\0', sizeof(why->text)) != NULL;

	require(rc <= 0 && written == (rc != 0));
}

static void check_socket(int fd)
{
	require(fd > STDERR_FILENO);
	require(fcntl(fd, F_GETFD) == FD_CLOEXEC);
	close(fd);
}

static void attach(struct rn_rocind *r, struct script *s)
{
	struct rn_netdev dev = { .ibdev = "rocin0",
				 .ifname = "lo",
				 .ifindex = 1,
				 .gid_count = take8(s) % (RN_GID_MAX + 2) };
	struct sentence why = no_sentence();
	struct rn_attach out = { .slot = 0 };
	int rc;

	for (uint32_t i = 0; i < dev.gid_count && i < RN_GID_MAX; i++)
		dev.gid[i].raw[15] = (uint8_t)i;
	rc = rn_rocind_attach(r, &dev, -1, &out, why.text, sizeof(why.text));
	check_result(rc, &why);
	if (rc) {
		require(out.slot == 0 && out.sock_count == 0);
		return;
	}
	require(out.slot >= 1 && out.slot <= RN_CTL_SLOT_MAX);
	require(out.qpn_counter >= 1 && out.qpn_counter <= UINT16_MAX);
	require(out.sock_count == dev.gid_count);
	for (unsigned i = 0; i < out.sock_count; i++)
		check_socket(out.sock[i]);
}

static int on_client(void *ctx, const struct rn_rocind_client *client)
{
	unsigned *left = ctx;

	require(client->gid_count <= RN_GID_MAX);
	require(memchr(client->ibdev, '\0', sizeof(client->ibdev)) != NULL);
	require(memchr(client->ifname, '\0', sizeof(client->ifname)) != NULL);
	if (client->stats_fd >= 0)
		check_socket(client->stats_fd);
	return (*left)-- == 0 ? ENOUGH : 0;
}

static void list(struct rn_rocind *r, struct script *s)
{
	struct sentence why = no_sentence();
	unsigned left = take8(s);
	int rc = rn_rocind_list(r, on_client, &left, why.text, sizeof(why.text));

	/* The caller's own end needs no sentence. */
	if (rc != ENOUGH)
		check_result(rc, &why);
}

static void status(struct rn_rocind *r)
{
	struct sentence why = no_sentence();
	struct rn_rocind_status out;
	int rc = rn_rocind_status(r, &out, why.text, sizeof(why.text));

	check_result(rc, &why);
	if (rc == 0)
		require(memchr(out.version, '\0', sizeof(out.version)) != NULL);
}

static void event(struct rn_rocind *r)
{
	struct rn_rocind_event e;
	int rc = rn_rocind_event(r, &e);

	require(rc == 0 || rc == -EAGAIN);
	if (rc)
		return;
	if (e.kind == RN_ROCIND_WIRE) {
		const int fds[] = { e.wire.rings, e.wire.peer_page, e.wire.peer_event,
				    e.wire.page, e.wire.event };

		require(e.wire.role < 2 && e.wire.bit < RN_ROCIND_WIRES_MAX);
		require(e.wire.peer_bit < RN_ROCIND_WIRES_MAX);
		for (unsigned i = 0; i < RN_ARRAY_SIZE(fds); i++)
			require(close(fds[i]) == 0);
	}
	require((e.kind == RN_ROCIND_GID_ADDED) == (e.sock >= 0));
	require(e.kind == RN_ROCIND_FAULTS || e.text < 0);
	if (e.kind == RN_ROCIND_GID_ADDED || e.kind == RN_ROCIND_GID_REMOVED)
		require(e.gid_idx < RN_GID_MAX);
	else
		require(e.gid_idx == RN_GID_MAX);
	if (e.sock >= 0)
		check_socket(e.sock);
	if (e.text >= 0)
		check_socket(e.text);
}

static void faults(struct rn_rocind *r, struct script *s)
{
	const uint8_t from[RN_ROCIND_RULES_MAX] = { take8(s) };
	struct rn_rocind_faults out = { .fd = -1, .generation = take8(s) };
	struct sentence why = no_sentence();
	int rc;

	if (take8(s) % 2)
		rc = rn_rocind_faults(r, &out, why.text, sizeof(why.text));
	else
		rc = rn_rocind_set_faults(r, &out, -1, from, why.text, sizeof(why.text));
	check_result(rc, &why);
	if (out.fd >= 0)
		check_socket(out.fd);
}

static void step(struct rn_rocind *r, struct script *s)
{
	struct sentence why = no_sentence();
	bool was_gone = r->gone;
	int rc = -ECONNRESET;

	switch (take8(s) % 8) {
	case 0:
		attach(r, s);
		break;
	case 1:
		rc = rn_rocind_detach(r, why.text, sizeof(why.text));
		check_result(rc, &why);
		break;
	case 2:
		list(r, s);
		break;
	case 3:
		status(r);
		break;
	case 4:
		rc = rn_rocind_shutdown(r, why.text, sizeof(why.text));
		check_result(rc, &why);
		break;
	case 5:
		event(r);
		break;
	case 6:
		faults(r, s);
		break;
	default:
		if (rocind.sock >= 0)
			ctl_speak(s, rocind.sock);
		break;
	}
	/* Nothing brings a lost connection back. */
	require(!was_gone || (r->gone && rc == -ECONNRESET));
}

void ctl_client_side(struct script *s)
{
	struct rn_rocind *r = calloc(1, sizeof(*r));
	int pair[2];

	require(r && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	r->sock = pair[0];
	rocind.script = s;
	rocind.sock = pair[1];
	while (!script_is_over(s))
		step(r, s);
	rn_rocind_close(r);
	close_rocind();
}
