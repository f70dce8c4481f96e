/* SPDX-License-Identifier: Apache-2.0
 *
 * loader_aarch64.S - dlsym() and dlvsym() as the program sees them. See loader.c for why these leave by a jump.
 */

/* REAL: the variable with the real function. HOOKED: the C function for names of ours; its extra argument, the
 * caller's address, goes into register CALLER. */
.macro LOOKUP NAME, REAL, HOOKED, CALLER
	.globl	entry_of_\NAME
	.symver	entry_of_\NAME, \NAME@@GLIBC_2.34	/* the versions libc has; others ask by version for the next one */
	.symver	entry_of_\NAME, \NAME@GLIBC_2.17
	.type	entry_of_\NAME, %function
	.p2align 4
entry_of_\NAME:
	.cfi_startproc
	hint	#34			/* bti c */
	cmn	x0, #1			/* RTLD_NEXT */
	b.eq	2f
	cbz	x0, 2f			/* RTLD_DEFAULT */
	cbz	x1, 2f
	ldrb	w9, [x1]
	cmp	w9, #'c'
	b.ne	2f
	ldrb	w9, [x1, #1]
	cmp	w9, #'u'
	b.ne	2f
	stp	x29, x30, [sp, #-48]!
	.cfi_def_cfa_offset 48
	.cfi_offset x29, -48
	.cfi_offset x30, -40
	mov	x29, sp
	stp	x0, x1, [sp, #16]
	str	x2, [sp, #32]
	mov	x0, x1
	bl	warpspan_loader_wanted
	mov	w9, w0
	ldp	x0, x1, [sp, #16]
	ldr	x2, [sp, #32]
	ldp	x29, x30, [sp], #48
	.cfi_restore x29
	.cfi_restore x30
	.cfi_def_cfa_offset 0
	cbz	w9, 2f
	mov	\CALLER, x30
	b	\HOOKED
2:
	adrp	x16, \REAL
	ldr	x16, [x16, #:lo12:\REAL]
	cbz	x16, 3f
	br	x16
3:
	stp	x29, x30, [sp, #-48]!
	.cfi_def_cfa_offset 48
	.cfi_offset x29, -48
	.cfi_offset x30, -40
	mov	x29, sp
	stp	x0, x1, [sp, #16]
	str	x2, [sp, #32]
	bl	warpspan_loader_resolve
	ldp	x0, x1, [sp, #16]
	ldr	x2, [sp, #32]
	ldp	x29, x30, [sp], #48
	.cfi_restore x29
	.cfi_restore x30
	.cfi_def_cfa_offset 0
	b	2b
	.cfi_endproc
	.size	entry_of_\NAME, .-entry_of_\NAME
.endm

	.hidden	warpspan_real_dlsym
	.hidden	warpspan_real_dlvsym
	.hidden	warpspan_loader_wanted
	.hidden	warpspan_loader_resolve
	.hidden	warpspan_loader_dlsym
	.hidden	warpspan_loader_dlvsym

	.text
	LOOKUP	dlsym, warpspan_real_dlsym, warpspan_loader_dlsym, x2
	LOOKUP	dlvsym, warpspan_real_dlvsym, warpspan_loader_dlvsym, x3

	.section .note.GNU-stack, "", %progbits
