// Records the writes and flushes of a process in one folder. Loaded with LD_PRELOAD.
//
//   SVC_RECORD_FOLDER  the folder, without a final slash
//   SVC_RECORD_LOG     the file for the records, outside of the folder
//   SVC_RECORD_FAIL    "<end of a file name>:<n>": the n-th flush of such files fails with EIO and does nothing
//
// One record: the return time of the call (CLOCK_MONOTONIC, ns), an offset, a length, a kind, the length of the file's
// name; then the name, then the bytes. Calls that change files run one at a time, so that the log has their real
// order.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum kind {
  CREATED = 1,  // a new file
  WRITTEN = 2,
  CUT = 3,      // ftruncate: the offset is the new size
  FLUSHED = 4,
  FLUSH_FAILED = 5,
  REMOVED = 6,
  RENAMED = 7,  // the bytes are the new name
  UNKNOWN = 8,  // an untracked way to change a file; the bytes name it
};

struct record {
  uint64_t time;
  uint64_t offset;
  uint32_t length;
  uint16_t kind;
  uint16_t name_length;
};

#define FILES_MAX 65536

static char *names[FILES_MAX];
static ino_t inodes[FILES_MAX];
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static const char *folder;
static size_t folder_length;
static int log_file = -1;
static char fail_suffix[64];
static long fail_in = -1;

#define REAL(name) ((__typeof__(&name))real(#name))

static void *real(const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (found == NULL) abort();
  return found;
}

__attribute__((constructor)) static void begin(void) {
  folder = getenv("SVC_RECORD_FOLDER");
  const char *log = getenv("SVC_RECORD_LOG");
  if (folder == NULL || log == NULL) return;
  folder_length = strlen(folder);
  const char *fail = getenv("SVC_RECORD_FAIL");
  const char *colon = fail == NULL ? NULL : strrchr(fail, ':');
  if (colon != NULL && (size_t)(colon - fail) < sizeof fail_suffix) {
    memcpy(fail_suffix, fail, (size_t)(colon - fail));
    fail_in = atol(colon + 1);
  }
  log_file = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (log_file < 0) abort();
}

// The part of a path after the folder; empty for the folder itself; NULL outside of it.
static const char *inside(const char *path) {
  if (log_file < 0 || path == NULL || strncmp(path, folder, folder_length) != 0) return NULL;
  if (path[folder_length] == '\0') return path + folder_length;
  return path[folder_length] == '/' ? path + folder_length + 1 : NULL;
}

static void note(enum kind kind, const char *name, uint64_t offset, const void *bytes, size_t length) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  struct record record = {
    .time = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec,
    .offset = offset,
    .length = (uint32_t)length,
    .kind = (uint16_t)kind,
    .name_length = (uint16_t)strlen(name),
  };
  struct iovec parts[3] = {
    { &record, sizeof record },
    { (void *)name, record.name_length },
    { (void *)bytes, length },
  };
  size_t total = sizeof record + record.name_length + length;
  if (syscall(SYS_writev, log_file, parts, 3) != (long)total) abort();
}

// The name of a tracked file. A descriptor that was closed by an untracked call and reused is found by its inode.
static const char *name_of(int fd) {
  if (fd < 0 || fd >= FILES_MAX || names[fd] == NULL) return NULL;
  struct stat now;
  if (fstat(fd, &now) == 0 && now.st_ino == inodes[fd]) return names[fd];
  free(names[fd]);
  names[fd] = NULL;
  return NULL;
}

static void follow(int fd, const char *name) {
  struct stat now;
  if (fd < 0 || fd >= FILES_MAX || fstat(fd, &now) != 0) return;
  free(names[fd]);
  names[fd] = strdup(name);
  inodes[fd] = now.st_ino;
}

#define LOCKED(...) \
  do { \
    pthread_mutex_lock(&one_at_a_time); \
    __VA_ARGS__; \
    int saved = errno; \
    pthread_mutex_unlock(&one_at_a_time); \
    errno = saved; \
  } while (0)

static int opened(int at, const char *path, int flags, mode_t mode) {
  const char *name = inside(path);
  int fd = -1;
  if (name == NULL) return (int)syscall(SYS_openat, at, path, flags, mode);
  LOCKED({
    int was_there = access(path, F_OK) == 0;
    fd = (int)syscall(SYS_openat, at, path, flags, mode);
    if (fd >= 0) {
      follow(fd, name);
      if (!was_there) note(CREATED, name, 0, NULL, 0);
      else if (flags & O_TRUNC) note(CUT, name, 0, NULL, 0);
    }
  });
  return fd;
}

#define MODE(flags) \
  mode_t mode = 0; \
  if ((flags) & (O_CREAT | O_TMPFILE)) { \
    va_list list; \
    va_start(list, flags); \
    mode = va_arg(list, mode_t); \
    va_end(list); \
  }

int open(const char *path, int flags, ...) { MODE(flags) return opened(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags) return opened(AT_FDCWD, path, flags | O_LARGEFILE, mode); }
int openat(int at, const char *path, int flags, ...) { MODE(flags) return opened(at, path, flags, mode); }
int openat64(int at, const char *path, int flags, ...) { MODE(flags) return opened(at, path, flags | O_LARGEFILE, mode); }

// A write at a known place; `call` returns the number of written bytes.
#define WRITE(fd, at, bytes, call) \
  ssize_t written = -1; \
  LOCKED({ \
    const char *name = name_of(fd); \
    written = (call); \
    if (name != NULL && written > 0) note(WRITTEN, name, (uint64_t)(at), bytes, (size_t)written); \
  }); \
  return written

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t at) {
  WRITE(fd, at, bytes, syscall(SYS_pwrite64, fd, bytes, length, at));
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t at) {
  WRITE(fd, at, bytes, syscall(SYS_pwrite64, fd, bytes, length, at));
}

ssize_t write(int fd, const void *bytes, size_t length) {
  if (fd < 0 || fd >= FILES_MAX || names[fd] == NULL) return syscall(SYS_write, fd, bytes, length);
  WRITE(fd, lseek(fd, 0, SEEK_CUR) - written, bytes, syscall(SYS_write, fd, bytes, length));
}

// Calls that neither SQLite nor the service uses: if one appears, it must be tracked first.
#define UNFOLLOWED(fd, what, call) \
  long result = -1; \
  LOCKED({ \
    const char *name = name_of(fd); \
    if (name != NULL) note(UNKNOWN, name, 0, what, strlen(what)); \
    result = (call); \
  }); \
  return result

ssize_t writev(int fd, const struct iovec *parts, int count) {
  if (fd < 0 || fd >= FILES_MAX || names[fd] == NULL) return syscall(SYS_writev, fd, parts, count);
  UNFOLLOWED(fd, "writev", syscall(SYS_writev, fd, parts, count));
}
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at) {
  UNFOLLOWED(fd, "pwritev", REAL(pwritev)(fd, parts, count, at));
}
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t at) {
  UNFOLLOWED(fd, "pwritev", REAL(pwritev64)(fd, parts, count, at));
}
ssize_t copy_file_range(int in, off64_t *from, int fd, off64_t *to, size_t length, unsigned flags) {
  UNFOLLOWED(fd, "copy_file_range", syscall(SYS_copy_file_range, in, from, fd, to, length, flags));
}
ssize_t sendfile64(int fd, int in, off64_t *from, size_t length) {
  UNFOLLOWED(fd, "sendfile", syscall(SYS_sendfile, fd, in, from, length));
}
int fallocate64(int fd, int mode, off64_t at, off64_t length) {
  UNFOLLOWED(fd, "fallocate", (int)syscall(SYS_fallocate, fd, mode, at, length));
}
int posix_fallocate64(int fd, off64_t at, off64_t length) {
  UNFOLLOWED(fd, "fallocate", REAL(posix_fallocate64)(fd, at, length));
}

static void *mapped(void *start, size_t length, int protection, int flags, int fd, off64_t at) {
  if ((flags & MAP_SHARED) && (protection & PROT_WRITE)) {
    LOCKED({
      const char *name = name_of(fd);
      if (name != NULL) note(UNKNOWN, name, 0, "mmap", 4);
    });
  }
  return (void *)syscall(SYS_mmap, start, length, protection, flags, fd, at);
}

void *mmap(void *start, size_t length, int protection, int flags, int fd, off_t at) {
  return mapped(start, length, protection, flags, fd, at);
}
void *mmap64(void *start, size_t length, int protection, int flags, int fd, off64_t at) {
  return mapped(start, length, protection, flags, fd, at);
}

static int cut(int fd, off64_t size) {
  int result = -1;
  LOCKED({
    const char *name = name_of(fd);
    result = (int)syscall(SYS_ftruncate, fd, size);
    if (name != NULL && result == 0) note(CUT, name, (uint64_t)size, NULL, 0);
  });
  return result;
}

int ftruncate(int fd, off_t size) { return cut(fd, size); }
int ftruncate64(int fd, off64_t size) { return cut(fd, size); }

static int fails(const char *name) {
  size_t length = strlen(name), suffix = strlen(fail_suffix);
  if (fail_in < 1 || length < suffix || strcmp(name + length - suffix, fail_suffix) != 0) return 0;
  fail_in -= 1;
  return fail_in == 0;
}

static int flushed(int fd, long call) {
  int result = -1;
  if (fd < 0 || fd >= FILES_MAX || names[fd] == NULL) return (int)syscall(call, fd);
  LOCKED({
    const char *name = name_of(fd);
    if (name == NULL) {
      result = (int)syscall(call, fd);
    } else if (fails(name)) {
      note(FLUSH_FAILED, name, 0, NULL, 0);
      errno = EIO;
    } else {
      // The records determine the states after a power cut, so no flush has to wait for this machine's disk.
      note(FLUSHED, name, 0, NULL, 0);
      result = 0;
    }
  });
  return result;
}

int fsync(int fd) { return flushed(fd, SYS_fsync); }
int fdatasync(int fd) { return flushed(fd, SYS_fdatasync); }

int unlink(const char *path) {
  const char *name = inside(path);
  int result = -1;
  if (name == NULL) return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
  LOCKED({
    result = (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    if (result == 0) note(REMOVED, name, 0, NULL, 0);
  });
  return result;
}

int rename(const char *from, const char *to) {
  const char *before = inside(from), *after = inside(to);
  int result = -1;
  LOCKED({
    result = REAL(rename)(from, to);
    if (result == 0 && before != NULL && after != NULL) note(RENAMED, before, 0, after, strlen(after));
    else if (result == 0 && (before != NULL || after != NULL)) note(UNKNOWN, before ? before : after, 0, "rename", 6);
  });
  return result;
}

int link(const char *from, const char *to) {
  const char *after = inside(to);
  int result = REAL(link)(from, to);
  if (result == 0 && after != NULL) LOCKED(note(UNKNOWN, after, 0, "link", 4));
  return result;
}

int close(int fd) {
  int result = -1;
  if (fd < 0 || fd >= FILES_MAX || names[fd] == NULL) return (int)syscall(SYS_close, fd);
  LOCKED({
    free(names[fd]);
    names[fd] = NULL;
    result = (int)syscall(SYS_close, fd);
  });
  return result;
}
