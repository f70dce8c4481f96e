#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the fat binaries and the list of exports in this folder again.

Usage: make.py SITE_PACKAGES, a folder into which was installed (pip install --target SITE_PACKAGES ...):
       nvidia-cuda-nvrtc-cu12==12.8.*  nvidia-nvfatbin-cu12==12.8.*  nvidia-cuda-runtime-cu12==12.8.*
"""
import ctypes
import pathlib
import re
import subprocess
import sys

WHOLE = '''
__device__ int counter = 7;
__constant__ int scale[4] = { 1, 2, 3, 4 };
extern "C" __global__ void whole(int *to, int n)
{
	for (int i = threadIdx.x; i < n; i += blockDim.x)
		to[i] = i * scale[i % 4] + counter;
}
'''
FIRST = '''
extern __device__ int total;
extern __device__ int twice(int i);
extern "C" __global__ void first(int *to, int n)
{
	for (int i = threadIdx.x; i < n; i += blockDim.x)
		to[i] = twice(i) + total;
}
'''
SECOND = '''
__device__ int total = 100;
__device__ int twice(int i)
{
	return 2 * i;
}
'''


def text_list(items):
    return (ctypes.c_char_p * len(items))(*[item.encode() for item in items])


class Tools:
    def __init__(self, packages):
        self.nvrtc = ctypes.CDLL(str(packages / 'nvidia/cuda_nvrtc/lib/libnvrtc.so.12'))
        self.fatbin = ctypes.CDLL(str(packages / 'nvidia/nvfatbin/lib/libnvfatbin.so.12'))

    @staticmethod
    def ok(result):
        if result:
            sys.exit(f'a call failed with {result}')

    def compile(self, source, arch, relocatable):
        """PTX for compute_NN, machine code for sm_NN."""
        program, size = ctypes.c_void_p(), ctypes.c_size_t()
        options = text_list([f'-arch={arch}', f'-rdc={"true" if relocatable else "false"}'])
        self.ok(self.nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b'unit.cu', 0, None, None))
        self.ok(self.nvrtc.nvrtcCompileProgram(program, len(options), options))
        kind = 'PTX' if arch.startswith('compute') else 'CUBIN'
        self.ok(getattr(self.nvrtc, f'nvrtcGet{kind}Size')(program, ctypes.byref(size)))
        image = ctypes.create_string_buffer(size.value)
        self.ok(getattr(self.nvrtc, f'nvrtcGet{kind}')(program, image))
        return image.raw

    def pack(self, source, archs, relocatable, mode):
        handle, size = ctypes.c_void_p(), ctypes.c_size_t()
        options = text_list(['-64', '-host=linux'] + ([f'-compress-mode={mode}'] if mode else []))
        self.ok(self.fatbin.nvFatbinCreate(ctypes.byref(handle), options, len(options)))
        for arch in archs:
            image = self.compile(source, arch, relocatable)
            number = arch.split('_')[1].encode()
            arguments = [handle, image, ctypes.c_size_t(len(image)), number, b'unit']
            if arch.startswith('compute'):
                self.ok(self.fatbin.nvFatbinAddPTX(*arguments, b''))
            else:
                self.ok(self.fatbin.nvFatbinAddCubin(*arguments))
        self.ok(self.fatbin.nvFatbinSize(handle, ctypes.byref(size)))
        buffer = ctypes.create_string_buffer(size.value)
        self.ok(self.fatbin.nvFatbinGet(handle, buffer))
        return buffer.raw


def exports(library):
    text = subprocess.run(['nm', '-D', '--defined-only', library], check=True, capture_output=True, text=True).stdout
    return sorted(re.findall(r' [TW] (\w+)', text))


def main():
    here, packages = pathlib.Path(__file__).parent, pathlib.Path(sys.argv[1])
    tools = Tools(packages)
    archs = ['compute_75', 'compute_80', 'compute_90', 'sm_80']
    for name, source, relocatable, mode in (
            ('whole', WHOLE, False, None), ('whole_zstd', WHOLE, False, 'size'), ('whole_plain', WHOLE, False, 'none'),
            ('first', FIRST, True, None), ('second', SECOND, True, None)):
        image = tools.pack(source, archs if not relocatable else archs[:3], relocatable, mode)
        (here / f'{name}.fatbin').write_bytes(image)
    names = exports(packages / 'nvidia/cuda_runtime/lib/libcudart.so.12')
    (here / 'exports.txt').write_text('\n'.join(names) + '\n', encoding='utf-8')


main()
