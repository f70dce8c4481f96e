/* SPDX-License-Identifier: Apache-2.0
 *
 * control_requests.h - answers the requests of `warpspan ctl` (control_socket.h).
 */
#ifndef WARPSPAN_CONTROL_REQUESTS_H
#define WARPSPAN_CONTROL_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

/* Whether another connection may be served; where not, it waits to be accepted until one is over. */
bool warpspan_control_has_room(void);
/* Serves the connection on a thread of its own, which closes it and then calls `when_over`. By the control thread. */
void warpspan_control_serve(int fd, void (*when_over)(void));
/* The program ends: waits until those who ask have their answers, at most `patience_ns`. */
void warpspan_control_wait_answers(uint64_t patience_ns);

#endif
