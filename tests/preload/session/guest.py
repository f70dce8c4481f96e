# SPDX-License-Identifier: Apache-2.0
"""guest.py PTX SCENARIO - a Python program that uses CUDA by ctypes, and what else Python programs do.

What it prints, and its exit status, must not depend on whether the library is there. Standard library only.
"""

import atexit
import ctypes
import faulthandler
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

THREADS, BLOCKS = 64, 4


class Device:
    """Memory by the runtime, kernels by the driver, as frameworks do."""

    def __init__(self, ptx):
        self.runtime = ctypes.CDLL("libcudart.so.13")
        self.driver = ctypes.CDLL("libcuda.so.1")
        self.data = ctypes.c_void_p()
        self.call(self.runtime.cudaMalloc, ctypes.byref(self.data), ctypes.c_size_t(THREADS * BLOCKS * 4))
        self.call(self.runtime.cudaMemset, self.data, 0, ctypes.c_size_t(THREADS * BLOCKS * 4))
        with open(ptx, "rb") as file:
            image = file.read() + b"\0"
        module = ctypes.c_void_p()
        self.function = ctypes.c_void_p()
        self.call(self.driver.cuModuleLoadData, ctypes.byref(module), image)
        self.call(self.driver.cuModuleGetFunction, ctypes.byref(self.function), module, b"step")

    @staticmethod
    def call(function, *arguments):
        result = function(*arguments)
        if result != 0:
            raise RuntimeError(f"{function.__name__}: {result}")

    def launch(self, n):
        self.call(self.runtime.cudaSetDevice, 0)  # in each thread
        pointer = ctypes.c_void_p(self.data.value)
        parameters = (ctypes.c_void_p * 1)(ctypes.addressof(pointer))
        for _ in range(n):
            self.call(self.driver.cuLaunchKernel, self.function, BLOCKS, 1, 1, THREADS, 1, 1, 0, None, parameters, None)

    def ran(self):
        host = (ctypes.c_int * (THREADS * BLOCKS))()
        self.call(self.runtime.cudaMemcpy, host, self.data, ctypes.c_size_t(ctypes.sizeof(host)), 2)
        return sorted(set(host))


def say(*what):
    print(*what, flush=True)


def signals(ptx):
    seen = []
    signal.signal(signal.SIGUSR1, lambda number, _: seen.append(number))
    device = Device(ptx)
    signal.signal(signal.SIGUSR2, lambda number, _: seen.append(number))
    faulthandler.enable()
    device.launch(3)
    for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGUSR1):
        os.kill(os.getpid(), number)
        time.sleep(0.01)
    say(seen, device.ran())
    say(signal.getsignal(signal.SIGINT) is signal.default_int_handler, signal.getsignal(signal.SIGTERM))
    say(signal.pthread_sigmask(signal.SIG_BLOCK, []))
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)
    except KeyboardInterrupt:
        say("interrupted")
    signal.alarm(1)
    signal.signal(signal.SIGALRM, lambda *_: seen.append("alarm"))
    time.sleep(1.2)
    say(seen[-1])


def threads(ptx):
    device = Device(ptx)
    workers = [threading.Thread(target=device.launch, args=(10,)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    say(device.ran(), threading.active_count())


def inert(number):
    return number * number, len(os.listdir("/proc/self/task"))


def by_fork(ptx):
    device = Device(ptx)
    device.launch(2)
    device.ran()
    context = multiprocessing.get_context("fork")
    with context.Pool(3) as pool:
        say(pool.map(inert, range(20)))
    child = context.Process(target=sys.exit, args=(9,))
    child.start()
    child.join()
    say(child.exitcode)
    queue = context.Queue()
    child = context.Process(target=lambda: queue.put("from the child"))
    child.start()
    say(queue.get())
    child.join()
    device.launch(3)
    say(device.ran())


def record(ptx, n):
    device = Device(ptx)
    device.launch(n)
    return device.ran()


def say_recorded(ptx, n):
    say(record(ptx, n))


def by_spawn(ptx):
    device = Device(ptx)
    device.launch(5)
    for n in 6, 7:
        child = multiprocessing.get_context("spawn").Process(target=say_recorded, args=(ptx, n))
        child.start()
        child.join()
        say(child.exitcode)
    say(device.ran())


def by_subprocess(ptx):
    device = Device(ptx)
    device.launch(2)
    device.ran()
    done = subprocess.run(["sh", "-c", "echo out; echo err >&2; exit 3"], capture_output=True, text=True)
    say(done)
    done = subprocess.run([sys.executable, __file__, ptx, "plain"], capture_output=True, text=True)
    say(done.returncode, done.stdout)
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as cat:
        say(cat.communicate("through cat"))


def plain(ptx):
    say(record(ptx, 4))


def killed(ptx):
    record(ptx, 3)
    time.sleep(0.2)
    os.kill(os.getpid(), signal.SIGKILL)


def os_exit(ptx):
    record(ptx, 3)
    time.sleep(0.2)
    os._exit(4)


def sys_exit(ptx):
    atexit.register(say, "at exit")
    record(ptx, 3)
    sys.exit(5)


def exception(ptx):
    record(ptx, 3)
    raise ValueError("of the program")


def exception_in_thread(ptx):
    device = Device(ptx)
    device.launch(3)
    worker = threading.Thread(target=exec, args=("1/0",))
    worker.start()
    worker.join()
    say(device.ran())


def exit_with_threads(ptx):
    device = Device(ptx)
    threading.Thread(target=time.sleep, args=(30,), daemon=True).start()
    for _ in range(3):
        threading.Thread(target=device.launch, args=(5,)).start()
    sys.exit(6)


SCENARIOS = [signals, threads, by_fork, by_spawn, by_subprocess, plain, killed, os_exit, sys_exit, exception,
             exception_in_thread, exit_with_threads]

if __name__ == "__main__":
    {scenario.__name__: scenario for scenario in SCENARIOS}[sys.argv[2]](sys.argv[1])
