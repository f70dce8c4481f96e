#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A library exports every function that CUDA's headers declare, so that no program ends with "undefined symbol".

Usage: check_exports.py LIBRARY CC INCLUDE_FOLDER HEADER...    declared in the headers, per-thread twins included
       check_exports.py LIBRARY LIST                           one name a line
"""
import re
import subprocess
import sys


def exported(library):
    text = subprocess.run(['nm', '-D', '--defined-only', library], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1].split('@')[0] for line in text.splitlines()}


def declared(cc, include, headers):
    names = set()
    for defines in ([], ['-D__CUDA_API_VERSION_INTERNAL'], ['-DCUDA_API_PER_THREAD_DEFAULT_STREAM']):
        source = ''.join(f'#include <{header}>\n' for header in headers)
        text = subprocess.run([cc, '-E', '-P', '-I', include, *defines, '-'], input=source, check=True,
                              capture_output=True, text=True).stdout
        # What returns an error code or a text is a function of the interface; types and helpers are not.
        names |= set(re.findall(r'\b(?:CUresult|cudaError_t|const char\s*\*)\s+(cu(?:da)?[A-Z]\w*)\s*\(', text))
    return names


def main():
    library, *rest = sys.argv[1:]
    if len(rest) == 1:
        with open(rest[0], encoding='utf-8') as file:
            names = {line.strip() for line in file if line.strip() and not line.startswith('#')}
    else:
        names = declared(rest[0], rest[1], rest[2:])
    if len(names) < 300:
        sys.exit(f'only {len(names)} names to look for: that is not the whole interface')
    missing = sorted(names - exported(library))
    if missing:
        sys.exit(f'{library} lacks {len(missing)} of {len(names)} functions:\n' + '\n'.join(missing))
    print(f'{library}: all {len(names)} functions are there')


main()
