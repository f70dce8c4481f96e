/* SPDX-License-Identifier: Apache-2.0
 *
 * control_requests.h - answers what other processes ask (control_socket.h).
 */
#ifndef WARPSPAN_CONTROL_REQUESTS_H
#define WARPSPAN_CONTROL_REQUESTS_H

/* Receives one request, acts and answers, on a thread of its own; closes the connection. Does not block. */
void warpspan_control_serve(int connection);

#endif
