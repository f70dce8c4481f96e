/* SPDX-License-Identifier: Apache-2.0
 *
 * sites.c - reads SITES chunks and finds the site of a record.
 */
#include "sites.h"

#define WHY_MOST 200u /* bytes of why a site could not be read */

static int pair_number(struct sites *sites, const struct site *site, uint32_t *ret_pair)
{
	const bool by_name = site->kind == WARPSPAN_SITE_BEGIN || site->kind == WARPSPAN_SITE_END;
	/* Two hashes with different starts make 128 bits: names are not compared again. */
	uint64_t a = (uint64_t)site->module << 32 | site->address, b = 0;
	if (by_name) {
		const size_t n = strlen(site->name);
		a = hash_bytes(site->name, n + 1);
		b = hash_bytes(site->name, n) | 1;
	}
	uint32_t pair = map_find(&sites->pairs, a, b);
	if (pair == MAP_NONE) {
		pair = sites->n_pairs;
		if (map_set(&sites->pairs, a, b, pair) < 0)
			return WARPSPAN_NO_MEMORY;
		sites->n_pairs++;
	}
	*ret_pair = pair;
	return WARPSPAN_OK;
}

/* Takes over name and file, also when it fails. */
static int add_site(struct sites *sites, struct site site)
{
	const uint32_t index = (uint32_t)sites->all.n;
	struct site *added = NULL;
	if (site.name != NULL && site.file != NULL && pair_number(sites, &site, &site.pair) == WARPSPAN_OK &&
	    map_set(&sites->by_address, site.module, site.address, index) == 0)
		added = array_add(&sites->all);
	if (added == NULL) {
		free(site.name);
		free(site.file);
		return WARPSPAN_NO_MEMORY;
	}
	*added = site;
	return WARPSPAN_OK;
}

/* "site 0x00001a00 (its module was unloaded)"; `why` is n bytes. */
static char *unknown_name(uint32_t address, const char *why, size_t n)
{
	char *name = NULL;
	const int length =
		n > 0 ? asprintf(&name, "site 0x%08x (%.*s)", address, (int)(n < WHY_MOST ? n : WHY_MOST), why)
		      : asprintf(&name, "site 0x%08x", address);
	return length < 0 ? NULL : name;
}

int sites_add_chunk(struct sites *sites, const struct capture_chunk *chunk, const char *path, struct damage *damage)
{
	uint64_t at = 0;
	while (at < chunk->payload_bytes) {
		struct warpspan_stored_site head;
		const uint64_t place = chunk->offset + sizeof(struct warpspan_chunk) + at;
		const uint64_t left = chunk->payload_bytes - at;
		if (left < sizeof(head))
			return damage_add(damage, place, "'%.200s': a site at byte %llu is cut short", path,
					  (unsigned long long)place);
		memcpy(&head, chunk->payload + at, sizeof(head));
		const uint64_t text_bytes = (uint64_t)head.name_bytes + head.file_bytes;
		if (text_bytes > left - sizeof(head))
			return damage_add(damage, place,
					  "'%.200s': the text of a site at byte %llu is longer than its chunk", path,
					  (unsigned long long)place);
		const char *name = (const char *)chunk->payload + at + sizeof(head);
		const uint64_t whole = (sizeof(head) + text_bytes + 7) & ~7ull;
		at = whole > left ? chunk->payload_bytes : at + whole;
		if (map_find(&sites->by_address, head.module, head.site) != MAP_NONE)
			continue; /* told before */
		const bool known = head.kind >= WARPSPAN_SITE_OPEN && head.kind <= WARPSPAN_SITE_VALUE;
		const int result = add_site(
			sites, (struct site){
				       .module = head.module,
				       .address = head.site,
				       .kind = known ? head.kind : 0,
				       .line = known ? head.line : 0,
				       .name = known ? strndup(name, head.name_bytes)
						     : unknown_name(head.site, name, head.name_bytes),
				       .file = known ? strndup(name + head.name_bytes, head.file_bytes) : strdup(""),
			       });
		if (result < 0)
			return result;
	}
	return WARPSPAN_OK;
}

int sites_find(struct sites *sites, uint32_t module, uint32_t address, uint32_t *ret_index)
{
	*ret_index = map_find(&sites->by_address, module, address);
	if (*ret_index != MAP_NONE || sites->n_unknown == SITES_UNKNOWN_MAX)
		return WARPSPAN_OK;
	*ret_index = (uint32_t)sites->all.n;
	sites->n_unknown++;
	return add_site(sites, (struct site){ .module = module,
					      .address = address,
					      .name = unknown_name(address, "", 0),
					      .file = strdup("") });
}

void sites_finish(struct sites *sites)
{
	for (size_t i = 0; i < sites->all.n; i++) {
		free(sites->all.items[i].name);
		free(sites->all.items[i].file);
	}
	free(sites->all.items);
	map_finish(&sites->by_address);
	map_finish(&sites->pairs);
	memset(sites, 0, sizeof(*sites));
}
