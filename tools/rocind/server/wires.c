/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* wires.c - makes and ends local wires: shared-memory links between two processes of
 * this machine.
 */
#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transport/io/host/log.h"
#include "transport/io/rocind/ctl_socket.h"
#include "transport/io/shm/ring.h"

struct rnd_wire {
	/* The two clients. Index 0 is the one that asked for the local wire. */
	struct rnd_client *end[2];
	/* index of the address at each end, in the GID table of that client */
	unsigned gid_idx[2];
	/* Number of the local wire in the table of each of the two clients. In the
	 * doorbell page of a client, the bit with this number belongs to this local wire.
	 */
	unsigned bit[2];
	bool is_broken;
	rn_ns since;
	uint64_t number; /* number that no other local wire has */
};

/* Time in ns. After a client has lost a local wire, it gets a new one only when this time
 * has passed since the old one was made: each local wire costs memory, and work at the
 * other end.
 */
#define LIFE_MIN RN_MSEC(1000)

/* ---- Memory of the rings and doorbells ---- */

/* Seals the size of the memory, so that no process can truncate it; an access to
 * truncated memory would fault. Returns 0 or -errno.
 */
static int seal_size(int fd)
{
	return fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0
		       ? -errno
		       : 0;
}

/* Returns a new memfd with @len bytes of zeros, or -errno. */
static int make_memory(const char *name, size_t len)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int rc;

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)len) == 0)
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

static int make_page(void)
{
	int fd = make_memory("rocin-doorbell", RN_DOORBELL_BYTES);
	int rc;

	if (fd < 0)
		return fd;
	rc = posix_fallocate(fd, 0, RN_DOORBELL_BYTES);
	rc = rc ? -rc : seal_size(fd);
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}

/* Initialises the rings. Also allocates the memory that they need at first, because a
 * lack of memory can be reported now, but not later. Returns 0 or -errno.
 */
static int format_rings(int fd)
{
	uint8_t *mem;
	int rc = 0;

	for (unsigned i = 0; i < 2 && rc == 0; i++)
		rc = posix_fallocate(fd, (off_t)i * RN_WIRE_RING_BYTES,
				     RN_RING_CONTROL + RN_RING_SIZE_MIN);
	if (rc)
		return -rc;
	mem = mmap(NULL, RN_WIRE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mem == MAP_FAILED)
		return -errno;
	for (unsigned i = 0; i < 2; i++)
		rn_ring_format(mem + (size_t)i * RN_WIRE_RING_BYTES, RN_WIRE_CAPACITY);
	munmap(mem, RN_WIRE_BYTES);
	return seal_size(fd);
}

static int make_rings(void)
{
	int fd = make_memory("rocin-wire", RN_WIRE_BYTES);
	int rc;

	if (fd < 0)
		return fd;
	rc = format_rings(fd);
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}

/* ---- Events to clients ---- */

/* Sends an event to a client. If its socket buffer is full, shuts its connection down;
 * the client is freed later.
 */
static void send_event(struct rnd_client *client, const void *msg)
{
	int rc = rn_ctl_send(client->sock.fd, msg, NULL, 0);

	if (rc == 0)
		return;
	rn_log(RN_LOG_WARN, "process %d does not take its events: %s", client->pid,
	       strerror(-rc));
	shutdown(client->sock.fd, SHUT_RDWR);
}

static struct rn_ctl_ends ends_of(const struct rnd_wire *w, unsigned role)
{
	const struct rnd_attachment *own = &w->end[role]->attachment;
	const struct rnd_attachment *peer = &w->end[!role]->attachment;

	return (struct rn_ctl_ends){ .local = own->gid[w->gid_idx[role]],
				     .peer = peer->gid[w->gid_idx[!role]],
				     .peer_slot = peer->slot };
}

static void tell_down(struct rnd_client *client, const struct rn_ctl_ends *ends, int err)
{
	const struct rn_ctl_wire_down msg = { .hdr = rn_ctl_hdr(RN_CTL_WIRE_DOWN),
					      .ends = *ends,
					      .err = err };

	send_event(client, &msg);
}

/* Tells a client that it gets no local wire, because of the error @err. If the socket
 * buffer of the client is full, the message is dropped.
 */
static void send_wire_down(struct rnd_client *client, const struct rn_ctl_ends *ends,
			   int err)
{
	const struct rn_ctl_wire_down msg = { .hdr = rn_ctl_hdr(RN_CTL_WIRE_DOWN),
					      .ends = *ends,
					      .err = err };

	rn_ctl_send(client->sock.fd, &msg, NULL, 0);
}

/* Opens the pipe @fd once more, as a separate open file. O_NONBLOCK is a flag of the open
 * file: a process that shared the open file with others could clear the flag, and the
 * others would block. Returns a descriptor, or -errno.
 */
static int reopen(int fd)
{
	char path[64];
	int own;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	/* The pipe is opened for reading and writing: writing to a pipe without a reader
	 * would raise SIGPIPE.
	 */
	own = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	return own < 0 ? -errno : own;
}

/* Opens the event @fd (a pipe or an eventfd) for one client. An eventfd cannot be opened
 * again, so its open file is shared. Returns a descriptor that the caller must close, or
 * -errno.
 */
static int event_for_client(int fd)
{
	struct stat st;
	int copy;

	if (fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode))
		return reopen(fd);
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return copy < 0 ? -errno : copy;
}

static int send_wire(const struct rnd_client *to, const struct rn_ctl_wire *msg,
		     int fds[RN_CTL_WIRE_FDS])
{
	int own = event_for_client(fds[RN_CTL_WIRE_EVENT]);
	int peer = event_for_client(fds[RN_CTL_WIRE_PEER_EVENT]);
	int rc = own < 0 ? own : peer;

	fds[RN_CTL_WIRE_EVENT] = own;
	fds[RN_CTL_WIRE_PEER_EVENT] = peer;
	if (rc >= 0)
		rc = rn_ctl_send(to->sock.fd, msg, fds, RN_CTL_WIRE_FDS);
	if (own >= 0)
		close(own);
	if (peer >= 0)
		close(peer);
	return rc;
}

static int tell_up(const struct rnd_wire *w, unsigned role, int rings)
{
	const struct rnd_wires *own = &w->end[role]->wires;
	const struct rnd_wires *peer = &w->end[!role]->wires;
	const struct rn_ctl_wire msg = { .hdr = rn_ctl_hdr(RN_CTL_WIRE),
					 .ends = ends_of(w, role),
					 .role = role,
					 .bit = w->bit[role],
					 .peer_bit = w->bit[!role],
					 .no_icrc = w->end[0]->attachment.no_icrc &&
						    w->end[1]->attachment.no_icrc };
	int fds[RN_CTL_WIRE_FDS] = {
		[RN_CTL_WIRE_RINGS] = rings,
		[RN_CTL_WIRE_PEER_PAGE] = peer->page_fd,
		[RN_CTL_WIRE_PEER_EVENT] = peer->event_fd,
		[RN_CTL_WIRE_PAGE] = own->page_fd,
		[RN_CTL_WIRE_EVENT] = own->event_fd,
	};

	return send_wire(w->end[role], &msg, fds);
}

/* ---- Making and ending local wires ---- */

/* Makes the event by which a process is woken: a pipe or, if pipes cannot be opened again
 * because there is no /proc, an eventfd. It is non-blocking, because the peer writes to
 * it, too, and could fill it. Returns a descriptor for reading and writing, or -errno.
 */
static int make_event(void)
{
	int ends[2], event;

	if (pipe2(ends, O_NONBLOCK | O_CLOEXEC) < 0)
		return -errno;
	/* Reduces the pipe from 16 pages of memory, the default, to one: a user may have
	 * only 16384 pages in pipes. One page holds 512 wake-ups.
	 */
	(void)fcntl(ends[1], F_SETPIPE_SZ, 4096);
	event = reopen(ends[0]);
	close(ends[0]);
	close(ends[1]);
	if (event >= 0)
		return event;
	event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	return event < 0 ? -errno : event;
}

static int open_doorbell(struct rnd_wires *wires)
{
	int page, event;

	if (wires->is_open)
		return 0;
	page = make_page();
	if (page < 0)
		return page;
	event = make_event();
	if (event < 0) {
		close(page);
		return event;
	}
	wires->is_open = true;
	wires->page_fd = page;
	wires->event_fd = event;
	return 0;
}

static int find_gid(const struct rnd_attachment *a, const struct rn_gid *gid)
{
	for (unsigned i = 0; i < a->gid_count; i++)
		if (a->group[i] && memcmp(&a->gid[i], gid, sizeof(*gid)) == 0)
			return (int)i;
	return -1;
}

/* Returns the client at the other end of the wire that @ends describes: the one whose
 * process has the address and the slot (number of the process) in @ends. Sets *@gid_idx
 * to the index of that address. Returns NULL if there is none.
 */
static struct rnd_client *find_peer(const struct rnd_client *client,
				    const struct rn_ctl_ends *ends, int *gid_idx)
{
	uint32_t ifindex = client->attachment.ifindex;

	for (struct rnd_client *c = client->server->clients; c; c = c->next) {
		const struct rnd_attachment *a = &c->attachment;

		if (a->slot == 0 || a->slot != ends->peer_slot || c == client)
			continue;
		*gid_idx = find_gid(a, &ends->peer);
		if (*gid_idx >= 0 &&
		    (!rn_gid_is_link_local(&ends->peer) || a->ifindex == ifindex))
			return c;
	}
	return NULL;
}

static struct rnd_wire *find_wire(const struct rnd_client *client,
				  const struct rn_ctl_ends *ends, unsigned *role)
{
	for (unsigned i = 0; i < RN_CTL_WIRES_MAX; i++) {
		struct rnd_wire *w = client->wires.wire[i];
		struct rn_ctl_ends have;

		if (!w)
			continue;
		*role = w->end[0] == client ? 0 : 1;
		have = ends_of(w, *role);
		if (have.peer_slot == ends->peer_slot &&
		    memcmp(&have.local, &ends->local, sizeof(have.local)) == 0 &&
		    memcmp(&have.peer, &ends->peer, sizeof(have.peer)) == 0)
			return w;
	}
	return NULL;
}

/* Finds a free number for a local wire. Numbers are used in turn, so that one is not used
 * again soon: a local wire that had the same number may have ended, and the client may
 * not have read the event about that yet.
 */
static int find_place(const struct rnd_wires *wires)
{
	for (unsigned i = 0; i < RN_CTL_WIRES_MAX; i++) {
		unsigned place = (wires->next + i) % RN_CTL_WIRES_MAX;

		if (!wires->wire[place])
			return (int)place;
	}
	return -1;
}

/* The record of a local wire in the keeper (the process that starts a successor if rocind
 * dies); it contains no descriptors.
 */
struct saved_wire {
	uint64_t client[2];
	unsigned gid_idx[2], bit[2];
	bool is_broken;
};

static void keep_wire(const struct rnd_wire *w)
{
	struct saved_wire s;

	memset(&s, 0, sizeof(s));
	for (unsigned i = 0; i < 2; i++) {
		s.client[i] = w->end[i]->id;
		s.gid_idx[i] = w->gid_idx[i];
		s.bit[i] = w->bit[i];
		w->end[i]->is_changed = true;
	}
	s.is_broken = w->is_broken;
	rnd_keeper_put(&w->end[0]->server->keeper, RND_RECORD_WIRE, w->number, &s,
		       sizeof(s));
}

static void unlink_wire(struct rnd_wire *w)
{
	rnd_keeper_drop(&w->end[0]->server->keeper, RND_RECORD_WIRE, w->number);
	for (unsigned i = 0; i < 2; i++)
		w->end[i]->wires.wire[w->bit[i]] = NULL;
	free(w);
}

/* Sets the two clients and addresses of @w, a local wire of @client to the other end that
 * @ends describes. Returns 0 or a positive errno value.
 */
static int find_ends(struct rnd_wire *w, struct rnd_client *client,
		     const struct rn_ctl_ends *ends)
{
	int own = find_gid(&client->attachment, &ends->local);
	int theirs = -1;

	if (own < 0)
		return EADDRNOTAVAIL;
	w->end[0] = client;
	w->end[1] = find_peer(client, ends, &theirs);
	if (!w->end[1])
		return EHOSTUNREACH;
	if (!client->attachment.wires || !w->end[1]->attachment.wires)
		return EOPNOTSUPP;
	w->gid_idx[0] = (unsigned)own;
	w->gid_idx[1] = (unsigned)theirs;
	return 0;
}

/* Chooses the number of the local wire in the table of each client. Returns 0 or a
 * positive errno value.
 */
static int choose_places(struct rnd_wire *w)
{
	for (unsigned i = 0; i < 2; i++) {
		int place = find_place(&w->end[i]->wires);
		int rc = open_doorbell(&w->end[i]->wires);

		if (rc)
			return -rc;
		if (place < 0)
			return EMLINK;
		w->bit[i] = (unsigned)place;
	}
	return 0;
}

/* Makes the rings and sends them to both clients. The client that has not asked gets them
 * first, so that it polls the local wire before packets come. Returns 0 or a positive
 * errno value.
 */
static int hand_out(const struct rnd_wire *w)
{
	int rings = make_rings();
	int rc;

	if (rings < 0)
		return -rings;
	rc = tell_up(w, 1, rings);
	if (rc == 0) {
		rc = tell_up(w, 0, rings);
		/* The client that has asked does not get the local wire. The other client
		 * has got it, so it must be told that the wire has ended.
		 */
		if (rc) {
			struct rn_ctl_ends ends = ends_of(w, 1);

			tell_down(w->end[1], &ends, -rc);
		}
	}
	close(rings);
	return -rc;
}

/* Makes a wire with the contents of @plan, and enters it in the tables of both clients.
 * Returns NULL if there is no memory.
 */
static struct rnd_wire *add_wire(const struct rnd_wire *plan)
{
	struct rnd_wire *w = malloc(sizeof(*w));

	if (!w)
		return NULL;
	*w = *plan;
	w->since = rnd_now();
	for (unsigned i = 0; i < 2; i++) {
		w->end[i]->wires.wire[w->bit[i]] = w;
		w->end[i]->wires.next = w->bit[i] + 1;
	}
	return w;
}

/* Makes a wire with the contents of @plan, gives it a number that no other wire has, and
 * sends it to the keeper. Returns 0 or ENOMEM.
 */
static int add_new_wire(const struct rnd_wire *plan)
{
	struct rnd_server *server = plan->end[0]->server;
	struct rnd_wire *w = add_wire(plan);

	if (!w)
		return ENOMEM;
	w->number = ++server->last_wire;
	server->is_changed = true;
	keep_wire(w);
	return 0;
}

/* Makes a local wire and sends it to both clients. Returns 0 or a positive errno value.
 */
static int make_wire(struct rnd_client *client, const struct rn_ctl_ends *ends)
{
	struct rnd_wire w = { .is_broken = false };
	int err = find_ends(&w, client, ends);

	if (err == 0)
		err = choose_places(&w);
	if (err == 0)
		err = add_new_wire(&w);
	if (err)
		return err;
	/* A successor of rocind must know every local wire that a client has, so the wire
	 * is committed to the keeper before clients get it.
	 */
	rnd_server_commit(client->server);
	err = hand_out(&w);
	if (err)
		unlink_wire(client->wires.wire[w.bit[0]]);
	else
		rn_log(RN_LOG_DEBUG, "processes %d and %d have a local wire",
		       w.end[0]->pid, w.end[1]->pid);
	return err;
}

void rnd_wires_drop(struct rnd_client *client, const struct rn_ctl_ends *ends)
{
	struct rn_ctl_ends theirs;
	unsigned role;
	struct rnd_wire *w = find_wire(client, ends, &role);

	if (!w || w->is_broken)
		return;
	rn_log(RN_LOG_WARN, "process %d gives up its local wire to process %d",
	       client->pid, w->end[!role]->pid);
	w->is_broken = true;
	keep_wire(w);
	theirs = ends_of(w, !role);
	tell_down(w->end[!role], &theirs, EPIPE);
}

static void close_wire(struct rnd_wire *w, const struct rnd_client *client)
{
	unsigned role = w->end[0] == client ? 0 : 1;
	struct rnd_client *peer = w->end[!role];
	struct rn_ctl_ends theirs = ends_of(w, !role);
	/* The client at the other end knows already that the wire ends, or rocind is
	 * ending and will tell it.
	 */
	bool knows = w->is_broken || client->server->stopping;

	unlink_wire(w);
	if (!knows)
		tell_down(peer, &theirs, 0);
}

void rnd_wires_ask(struct rnd_client *client, const struct rn_ctl_ends *ends)
{
	unsigned role;
	struct rnd_wire *w = find_wire(client, ends, &role);
	bool is_broken = w && w->is_broken;
	int err;

	if (w && !is_broken && ends->lost == RND_WIRE_UNKNOWN) {
		/* A rocind that has died was about to send this wire to its clients. It
		 * is not known whether it has done so.
		 */
		struct rn_ctl_ends own = ends_of(w, role);

		close_wire(w, client);
		tell_down(client, &own, 0);
	} else if (w && !is_broken) {
		/* The wire exists already. If the client has not lost it, both clients
		 * have asked for a wire at the same time, so nothing has to be done.
		 */
		if (!ends->lost || rnd_now() - w->since < LIFE_MIN)
			return;
		rn_log(RN_LOG_INFO, "process %d has lost its local wire to process %d",
		       client->pid, w->end[!role]->pid);
		close_wire(w, client);
	}
	err = is_broken ? EPIPE : make_wire(client, ends);
	if (err == 0)
		return;
	rn_log(RN_LOG_DEBUG, "process %d gets no local wire: %s", client->pid,
	       strerror(err));
	send_wire_down(client, ends, err);
}

void rnd_wires_close_gid(struct rnd_client *client, unsigned idx)
{
	for (unsigned i = 0; i < RN_CTL_WIRES_MAX; i++) {
		struct rnd_wire *w = client->wires.wire[i];

		if (!w || w->gid_idx[w->end[0] == client ? 0 : 1] != idx)
			continue;
		if (!w->is_broken) {
			struct rn_ctl_ends own = ends_of(w, w->end[0] == client ? 0 : 1);

			tell_down(client, &own, 0);
		}
		close_wire(w, client);
	}
}

static struct rnd_client *find_client(const struct rnd_server *server, uint64_t id)
{
	struct rnd_client *c = server->clients;

	while (c && c->id != id)
		c = c->next;
	return c;
}

void rnd_wires_restore(struct rnd_server *server, const struct rnd_record *r)
{
	struct saved_wire s;
	struct rnd_wire plan;

	if (r->len != sizeof(s))
		return;
	memcpy(&s, r->data, sizeof(s));
	plan = (struct rnd_wire){ .is_broken = s.is_broken };
	for (unsigned i = 0; i < 2; i++) {
		struct rnd_client *c = find_client(server, s.client[i]);

		if (!c || s.bit[i] >= RN_CTL_WIRES_MAX || c->wires.wire[s.bit[i]] ||
		    s.gid_idx[i] >= c->attachment.gid_count)
			return;
		plan.end[i] = c;
		plan.gid_idx[i] = s.gid_idx[i];
		plan.bit[i] = s.bit[i];
	}
	plan.number = r->number;
	add_wire(&plan);
}

void rnd_wires_keep_all(struct rnd_server *server)
{
	for (const struct rnd_client *c = server->clients; c; c = c->next)
		for (unsigned i = 0; i < RN_CTL_WIRES_MAX; i++)
			if (c->wires.wire[i] && c->wires.wire[i]->end[0] == c)
				keep_wire(c->wires.wire[i]);
}

void rnd_wires_close(struct rnd_client *client)
{
	struct rnd_wires *wires = &client->wires;

	for (unsigned i = 0; i < RN_CTL_WIRES_MAX; i++)
		if (wires->wire[i])
			close_wire(wires->wire[i], client);
	if (!wires->is_open)
		return;
	close(wires->page_fd);
	close(wires->event_fd);
	*wires = (struct rnd_wires){ 0 };
}
