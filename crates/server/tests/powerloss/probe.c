// A program that has its power cut: carries out the steps that it is given in a directory, and kills itself.
//   probe DIRECTORY STEP…   with steps like write:NAME:TEXT, at:NAME:OFFSET:TEXT, sync:NAME, sync:. and so on, below
// A step that fails is printed with its reason; the next one is taken all the same.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int is(const char *verb, const char *word) { return strcmp(verb, word) == 0; }

// Opens, does one thing, closes.
static int with(const char *name, int flags, int (*act)(int fd, const char *), const char *argument) {
  int fd = open(name, flags, 0600);
  if (fd < 0) return -1;
  int result = act(fd, argument), before = errno;
  close(fd);
  errno = before;
  return result;
}

static int nothing(int fd, const char *unused) { return fd < 0 || !unused ? -1 : 0; }
static int append(int fd, const char *text) { return write(fd, text, strlen(text)) < 0 ? -1 : 0; }
static int sync_it(int fd, const char *unused) { return fsync(unused ? dup(fd) : fd); }
static int cut(int fd, const char *size) { return ftruncate(fd, atol(size)); }

static int put(int fd, const char *argument) {
  char *text;
  long at = strtol(argument, &text, 10);
  return pwrite(fd, text + 1, strlen(text + 1), at) < 0 ? -1 : 0;
}

// A mebibyte, a sector after the other.
static int pour(int fd, const char *letter) {
  char sector[512];
  memset(sector, letter[0], sizeof sector);
  for (int i = 0; i < 2048; i++)
    if (write(fd, sector, sizeof sector) < 0) return -1;
  return 0;
}

static int map(int fd, const char *unused) {
  return mmap(NULL, 4096, unused ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED ? -1 : 0;
}

static int step(const char *verb, const char *name, const char *rest) {
  if (is(verb, "create")) return with(name, O_WRONLY | O_CREAT | O_EXCL, nothing, "");
  if (is(verb, "write")) return with(name, O_WRONLY | O_CREAT | O_APPEND, append, rest);
  if (is(verb, "over")) return with(name, O_WRONLY | O_CREAT | O_TRUNC, append, rest);
  if (is(verb, "at")) return with(name, O_RDWR | O_CREAT, put, rest);
  if (is(verb, "pour")) return with(name, O_WRONLY | O_CREAT | O_APPEND, pour, rest);
  if (is(verb, "cut")) return with(name, O_RDWR, cut, rest);
  if (is(verb, "sync")) return with(name, O_RDONLY, sync_it, "");
  if (is(verb, "map")) return with(name, O_RDWR, map, "");
  if (is(verb, "unlink")) return unlink(name);
  if (is(verb, "rename")) return rename(name, rest);
  if (is(verb, "link")) return link(name, rest);
  if (is(verb, "touch")) return with(name, O_WRONLY | O_CREAT, nothing, "");
  errno = EINVAL;
  return -1;
}

int main(int count, char **arguments) {
  if (count < 2 || chdir(arguments[1]) != 0) return 1;
  for (int i = 2; i < count; i++) {
    char text[256], *rest = text;
    snprintf(text, sizeof text, "%s", arguments[i]);
    const char *verb = strsep(&rest, ":"), *name = strsep(&rest, ":");
    if (step(verb, name, rest ? rest : "") != 0) printf("%s: %s\n", arguments[i], strerrorname_np(errno));
  }
  fflush(stdout);
  return kill(getpid(), SIGKILL);
}
