/* SPDX-License-Identifier: Apache-2.0
 * Names that look like the driver's and are not: other libraries' functions that begin with "cu", and a function of
 * the driver's name in a library that is not the driver. */
#define NAMES(X)           \
	X(cudnnCreate)     \
	X(cublasCreate_v2) \
	X(cufftPlan1d)     \
	X(curl_easy_init)  \
	X(cuFoo)           \
	X(cu)              \
	X(cuLaunchKernel)  \
	X(cuInit)          \
	X(cuGetProcAddress_v2)

#define X(name)           \
	int name(void);   \
	int name(void)    \
	{                 \
		return 1; \
	}
NAMES(X)
#undef X

/* The addresses as this library itself sees them: linked with -Bsymbolic. */
struct named {
	const char *name;
	int (*address)(void);
};
extern const struct named warpspan_test_names[];
const struct named warpspan_test_names[] = {
#define X(name) { #name, name },
	NAMES(X)
#undef X
		{ 0, 0 },
};
