/* Fails, cuts short, stops or kills at one call that changes files below a folder. For tests, by LD_PRELOAD.

   A process takes part once it has called `attach` with the path of a control file, which holds a `struct control`. A
   program that is started with FAULT_CONTROL=<path> does so by itself. All processes with one control file share one
   count of calls. Each call adds a line to <path>.log: its number, "run" or "command", "made" or "not made", its
   kind, and its paths. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

struct control {
    long long count;   /* of calls so far */
    long long number;  /* of the call to hit; 0: none */
    int action;        /* what happens to it */
    int error;         /* errno of calls that fail */
    int run;           /* the process that is killed or stopped */
    int unused;
    char folder[1024]; /* calls count only if they concern it or files below it */
};

/* As `Action` in tests/helpers/fault_worker.py. */
enum {
    FAIL = 1, /* the call fails, later ones do not */
    BREAK,    /* the call and all later ones fail */
    FILL,     /* only half of a write is made, and later calls that need space fail */
    SHORT,    /* only half of a write is made */
    KILL,     /* the run and the caller are killed before the call */
    TEAR,     /* they are killed after half of a write, or after a call of another kind */
    ORPHAN,   /* the run is killed before the call, and its command goes on */
    STOP,     /* the run is stopped before the call */
};

static struct control *control;
static int record = -1;

/* The function of that name in the C library. */
#define REAL(name)                                                              \
    ({                                                                          \
        static __typeof__(&name) found_;                                        \
        if (!found_) found_ = (__typeof__(&name))dlsym(RTLD_NEXT, #name);       \
        found_;                                                                 \
    })

/* Makes a call as the action says, and returns its result. */
#define MADE(action, call)                                                      \
    do {                                                                        \
        int action_ = (action);                                                 \
        if (action_ == FAIL) return errno = control->error, -1;                 \
        __typeof__(call) result_ = (call);                                      \
        if (action_ == TEAR) end_run(1);                                        \
        return result_;                                                         \
    } while (0)

/* Take part, as the control file says; 0 on success. */
int attach(const char *path) {
    char name[PATH_MAX];
    int file = REAL(open)(path, O_RDWR | O_CLOEXEC);
    if (file < 0) return -1;
    void *shared = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (shared == MAP_FAILED) return -1;
    snprintf(name, sizeof name, "%s.log", path);
    record = REAL(open)(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (record < 0) return -1;
    control = shared;
    return 0;
}

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("FAULT_CONTROL");
    if (path && attach(path)) abort();
}

/* Add a line to the log. */
void note(const char *line) {
    ssize_t length = strlen(line);
    if (control && REAL(write)(record, line, length) != length) abort();
}

static void end_run(int with_caller) {
    kill(control->run, SIGKILL);
    if (with_caller && control->run != getpid()) kill(getpid(), SIGKILL);
}

static int is_write(const char *kind) { return !strcmp(kind, "write"); }

static int needs_space(const char *kind) {
    return is_write(kind) || !strcmp(kind, "create") || !strcmp(kind, "mkdir") || !strcmp(kind, "link");
}

/* What happens to call `number`. */
static int chosen(long long number, const char *kind) {
    int action = control->action;
    if (!control->number || number < control->number) return 0;
    if (action == BREAK) return FAIL;
    if (number > control->number) return action == FILL && needs_space(kind) ? FAIL : 0;
    if (action == FILL) return is_write(kind) ? SHORT : needs_space(kind) ? FAIL : 0;
    return action;
}

/* A path as it is logged: below the folder. */
static const char *inner(const char *path) {
    path += strlen(control->folder);
    return *path ? path + 1 : ".";
}

/* Count a call and log it; what happens to it. */
static int counted(const char *kind, const char *path, const char *to) {
    char line[2 * PATH_MAX + 100];
    long long number = __sync_add_and_fetch(&control->count, 1);
    int action = chosen(number, kind);
    const char *who = control->run == getpid() ? "run" : "command";
    const char *made = action == FAIL || action == KILL ? "not made" : "made";
    to = to ? inner(to) : "-";
    snprintf(line, sizeof line, "%lld\t%s\t%s\t%s\t%s\t%s\n", number, who, made, kind, inner(path), to);
    note(line);
    if (action == KILL || action == ORPHAN) end_run(action == KILL);
    if (action == STOP) kill(control->run, SIGSTOP);
    return action;
}

/* The path of a name in an open folder, or of the open file if there is no name; returns whether it counts. */
static int found(int file, const char *name, char *path) {
    char link[64];
    ssize_t length = 0;
    if (!control) return 0;
    if (!name || (name[0] != '/' && file != AT_FDCWD)) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", file);
        length = readlink(link, path, PATH_MAX - 1);
        if (length < 0) return 0;
    }
    path[length] = 0;
    if (name) snprintf(path + length, PATH_MAX - length, length ? "/%s" : "%s", name);
    length = strlen(control->folder);
    return !strncmp(path, control->folder, length) && (path[length] == '/' || !path[length]);
}

/* What happens to a call that concerns a file or a name. */
static int on(const char *kind, int file, const char *name) {
    char path[PATH_MAX];
    return found(file, name, path) ? counted(kind, path, NULL) : 0;
}

/* What happens to a call that concerns two names. */
static int on_both(const char *kind, int folder, const char *name, int to_folder, const char *to_name) {
    char path[PATH_MAX], to[PATH_MAX];
    return found(folder, name, path) && found(to_folder, to_name, to) ? counted(kind, path, to) : 0;
}

/* What happens when a file is opened: that counts if it makes the file or empties it. */
static int on_open(int folder, const char *name, int flags) {
    char path[PATH_MAX];
    if (!(flags & (O_CREAT | O_TRUNC)) || !found(folder, name, path)) return 0;
    if (access(path, F_OK)) return counted("create", path, NULL);
    return flags & O_TRUNC ? counted("truncate", path, NULL) : 0;
}

static size_t part(int action, size_t size) { return action == TEAR || action == SHORT ? (size + 1) / 2 : size; }

ssize_t write(int file, const void *data, size_t size) {
    int action = on("write", file, NULL);
    MADE(action, REAL(write)(file, data, part(action, size)));
}

ssize_t writev(int file, const struct iovec *parts, int number) {
    int action = on("write", file, NULL);
    MADE(action, REAL(writev)(file, parts, part(action, number)));
}

ssize_t pwrite(int file, const void *data, size_t size, off_t at) {
    int action = on("write", file, NULL);
    MADE(action, REAL(pwrite)(file, data, part(action, size), at));
}

int fsync(int file) { MADE(on("sync", file, NULL), REAL(fsync)(file)); }
int fdatasync(int file) { MADE(on("sync", file, NULL), REAL(fdatasync)(file)); }
int ftruncate(int file, off_t size) { MADE(on("truncate", file, NULL), REAL(ftruncate)(file, size)); }
int truncate(const char *name, off_t size) { MADE(on("truncate", AT_FDCWD, name), REAL(truncate)(name, size)); }

int unlink(const char *name) { MADE(on("remove", AT_FDCWD, name), REAL(unlink)(name)); }
int rmdir(const char *name) { MADE(on("remove", AT_FDCWD, name), REAL(rmdir)(name)); }
int unlinkat(int folder, const char *name, int flags) {
    MADE(on("remove", folder, name), REAL(unlinkat)(folder, name, flags));
}

int mkdir(const char *name, mode_t mode) { MADE(on("mkdir", AT_FDCWD, name), REAL(mkdir)(name, mode)); }
int mkdirat(int folder, const char *name, mode_t mode) {
    MADE(on("mkdir", folder, name), REAL(mkdirat)(folder, name, mode));
}

int rename(const char *name, const char *to) {
    MADE(on_both("rename", AT_FDCWD, name, AT_FDCWD, to), REAL(rename)(name, to));
}
int renameat(int folder, const char *name, int to_folder, const char *to) {
    MADE(on_both("rename", folder, name, to_folder, to), REAL(renameat)(folder, name, to_folder, to));
}
int renameat2(int folder, const char *name, int to_folder, const char *to, unsigned flags) {
    MADE(on_both("rename", folder, name, to_folder, to), REAL(renameat2)(folder, name, to_folder, to, flags));
}

int link(const char *name, const char *to) {
    MADE(on_both("link", AT_FDCWD, name, AT_FDCWD, to), REAL(link)(name, to));
}
int linkat(int folder, const char *name, int to_folder, const char *to, int flags) {
    MADE(on_both("link", folder, name, to_folder, to), REAL(linkat)(folder, name, to_folder, to, flags));
}

/* The third or fourth argument of open, if there is one. */
#define MODE(mode, flags)                                                       \
    mode_t mode = 0;                                                            \
    if ((flags) & O_CREAT || ((flags) & O_TMPFILE) == O_TMPFILE) {              \
        va_list rest_;                                                          \
        va_start(rest_, flags);                                                 \
        mode = va_arg(rest_, mode_t);                                           \
        va_end(rest_);                                                          \
    }

int open(const char *name, int flags, ...) {
    MODE(mode, flags)
    MADE(on_open(AT_FDCWD, name, flags), REAL(open)(name, flags, mode));
}
int openat(int folder, const char *name, int flags, ...) {
    MODE(mode, flags)
    MADE(on_open(folder, name, flags), REAL(openat)(folder, name, flags, mode));
}

#ifdef __GLIBC__
ssize_t pwrite64(int file, const void *data, size_t size, off64_t at) {
    int action = on("write", file, NULL);
    MADE(action, REAL(pwrite64)(file, data, part(action, size), at));
}
int ftruncate64(int file, off64_t size) { MADE(on("truncate", file, NULL), REAL(ftruncate64)(file, size)); }
int truncate64(const char *name, off64_t size) { MADE(on("truncate", AT_FDCWD, name), REAL(truncate64)(name, size)); }
int open64(const char *name, int flags, ...) {
    MODE(mode, flags)
    MADE(on_open(AT_FDCWD, name, flags), REAL(open64)(name, flags, mode));
}
int openat64(int folder, const char *name, int flags, ...) {
    MODE(mode, flags)
    MADE(on_open(folder, name, flags), REAL(openat64)(folder, name, flags, mode));
}
#endif
