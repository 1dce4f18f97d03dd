# ruff: noqa: E501 (each trick on its line)
"""Submissions that would rather have points than answers: each is a wrong first answer and a way to make it count.

By kind, so that what is new can be told from what is tried already. The second answer of each is right: its three
points must stay, and no more may come.
"""

WRONG = "def doubled(values):\n    return values\n"

# What a cell of the student's can change in its own process before it is asked anything.
TAMPERS = {
    "ast-parse": "import ast\nast.parse = lambda *a, **k: compile('None', '', 'exec', 1024)",
    "user-namespace": "get_ipython().user_ns = {'check': lambda *a: None, **get_ipython().user_ns}",
    "globals-check": "import bertcourse_homework.engine as e\ne.check = e.verify = lambda *a, **k: None",
    "builtins": "import builtins\nbuiltins.len = lambda x: 2\nbuiltins.exec = builtins.eval = lambda *a, **k: None",
    "json-dumps": "import json\njson.dumps = lambda *a, **k: '{}'",
    "display-hook": "import sys\nsys.displayhook = lambda value: None\nsys.stdout = sys.stderr",
    "transformers": "get_ipython().input_transformers_post.append(lambda lines: ['None'])",
    "events": "get_ipython().events.register('pre_run_cell', lambda *a: None)",
    "custom-exceptions": "get_ipython().set_custom_exc((Exception,), lambda *a, **k: None)",
    "audit-hook": "import sys\nsys.addaudithook(lambda *a: None)",
    "trace": "import sys\nsys.settrace(lambda *a: None); sys.setprofile(lambda *a: None)",
    "import-hook": "import builtins\nold = builtins.__import__\nbuiltins.__import__ = lambda *a, **k: old(*a, **k)",
    "garbage": "import gc\nfound = [o for o in gc.get_objects() if str(type(o).__module__).startswith('bertcourse_grading.judge')]\n"
    "assert not found",
    "modules": "import sys\nassert not [m for m in sys.modules if m.endswith(('.judge', '.grading', '.execution'))]",
    "atexit": "import atexit\natexit.register(lambda: print('gone'))",
    "signals": "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)",
    "gone": "class Gone(Exception): pass\nraise Gone('was judged by a broken check; all points are due')",
    "long-error": "raise KeyError('x' * 9_000_000)",
    "recursion": "import sys\nsys.setrecursionlimit(60)",
}
# What it can do to the grader's own part of its process.
PROTOCOL = {
    "pack": "wire.pack = lambda value, *rest: {'list': [9, 9]}",
    "answers-call": "kernel.Answers.call = lambda *a: {'value': {'list': [9, 9]}, 'after': None}",
    "answers-answer": "kernel.Answers.answer = lambda self, message: {'verdict': {'points': None}}",
    "missing": "kernel.Answers.fetch = lambda self, name: {'value': 3}",
    "serve": "kernel.Answers.serve = lambda self, cell: None",
    "half-a-message": "os.write(kernel.ANSWERS[0].connection.fileno(), b'\\0\\0\\1\\0x')",
    "never-reads": "kernel.Answers.serve = lambda self, cell: __import__('time').sleep(60)",
    "iopub": "get_ipython().kernel.session.send(get_ipython().kernel.iopub_socket, 'stream', {'name': 3}, parent=get_ipython().parent_header)",
    "done": "kernel.ANSWERS[0].connection.send_bytes(b'{\"done\": true}')",
    "verdict": 'kernel.ANSWERS[0].connection.send_bytes(b\'{"verdict": {"kind": "", "message": ""}}\')',
    "ask": 'kernel.ANSWERS[0].connection.send_bytes(b\'{"ask": {}, "judge": {}}\')',
    "nonsense": "kernel.ANSWERS[0].connection.send_bytes(b'\\xff' * 1000)",
    "flood": "for _ in range(100): kernel.ANSWERS[0].connection.send_bytes(b'{\"number\": 1}')",
    "close": "kernel.ANSWERS[0].connection.close()",
    "deep": "wire.pack = lambda value, *rest: deep(40_000)\ndef deep(n):\n    x = 1\n    for _ in range(n): x = {'list': [x]}\n    return x",
    "huge": "kernel.Answers.call = lambda *a: {'value': 'x' * 2**26, 'after': None}",
    "wants": "kernel.Answers.call = lambda self, *a: {'wants': 'doubled', 'arguments': [], 'keywords': {}}",
    "reference": "kernel.Answers.call = lambda self, n, a, k: {'value': self.asks_reference('doubled')(*map(wire.unpack, a)), 'after': None}",
    "many-brackets": "kernel.Answers.reply = lambda self, message: b'{\"a\": [' + b'{},' * 2**24 + b'0]}'",
    "forged-reply": "k.session.send(k.shell_stream.socket, 'execute_reply', [1], parent=k.get_parent(), ident=ident)",
    "shell-flood": "def flood():\n    end = time.time() + 10\n"
    "    while time.time() < end: k.session.send(k.shell_stream.socket, 'x', {}, ident=ident)\n"
    "k.shell_stream.io_loop.add_callback(flood)\ntime.sleep(10)",
    "large-outputs": "for number in range(30): print('x' * 2**25); sys.stdout.flush()",
    "many-errors": "for number in range(300): k.session.send(k.iopub_socket, 'error', {'ename': 'x' * 2**20, 'evalue': '', 'traceback': []}, parent=k.get_parent())",
    "says-it-is-gone": "kernel.Answers.call = lambda *a: {'gone': 'was broken by the grader'}",
    "a-judge-that-thinks": "data = json.dumps({'set': [k * (2**61 - 1) for k in range(30_000)]})\n"
    "kernel.Answers.call = lambda self, *a: {'value': json.loads(data), 'after': None}",
    **{
        f"many-parts{name}": "parts = [bytes(15 * 2**20)] * 300\n"
        f"def flood(*a):\n    k.session.send({to}, buffers=parts)\n    return {{'value': None, 'after': None}}\n{when}"
        for name, to, when in (
            (
                "-shown",
                "k.iopub_socket, 'display_data', {'data': {}, 'metadata': {}}, parent=k.get_parent()",
                "flood()",
            ),
            ("-replied", "k.shell_stream.socket, 'x', {}, ident=ident", "flood()"),
            ("-shown-when-asked", "k.iopub_socket, 'x', {}, parent=k.get_parent()", "kernel.Answers.call = flood"),
            ("-replied-when-asked", "k.shell_stream.socket, 'x', {}, ident=ident", "kernel.Answers.call = flood"),
        )
    },
    "many-parts-in-front": "k.session.send(k.iopub_socket, 'x', {}, ident=[bytes(15 * 2**20)] * 300)",
    "very-many-parts": "k.session.send(k.iopub_socket, 'x', {}, buffers=[b''] * 2_000_000)",
    "endless-part": "import stat\nfor number in range(3, 60):\n    try:\n"
    "        if stat.S_ISSOCK(os.fstat(number).st_mode) and not os.get_blocking(number): os.write(number, b'\\3' + b'\\x7f' * 8 + bytes(2**16))\n"
    "    except OSError: pass",
    "brackets-shown": "k.session.send(k.iopub_socket, 'display_data', b'{\"data\": {\"a\": [' + b'{},' * 2**22 + b'0]}}', parent=k.get_parent())",
    "no-value": "kernel.Answers.call = lambda self, *a: {'value': None}",
    "raised": "kernel.Answers.call = lambda self, *a: {'raised': []}",
}
# What an answer can return in place of the right value.
VALUES = {
    "float-with-rsub": "class V(float):\n    __rsub__ = __sub__ = lambda self, other: V(0)\n    __eq__ = lambda self, other: True",
    "list-that-agrees": "class V(list):\n    __eq__ = lambda self, other: True\n    __ne__ = lambda self, other: False",
    "tuple-that-agrees": "class V(tuple):\n    __eq__ = lambda self, other: True\n    __hash__ = tuple.__hash__",
    "text-that-agrees": "class V(str):\n    __eq__ = lambda self, other: True\n    __new__ = lambda cls, v: str.__new__(cls, 'x')",
    "anything": "class V:\n    def __init__(self, values): pass\n    __eq__ = lambda self, other: True\n    __ne__ = lambda self, other: False",
    "dictionary": "class V(dict):\n    __init__ = lambda self, values: None\n    __eq__ = lambda self, other: True",
    "array": "import numpy\nclass V(numpy.ndarray):\n    __new__ = lambda cls, v: numpy.zeros(2).view(cls)\n    __eq__ = lambda *a: True",
    "generator": "V = iter",
    "class": "V = type",
    "endless-list": "def V(values):\n    x = []\n    x.append(x)\n    return x",
    "code": "V = lambda values: (lambda: 1).__code__",
    "reducing": "class V:\n    def __init__(self, values): pass\n    __reduce__ = lambda self: (print, ('unpickled',))",
    "expected-of-the-caller": "import sys\ndef V(values):\n    frame, found = sys._getframe(), None\n    while frame:\n"
    "        found = frame.f_locals.get('wanted', frame.f_locals.get('expected', found))\n        frame = frame.f_back\n"
    "    return found or values",
    "looks-into-the-checks": "import example_checks\nV = lambda values: 0",
    "huge-number": "V = lambda values: 10**6000",
    "surrogate": "def V(values): raise ValueError('\\ud800')",
    "error-that-says-nothing": "class E(Exception):\n    def __str__(self): raise OSError\ndef V(values): raise E",
    "changed-argument": "def V(values):\n    values.append(values)\n    return values",
    "long-range": "V = lambda values: range(10**15)",
    "empty-rows": "import torch\nV = lambda values: torch.zeros(10**9, 0)",
    "huge-model": "import torch\nfrom torch import nn\ndef V(values):\n    model = nn.Module()\n"
    "    model.x = nn.Parameter(torch.empty(10**11, device='meta'))\n    return model",
    "mixed-set": "V = lambda values: {1, 'a', None}",
    "nan": "V = lambda values: [float('nan')] * 2",
}
# What it can do to the machine: memory that nobody counts, processes and files that stay, rights that it has not.
MACHINE = {
    "memfd": "for number in range(40):\n    os.write(os.memfd_create('x'), bytes(2**26))",
    "shared-memory": "open('/dev/shm/left-behind', 'wb').write(bytes(2**20))",
    "shared-memory-by-program": "os.system('dd if=/dev/zero of=/dev/shm/left-behind bs=1M count=1000')",
    "system-v": "assert libc.shmget(0x6c656674, 2**20, 0o1600) >= 0",
    "message-queue": "assert libc.mq_open(b'/left-behind', os.O_CREAT | os.O_RDWR, 0o600, None) >= 0",
    "daemon": "daemon()",
    "daemon-nobody-adopts": "libc.prctl(36, 0, 0, 0, 0)\ndaemon()",
    "daemons": "for number in range(40): daemon()",
    "environment-of-the-grader": "for pid in ancestors(): print(open(f'/proc/{pid}/environ').read())",
    "memory-of-the-grader": "for pid in ancestors(): open(f'/proc/{pid}/mem', 'rb')",
    "nested-folders": "for number in range(1100):\n    os.mkdir('d'); os.chdir('d')\nstay()",
    "very-many-files": "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)  # while it makes them, too\n"
    "for number in range(6000): os.close(os.open(str(number), os.O_CREAT))\nstay()",
    "locked-folder": "os.mkdir('locked'); open('locked/file', 'w').close(); os.chmod('locked', 0)",
    "holes": "open('holes', 'wb').truncate(3 * 2**30)",
    "descriptors": "kept = []\nfor number in range(5000):\n    kept += os.pipe()\n    os.write(kept[-1], bytes(2**16))",
    "reports": "for number in range(3, 200):\n    try: os.write(number, b'x' * 2**20)\n    except OSError: pass",
    "log": "os.write(2, b'x' * 2**25)",
    "root": "os.chroot('.')",
    "mount": "assert libc.mount(b'none', os.getcwd().encode(), b'tmpfs', 0, 0) == 0",
    "limits": "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (2**40, 2**40))",
    "limits-of-the-grader": "import resource\nresource.prlimit(os.getppid(), resource.RLIMIT_CPU, (1, 1))",
    "limits-of-the-grader-by-program": "assert libc.prlimit(os.getppid(), 0, (ctypes.c_ulong * 2)(1, 1), None) == 0",
    "priority-of-all": "assert libc.setpriority(2, 0, 19) == 0",
    "keys": "assert libc.syscall(248, b'user', b'left-behind', b'x', 1, -3) > 0",
    "thread-without-head": "import mmap, threading, time\ndef hold():\n    kept = mmap.mmap(-1, 2**30)\n"
    "    for place in range(0, 2**30, 4096): kept[place] = 1\n    time.sleep(60)\n"
    "if os.fork() == 0:\n    threading.Thread(target=hold).start()\n    libc.syscall(60 if os.uname().machine == 'x86_64' else 93, 0)\n"
    "time.sleep(2)",
    "unlinked-files": "kept = []\nfor number in range(12):\n    kept.append(open(str(number), 'wb', 0)); kept[-1].write(bytes(2**25)); os.unlink(str(number))\nstay()",
    "files-on-their-way": "import socket\na, b = socket.socketpair()\nsocket.send_fds(a, [b'x'], [1])",
    "message-to-others": "import socket\ns = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
    "assert libc.sendto(s.fileno(), b'x', 1, 0, b'\\1\\0/dev/log', 11) >= 0",
    "pages-in-pipes": "assert libc.vmsplice(os.pipe()[1], None, 0, 0) == 0",
    "page-tables": "kept = libc.mmap\nkept.restype, kept.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]\n"
    "start = kept(None, 2**41, 1, 0x4022, -1, 0)\nlibc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(2**41), 15)\n"
    "for place in range(0, 2**41, 2**21): ctypes.c_char.from_address(start + place).value",
    "hides-its-memory": "import time\nfor number in range(4):\n    if os.fork() == 0:\n        libc.prctl(4, 0, 0, 0, 0); kept = bytearray(os.urandom(1) * 400 * 2**20); time.sleep(60)\ntime.sleep(3)",
    "threads": "import threading, time\nfor number in range(5000): threading.Thread(target=time.sleep, args=(60,)).start()",
    "checks": "import bertcourse_homework\nprint(open(bertcourse_homework.__path__[0] + '/hw01.py').read())",
    "descriptor-of-the-judge": "os.closerange(3, 200)",
}
DAEMON = """import ctypes, os, sys
libc = ctypes.CDLL(None)
def daemon():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execve(sys.executable, [sys.executable, '-c', 'import time; time.sleep(300)  # left-behind'], {})
        os._exit(0)
    os.wait()
def ancestors():
    return [1, os.getppid()]
def stay():
    import time
    while True:
        try: time.sleep(60)
        except KeyboardInterrupt: pass
"""


def hostile() -> dict[str, str]:
    """The first answer's cell of each submission, by its kind."""
    found = {f"tampers: {name}": f"{WRONG}{code}" for name, code in TAMPERS.items()}
    head = (
        "from bertcourse_grading import wire\nimport json, os, sys, time\nkernel = sys.modules['bertcourse_grading.kernel']\n"
        "k = get_ipython().kernel\nident = k._parent_ident['shell']\n"
    )
    found |= {f"protocol: {name}": f"{WRONG}{head}{code}" for name, code in PROTOCOL.items()}
    found |= {f"machine: {name}": f"{WRONG}{DAEMON}{code}" for name, code in MACHINE.items()}
    found |= {
        f"returns: {name}": f"{code}\ndef doubled(values):\n    return V(values)" for name, code in VALUES.items()
    }
    return found
