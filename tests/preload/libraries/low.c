/* SPDX-License-Identifier: Apache-2.0
 * The library that is found last: the end of a chain of RTLD_NEXT. */
int warpspan_test_layer(void);
int warpspan_test_base(void);

/* What mid is linked with it for. */
int warpspan_test_base(void)
{
	return 10;
}

int warpspan_test_layer(void)
{
	return 1;
}
