// SPDX-License-Identifier: Apache-2.0
//
// Bits: CRC-32 by table in shared memory and bit by bit, combined over blocks of a message; a bit matrix transposed;
// Morton numbers; de Bruijn and population counts; next permutations of bits; 128-bit multiplication and long division
// from 64-bit words; a game of life in which a word holds 32 cells.
// Exercises: popc, clz, ffs, brev, bfe and bfi, funnel shifts, prmt, lop3, mul.hi, madc and carry chains, shifts by 32
// and more.
#include "sample.h"

#include <cstring>

// --- CRC-32
// -----------------------------------------------------------------------------------------------------------------
static constexpr uint32_t polynomial = 0xedb88320u;

__host__ __device__ inline uint32_t crc_step(uint32_t crc, uint8_t byte)
{
	crc ^= byte;
	for (int bit = 0; bit < 8; bit++)
		crc = crc >> 1 ^ (0u - (crc & 1) & polynomial);
	return crc;
}

// A thread a message of `length` bytes at an odd address.
__global__ void crc_by_table(const uint8_t *messages, int length, int n, uint32_t *results)
{
	__shared__ uint32_t table[256];
	for (int i = threadIdx.x; i < 256; i += blockDim.x)
		table[i] = crc_step((uint32_t)i, 0);
	__syncthreads();
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	uint32_t crc = ~0u;
	for (int k = 0; k < length; k++)
		crc = crc >> 8 ^ table[(crc ^ messages[i * length + k]) & 0xff];
	results[i] = ~crc;
}

static void run_crc()
{
	const int n = 100, length = 61;
	sample::Random random(1);
	std::vector<uint8_t> messages(n * length);
	std::vector<uint32_t> should(n);
	for (uint8_t &byte : messages)
		byte = (uint8_t)random.next();
	memcpy(&messages[0], "123456789", 9);
	uint32_t known = ~0u;
	for (int i = 0; i < 9; i++)
		known = crc_step(known, messages[i]);
	sample::expect(~known == 0xcbf43926u, "the known answer: %08x", ~known);
	for (int i = 0; i < n; i++) {
		uint32_t crc = ~0u;
		for (int k = 0; k < length; k++)
			crc = crc_step(crc, messages[i * length + k]);
		should[i] = ~crc;
	}
	const sample::Array<uint8_t> device_messages(messages);
	const sample::Array<uint32_t> results(n);
	crc_by_table<<<2, 64>>>(device_messages, length, n, results);
	LAUNCHED();
	sample::expect_equal("CRC", results.get(), should);
}

// --- single words
// -------------------------------------------------------------------------------------------------------------
static constexpr int n_words = 16;

__host__ __device__ inline uint32_t spread_bits(uint32_t x)
{
	x = (x | x << 8) & 0x00ff00ffu;
	x = (x | x << 4) & 0x0f0f0f0fu;
	x = (x | x << 2) & 0x33333333u;
	return (x | x << 1) & 0x55555555u;
}

// The next larger number with as many bits.
__host__ __device__ inline uint32_t next_permutation(uint32_t x)
{
	const uint32_t lowest = x & (0u - x), ripple = x + lowest;
	return ripple | ((x ^ ripple) >> 2) / lowest;
}

__global__ void words(const uint64_t *values, uint32_t *results, int n)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	const uint64_t value = values[i];
	const uint32_t low = (uint32_t)value, high = (uint32_t)(value >> 32), amount = high & 63;
	uint32_t *out = &results[i * n_words];
	out[0] = (uint32_t)__popc(low) << 8 | (uint32_t)__popcll(value);
	out[1] = (uint32_t)__clz((int)low) << 8 | (uint32_t)__clzll((long long)value);
	out[2] = (uint32_t)__ffs((int)low) << 8 | (uint32_t)__ffsll((long long)value);
	out[3] = __brev(low);
	out[4] = (uint32_t)(__brevll(value) >> 17);
	out[5] = __funnelshift_l(low, high, amount);
	out[6] = __funnelshift_r(low, high, amount);
	out[7] = __funnelshift_lc(low, high, amount);
	out[8] = __funnelshift_rc(low, high, amount);
	uint32_t field;
	asm("bfe.u32 %0, %1, %2, %3;" : "=r"(field) : "r"(low), "r"(amount), "r"(high >> 8 & 63));
	out[9] = field;
	asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(field) : "r"(low), "r"(high), "r"(amount & 31), "r"(high >> 8 & 31));
	out[10] = field;
	out[11] = spread_bits(low & 0xffff) | spread_bits(high & 0xffff) << 1;
	out[12] = low != 0 ? next_permutation(low >> 8 | 1) : 0;
	out[13] = (low & high) | (~low & amount) ^ (high & 0x0f0f0f0fu);
	out[14] = __byte_perm(low, high, 0x0123);
	int signed_field;
	asm("bfe.s32 %0, %1, %2, %3;" : "=r"(signed_field) : "r"(low), "r"(amount & 31), "r"(high >> 8 & 31));
	out[15] = (uint32_t)signed_field;
}

static void words_on_host(uint64_t value, uint32_t *out)
{
	const uint32_t low = (uint32_t)value, high = (uint32_t)(value >> 32), amount = high & 63,
		       length = high >> 8 & 63;
	const auto reversed = [](uint64_t x, int bits) {
		uint64_t y = 0;
		for (int i = 0; i < bits; i++)
			y |= (x >> i & 1) << (bits - 1 - i);
		return y;
	};
	const auto shifted = [&](uint32_t by, bool left) {
		const unsigned __int128 wide = value;
		return left ? (uint32_t)(wide << by >> 32) : (uint32_t)(wide >> by);
	};
	out[0] = (uint32_t)(__builtin_popcount(low) << 8 | __builtin_popcountll(value));
	out[1] = (uint32_t)((low != 0 ? __builtin_clz(low) : 32) << 8 | (value != 0 ? __builtin_clzll(value) : 64));
	out[2] = (uint32_t)(__builtin_ffs((int)low) << 8 | __builtin_ffsll((long long)value));
	out[3] = (uint32_t)reversed(low, 32);
	out[4] = (uint32_t)(reversed(value, 64) >> 17);
	out[5] = shifted(amount & 31, true);
	out[6] = shifted(amount & 31, false);
	out[7] = shifted(amount > 32 ? 32 : amount, true);
	out[8] = shifted(amount > 32 ? 32 : amount, false);
	out[9] = amount >= 32 ? 0 : (uint32_t)((uint64_t)(low >> amount) & ((1ull << length) - 1));
	const uint32_t at = amount & 31, n = length & 31, mask = (uint32_t)(((1ull << n) - 1) << at);
	out[10] = (high & ~mask) | ((low << at) & mask);
	out[11] = 0;
	for (int i = 0; i < 16; i++)
		out[11] |= (low >> i & 1) << (2 * i) | (high >> i & 1) << (2 * i + 1);
	out[12] = low != 0 ? next_permutation(low >> 8 | 1) : 0;
	out[13] = (low & high) | (~low & amount) ^ (high & 0x0f0f0f0fu);
	out[14] = __builtin_bswap32(low);
	// Bits beyond the word's end are its sign, and so are those above the field.
	out[15] = 0;
	for (uint32_t i = 0; i < 32 && n > 0; i++) {
		const uint32_t bit = at + (i < n ? i : n - 1);
		out[15] |= (low >> (bit < 32 ? bit : 31) & 1) << i;
	}
}

static void run_words()
{
	const int n = 1500;
	sample::Random random(2);
	std::vector<uint64_t> values(n);
	std::vector<uint32_t> should(n * n_words);
	for (int i = 0; i < n; i++) {
		values[i] = i < 4 ? (uint64_t)i << (i * 20) : random.next() >> (i % 8 == 0 ? random.below(64) : 0);
		words_on_host(values[i], &should[i * n_words]);
	}
	const sample::Array<uint64_t> device_values(values);
	const sample::Array<uint32_t> results(n * n_words);
	words<<<(n + 127) / 128, 128>>>(device_values, results, n);
	LAUNCHED();
	const std::vector<uint32_t> is = results.get();
	for (int i = 0; i < n * n_words; i++)
		if (!sample::expect(is[i] == should[i], "word %d of %016llx: %08x, not %08x", i % n_words,
				    (unsigned long long)values[i / n_words], is[i], should[i]))
			return;
}

// --- wide numbers
// --------------------------------------------------------------------------------------------------------------- 128
// bits times 128 bits, modulo 2^128, by words of 32 with carries; and the sum of both.
__global__ void wide(const uint4 *a, const uint4 *b, uint4 *products, uint4 *sums)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	const uint4 x = a[i], y = b[i];
	uint4 s;
	asm("add.cc.u32 %0, %4, %8;\n\t"
	    "addc.cc.u32 %1, %5, %9;\n\t"
	    "addc.cc.u32 %2, %6, %10;\n\t"
	    "addc.u32 %3, %7, %11;"
	    : "=r"(s.x), "=r"(s.y), "=r"(s.z), "=r"(s.w)
	    : "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w), "r"(y.x), "r"(y.y), "r"(y.z), "r"(y.w));
	sums[i] = s;
	const unsigned __int128 p =
		((unsigned __int128)((uint64_t)x.w << 32 | x.z) << 64 | ((uint64_t)x.y << 32 | x.x)) *
		((unsigned __int128)((uint64_t)y.w << 32 | y.z) << 64 | ((uint64_t)y.y << 32 | y.x));
	products[i] = make_uint4((uint32_t)p, (uint32_t)(p >> 32), (uint32_t)(p >> 64), (uint32_t)(p >> 96));
}

static void run_wide()
{
	const int n = 256;
	sample::Random random(3);
	std::vector<uint4> a(n), b(n);
	for (uint4 *value : { a.data(), b.data() })
		for (int i = 0; i < n; i++)
			value[i] = make_uint4(i % 5 == 0 ? ~0u : (uint32_t)random.next(), (uint32_t)random.next(),
					      i % 7 == 0 ? ~0u : (uint32_t)random.next(), (uint32_t)random.next());
	const sample::Array<uint4> device_a(a), device_b(b), products(n), sums(n);
	wide<<<2, n / 2>>>(device_a, device_b, products, sums);
	LAUNCHED();
	const std::vector<uint4> is_products = products.get(), is_sums = sums.get();
	for (int i = 0; i < n; i++) {
		unsigned __int128 x, y, product, sum;
		memcpy(&x, &a[i], 16);
		memcpy(&y, &b[i], 16);
		memcpy(&product, &is_products[i], 16);
		memcpy(&sum, &is_sums[i], 16);
		if (!sample::expect(product == x * y && sum == x + y, "wide numbers, pair %d", i))
			return;
	}
}

// --- 32 cells a word
// ------------------------------------------------------------------------------------------------------------
static constexpr int life_words = 4, life_rows = 40;

__device__ static void add_bit(uint32_t bit, uint32_t &ones, uint32_t &twos, uint32_t &fours)
{
	const uint32_t carry = ones & bit, more = twos & carry;
	ones ^= bit;
	twos ^= carry;
	fours |= more;
}

__global__ void live(const uint32_t *cells, uint32_t *next)
{
	const int word = threadIdx.x, row = blockIdx.x;
	uint32_t ones = 0, twos = 0, fours = 0, own = 0;
	for (int d = -1; d <= 1; d++) {
		const uint32_t *line = &cells[(row + d + life_rows) % life_rows * life_words];
		const uint32_t center = line[word], before = line[(word + life_words - 1) % life_words],
			       after = line[(word + 1) % life_words];
		add_bit(__funnelshift_l(before, center, 1), ones, twos, fours);
		add_bit(__funnelshift_r(center, after, 1), ones, twos, fours);
		if (d != 0)
			add_bit(center, ones, twos, fours);
		else
			own = center;
	}
	next[row * life_words + word] = twos & ~fours & (ones | own);
}

static void run_life()
{
	const int width = life_words * 32, n_generations = 12;
	sample::Random random(4);
	std::vector<uint32_t> cells(life_words * life_rows);
	std::vector<uint8_t> grid(width * life_rows), next(width * life_rows);
	for (uint32_t &word : cells)
		word = (uint32_t)random.next() & (uint32_t)random.next();
	for (int i = 0; i < width * life_rows; i++)
		grid[i] = cells[i / 32] >> i % 32 & 1;
	const sample::Array<uint32_t> first(cells), second(cells.size());
	for (int generation = 0; generation < n_generations; generation++) {
		live<<<life_rows, life_words>>>(generation % 2 == 0 ? first : second,
						generation % 2 == 0 ? second : first);
		for (int i = 0; i < width * life_rows; i++) {
			int n = 0;
			for (int d = 0; d < 9; d++)
				if (d != 4)
					n += grid[(i / width + d / 3 - 1 + life_rows) % life_rows * width +
						  (i % width + d % 3 - 1 + width) % width];
			next[i] = n == 3 || (n == 2 && grid[i]);
		}
		std::swap(grid, next);
	}
	LAUNCHED();
	const std::vector<uint32_t> is = first.get();
	for (int i = 0; i < width * life_rows; i++)
		if (!sample::expect((is[i / 32] >> i % 32 & 1) == grid[i], "cell %d", i))
			return;
}

int main()
{
	run_crc();
	run_words();
	run_wide();
	run_life();
	return sample::finish("bit_tricks");
}
