/* SPDX-License-Identifier: Apache-2.0
 *
 * rank.c - reads the launchers' variables. See rank.h.
 *
 * Launchers start launchers, and what the outer one set is still there: under `mpirun` in a batch job Slurm's variables
 * tell of the script or of mpirun's own helper, not of the program. So the first row holds whose variables are there,
 * and the rows stand from the innermost launcher to the outermost.
 */
#include "rank.h"

#include <stdlib.h>
#include <string.h>

struct launcher {
	const char *name, *rank, *world, *local; /* variables; NULL: it has none */
	const char *needs;                       /* a variable that must be set as well; NULL: none */
	const char *beginning;                   /* of its value */
};

static const struct launcher launchers[] = {
	/* Names so common that one alone proves nothing. */
	{ "torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "WORLD_SIZE", "" },
	{ "Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", NULL, NULL },
	/* Hydra, the launcher of MPICH, Intel MPI and MVAPICH. */
	{ "MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", NULL, NULL },
	/* `srun --mpi=pmix`: the same rank as PMIx tells, and the size, which PMIx does not put into the environment.
	 */
	{ "Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "PMIX_NAMESPACE", "slurm." },
	{ "PMIx", "PMIX_RANK", NULL, NULL, NULL, NULL },
	/* A batch script has the variables of a task as well, but is no step of its job: what it runs itself runs once.
	 */
	{ "Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_STEP_ID", "" },
};

/* A decimal number below UINT32_MAX; false: the variable is absent, or anything else. */
static bool read_number(const char *variable, uint32_t *ret)
{
	const char *text = variable != NULL ? secure_getenv(variable) : NULL;
	uint64_t number = 0;

	if (text == NULL || text[0] == '\0')
		return false;
	for (; *text != '\0'; text++) {
		if (*text < '0' || *text > '9')
			return false;
		number = number * 10 + (uint64_t)(*text - '0');
		if (number >= UINT32_MAX)
			return false;
	}
	*ret = (uint32_t)number;
	return true;
}

/* Ranks beyond the size are another program's idea of these names. */
static bool tells(const struct launcher *launcher, struct warpspan_rank *ret_rank)
{
	struct warpspan_rank found = { .launcher = launcher->name, .local = WARPSPAN_RANK_UNKNOWN };
	const char *needed = launcher->needs != NULL ? secure_getenv(launcher->needs) : "";

	if (needed == NULL ||
	    (launcher->needs != NULL && strncmp(needed, launcher->beginning, strlen(launcher->beginning)) != 0) ||
	    !read_number(launcher->rank, &found.rank))
		return false;
	(void)read_number(launcher->local, &found.local);
	if (read_number(launcher->world, &found.world) && found.rank >= found.world)
		return false;
	*ret_rank = found;
	return true;
}

bool warpspan_rank_find(struct warpspan_rank *ret_rank)
{
	for (unsigned i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++)
		if (tells(&launchers[i], ret_rank))
			return true;
	return false;
}
