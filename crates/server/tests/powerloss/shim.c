// Power loss, for tests: loaded into a program by LD_PRELOAD, this file keeps a second copy of one directory, in which
// there is only what the program has synced. The program works on the directory as ever; SIGKILL is the power loss,
// and the second copy is what the disk holds when the power is back.
//
//   POWERLOSS_LIVE     the directory that the program writes to; the files directly in it are watched
//   POWERLOSS_DURABLE  a directory with two empty ones in it, `inodes` and `names`; the copy is `names`, and it is
//                      good from the moment on when there is a file `begun`
//   POWERLOSS_TORN     a seed: as on a real disk, some sectors and names are durable before they are synced
//   POWERLOSS_SYNC_US  what a sync takes, in microseconds, at most; default 0
//   POWERLOSS_LIES     where it is set, syncs are answered and not carried out: to prove that the tests notice
//   POWERLOSS_FULL     a path: as long as something is there, files cannot grow (ENOSPC)
//   POWERLOSS_DIES_AT  a number: the program is killed before it does that one of the things that are watched
//   POWERLOSS_BROKEN   a path: as long as something is there, syncs fail (EIO) and what they should have kept is lost
//
// A name is durable when its directory was synced, as POSIX says; Linux's file systems promise more. Writes through a
// mapping cannot be seen: they never become durable, which is right for SQLite's `-shm` and an error for other files.
// Everything goes to the kernel by syscall(2): reads and stats need no part in this, and nothing can call itself.

#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { SECTOR = 512, HANDLES = 65536, FILES = 4096 };

// A file, whatever its names are.
struct file {
  dev_t dev;
  ino_t ino;
  int gone;                // it has no name any more: its number may be another's
  int live, durable;       // descriptors of ours, never closed: closing one would drop the program's record locks
  unsigned char *unsynced; // a byte for every sector
  size_t sectors;
  off_t cut_to;            // the least size that it was cut to and has not been durably; -1: it was not cut
};

// A change of a name that is not durable yet; they become so in their order.
struct change {
  enum { LINK, RENAME, UNLINK } kind;
  int number; // of the file, for LINK
  char name[NAME_MAX + 1], to[NAME_MAX + 1];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char live[PATH_MAX], durable[PATH_MAX];
static struct file files[FILES];
static int files_count;
static struct file *handles[HANDLES];
static unsigned char is_live_directory[HANDLES];
static struct change changes[FILES];
static int changes_count;
static int is_on, is_torn, lies, early; // early: of 8 unsynced sectors so many are durable at once
static unsigned sync_us;
static uint64_t random_state;
static const char *full, *broken;
static long dies_at, done; // things that are watched: so many were done, and before that one it dies

static void fail(const char *what) {
  dprintf(2, "power loss: %s: %s\n", what, strerror(errno));
  abort();
}

static unsigned dice(unsigned sides) { // splitmix64
  uint64_t z = (random_state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return (unsigned)((z ^ (z >> 31)) >> 33) % sides;
}

static void watched(void) {
  if (dies_at && __atomic_add_fetch(&done, 1, __ATOMIC_SEQ_CST) >= dies_at) syscall(SYS_kill, getpid(), SIGKILL);
}

static int is_there(const char *path) {
  int before = errno, there = path && syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0;
  errno = before;
  return there;
}

static off_t size_of(int fd) {
  struct stat stat;
  if (fstat(fd, &stat) != 0) fail("fstat");
  return stat.st_size;
}

static void resize(int fd, off_t size) {
  if (syscall(SYS_ftruncate, fd, size) != 0) fail("ftruncate");
}

// ---- The durable copy.

static void place(char *path, const char *directory, const char *name) {
  if (snprintf(path, PATH_MAX, "%s/%s/%s", durable, directory, name) >= PATH_MAX) fail("a path is too long");
}

static void inode(char *path, int number) {
  char name[16];
  snprintf(name, sizeof name, "%d", number);
  place(path, "inodes", name);
}

static void carry_out(const struct change *change) {
  char from[PATH_MAX], to[PATH_MAX];
  place(from, "names", change->name);
  place(to, "names", change->to);
  long result = 0;
  switch (change->kind) {
  case LINK:
    inode(to, change->number);
    result = syscall(SYS_linkat, AT_FDCWD, to, AT_FDCWD, from, 0);
    break;
  case RENAME:
    result = syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
    break;
  case UNLINK:
    result = syscall(SYS_unlinkat, AT_FDCWD, from, 0);
    break;
  }
  if (result != 0) fail(change->name);
}

static void settle_names(void) {
  for (int i = 0; i < changes_count; i++) carry_out(&changes[i]);
  changes_count = 0;
}

static void note_change(int kind, int number, const char *name, const char *to) {
  if (changes_count == FILES) fail("too many names");
  struct change *change = &changes[changes_count++];
  change->kind = kind;
  change->number = number;
  snprintf(change->name, sizeof change->name, "%s", name);
  snprintf(change->to, sizeof change->to, "%s", to);
  if (is_torn && dice(8) < (unsigned)early) settle_names();
}

// What was cut off must not come back, nor what is written later get into the file as it was before.
static void cut(struct file *file) {
  if (file->cut_to >= 0 && file->cut_to < size_of(file->durable)) resize(file->durable, file->cut_to);
  file->cut_to = -1;
}

static void note_cut(struct file *file, off_t size) {
  if (file->cut_to < 0 || size < file->cut_to) file->cut_to = size;
}

static void settle_sector(struct file *file, size_t sector) {
  char bytes[SECTOR];
  off_t at = (off_t)sector * SECTOR;
  long got = syscall(SYS_pread64, file->live, bytes, SECTOR, at);
  if (got < 0) fail("pread");
  if (got > 0 && syscall(SYS_pwrite64, file->durable, bytes, got, at) != got) fail("pwrite");
}

// Some of the sectors, or all; those that are settled in the end are not unsynced any more.
static void settle_sectors(struct file *file, unsigned of_8) {
  for (size_t i = 0; i < file->sectors; i++) {
    if (!file->unsynced[i] || (of_8 < 8 && dice(8) >= of_8)) continue;
    settle_sector(file, i);
    if (of_8 == 8) file->unsynced[i] = 0;
  }
}

static void settle(struct file *file) {
  cut(file);
  if (is_torn) settle_sectors(file, 4); // whoever dies now has synced half of them
  settle_sectors(file, 8);
  resize(file->durable, size_of(file->live));
}

static void note_write(struct file *file, off_t from, off_t length) {
  if (length <= 0) return;
  size_t first = (size_t)from / SECTOR, end = (size_t)(from + length - 1) / SECTOR + 1;
  if (end > file->sectors) {
    size_t room = end + end / 2;
    file->unsynced = realloc(file->unsynced, room);
    if (!file->unsynced) fail("memory");
    memset(file->unsynced + file->sectors, 0, room - file->sectors);
    file->sectors = room;
  }
  memset(file->unsynced + first, 1, end - first);
  if (!is_torn || early == 0) return;
  cut(file);
  for (size_t i = first; i < end; i++)
    if (dice(8) < (unsigned)early) settle_sector(file, i);
  if (dice(64) == 0) settle_sectors(file, (unsigned)early);
}

static int sync_file(struct file *file) {
  watched();
  if (sync_us) usleep(dice(sync_us));
  if (lies) return 0;
  pthread_mutex_lock(&lock);
  int is_broken = is_there(broken);
  if (is_broken)
    memset(file->unsynced, 0, file->sectors);
  else
    settle(file);
  pthread_mutex_unlock(&lock);
  errno = EIO;
  return is_broken ? -1 : 0;
}

// ---- What the program has open.

static struct file *find(const struct stat *stat) {
  for (int i = 0; i < files_count; i++)
    if (!files[i].gone && files[i].ino == stat->st_ino && files[i].dev == stat->st_dev) return &files[i];
  return NULL;
}

static struct file *add(int fd, const struct stat *stat, const char *name) {
  if (files_count == FILES) fail("too many files");
  char path[PATH_MAX], self[64];
  struct file *file = &files[files_count];
  snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
  inode(path, files_count);
  file->cut_to = -1;
  file->dev = stat->st_dev;
  file->ino = stat->st_ino;
  file->live = (int)syscall(SYS_openat, AT_FDCWD, self, O_RDONLY | O_CLOEXEC, 0);
  file->durable = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, stat->st_mode & 07777);
  if (file->live < 0 || file->durable < 0) fail(path);
  note_change(LINK, files_count++, name, "");
  return file;
}

// The name of a path that is directly in the live directory, or NULL.
static const char *name_in_live(const char *path) {
  size_t length = strlen(live);
  int is_in = strncmp(path, live, length) == 0 && path[length] == '/' && !strchr(path + length + 1, '/');
  return is_in ? path + length + 1 : NULL;
}

static int path_of(int fd, char *path) {
  char self[64];
  snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(self, path, PATH_MAX - 1);
  path[length < 0 ? 0 : length] = 0;
  return length > 0;
}

static int opened(int fd, int flags) {
  char path[PATH_MAX];
  struct stat stat;
  if (!is_on || fd < 0 || fd >= HANDLES || !path_of(fd, path) || fstat(fd, &stat) != 0) return fd;
  int is_directory = strcmp(path, live) == 0;
  const char *name = name_in_live(path);
  if (!is_directory && (!name || !S_ISREG(stat.st_mode))) return fd;
  pthread_mutex_lock(&lock);
  is_live_directory[fd] = (unsigned char)is_directory;
  if (!is_directory) {
    struct file *file = find(&stat);
    handles[fd] = file ? file : add(fd, &stat, name);
    if (flags & O_TRUNC) note_cut(handles[fd], 0);
  }
  pthread_mutex_unlock(&lock);
  return fd;
}

static struct file *file_of(int fd) { return is_on && fd >= 0 && fd < HANDLES ? handles[fd] : NULL; }

static int doubled(int from, int to) {
  if (is_on && from >= 0 && from < HANDLES && to >= 0 && to < HANDLES) {
    pthread_mutex_lock(&lock);
    handles[to] = handles[from];
    is_live_directory[to] = is_live_directory[from];
    pthread_mutex_unlock(&lock);
  }
  return to;
}

static int needs_mode(int flags) { return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE; }

#define MODE(flags, last) \
  mode_t mode = 0; \
  if (needs_mode(flags)) { \
    va_list list; \
    va_start(list, last); \
    mode = (mode_t)va_arg(list, int); \
    va_end(list); \
  }

static const char *find_name(int dir, const char *path, char *room);

static int open_at(int dir, const char *path, int flags, mode_t mode) {
  char room[NAME_MAX + 1];
  if (dies_at && (flags & (O_CREAT | O_TRUNC)) && find_name(dir, path, room)) watched();
  return opened((int)syscall(SYS_openat, dir, path, flags, mode), flags);
}

int open(const char *path, int flags, ...) { MODE(flags, flags) return open_at(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags, flags) return open_at(AT_FDCWD, path, flags, mode); }
int openat(int dir, const char *path, int flags, ...) { MODE(flags, flags) return open_at(dir, path, flags, mode); }
int openat64(int dir, const char *path, int flags, ...) { MODE(flags, flags) return open_at(dir, path, flags, mode); }
int __open_2(const char *path, int flags) { return open_at(AT_FDCWD, path, flags, 0); }
int __open64_2(const char *path, int flags) { return open_at(AT_FDCWD, path, flags, 0); }
int creat(const char *path, mode_t mode) { return open_at(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }
int creat64(const char *path, mode_t mode) { return creat(path, mode); }

int close(int fd) {
  if (is_on && fd >= 0 && fd < HANDLES) {
    pthread_mutex_lock(&lock);
    handles[fd] = NULL;
    is_live_directory[fd] = 0;
    pthread_mutex_unlock(&lock);
  }
  return (int)syscall(SYS_close, fd);
}

int dup(int fd) { return doubled(fd, (int)syscall(SYS_dup, fd)); }
int dup3(int fd, int to, int flags) { return doubled(fd, (int)syscall(SYS_dup3, fd, to, flags)); }
int dup2(int fd, int to) { return fd == to ? fd : dup3(fd, to, 0); }

static int control(int fd, int command, void *argument) {
  int result = (int)syscall(SYS_fcntl, fd, command, argument);
  return command == F_DUPFD || command == F_DUPFD_CLOEXEC ? doubled(fd, result) : result;
}

#define ARGUMENT(last) \
  va_list list; \
  va_start(list, last); \
  void *argument = va_arg(list, void *); \
  va_end(list);

int fcntl(int fd, int command, ...) { ARGUMENT(command) return control(fd, command, argument); }
int fcntl64(int fd, int command, ...) { ARGUMENT(command) return control(fd, command, argument); }

// ---- Writes.

// Whether a write must fail because the disk is full: it does where the file would grow.
static int is_refused(struct file *file, off_t end) {
  if (!is_there(full) || end <= size_of(file->live)) return 0;
  errno = ENOSPC;
  return 1;
}

static ssize_t write_at(int fd, const struct iovec *parts, int count, off_t at) {
  struct file *file = file_of(fd);
  off_t length = 0;
  for (int i = 0; i < count; i++) length += (off_t)parts[i].iov_len;
  if (file) watched();
  if (file && is_refused(file, at + length)) return -1;
  ssize_t written = count == 1 ? syscall(SYS_pwrite64, fd, parts->iov_base, parts->iov_len, at)
                               : syscall(SYS_pwritev, fd, parts, count, at, 0);
  if (file) {
    int before = errno;
    pthread_mutex_lock(&lock);
    note_write(file, at, written);
    pthread_mutex_unlock(&lock);
    errno = before;
  }
  return written;
}

// Where the descriptor stands; the position afterwards says where the bytes went, O_APPEND or not.
static ssize_t write_here(int fd, const struct iovec *parts, int count) {
  struct file *file = file_of(fd);
  if (!file) return count == 1 ? syscall(SYS_write, fd, parts->iov_base, parts->iov_len) : syscall(SYS_writev, fd, parts, count);
  off_t length = 0;
  for (int i = 0; i < count; i++) length += (off_t)parts[i].iov_len;
  watched();
  int appends = (int)syscall(SYS_fcntl, fd, F_GETFL) & O_APPEND;
  if (is_refused(file, syscall(SYS_lseek, fd, 0, appends ? SEEK_END : SEEK_CUR) + length)) return -1;
  pthread_mutex_lock(&lock);
  ssize_t written = syscall(SYS_writev, fd, parts, count);
  int result = errno;
  note_write(file, syscall(SYS_lseek, fd, 0, SEEK_CUR) - written, written);
  pthread_mutex_unlock(&lock);
  errno = result;
  return written;
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t at) {
  return write_at(fd, &(struct iovec){(void *)bytes, length}, 1, at);
}
ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t at) { return pwrite(fd, bytes, length, at); }
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at) { return write_at(fd, parts, count, at); }
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t at) { return write_at(fd, parts, count, at); }
ssize_t write(int fd, const void *bytes, size_t length) {
  return write_here(fd, &(struct iovec){(void *)bytes, length}, 1);
}
ssize_t writev(int fd, const struct iovec *parts, int count) { return write_here(fd, parts, count); }

int ftruncate(int fd, off_t size) {
  struct file *file = file_of(fd);
  if (!file) return (int)syscall(SYS_ftruncate, fd, size);
  watched();
  if (is_refused(file, size)) return -1;
  pthread_mutex_lock(&lock);
  int result = (int)syscall(SYS_ftruncate, fd, size);
  if (result == 0) note_cut(file, size);
  pthread_mutex_unlock(&lock);
  return result;
}
int ftruncate64(int fd, off64_t size) { return ftruncate(fd, size); }

int truncate(const char *path, off_t size) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  int result = ftruncate(fd, size);
  if (!file_of(fd)) close(fd); // see `live`: a watched file is never closed on the program's behalf
  return result;
}
int truncate64(const char *path, off64_t size) { return truncate(path, size); }

static int synced(int fd, long call) {
  struct file *file = file_of(fd);
  if (file) return sync_file(file);
  if (!is_on || fd < 0 || fd >= HANDLES || !is_live_directory[fd]) return (int)syscall(call, fd);
  watched();
  if (is_there(broken)) {
    errno = EIO;
    return -1;
  }
  pthread_mutex_lock(&lock);
  if (!lies) settle_names();
  pthread_mutex_unlock(&lock);
  return 0;
}

int fsync(int fd) { return synced(fd, SYS_fsync); }
int fdatasync(int fd) { return synced(fd, SYS_fdatasync); }

// ---- Names.

// The name that a path has in the live directory, or NULL. What `path` names need not exist.
static const char *find_name(int dir, const char *path, char *room) {
  char given[PATH_MAX], parent[PATH_MAX];
  if (!is_on) return NULL;
  if (path[0] != '/') {
    if (dir == AT_FDCWD ? !getcwd(parent, sizeof parent) : !path_of(dir, parent)) return NULL;
    if (snprintf(given, sizeof given, "%s/%s", parent, path) >= PATH_MAX) return NULL;
  } else if (snprintf(given, sizeof given, "%s", path) >= PATH_MAX) {
    return NULL;
  }
  char *slash = strrchr(given, '/');
  *slash = 0;
  if (!realpath(slash == given ? "/" : given, parent) || strcmp(parent, live) != 0) return NULL;
  snprintf(room, NAME_MAX + 1, "%s", slash + 1);
  return room;
}

// The file loses one of its names; the last one makes it a ghost.
static void lose(int dir, const char *path) {
  struct stat stat;
  struct file *file = fstatat(dir, path, &stat, AT_SYMLINK_NOFOLLOW) == 0 ? find(&stat) : NULL;
  if (file && stat.st_nlink == 1) file->gone = 1;
}

int unlinkat(int dir, const char *path, int flags) {
  char room[NAME_MAX + 1];
  const char *name = flags & AT_REMOVEDIR ? NULL : find_name(dir, path, room);
  if (!name) return (int)syscall(SYS_unlinkat, dir, path, flags);
  watched();
  pthread_mutex_lock(&lock);
  lose(dir, path);
  int result = (int)syscall(SYS_unlinkat, dir, path, flags);
  if (result == 0) note_change(UNLINK, 0, name, "");
  pthread_mutex_unlock(&lock);
  return result;
}
int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }

int renameat2(int dir, const char *path, int to_dir, const char *to_path, unsigned flags) {
  char room[NAME_MAX + 1], to_room[NAME_MAX + 1];
  const char *name = find_name(dir, path, room), *to = find_name(to_dir, to_path, to_room);
  if (!name && !to) return (int)syscall(SYS_renameat2, dir, path, to_dir, to_path, flags);
  errno = EXDEV;
  if (!name || !to || flags) fail("renames across the watched directory's edge are not watched");
  watched();
  pthread_mutex_lock(&lock);
  lose(to_dir, to_path);
  int result = (int)syscall(SYS_renameat2, dir, path, to_dir, to_path, 0);
  if (result == 0) note_change(RENAME, 0, name, to);
  pthread_mutex_unlock(&lock);
  return result;
}
int renameat(int dir, const char *path, int to_dir, const char *to) { return renameat2(dir, path, to_dir, to, 0); }
int rename(const char *path, const char *to) { return renameat2(AT_FDCWD, path, AT_FDCWD, to, 0); }

int linkat(int dir, const char *path, int to_dir, const char *to_path, int flags) {
  char room[NAME_MAX + 1];
  struct stat stat;
  const char *to = find_name(to_dir, to_path, room);
  if (to) watched();
  pthread_mutex_lock(&lock);
  int result = (int)syscall(SYS_linkat, dir, path, to_dir, to_path, flags);
  if (result == 0 && to) {
    struct file *file = fstatat(to_dir, to_path, &stat, AT_SYMLINK_NOFOLLOW) == 0 ? find(&stat) : NULL;
    if (!file) fail("a link to a file that is not watched");
    note_change(LINK, (int)(file - files), to, "");
  }
  pthread_mutex_unlock(&lock);
  return result;
}
int link(const char *path, const char *to) { return linkat(AT_FDCWD, path, AT_FDCWD, to, 0); }

// ---- What cannot be watched must not be used.

void *mmap(void *at, size_t length, int protection, int flags, int fd, off_t from) {
  char path[PATH_MAX];
  int is_shared_write = (flags & MAP_SHARED) && (protection & PROT_WRITE);
  if (is_shared_write && file_of(fd) && (!path_of(fd, path) || !strstr(path, "-shm"))) fail("a mapping is written to");
  return (void *)syscall(SYS_mmap, at, length, protection, flags, fd, from);
}
void *mmap64(void *at, size_t length, int protection, int flags, int fd, off64_t from) {
  return mmap(at, length, protection, flags, fd, from);
}

ssize_t copy_file_range(int fd, off64_t *from, int to, off64_t *at, size_t length, unsigned flags) {
  if (file_of(to)) fail("copy_file_range is not watched");
  return syscall(SYS_copy_file_range, fd, from, to, at, length, flags);
}
ssize_t sendfile(int to, int fd, off_t *from, size_t length) {
  if (file_of(to)) fail("sendfile is not watched");
  return syscall(SYS_sendfile, to, fd, from, length);
}
ssize_t sendfile64(int to, int fd, off64_t *from, size_t length) { return sendfile(to, fd, from, length); }

// ---- The beginning.

// What is there when the program starts is durable.
static void adopt(const char *name) {
  char path[PATH_MAX];
  if (snprintf(path, sizeof path, "%s/%s", live, name) >= PATH_MAX) fail("a path is too long");
  struct stat stat;
  if (lstat(path, &stat) != 0) fail(path);
  if (!S_ISREG(stat.st_mode)) return;
  struct file *file = find(&stat);
  if (file) {
    note_change(LINK, (int)(file - files), name, "");
    return;
  }
  int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) fail(path);
  file = add(fd, &stat, name);
  syscall(SYS_close, fd);
  off_t from = 0;
  while (from < stat.st_size)
    if (syscall(SYS_sendfile, file->durable, file->live, &from, (size_t)(stat.st_size - from)) <= 0) fail("sendfile");
}

__attribute__((constructor)) static void begin(void) {
  const char *directory = getenv("POWERLOSS_LIVE"), *copy = getenv("POWERLOSS_DURABLE");
  const char *seed = getenv("POWERLOSS_TORN"), *time = getenv("POWERLOSS_SYNC_US");
  const char *death = getenv("POWERLOSS_DIES_AT");
  char begun[PATH_MAX];
  if (!directory || !copy) return;
  if (!realpath(directory, live) || !realpath(copy, durable)) fail("POWERLOSS_LIVE or POWERLOSS_DURABLE");
  full = getenv("POWERLOSS_FULL");
  broken = getenv("POWERLOSS_BROKEN");
  sync_us = time ? (unsigned)atoi(time) : 0;
  lies = getenv("POWERLOSS_LIES") != NULL;
  dies_at = death ? atol(death) : 0;
  DIR *entries = opendir(live);
  if (!entries) fail(live);
  for (struct dirent *entry; (entry = readdir(entries));) adopt(entry->d_name);
  closedir(entries);
  settle_names();
  place(begun, ".", "begun");
  if (syscall(SYS_mknodat, AT_FDCWD, begun, S_IFREG | 0600, 0) != 0) fail(begun);
  is_torn = seed != NULL;
  random_state = seed ? strtoull(seed, NULL, 0) : 0;
  early = is_torn ? (int[]){0, 1, 4, 7}[dice(4)] : 0;
  is_on = 1;
}
