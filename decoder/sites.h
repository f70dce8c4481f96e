/* SPDX-License-Identifier: Apache-2.0
 *
 * sites.h - the places in the source that records name.
 *
 * Also gives out the numbers by which begins and ends are paired: a WS_SCOPE's by its site, WS_BEGIN's and WS_END's by
 * their name; so pairing compares two small integers.
 */
#ifndef WARPSPAN_SITES_H
#define WARPSPAN_SITES_H

#include "capture.h"
#include "map.h"

/* Records may name sites of which the capture holds no text. Each is kept apart, up to this many; what names more
 * places than that is no record. */
#define SITES_UNKNOWN_MAX 4096

struct site {
	uint32_t module, address; /* address: its low word */
	uint32_t kind;            /* enum warpspan_site_kind; 0: not known */
	uint32_t line;
	char *name, *file; /* "site 0x... (why)" and "" where not known */
	uint32_t pair;     /* records with equal numbers pair up; below sites.n_pairs */
};

struct sites {
	ARRAY(struct site) all;
	struct map by_address; /* module, address -> index */
	struct map pairs;      /* hash of the name or address -> pair number */
	uint32_t n_pairs, n_unknown;
};

/* Adds what a SITES chunk holds. */
int sites_add_chunk(struct sites *sites, const struct capture_chunk *chunk, const char *path, struct damage *damage);
/* The index of a site; one that no chunk told of is added. *ret_index is MAP_NONE when there are too many of those. */
int sites_find(struct sites *sites, uint32_t module, uint32_t address, uint32_t *ret_index);
void sites_finish(struct sites *sites);

#endif
