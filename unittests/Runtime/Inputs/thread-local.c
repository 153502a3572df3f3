/* Thread-local data, which has no place in a kernel. */
_Thread_local int perThread = 3;
int read_it(void) { return perThread; }
