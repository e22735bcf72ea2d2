/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* taps.c - captures of packets: makes a ring in shared memory for each captured device,
 * and passes it to the process that captures and to the one that is captured.
 */
#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tools/rocind/cm/cm.h"
#include "transport/io/capture/capture_ring.h"
#include "transport/io/capture/net_capture.h"
#include "transport/io/host/log.h"
#include "transport/io/rocind/ctl_socket.h"

/* ---- Memory of the rings ---- */

static int format(int fd, uint32_t size)
{
	void *page;

	if (ftruncate(fd, (off_t)rn_capture_ring_bytes(size)) < 0)
		return -errno;
	page = mmap(NULL, RN_CAPTURE_CONTROL, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return -errno;
	rn_capture_format(page, size);
	munmap(page, RN_CAPTURE_CONTROL);
	/* The size is sealed, so that no process can truncate the memory; an access to
	 * truncated memory would fault.
	 */
	return fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0
		       ? -errno
		       : 0;
}

static int make_ring(uint32_t size)
{
	int fd = memfd_create("rocin-capture", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int rc;

	if (fd < 0)
		return -errno;
	rc = format(fd, size);
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}

/* ---- Events to clients ---- */

static void send_event(struct rnd_client *client, const void *msg, const int *fds,
		       unsigned fd_count)
{
	int rc = rn_ctl_send(client->sock.fd, msg, fds, fd_count);

	if (rc == 0 || rc == -EPIPE || rc == -ECONNRESET)
		return;
	rn_log(RN_LOG_WARN, "process %d does not take its events: %s", client->pid,
	       strerror(-rc));
	shutdown(client->sock.fd, SHUT_RDWR);
}

static void tell_end(struct rnd_client *client, uint64_t id)
{
	const struct rn_ctl_tap_end msg = { .hdr = rn_ctl_hdr(RN_CTL_TAP_END), .id = id };

	send_event(client, &msg, NULL, 0);
}

/* ---- Pairs of capture and device ---- */

static bool is_captured(const struct rnd_client *capture, const struct rnd_client *device)
{
	const struct rnd_taps *t = &capture->taps;

	return t->is_open && device->attachment.slot &&
	       (t->what.pid == 0 || t->what.pid == device->pid) &&
	       (t->what.ibdev[0] == '\0' ||
		strcmp(t->what.ibdev, device->attachment.ibdev) == 0);
}

static void tell_capture(struct rnd_client *capture, const struct rnd_client *device,
			 int ring)
{
	const struct rnd_attachment *a = &device->attachment;
	struct rn_ctl_tap_source msg = { .hdr = rn_ctl_hdr(RN_CTL_TAP_SOURCE),
					 .id = device->id,
					 .pid = device->pid,
					 .slot = a->slot,
					 .size = capture->taps.what.size,
					 .has_stats = a->stats_fd >= 0 };
	int fds[] = { ring, a->stats_fd };

	memcpy(msg.ibdev, a->ibdev, sizeof(msg.ibdev));
	memcpy(msg.ifname, a->ifname, sizeof(msg.ifname));
	send_event(capture, &msg, fds, msg.has_stats ? 2 : 1);
}

static void connect_pair(struct rnd_client *capture, struct rnd_client *device)
{
	const struct rn_ctl_capture *what = &capture->taps.what;
	const struct rn_ctl_tap msg = { .hdr = rn_ctl_hdr(RN_CTL_TAP),
					.id = capture->id,
					.qpn = what->qpn,
					.snaplen = what->snaplen,
					.size = what->size };
	int ring;

	if (!is_captured(capture, device))
		return;
	ring = make_ring(what->size);
	if (ring < 0) {
		rn_log(RN_LOG_WARN, "process %d is not captured: %s", device->pid,
		       strerror(-ring));
		return;
	}
	/* The process that captures is told of the device before the device gets the
	 * ring, so that it knows the device when packets come.
	 */
	tell_capture(capture, device, ring);
	send_event(device, &msg, &ring, 1);
	close(ring);
}

/* ---- Captures of the connection manager ---- */

#define CM_NAME "rocind"

enum {
	QP1 = 1
};

static bool wants_cm(const struct rnd_client *capture)
{
	const struct rn_ctl_capture *what = &capture->taps.what;

	return capture->taps.is_open && what->qpn <= QP1 &&
	       (what->pid == 0 || what->pid == getpid()) &&
	       (what->ibdev[0] == '\0' || strcmp(what->ibdev, CM_NAME) == 0);
}

static void keep_ring(const struct rnd_client *capture)
{
	const struct rnd_taps *t = &capture->taps;

	if (!t->has_ring)
		return;
	rnd_keeper_put(&capture->server->keeper, RND_RECORD_TAP, capture->id, &t->what,
		       sizeof(t->what));
	rnd_keeper_pass(&capture->server->keeper, t->ring);
}

void rnd_taps_keep_all(struct rnd_server *server)
{
	for (const struct rnd_client *c = server->clients; c; c = c->next)
		keep_ring(c);
}

/* Captures the packets of QP1, which rocind itself sends and receives, into the ring
 * @ring. On success, @capture owns that descriptor. Returns 0 or -errno.
 */
static int capture_cm(struct rnd_client *capture, int ring)
{
	struct rnd_taps *t = &capture->taps;
	const struct rn_capture_filter filter = { .qpn = t->what.qpn,
						  .snaplen = t->what.snaplen };
	int rc = rnd_cm_capture(capture->server->cm, capture->id, ring, t->what.size,
				&filter);

	if (rc)
		return rc;
	t->has_ring = true;
	t->ring = ring;
	return 0;
}

static void connect_cm(struct rnd_client *capture)
{
	const struct rn_ctl_capture *what = &capture->taps.what;
	const struct rn_ctl_tap_source msg = { .hdr = rn_ctl_hdr(RN_CTL_TAP_SOURCE),
					       .pid = getpid(),
					       .size = what->size,
					       .ibdev = CM_NAME };
	int ring = wants_cm(capture) ? make_ring(what->size) : -EAGAIN, rc = ring;

	if (ring >= 0) {
		send_event(capture, &msg, &ring, 1);
		rc = capture_cm(capture, ring);
		if (rc)
			close(ring);
		keep_ring(capture);
	}
	if (rc < 0 && rc != -EAGAIN)
		rn_log(RN_LOG_WARN, "process %d is not captured: %s", getpid(),
		       strerror(-rc));
}

/* ---- Start and end of captures ---- */

static unsigned count_open(const struct rnd_server *server)
{
	unsigned n = 0;

	for (const struct rnd_client *c = server->clients; c; c = c->next)
		n += c->taps.is_open;
	return n;
}

int rnd_taps_open(struct rnd_client *client, const struct rn_ctl_capture *what, char *err,
		  size_t err_len)
{
	if (client->taps.is_open || client->attachment.slot)
		return rn_fail(err, err_len, -EALREADY,
			       "this connection has a device, or captures already");
	if (!rn_capture_is_size(what->size) ||
	    !memchr(what->ibdev, '\0', sizeof(what->ibdev)))
		return rn_fail(err, err_len, -EINVAL,
			       "a capture with no name or size that can be");
	if (count_open(client->server) >= RN_CTL_CAPTURES_MAX)
		return rn_fail(err, err_len, -EBUSY,
			       "%d captures are under way, which is the most; end one",
			       RN_CTL_CAPTURES_MAX);
	client->taps.is_open = true;
	client->taps.what = *what;
	rn_log(RN_LOG_INFO, "process %d captures", client->pid);
	return 0;
}

void rnd_taps_begin(struct rnd_client *client)
{
	connect_cm(client);
	for (struct rnd_client *c = client->server->clients; c; c = c->next)
		connect_pair(client, c);
}

void rnd_taps_attached(struct rnd_client *client)
{
	for (struct rnd_client *c = client->server->clients; c; c = c->next)
		connect_pair(c, client);
}

void rnd_taps_restore(struct rnd_server *server, struct rnd_record *r)
{
	struct rnd_client *c = server->clients;

	while (c && c->id != r->number)
		c = c->next;
	if (!c || !c->taps.is_open || c->taps.has_ring ||
	    r->len != sizeof(c->taps.what) || r->fd_count != 1)
		return;
	if (capture_cm(c, r->fd[0]))
		rn_log(RN_LOG_WARN, "a capture does not go on");
	else
		r->fd_count = 0;
}

void rnd_taps_close(struct rnd_client *client)
{
	for (struct rnd_client *c = client->server->clients; c; c = c->next) {
		if (c != client && is_captured(client, c))
			tell_end(c, client->id);
		if (c != client && is_captured(c, client))
			tell_end(c, client->id);
	}
	rnd_cm_end_capture(client->server->cm, client->id);
	rnd_keeper_drop(&client->server->keeper, RND_RECORD_TAP, client->id);
	if (client->taps.has_ring)
		close(client->taps.ring);
	client->taps = (struct rnd_taps){ 0 };
}
