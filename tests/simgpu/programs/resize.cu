// SPDX-License-Identifier: Apache-2.0
//
// An image resized without textures: bilinear in fixed-point numbers of the program's own, and by areas for
// shrinking; then turned by an angle, and its colors changed from RGB to YCbCr and back.
// Exercises: uchar4 loads and stores, integer and float conversions with every rounding (floor, ceil, truncation,
// nearest), saturation, sincosf, remainders and divisions, clamped addresses.
#include "sample.h"

#include <algorithm>

struct Image {
	int width, height;
	std::vector<uchar4> pixels;
};

__host__ __device__ inline int clamped(int value, int low, int high)
{
	return value < low ? low : value > high ? high : value;
}

__host__ __device__ inline uchar4 mix(uchar4 a, uchar4 b, uchar4 c, uchar4 d, int fx, int fy)
{
	const auto one = [=](int p, int q, int r, int s) {
		const int top = p * (256 - fx) + q * fx, bottom = r * (256 - fx) + s * fx;
		return (unsigned char)((top * (256 - fy) + bottom * fy + 32768) >> 16);
	};
	return make_uchar4(one(a.x, b.x, c.x, d.x), one(a.y, b.y, c.y, d.y), one(a.z, b.z, c.z, d.z),
			   one(a.w, b.w, c.w, d.w));
}

// Positions in 1/256 of a pixel: the same on both sides.
__host__ __device__ inline uchar4 bilinear_pixel(const uchar4 *in, int in_width, int in_height, int width, int height,
						 int x, int y)
{
	const int u = clamped((2 * x + 1) * in_width * 128 / width - 128, 0, (in_width - 1) * 256);
	const int v = clamped((2 * y + 1) * in_height * 128 / height - 128, 0, (in_height - 1) * 256);
	const int left = u / 256, top = v / 256, right = min(left + 1, in_width - 1),
		  bottom = min(top + 1, in_height - 1);
	return mix(in[top * in_width + left], in[top * in_width + right], in[bottom * in_width + left],
		   in[bottom * in_width + right], u % 256, v % 256);
}

__host__ __device__ inline uchar4 area_pixel(const uchar4 *in, int in_width, int in_height, int width, int height,
					     int x, int y)
{
	const int first_x = x * in_width / width, end_x = max((x + 1) * in_width / width, first_x + 1);
	const int first_y = y * in_height / height, end_y = max((y + 1) * in_height / height, first_y + 1);
	int sums[4] = {};
	for (int v = first_y; v < end_y; v++)
		for (int u = first_x; u < end_x; u++) {
			const uchar4 pixel = in[v * in_width + u];
			sums[0] += pixel.x;
			sums[1] += pixel.y;
			sums[2] += pixel.z;
			sums[3] += pixel.w;
		}
	const int n = (end_x - first_x) * (end_y - first_y);
	return make_uchar4((unsigned char)((sums[0] + n / 2) / n), (unsigned char)((sums[1] + n / 2) / n),
			   (unsigned char)((sums[2] + n / 2) / n), (unsigned char)((sums[3] + n / 2) / n));
}

__global__ void resize(const uchar4 *in, int in_width, int in_height, uchar4 *out, int width, int height, bool areas)
{
	const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	if (x < width && y < height)
		out[y * width + x] = areas ? area_pixel(in, in_width, in_height, width, height, x, y)
					   : bilinear_pixel(in, in_width, in_height, width, height, x, y);
}

// Nearest pixel after a turn around the middle; black outside.
__global__ void turn(const uchar4 *in, uchar4 *out, int width, int height, float angle)
{
	const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	if (x >= width || y >= height)
		return;
	float sine, cosine;
	sincosf(angle, &sine, &cosine);
	const float dx = (float)x + 0.5f - 0.5f * (float)width, dy = (float)y + 0.5f - 0.5f * (float)height;
	const int u = (int)floorf(cosine * dx + sine * dy + 0.5f * (float)width);
	const int v = (int)floorf(cosine * dy - sine * dx + 0.5f * (float)height);
	out[y * width + x] = u >= 0 && v >= 0 && u < width && v < height ? in[v * width + u] : make_uchar4(0, 0, 0, 0);
}

__device__ static unsigned char to_byte(float value)
{
	return (unsigned char)__float2uint_rn(__saturatef(value / 255.0f) * 255.0f);
}

// There and back again: every color has to come back within one step.
__global__ void change_colors(const uchar4 *in, uchar4 *middle, uchar4 *out, int n)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	const float r = in[i].x, g = in[i].y, b = in[i].z;
	const uchar4 changed = make_uchar4(to_byte(0.299f * r + 0.587f * g + 0.114f * b),
					   to_byte(128.0f - 0.168736f * r - 0.331264f * g + 0.5f * b),
					   to_byte(128.0f + 0.5f * r - 0.418688f * g - 0.081312f * b), in[i].w);
	middle[i] = changed;
	const float luma = changed.x, blue = changed.y - 128.0f, red = changed.z - 128.0f;
	out[i] = make_uchar4(to_byte(luma + 1.402f * red), to_byte(luma - 0.344136f * blue - 0.714136f * red),
			     to_byte(luma + 1.772f * blue), changed.w);
}

static bool same(uchar4 a, uchar4 b)
{
	return a.x == b.x && a.y == b.y && a.z == b.z && a.w == b.w;
}

static Image make_image(int width, int height)
{
	sample::Random random(1);
	Image image = { width, height, std::vector<uchar4>((size_t)width * height) };
	for (int i = 0; i < width * height; i++) {
		const int x = i % width, y = i / width;
		image.pixels[i] = make_uchar4((unsigned char)(x * 5), (unsigned char)(y * 3 + x),
					      (unsigned char)random.next(), (unsigned char)((x / 8 + y / 8) % 2 * 255));
	}
	return image;
}

static void run_resize(const Image &image, int width, int height, bool areas)
{
	const sample::Array<uchar4> in(image.pixels), out((size_t)width * height);
	resize<<<dim3((width + 15) / 16, (height + 7) / 8), dim3(16, 8)>>>(in, image.width, image.height, out, width,
									   height, areas);
	LAUNCHED();
	const std::vector<uchar4> is = out.get();
	for (int y = 0; y < height; y++)
		for (int x = 0; x < width; x++) {
			const uchar4 *pixels = image.pixels.data();
			const uchar4 should =
				areas ? area_pixel(pixels, image.width, image.height, width, height, x, y)
				      : bilinear_pixel(pixels, image.width, image.height, width, height, x, y);
			if (!sample::expect(same(is[y * width + x], should), "%d x %d%s, pixel %d, %d", width, height,
					    areas ? " by areas" : "", x, y))
				return;
		}
	printf("%d x %d to %d x %d\n", image.width, image.height, width, height);
}

// A quarter four times is the image itself; so is a turn and its opposite, but for what fell off the edges.
static void run_turns(const Image &image)
{
	const int n = image.width * image.height;
	const sample::Array<uchar4> a(image.pixels), b(n);
	const dim3 grid((image.width + 15) / 16, (image.height + 7) / 8), block(16, 8);
	for (int i = 0; i < 4; i++)
		turn<<<grid, block>>>(i % 2 == 0 ? a : b, i % 2 == 0 ? b : a, image.width, image.height, 1.57079633f);
	LAUNCHED();
	std::vector<uchar4> is = a.get();
	const int margin = std::abs(image.width - image.height) / 2 + 1;
	int n_inside = 0, n_same = 0;
	for (int y = 0; y < image.height; y++)
		for (int x = margin; x < image.width - margin; x++, n_inside++)
			n_same += same(is[y * image.width + x], image.pixels[y * image.width + x]);
	// A position exactly between two pixels may fall to either.
	sample::expect(n_same >= n_inside * 9 / 10, "four quarters: %d of %d pixels", n_same, n_inside);
	const sample::Array<uchar4> once(n), original(image.pixels);
	turn<<<grid, block>>>(original, once, image.width, image.height, 0.0f);
	LAUNCHED();
	is = once.get();
	for (int i = 0; i < n; i++)
		if (!sample::expect(same(is[i], image.pixels[i]), "no turn: pixel %d", i))
			return;
}

static void run_colors(const Image &image)
{
	const int n = (int)image.pixels.size();
	const sample::Array<uchar4> in(image.pixels), middle(n), out(n);
	change_colors<<<(n + 127) / 128, 128>>>(in, middle, out, n);
	LAUNCHED();
	const std::vector<uchar4> is = out.get(), changed = middle.get();
	for (int i = 0; i < n; i++) {
		const uchar4 a = image.pixels[i], b = is[i];
		const double luma = 0.299 * a.x + 0.587 * a.y + 0.114 * a.z;
		const int farthest = std::max(std::abs(a.x - b.x), std::max(std::abs(a.y - b.y), std::abs(a.z - b.z)));
		if (!sample::expect(farthest <= 2 && a.w == b.w && std::fabs(changed[i].x - luma) <= 0.51,
				    "color %d: %d %d %d became %d %d %d", i, a.x, a.y, a.z, b.x, b.y, b.z))
			return;
	}
}

int main()
{
	const Image image = make_image(96, 64);
	run_resize(image, 131, 77, false);
	run_resize(image, 40, 100, false);
	run_resize(image, 32, 16, true);
	run_resize(image, 37, 23, true);
	run_turns(image);
	run_colors(image);
	return sample::finish("resize");
}
