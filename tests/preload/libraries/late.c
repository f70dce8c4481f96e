/* SPDX-License-Identifier: Apache-2.0
 * A library linked with the driver, as extension modules are: begins with it and launches. */
#include "../fake_driver/fake.h"

int warpspan_test_late(void);

int warpspan_test_late(void)
{
	int parameter = 7;
	void *parameters[] = { &parameter };

	if (cuInit(0) != CUDA_SUCCESS)
		return -1;
	return (int)cuLaunchKernel(FAKE_FUNCTION(1, 0), 2, 1, 1, 64, 1, 1, 0, NULL, parameters, NULL);
}
