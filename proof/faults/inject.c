// Makes calls of a process fail or last longer, and shifts its clock. A control file, which can change at runtime, sets the faults. LD_PRELOAD.
//
//   SVC_FAULT_FOLDER   only calls on files in this folder fail or last longer
//   SVC_FAULT_CONTROL  a file that contains a `struct control`

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

struct control {
  int32_t write_errno;      // 0: writes succeed
  int32_t flush_errno;      // 0: flushes succeed
  int64_t clock_offset_ms;
  int64_t failed;           // number of calls that failed
  int64_t flush_delay_us;   // the time that each flush lasts longer
};

static volatile struct control none;
static volatile struct control *control = &none;
static const char *folder;
static size_t folder_length;

__attribute__((constructor)) static void begin(void) {
  const char *file = getenv("SVC_FAULT_CONTROL");
  folder = getenv("SVC_FAULT_FOLDER");
  if (file == NULL || folder == NULL) return;
  folder_length = strlen(folder);
  int fd = (int)syscall(SYS_openat, AT_FDCWD, file, O_RDWR | O_CLOEXEC);
  if (fd < 0) abort();
  void *shared = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (shared == MAP_FAILED) abort();
  close(fd);
  control = shared;
}

static int is_inside(const char *path) {
  return strncmp(path, folder, folder_length) == 0 && path[folder_length] == '/';
}

static int is_open_inside(int fd) {
  char link[32], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = '\0';
  return is_inside(path);
}

// Whether a call on this descriptor must fail, with errno set. Names are looked up only during a fault.
static int fails(int fd, int error) {
  if (error == 0 || !is_open_inside(fd)) return 0;
  __sync_fetch_and_add(&control->failed, 1);
  errno = error;
  return 1;
}

static void delay(int fd, int64_t us) {
  if (us == 0 || !is_open_inside(fd)) return;
  struct timespec rest = {us / 1000000, us % 1000000 * 1000};
  while (nanosleep(&rest, &rest) != 0 && errno == EINTR) {}
}

#define WRITES(fd) \
  if (fails(fd, control->write_errno)) return -1
#define FLUSHES(fd) \
  if (fails(fd, control->flush_errno)) return -1; \
  delay(fd, control->flush_delay_us)

ssize_t write(int fd, const void *bytes, size_t length) {
  WRITES(fd);
  return syscall(SYS_write, fd, bytes, length);
}
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t at) {
  WRITES(fd);
  return syscall(SYS_pwrite64, fd, bytes, length, at);
}
ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t at) {
  WRITES(fd);
  return syscall(SYS_pwrite64, fd, bytes, length, at);
}
int ftruncate(int fd, off_t size) {
  WRITES(fd);
  return (int)syscall(SYS_ftruncate, fd, size);
}
int ftruncate64(int fd, off64_t size) {
  WRITES(fd);
  return (int)syscall(SYS_ftruncate, fd, size);
}
int fsync(int fd) {
  FLUSHES(fd);
  return (int)syscall(SYS_fsync, fd);
}
int fdatasync(int fd) {
  FLUSHES(fd);
  return (int)syscall(SYS_fdatasync, fd);
}

static int opens(const char *path, int flags, mode_t mode) {
  if (control->write_errno == EROFS && is_inside(path) && (flags & (O_WRONLY | O_RDWR | O_CREAT))) {
    __sync_fetch_and_add(&control->failed, 1);
    errno = EROFS;
    return -1;
  }
  return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

#define MODE(flags) \
  mode_t mode = 0; \
  if ((flags) & (O_CREAT | O_TMPFILE)) { \
    va_list list; \
    va_start(list, flags); \
    mode = va_arg(list, mode_t); \
    va_end(list); \
  }

int open(const char *path, int flags, ...) { MODE(flags) return opens(path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags) return opens(path, flags | O_LARGEFILE, mode); }

int gettimeofday(struct timeval *now, void *zone) {
  static int (*real)(struct timeval *, void *);
  if (real == NULL) real = dlsym(RTLD_NEXT, "gettimeofday");
  int result = real(now, zone);
  int64_t us = (int64_t)now->tv_sec * 1000000 + now->tv_usec + control->clock_offset_ms * 1000;
  now->tv_sec = us / 1000000;
  now->tv_usec = us % 1000000;
  return result;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  static int (*real)(clockid_t, struct timespec *);
  if (real == NULL) real = dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(clock, now);
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) {
    int64_t ns = now->tv_nsec + (control->clock_offset_ms % 1000) * 1000000;
    now->tv_sec += control->clock_offset_ms / 1000 + (ns < 0 ? -1 : ns / 1000000000);
    now->tv_nsec = ns < 0 ? ns + 1000000000 : ns % 1000000000;
  }
  return result;
}

time_t time(time_t *where) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (where != NULL) *where = now.tv_sec;
  return now.tv_sec;
}
