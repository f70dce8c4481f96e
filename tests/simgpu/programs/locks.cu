// SPDX-License-Identifier: Apache-2.0
//
// Locks and lock-free structures from compare-and-swap: a hash table whose entries are one 64-bit word each, a spin
// lock around several words, a ticket lock taken by a lane of each warp, a stack with a version number against reuse, a
// maximum of floats, a bank whose transfers keep the total.
// Exercises: 64-bit atomics, 16-bit compare-and-swap, fences, locks taken in
// diverged code, forward progress of lanes that wait for each other.
#include "sample.h"

#include <algorithm>
#include <climits>
#include <map>

typedef unsigned long long u64;

// --- a hash table: key in the upper half of a word, count in the lower
// ------------------------------------------------
static constexpr unsigned table_size = 2048;
static constexpr u64 empty = ~0ull;

__global__ void count_keys(const unsigned *keys, int n, u64 *table)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
		const u64 key = keys[i];
		for (unsigned slot = keys[i] * 2654435761u >> 21;; slot = (slot + 1) % table_size) {
			const u64 seen = atomicCAS(&table[slot], empty, key << 32 | 1);
			if (seen == empty)
				break;
			if (seen >> 32 == key) {
				atomicAdd(&table[slot], 1ull);
				break;
			}
		}
	}
}

static void run_hash_table()
{
	const int n = 20000;
	sample::Random random(1);
	std::vector<unsigned> keys(n);
	std::map<unsigned, unsigned> should, is;
	for (unsigned &key : keys) {
		key = random.below(1200) * 7919;
		should[key]++;
	}
	const sample::Array<unsigned> device_keys(keys);
	sample::Array<u64> table(table_size);
	table.fill_bytes(0xff);
	count_keys<<<8, 128>>>(device_keys, n, table);
	LAUNCHED();
	for (u64 entry : table.get())
		if (entry != empty)
			is[(unsigned)(entry >> 32)] += (unsigned)entry;
	sample::expect(is == should, "%zu keys, not %zu, or other counts", is.size(), should.size());
}

// --- locks
// ------------------------------------------------------------------------------------------------------------------
struct Account {
	int lock;
	long long balance;
	int n_transfers;
};

__device__ void acquire(int *lock)
{
	while (atomicCAS(lock, 0, 1) != 0)
		__nanosleep(20);
	__threadfence();
}

__device__ void release(int *lock)
{
	__threadfence();
	atomicExch(lock, 0);
}

// All lanes of all warps want locks, often the same: lanes of one warp wait for each other. Always the lower account
// first, so nobody waits in a circle.
__global__ void transfer(Account *accounts, const int *orders, int n)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	const int from = orders[i * 3], to = orders[i * 3 + 1], amount = orders[i * 3 + 2];
	if (from == to)
		return;
	Account *first = &accounts[min(from, to)], *second = &accounts[max(from, to)];
	acquire(&first->lock);
	acquire(&second->lock);
	volatile Account *giver = &accounts[from], *taker = &accounts[to];
	giver->balance = giver->balance - amount;
	taker->balance = taker->balance + amount;
	giver->n_transfers = giver->n_transfers + 1;
	release(&second->lock);
	release(&first->lock);
}

static void run_bank()
{
	const int n_accounts = 10, n = 512;
	sample::Random random(2);
	std::vector<Account> accounts(n_accounts, Account{ 0, 1000, 0 });
	std::vector<long long> should(n_accounts, 1000), is;
	std::vector<int> orders(n * 3);
	int n_should = 0, n_is = 0;
	for (int i = 0; i < n; i++) {
		orders[i * 3] = (int)random.below(n_accounts);
		orders[i * 3 + 1] = (int)random.below(n_accounts);
		orders[i * 3 + 2] = (int)random.below(100);
		should[orders[i * 3]] -= orders[i * 3 + 2];
		should[orders[i * 3 + 1]] += orders[i * 3 + 2];
		n_should += orders[i * 3] != orders[i * 3 + 1];
	}
	const sample::Array<Account> device_accounts(accounts);
	const sample::Array<int> device_orders(orders);
	transfer<<<n / 64, 64>>>(device_accounts, device_orders, n);
	LAUNCHED();
	for (const Account &account : device_accounts.get()) {
		is.push_back(account.balance);
		n_is += account.n_transfers;
	}
	sample::expect_equal("balances", is, should);
	sample::expect(n_is == n_should, "%d transfers, not %d", n_is, n_should);
}

// First come, first served.
__global__ void take_tickets(unsigned *next, volatile unsigned *serving, int *order, volatile int *n_served)
{
	if (threadIdx.x % 32 == 0) {
		const unsigned ticket = atomicAdd(next, 1u);
		while (*serving != ticket)
			;
		const int place = *n_served;
		order[place] = (int)ticket;
		*n_served = place + 1;
		__threadfence();
		*serving = ticket + 1;
	}
}

static void run_tickets()
{
	const int n = 6 * 4;
	sample::Array<unsigned> numbers(2);
	sample::Array<int> order(n), n_served(1);
	numbers.fill_bytes(0);
	n_served.fill_bytes(0);
	take_tickets<<<6, 128>>>(numbers, numbers + 1, order, n_served);
	LAUNCHED();
	std::vector<int> should(n);
	for (int i = 0; i < n; i++)
		should[i] = i;
	sample::expect_equal("tickets", order.get(), should);
}

// --- a stack: the head is an index and a version in one word
// ------------------------------------------------------------
struct Node {
	unsigned next;
	int value;
};

__device__ void push(u64 *head, Node *nodes, unsigned node)
{
	u64 seen = *static_cast<volatile u64 *>(head), should;
	do {
		should = seen;
		static_cast<volatile Node *>(nodes)[node].next = (unsigned)should;
		__threadfence();
		seen = atomicCAS(head, should, (should & 0xffffffff00000000ull) + 0x100000000ull | node);
	} while (seen != should);
}

__device__ unsigned pop(u64 *head, const Node *nodes)
{
	u64 seen = *static_cast<volatile u64 *>(head), should;
	do {
		should = seen;
		if ((unsigned)should == ~0u)
			return ~0u;
		const unsigned next = static_cast<const volatile Node *>(nodes)[(unsigned)should].next;
		seen = atomicCAS(head, should, (should & 0xffffffff00000000ull) + 0x100000000ull | next);
	} while (seen != should);
	__threadfence();
	return (unsigned)should;
}

// Nodes go from one stack to another and back; none may get lost or appear twice.
__global__ void juggle(u64 *heads, Node *nodes, int rounds)
{
	for (int round = 0; round < rounds; round++) {
		const int from = (threadIdx.x + round) % 2;
		const unsigned node = pop(&heads[from], nodes);
		if (node != ~0u)
			push(&heads[1 - from], nodes, node);
	}
}

static void run_stacks()
{
	const unsigned n = 100;
	std::vector<Node> nodes(n);
	for (unsigned i = 0; i < n; i++)
		nodes[i] = { i + 1 < n ? i + 1 : ~0u, (int)i };
	const sample::Array<Node> device_nodes(nodes);
	const sample::Array<u64> heads(std::vector<u64>{ 0, 0xffffffffull });
	juggle<<<4, 64>>>(heads, device_nodes, 10);
	LAUNCHED();
	nodes = device_nodes.get();
	std::vector<int> n_seen(n, 0);
	unsigned n_steps = 0;
	for (u64 head : heads.get())
		for (unsigned node = (unsigned)head; node != ~0u && n_steps <= n; node = nodes[node].next, n_steps++)
			n_seen[nodes[node].value]++;
	sample::expect_equal("nodes", n_seen, std::vector<int>(n, 1));
}

// --- every operation on 64 bits, and smaller and larger exchanges
// -----------------------------------------------------------
__global__ void operate(u64 *words, const u64 *values, int n, float *largest, unsigned short *halves)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	atomicAdd(&words[0], values[i]);
	atomicMin(&words[1], values[i]);
	atomicMax((long long *)&words[2], (long long)values[i]);
	atomicAnd(&words[3], values[i] | 0xff);
	atomicOr(&words[4], values[i] & 0xf0f0);
	atomicXor(&words[5], values[i]);
	atomicMin((long long *)&words[6], (long long)values[i]);
	// A maximum of floats by their bits, which works for any sign.
	const float value = (float)(long long)values[i];
	int seen = __float_as_int(*static_cast<volatile float *>(largest));
	while (__int_as_float(seen) < value) {
		const int before = atomicCAS((int *)largest, seen, __float_as_int(value));
		if (before == seen)
			break;
		seen = before;
	}
	// Two neighbors of 16 bits in one word do not disturb each other.
	unsigned short *half = &halves[i % 2], old = *static_cast<volatile unsigned short *>(half), expected;
	do {
		expected = old;
		old = atomicCAS(half, expected, (unsigned short)(expected + 3));
	} while (old != expected);
}

static void run_operations()
{
	const int n = 1000;
	sample::Random random(7);
	std::vector<u64> values(n), should = { 5, ~0ull, (u64)LLONG_MIN, ~0ull, 0, 99, (u64)LLONG_MAX };
	float should_largest = -INFINITY;
	for (u64 &value : values) {
		value = random.next();
		should[0] += value;
		should[1] = std::min(should[1], value);
		should[2] = (u64)std::max((long long)should[2], (long long)value);
		should[3] &= value | 0xff;
		should[4] |= value & 0xf0f0;
		should[5] ^= value;
		should[6] = (u64)std::min((long long)should[6], (long long)value);
		should_largest = fmaxf(should_largest, (float)(long long)value);
	}
	const sample::Array<u64> words(std::vector<u64>{ 5, ~0ull, (u64)LLONG_MIN, ~0ull, 0, 99, (u64)LLONG_MAX });
	const sample::Array<u64> device_values(values);
	const sample::Array<float> largest(std::vector<float>{ -INFINITY });
	const sample::Array<unsigned short> halves(std::vector<unsigned short>{ 10, 65500 });
	operate<<<8, 128>>>(words, device_values, n, largest, halves);
	LAUNCHED();
	sample::expect_equal("words", words.get(), should);
	sample::expect_equal("largest", largest.get(), { should_largest });
	sample::expect_equal("halves", halves.get(), { (unsigned short)(10 + 1500), (unsigned short)(65500 + 1500) });
}

int main()
{
	run_hash_table();
	run_bank();
	run_tickets();
	run_stacks();
	run_operations();
	return sample::finish("locks");
}
