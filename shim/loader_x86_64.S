/* SPDX-License-Identifier: Apache-2.0
 *
 * loader_x86_64.S - dlsym() and dlvsym() as the program sees them. See loader.c for why these leave by a jump.
 */

/* REAL: the variable with the real function. HOOKED: the C function for names of ours; its extra argument, the
 * caller's address, goes into register CALLER. */
.macro LOOKUP NAME, REAL, HOOKED, CALLER
	.globl	entry_of_\NAME
	.symver	entry_of_\NAME, \NAME@@GLIBC_2.34	/* the versions libc has; others ask by version for the next one */
	.symver	entry_of_\NAME, \NAME@GLIBC_2.2.5
	.type	entry_of_\NAME, @function
	.p2align 4
entry_of_\NAME:
	.cfi_startproc
	endbr64
	leaq	1(%rdi), %rax
	cmpq	$1, %rax		/* handle + 1 is 0 or 1: RTLD_NEXT or RTLD_DEFAULT */
	jbe	2f
	testq	%rsi, %rsi
	je	2f
	cmpb	$'c', (%rsi)
	jne	2f
	cmpb	$'u', 1(%rsi)
	jne	2f
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	pushq	%rdx
	.cfi_adjust_cfa_offset 8
	movq	%rsi, %rdi
	call	warpspan_loader_wanted
	popq	%rdx
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	testl	%eax, %eax
	je	2f
	movq	(%rsp), \CALLER
	jmp	\HOOKED
2:
	movq	\REAL(%rip), %rax
	testq	%rax, %rax
	je	3f
	jmp	*%rax
3:
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	pushq	%rdx
	.cfi_adjust_cfa_offset 8
	call	warpspan_loader_resolve
	popq	%rdx
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	movq	\REAL(%rip), %rax
	jmp	*%rax
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
	LOOKUP	dlsym, warpspan_real_dlsym, warpspan_loader_dlsym, %rdx
	LOOKUP	dlvsym, warpspan_real_dlvsym, warpspan_loader_dlvsym, %rcx

	.section .note.GNU-stack, "", @progbits
