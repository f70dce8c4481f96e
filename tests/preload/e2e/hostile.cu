/* SPDX-License-Identifier: Apache-2.0
 *
 * hostile.cu WHAT [soon] - a kernel of the program writes out of bounds, into the memory of the records: into the
 * segment of a warp that is still open, which the library has looked at already; or, "soon", most likely has not. WHAT
 * says what is hit.
 *
 *   holds (open) ------------------------------------------ closes
 *        quick     (drained)     smash   quick   (drained)
 */
#include <warpspan.cuh>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <unistd.h>

struct flags {
	int opened, go;
};

__global__ void holds(volatile flags *shared)
{
	WS_OPEN(ws);
	WS_SCOPE(ws, "hold");
	shared->opened = 1;
	while (shared->go == 0)
		;
}

__global__ void quick(int *out)
{
	WS_OPEN(ws);
	WS_SCOPE(ws, "quick");
	out[blockIdx.x] = 1;
}

/* Not recorded itself: it has no WS_OPEN. */
__global__ void smash(warpspan_u32 *at, int words, warpspan_u32 value)
{
	for (int i = 0; i < words; i++)
		at[i] = value;
}

static const struct attack {
	const char *name;
	bool header;      /* of the arena, else of its first segment, which is the one of `holds` */
	int first, words; /* 32-bit words */
	warpspan_u32 value;
} attacks[] = {
	{ "nothing", false, 0, 0, 0 },
	{ "magic", false, 0, 1, 0xffffffffu },
	{ "state", false, 1, 1, 0xffffffffu },
	{ "length-0", false, 2, 1, 0 },
	{ "length-16", false, 2, 1, 16 },
	{ "length-64", false, 2, 1, 64 },
	{ "length-odd", false, 2, 1, 97 },
	{ "length-long", false, 2, 1, 0xfffffff0u },
	{ "length-more", false, 2, 1, 0x10000u },
	{ "module", false, 12, 1, 12345 },
	{ "ones", false, 0, 16, 0xffffffffu },
	{ "zeros", false, 0, 16, 0 },
	{ "tickets-ones", true, 0, 2, 0xffffffffu },
	{ "closed-ones", true, 32, 2, 0xffffffffu },
};

static void hit(const attack &attack, cudaStream_t stream)
{
	struct warpspan_ctx ctx;
	struct warpspan_control control;
	void *symbol;

	if (cudaGetSymbolAddress(&symbol, warpspan_ctx) != cudaSuccess)
		exit(4);
	cudaMemcpyAsync(&ctx, symbol, sizeof(ctx), cudaMemcpyDeviceToHost, stream);
	cudaStreamSynchronize(stream);
	if (ctx.control == 0)
		return; /* without the library there is nothing to hit */
	cudaMemcpyAsync(&control, reinterpret_cast<void *>(ctx.control), sizeof(control), cudaMemcpyDeviceToHost,
			stream);
	cudaStreamSynchronize(stream);
	auto *words = reinterpret_cast<warpspan_u32 *>(control.arena + (attack.header ? 0 : sizeof(warpspan_arena)));
	smash<<<1, 1, 0, stream>>>(words + attack.first, attack.words, attack.value);
	cudaStreamSynchronize(stream);
}

int main(int argc, char **argv)
{
	const attack *attack = attacks;
	const struct attack *const end = attacks + sizeof(attacks) / sizeof(attacks[0]);
	cudaStream_t held, other;
	flags *shared;
	int *out;

	while (attack < end && argc >= 2 && strcmp(attack->name, argv[1]) != 0)
		attack++;
	if (attack == end || argc < 2)
		return 2;
	cudaHostAlloc(&shared, sizeof(*shared), cudaHostAllocMapped);
	memset(shared, 0, sizeof(*shared));
	cudaMalloc(&out, 4096);
	cudaStreamCreateWithFlags(&held, cudaStreamNonBlocking);
	cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
	holds<<<1, 32, 0, held>>>(shared);
	while (static_cast<volatile flags *>(shared)->opened == 0)
		usleep(1000);
	quick<<<2, 32, 0, other>>>(out);
	cudaStreamSynchronize(other);
	if (argc == 2)
		usleep(60000);
	hit(*attack, other);
	quick<<<2, 32, 0, other>>>(out);
	cudaStreamSynchronize(other);
	usleep(60000);
	static_cast<volatile flags *>(shared)->go = 1;
	printf("hostile: %s\n", cudaGetErrorString(cudaDeviceSynchronize()));
	return 0;
}
