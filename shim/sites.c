/* SPDX-License-Identifier: Apache-2.0
 *
 * sites.c - reads each site's descriptor once. See sites.h.
 *
 * A record holds the low word of the descriptor's address. The high word is that of the module's warpspan_ctx, or one
 * more or less: a module's image is far smaller than 4 GiB, so the nearest address with that low word is the one.
 */
#include "sites.h"

#include "driver.h"
#include "output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A site: two texts of up to 64 KiB. */
#define MOST_TEXT_BYTES (2u * 65535u)
/* What one chunk gathers before it is written. */
#define CHUNK_BYTES (256u << 10)
/* Records that a kernel of the program overwrote name sites at random. Beyond so many places of a module without a
 * descriptor the device is not asked for more, and beyond so many sites, far more than a module can hold in source
 * lines, no more are noted. */
#define MOST_UNREADABLE 256u
#define MOST_SITES      (1u << 20)

struct warpspan_site_table {
	uint32_t *slots; /* open addressing; 0: free (no site has address 0) */
	size_t n_slots;  /* a power of two */
	size_t n_used;
	uint32_t *fresh; /* noted, not yet written */
	size_t n_fresh, fresh_capacity;
	unsigned n_unreadable;
	unsigned session; /* whose capture has the sites in it */
	struct warpspan_module *module;
	struct warpspan_site_table *next_fresh; /* in the list below */
	bool listed;
};

/* Tables that may have fresh sites. */
static struct warpspan_site_table *first_fresh;
static unsigned current_session;

void warpspan_sites_begin(unsigned session)
{
	current_session = session;
	for (; first_fresh != NULL; first_fresh = first_fresh->next_fresh)
		first_fresh->listed = false;
}

/* Every session's capture holds its sites itself. */
static void renew(struct warpspan_site_table *table)
{
	if (table->session == current_session)
		return;
	table->session = current_session;
	if (table->n_slots != 0)
		memset(table->slots, 0, table->n_slots * sizeof(table->slots[0]));
	table->n_used = table->n_fresh = 0;
	table->n_unreadable = 0;
}

static size_t slot_of(const struct warpspan_site_table *table, uint32_t site)
{
	size_t i = (size_t)(site * 0x9e3779b1u) >> 4;

	while (table->slots[i & (table->n_slots - 1)] != 0 && table->slots[i & (table->n_slots - 1)] != site)
		i++;
	return i & (table->n_slots - 1);
}

static bool grow(struct warpspan_site_table *table)
{
	struct warpspan_site_table bigger = { .n_slots = table->n_slots != 0 ? table->n_slots * 2 : 64 };

	if (table->n_used * 2 < table->n_slots)
		return true;
	bigger.slots = calloc(bigger.n_slots, sizeof(bigger.slots[0]));
	if (bigger.slots == NULL)
		return false;
	for (size_t i = 0; i < table->n_slots; i++)
		if (table->slots[i] != 0)
			bigger.slots[slot_of(&bigger, table->slots[i])] = table->slots[i];
	free(table->slots);
	table->slots = bigger.slots;
	table->n_slots = bigger.n_slots;
	return true;
}

static bool grow_fresh(struct warpspan_site_table *table)
{
	const size_t capacity = table->fresh_capacity != 0 ? table->fresh_capacity * 2 : 64;
	uint32_t *fresh;

	if (table->n_fresh < table->fresh_capacity)
		return true;
	fresh = realloc(table->fresh, capacity * sizeof(*fresh));
	if (fresh == NULL)
		return false;
	table->fresh = fresh;
	table->fresh_capacity = capacity;
	return true;
}

void warpspan_sites_note(struct warpspan_module *module, uint32_t site)
{
	struct warpspan_site_table *table = module->sites;
	size_t i;

	if (site == 0)
		return;
	if (table == NULL) {
		table = calloc(1, sizeof(*table));
		if (table == NULL)
			return;
		table->module = module;
		module->sites = table;
	}
	renew(table);
	if (table->n_slots != 0 && table->slots[slot_of(table, site)] == site)
		return;
	if (table->n_used >= MOST_SITES || !grow(table) || !grow_fresh(table))
		return;
	if (!table->listed) {
		table->next_fresh = first_fresh;
		first_fresh = table;
		table->listed = true;
	}
	i = slot_of(table, site);
	table->slots[i] = site;
	table->n_used++;
	table->fresh[table->n_fresh++] = site;
}

static CUdeviceptr address_of(CUdeviceptr near, uint32_t low)
{
	const CUdeviceptr turn = 1ull << 32;
	CUdeviceptr address = (near & ~(turn - 1)) | low;

	if (address > near && address - near > turn / 2 && address >= turn)
		address -= turn;
	else if (address < near && near - address > turn / 2)
		address += turn;
	return address;
}

/* Reads the site into *ret and its texts into `text`. NULL, or why it could not be read. */
static const char *read_site(const struct warpspan_module *module, uint32_t low, CUstream stream,
			     struct warpspan_site *ret, char *text)
{
	const CUdeviceptr address = address_of(module->address, low);

	if (atomic_load_explicit(&module->gone, memory_order_acquire))
		return "its module was unloaded";
	if (module->sites->n_unreadable >= MOST_UNREADABLE)
		return "too many records of this module name no site";
	if (warpspan_driver_read(ret, address, sizeof(*ret), stream) != CUDA_SUCCESS)
		return "there is no memory at this address";
	if (ret->magic != WARPSPAN_SITE_MAGIC)
		return "there is no descriptor at this address";
	if (ret->name_bytes == 0 || ret->file_bytes == 0)
		return "its descriptor is damaged";
	if (warpspan_driver_read(text, address + sizeof(*ret), (size_t)ret->name_bytes + ret->file_bytes, stream) !=
	    CUDA_SUCCESS)
		return "its text could not be read";
	if (text[ret->name_bytes - 1] != '\0' || text[ret->name_bytes + ret->file_bytes - 1] != '\0')
		return "its text is damaged";
	return NULL;
}

/* Appends one stored site at `to`, which has room for it, and returns its bytes. */
static size_t store_site(unsigned char *to, const struct warpspan_module *module, uint32_t low, CUstream stream)
{
	static char text[MOST_TEXT_BYTES];
	struct warpspan_stored_site stored = { .module = module->number, .site = low };
	struct warpspan_site site;
	const char *why = read_site(module, low, stream, &site, text);
	const char *name = why, *file = "";
	size_t bytes = sizeof(stored);

	module->sites->n_unreadable += why != NULL;
	if (why == NULL) {
		stored.kind = site.kind;
		stored.line = site.line;
		name = text;
		file = text + site.name_bytes;
	}
	stored.name_bytes = (uint32_t)strlen(name);
	stored.file_bytes = (uint32_t)strlen(file);
	memcpy(to, &stored, sizeof(stored));
	memcpy(to + bytes, name, stored.name_bytes);
	bytes += stored.name_bytes;
	memcpy(to + bytes, file, stored.file_bytes);
	bytes += stored.file_bytes;
	while (bytes % WARPSPAN_CHUNK_ALIGNMENT != 0)
		to[bytes++] = 0;
	return bytes;
}

void warpspan_sites_write(struct warpspan_module *module, CUstream stream, bool again)
{
	static unsigned char chunk[CHUNK_BYTES + sizeof(struct warpspan_stored_site) + MOST_TEXT_BYTES + 8];
	struct warpspan_site_table *table = module->sites;
	size_t used = 0;

	if (table == NULL)
		return;
	for (size_t i = 0; i < table->n_fresh; i++) {
		used += store_site(chunk + used, module, table->fresh[i], stream);
		if (used >= CHUNK_BYTES || i + 1 == table->n_fresh) {
			const struct iovec part = { .iov_base = chunk, .iov_len = used };

			warpspan_output_append(WARPSPAN_CHUNK_SITES, &part, 1);
			used = 0;
		}
	}
	if (!again)
		table->n_fresh = 0;
}

void warpspan_sites_write_all(const struct warpspan_context *context, CUstream stream, bool again)
{
	struct warpspan_site_table **link = &first_fresh;

	while (*link != NULL) {
		struct warpspan_site_table *table = *link;

		if (table->module->context != context) {
			link = &table->next_fresh;
			continue;
		}
		warpspan_sites_write(table->module, stream, again);
		if (again) {
			link = &table->next_fresh;
			continue;
		}
		*link = table->next_fresh;
		table->listed = false;
	}
}
