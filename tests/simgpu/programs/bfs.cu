// SPDX-License-Identifier: Apache-2.0
//
// Breadth-first search of a random graph in compressed rows, by levels: once with a thread for each vertex of the
// frontier, once with a warp for each, and once bottom-up, where vertices not reached yet look for a parent.
// Exercises: irregular loads, atomicCAS to claim a vertex, a queue filled by warps together (one atomic for all lanes
// that found something), levels decided on the host from a counter the device writes, bit maps.
#include "sample.h"

#include <algorithm>

struct Graph {
	std::vector<unsigned> first, neighbors;
	unsigned n_vertices() const
	{
		return (unsigned)first.size() - 1;
	}
};

static constexpr unsigned unreached = 0xffffffffu;

// Room in the queue for every lane that calls, one atomic for all of them.
__device__ unsigned reserve(unsigned *length)
{
	const unsigned active = __activemask(), lane = threadIdx.x % 32, leader = __ffs(active) - 1;
	unsigned start = 0;
	if (lane == leader)
		start = atomicAdd(length, (unsigned)__popc(active));
	start = __shfl_sync(active, start, leader);
	return start + __popc(active & ((1u << lane) - 1));
}

__device__ void visit(unsigned vertex, unsigned next_level, unsigned *levels, unsigned *next, unsigned *n_next)
{
	if (atomicCAS(&levels[vertex], unreached, next_level) == unreached)
		next[reserve(n_next)] = vertex;
}

__global__ void by_threads(const unsigned *first, const unsigned *neighbors, const unsigned *frontier,
			   unsigned n_frontier, unsigned next_level, unsigned *levels, unsigned *next, unsigned *n_next)
{
	const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n_frontier)
		return;
	const unsigned vertex = frontier[i];
	for (unsigned edge = first[vertex]; edge < first[vertex + 1]; edge++)
		visit(neighbors[edge], next_level, levels, next, n_next);
}

__global__ void by_warps(const unsigned *first, const unsigned *neighbors, const unsigned *frontier,
			 unsigned n_frontier, unsigned next_level, unsigned *levels, unsigned *next, unsigned *n_next)
{
	const unsigned i = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
	if (i >= n_frontier)
		return;
	const unsigned vertex = frontier[i];
	for (unsigned edge = first[vertex] + threadIdx.x % 32; edge < first[vertex + 1]; edge += 32)
		visit(neighbors[edge], next_level, levels, next, n_next);
}

// The graph is symmetric: whoever has a neighbor of the last level belongs to the next one. One bit a vertex says so.
__global__ void bottom_up(const unsigned *first, const unsigned *neighbors, unsigned n_vertices, unsigned next_level,
			  unsigned *levels, const unsigned *in_frontier, unsigned *in_next, unsigned *n_next)
{
	const unsigned vertex = blockIdx.x * blockDim.x + threadIdx.x;
	bool found = false;
	if (vertex < n_vertices && levels[vertex] == unreached)
		for (unsigned edge = first[vertex]; edge < first[vertex + 1] && !found; edge++)
			found = in_frontier[neighbors[edge] / 32] >> neighbors[edge] % 32 & 1;
	if (found)
		levels[vertex] = next_level;
	const unsigned bits = __ballot_sync(0xffffffffu, found);
	if (threadIdx.x % 32 == 0 && bits != 0) {
		in_next[vertex / 32] = bits;
		atomicAdd(n_next, (unsigned)__popc(bits));
	}
}

// Few vertices with many edges, many with few; some are not connected at all.
static Graph make_graph(unsigned n, unsigned n_edges)
{
	sample::Random random(n);
	std::vector<std::vector<unsigned>> lists(n);
	for (unsigned i = 0; i < n_edges; i++) {
		const float skew = std::fabs(random.real());
		const unsigned a = std::min(n - 1, (unsigned)(skew * skew * skew * (float)n)), b = random.below(n);
		if (a % 10 != 9 && b % 10 != 9) {
			lists[a].push_back(b);
			lists[b].push_back(a);
		}
	}
	Graph graph;
	graph.first.push_back(0);
	for (const std::vector<unsigned> &list : lists) {
		graph.neighbors.insert(graph.neighbors.end(), list.begin(), list.end());
		graph.first.push_back((unsigned)graph.neighbors.size());
	}
	return graph;
}

static std::vector<unsigned> on_host(const Graph &graph, unsigned source)
{
	std::vector<unsigned> levels(graph.n_vertices(), unreached), queue(1, source);
	levels[source] = 0;
	for (size_t head = 0; head < queue.size(); head++)
		for (unsigned edge = graph.first[queue[head]]; edge < graph.first[queue[head] + 1]; edge++)
			if (levels[graph.neighbors[edge]] == unreached) {
				levels[graph.neighbors[edge]] = levels[queue[head]] + 1;
				queue.push_back(graph.neighbors[edge]);
			}
	return levels;
}

static std::vector<unsigned> start_levels(unsigned n, unsigned source)
{
	std::vector<unsigned> levels(n, unreached);
	levels[source] = 0;
	return levels;
}

static std::vector<unsigned> top_down(const Graph &graph, unsigned source, bool warps)
{
	const unsigned n = graph.n_vertices();
	const sample::Array<unsigned> first(graph.first), neighbors(graph.neighbors), levels(start_levels(n, source));
	const sample::Array<unsigned> queue_a(n), queue_b(n);
	sample::Array<unsigned> n_next(1);
	unsigned *frontier = queue_a, *next = queue_b, n_frontier = 1;
	TRY(cudaMemcpy(frontier, &source, sizeof(source), cudaMemcpyHostToDevice));
	for (unsigned level = 1; n_frontier > 0; level++) {
		n_next.fill_bytes(0);
		const unsigned threads = warps ? n_frontier * 32 : n_frontier;
		(warps ? by_warps : by_threads)<<<(threads + 127) / 128, 128>>>(first, neighbors, frontier, n_frontier,
										level, levels, next, n_next);
		LAUNCHED();
		n_frontier = n_next.get()[0];
		std::swap(frontier, next);
	}
	return levels.get();
}

static std::vector<unsigned> search_bottom_up(const Graph &graph, unsigned source)
{
	const unsigned n = graph.n_vertices(), words = (n + 127) / 128 * 4;
	const sample::Array<unsigned> first(graph.first), neighbors(graph.neighbors), levels(start_levels(n, source));
	std::vector<unsigned> bits(words, 0);
	bits[source / 32] = 1u << source % 32;
	const sample::Array<unsigned> map_a(bits), map_b(words);
	sample::Array<unsigned> n_next(1);
	unsigned *frontier = map_a, *next = map_b;
	for (unsigned level = 1;; level++) {
		n_next.fill_bytes(0);
		TRY(cudaMemset(next, 0, words * sizeof(unsigned)));
		bottom_up<<<(n + 127) / 128, 128>>>(first, neighbors, n, level, levels, frontier, next, n_next);
		LAUNCHED();
		if (n_next.get()[0] == 0)
			return levels.get();
		std::swap(frontier, next);
	}
}

int main()
{
	const Graph graph = make_graph(5000, 12000);
	const std::vector<unsigned> should = on_host(graph, 0);
	unsigned n_reached = 0, deepest = 0;
	for (unsigned level : should)
		if (level != unreached) {
			n_reached++;
			deepest = std::max(deepest, level);
		}
	sample::expect(n_reached > graph.n_vertices() / 2 && n_reached < graph.n_vertices(), "%u reached", n_reached);
	printf("%u of %u vertices in %u levels\n", n_reached, graph.n_vertices(), deepest + 1);
	sample::expect_equal("by threads", top_down(graph, 0, false), should);
	sample::expect_equal("by warps", top_down(graph, 0, true), should);
	sample::expect_equal("bottom up", search_bottom_up(graph, 0), should);
	sample::expect_equal("nothing to reach", top_down(graph, 9, true), start_levels(graph.n_vertices(), 9));
	return sample::finish("bfs");
}
