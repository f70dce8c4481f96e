/* SPDX-License-Identifier: Apache-2.0
 * rdc.h - what rdc_main.cu uses of rdc_other.cu. */
#ifndef RDC_H
#define RDC_H

__device__ void far_add(warpspan::recorder &ws, int *data);
void launch_far(int *data);

#endif
