/* SPDX-License-Identifier: Apache-2.0
 * Found only by those who say where to look. */
int warpspan_test_found(void);

int warpspan_test_found(void)
{
	return 8;
}
