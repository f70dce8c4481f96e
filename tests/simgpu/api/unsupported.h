/* SPDX-License-Identifier: Apache-2.0
 *
 * unsupported.h - what simgpu lacks, by the names of the functions that would need it.
 */
#ifndef SIMGPU_UNSUPPORTED_H
#define SIMGPU_UNSUPPORTED_H

#include <stddef.h>
#include <string.h>

/* One list: a part of a name, what is lacking. The first that fits. */
#define UNSUPPORTED_AREAS(X)                                                                          \
	X("ExportTable", "its own runtime, not NVIDIA's: build the program with nvcc -cudart shared") \
	X("Graphics", "no graphics interface")                                                        \
	X("cudaGL", "no graphics interface")                                                          \
	X("VDPAU", "no graphics interface")                                                           \
	X("EGL", "no graphics interface")                                                             \
	X("External", "no memory or semaphores of other interfaces")                                  \
	X("NvSci", "no memory or semaphores of other interfaces")                                     \
	X("Ipc", "nothing that processes share")                                                      \
	X("Shareable", "nothing that processes share")                                                \
	X("PoolExport", "nothing that processes share")                                               \
	X("PoolImport", "nothing that processes share")                                               \
	X("TensorMap", "no tensor copies")                                                            \
	X("Conditional", "no conditional nodes in graphs")                                            \
	X("BatchMemOp", "no streams that wait for a value in memory")                                 \
	X("WaitValue", "no streams that wait for a value in memory")                                  \
	X("WriteValue", "no streams that wait for a value in memory")                                 \
	X("Green", "no parts of a device")                                                            \
	X("DevResource", "no parts of a device")                                                      \
	X("DevSm", "no parts of a device")                                                            \
	X("ExecAffinity", "no parts of a device")                                                     \
	X("Multicast", "no virtual memory management")                                                \
	X("MemCreate", "no virtual memory management")                                                \
	X("MemMap", "no virtual memory management")                                                   \
	X("MemUnmap", "no virtual memory management")                                                 \
	X("MemAddress", "no virtual memory management")                                               \
	X("MemRelease", "no virtual memory management")                                               \
	X("MemRetain", "no virtual memory management")                                                \
	X("MemSetAccess", "no virtual memory management")                                             \
	X("MemGetAccess", "no virtual memory management")                                             \
	X("MemGetAllocation", "no virtual memory management")                                         \
	X("MultiDevice", "no cooperative launches on several devices")                                \
	X("Checkpoint", "no checkpoints")                                                             \
	X("Coredump", "no core dumps")                                                                \
	X("Array", "no arrays, textures and surfaces")                                                \
	X("Mipmapped", "no arrays, textures and surfaces")                                            \
	X("Tex", "no arrays, textures and surfaces")                                                  \
	X("Surf", "no arrays, textures and surfaces")                                                 \
	X("ChannelDesc", "no arrays, textures and surfaces")                                          \
	X("Ato", "no arrays, textures and surfaces")                                                  \
	X("toA", "no arrays, textures and surfaces")

static inline const char *unsupported_area(const char *symbol)
{
	static const struct {
		const char *part, *lacking;
	} areas[] = {
#define X(part, lacking) { part, lacking },
		UNSUPPORTED_AREAS(X)
#undef X
	};

	for (size_t i = 0; i < sizeof(areas) / sizeof(areas[0]); i++) {
		if (strstr(symbol, areas[i].part))
			return areas[i].lacking;
	}
	return "no such function";
}

#endif
