/*
 * Runs a program under ptrace and records the listed system calls in order, with the bytes they write or send.
 * Bun compiles it in memory (tracer.ts) without system headers, so everything used here is declared here.
 * Needs 64-bit little-endian Linux 5.3 or later.
 */
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long u64;

extern long ptrace(long request, ...);
extern int fork(void), execvp(const char *, char *const *), waitpid(int, int *, int), kill(int, int), pipe2(int *, int);
extern long read(int, void *, u64), write(int, const void *, u64), readlink(const char *, char *, u64);
extern long process_vm_readv(int, const void *, u64, const void *, u64, u64);
extern int prctl(int, ...), snprintf(char *, u64, const char *, ...), memcmp(const void *, const void *, u64);
extern void *memcpy(void *, const void *, u64), *signal(int, void (*)(int));
extern u64 strlen(const char *);
extern void _exit(int);
extern int *__errno_location(void);

enum { seize = 0x4206, listen = 0x4208, resume = 7, to_exit = 24, syscall_info = 0x420e };
/* Mark syscall stops, follow forks and threads, stop at filtered calls, and kill the program if the tracer dies. */
enum { options = 1 | 2 | 4 | 8 | 16 | 128 | (1 << 20), event_seccomp = 7, event_stop = 128 };
enum { no_bytes, path_0, path_1, paths_0_1, paths_1_3, buffer, vector, message };

/* A recorded call: its number, where its bytes are, and whether it is a disk step. */
struct call { u64 nr, bytes, is_step; };
struct info { u8 op, pad[3]; u32 arch; u64 ip, sp, nr, args[6]; };
struct exit_info { u8 op, pad[3]; u32 arch; u64 ip, sp, result; };
struct record { u64 is_exit, id, nr, args[6], length; };
struct vec { u64 base, length; };

static int out, child, is_dying;
static u8 pending[1 << 20];
static u64 filled, next_id;
static struct { int tid; u64 id; } inside[1024];

static void flush(void) {
  for (u64 done = 0; done < filled;) {
    long wrote = write(out, pending + done, filled - done);
    if (wrote <= 0) _exit(125);
    done += wrote;
  }
  filled = 0;
}

static void put(const void *bytes, u64 length) {
  for (u64 done = 0; done < length;) {
    if (filled == sizeof pending) flush();
    u64 room = sizeof pending - filled, part = length - done < room ? length - done : room;
    memcpy(pending + filled, (const u8 *)bytes + done, part);
    filled += part;
    done += part;
  }
}

/* Copies memory of the program. Returns the number of bytes copied, 0 if it cannot be read. */
static u64 peek(int tid, void *into, u64 from, u64 length) {
  struct vec local = {(u64)into, length}, remote = {from, length};
  long found = process_vm_readv(tid, &local, 1, &remote, 1, 0);
  return found < 0 ? 0 : found;
}

static void put_memory(int tid, u64 from, u64 length) {
  static u8 part[1 << 16];
  for (u64 done = 0; done < length;) {
    u64 size = length - done < sizeof part ? length - done : sizeof part;
    if (peek(tid, part, from + done, size) != size) _exit(125);
    put(part, size);
    done += size;
  }
}

/* Reads a path page by page, because the page after its NUL may not be mapped. */
static u64 peek_path(int tid, char *into, u64 from) {
  for (u64 length = 0; length < 4096;) {
    u64 size = 4096 - (from + length) % 4096;
    if (size > 4096 - length) size = 4096 - length;
    u64 found = peek(tid, into + length, from + length, size);
    for (u64 end = length + found; length < end; length++)
      if (!into[length]) return length;
    if (!found) break;
  }
  return 0;
}

static void put_paths(struct record *record, int tid, u64 first, u64 second) {
  static char paths[2 * 4096 + 1];
  u64 length = peek_path(tid, paths, first);
  if (second) {
    paths[length++] = 0;
    length += peek_path(tid, paths + length, second);
  }
  record->length = length;
  put(record, sizeof *record);
  put(paths, length);
}

static void put_vector(struct record *record, int tid, u64 from, u64 count) {
  static struct vec vectors[1024];
  if (count > 1024 || peek(tid, vectors, from, count * sizeof(struct vec)) != count * sizeof(struct vec)) _exit(125);
  for (u64 i = 0; i < count; i++) record->length += vectors[i].length;
  put(record, sizeof *record);
  for (u64 i = 0; i < count; i++) put_memory(tid, vectors[i].base, vectors[i].length);
}

static void put_entry(int tid, struct info *at, const struct call *call) {
  struct record record = {0, next_id++, at->nr, {0}, 0};
  memcpy(record.args, at->args, sizeof record.args);
  u64 *args = at->args, header[7];
  for (int i = 0; i < 1024; i++) {
    if (inside[i].tid && inside[i].tid != tid) continue;
    inside[i].tid = tid;
    inside[i].id = record.id;
    break;
  }
  switch (call->bytes) {
    case path_0: put_paths(&record, tid, args[0], 0); return;
    case path_1: put_paths(&record, tid, args[1], 0); return;
    case paths_0_1: put_paths(&record, tid, args[0], args[1]); return;
    case paths_1_3: put_paths(&record, tid, args[1], args[3]); return;
    case vector: put_vector(&record, tid, args[1], args[2]); return;
    case message:
      if (peek(tid, header, args[1], sizeof header) != sizeof header) _exit(125);
      put_vector(&record, tid, header[2], header[3]);
      return;
    case buffer:
      record.length = args[2];
      put(&record, sizeof record);
      put_memory(tid, args[1], args[2]);
      return;
    default: put(&record, sizeof record);
  }
}

static void put_exit(int tid, u64 result) {
  for (int i = 0; i < 1024; i++) {
    if (inside[i].tid != tid) continue;
    struct record record = {1, inside[i].id, 0, {result}, 0};
    inside[i].tid = 0;
    put(&record, sizeof record);
    return;
  }
}

/* Returns whether a descriptor belongs to a file whose name ends in `end`. */
static int leads_to(int tid, u64 descriptor, const char *end) {
  char link[64], name[4096];
  snprintf(link, sizeof link, "/proc/%d/fd/%d", tid, (int)descriptor);
  long length = readlink(link, name, sizeof name), wanted = strlen(end);
  return length >= wanted && !memcmp(name + length - wanted, end, wanted);
}

/* Runs in the child: only the listed calls stop. */
static void filter_calls(const struct call *calls, u64 count) {
  struct { u16 code; u8 yes, no; u32 k; } filter[260] = {{0x20, 0, 0, 0}};
  for (u64 i = 0; i < count; i++) {
    filter[1 + i].code = 0x15;
    filter[1 + i].yes = count - i;
    filter[1 + i].k = calls[i].nr;
  }
  filter[count + 1].code = filter[count + 2].code = 6;
  filter[count + 1].k = 0x7fff0000;
  filter[count + 2].k = 0x7ff00000;
  struct { u16 length; void *filter; } program = {count + 3, filter};
  if (prctl(38, 1, 0, 0, 0) || prctl(22, 2, &program)) _exit(124);
}

static void pass_on(int number) { kill(child, number); }

/*
 * Runs the program argv to its end. Returns its wait status, or a negative errno if tracing fails.
 * Kills the program before disk step number last_step on files whose names end in `end`. 0 never kills the program.
 */
int trace(char *const *argv, int descriptor, const struct call *calls, int count, const char *end, int last_step) {
  int gate[2], status, tid;
  char go = 0;
  out = descriptor;
  if (pipe2(gate, 02000000)) return -*__errno_location();
  child = fork();
  if (child < 0) return -*__errno_location();
  if (child == 0) {
    if (read(gate[0], &go, 1) != 1) _exit(124);
    filter_calls(calls, count);
    execvp(argv[0], argv);
    _exit(127);
  }
  if (ptrace(seize, (long)child, 0L, (long)options)) {
    int error = *__errno_location();
    kill(child, 9);
    return -error;
  }
  signal(15, pass_on);
  signal(2, pass_on);
  if (write(gate[1], &go, 1) != 1) return -5;
  while ((tid = waitpid(-1, &status, 0x40000000)) > 0) {
    long next = resume, deliver = 0;
    int number = (status >> 8) & 0xff, event = status >> 16;
    if ((status & 0xff) != 0x7f) {
      if (tid != child) continue;
      flush();
      return status;
    }
    if (event == event_seccomp) {
      struct info at;
      ptrace(syscall_info, (long)tid, (long)sizeof at, &at);
      for (int i = 0; i < count; i++) {
        if (calls[i].nr != at.nr) continue;
        if (last_step && calls[i].is_step && leads_to(tid, at.args[0], end) && --last_step == 0)
          is_dying = !kill(child, 9);
        // The memory of a killed program cannot be read.
        if (!is_dying) put_entry(tid, &at, &calls[i]);
      }
      next = to_exit;
    } else if (event == event_stop) {
      if (number >= 19 && number <= 22) next = listen;
    } else if (number == (5 | 0x80)) {
      struct exit_info at;
      ptrace(syscall_info, (long)tid, (long)sizeof at, &at);
      put_exit(tid, at.result);
    } else if (!event) {
      deliver = number;
    }
    ptrace(next, (long)tid, 0L, deliver);
  }
  flush();
  return -*__errno_location();
}
