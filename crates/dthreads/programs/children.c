/* Children of a program are those that it has started, its threads are none; what else is asked about threads. */
#define _GNU_SOURCE
#include "common.h"
#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *waits(void *id) {
  pthread_mutex_lock(&lock);
  pthread_mutex_unlock(&lock);
  return id;
}
static void *deep(void *id) {
  volatile char block[20 << 20];
  memset((char *)block, 1, sizeof block);
  return block[5] == 1 ? id : NULL;
}
static pid_t start_one(const char *script) {
  char *arguments[] = {"sh", "-c", (char *)script, NULL};
  pid_t child;
  assert(!posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, NULL));
  return child;
}
static void *waits_for_child(void *id) {
  siginfo_t found = {0};
  pid_t child = start_one("exit 7");
  assert(!waitid(P_PID, (id_t)child, &found, WEXITED) && found.si_pid == child && found.si_status == 7);
  return id;
}
int main(void) {
  pthread_t thread;
  pthread_attr_t attributes;
  siginfo_t found = {0};
  int status;
  void *result;
  pthread_mutex_lock(&lock);
  pthread_create(&thread, NULL, waits, NULL);
  assert(waitid(P_ALL, 0, &found, WEXITED | WNOHANG | __WALL) == -1 && errno == ECHILD);
  assert(waitpid(-1, NULL, __WALL) == -1 && errno == ECHILD);
  assert(waitpid(-1, NULL, __WCLONE) == -1 && errno == ECHILD);
  pid_t child = vfork();
  if (!child) _exit(3);
  assert(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 3);
  child = start_one("exit 4");
  assert(waitid(P_ALL, 0, &found, WEXITED | __WALL) == 0 && found.si_pid == child && found.si_status == 4);
  /* New in glibc 2.42. */
  pid_t (*number)(pthread_t) = (pid_t (*)(pthread_t))dlsym(RTLD_DEFAULT, "pthread_gettid_np");
  if (number) assert(number(pthread_self()) == syscall(SYS_gettid) && number(thread) > 0);
  pthread_mutex_unlock(&lock);
  pthread_join(thread, NULL);
  pthread_create(&thread, NULL, waits_for_child, NULL), pthread_join(thread, NULL);
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 24 << 20);
  assert(!pthread_setattr_default_np(&attributes));
  pthread_create(&thread, NULL, deep, &attributes);
  assert(!pthread_join(thread, &result) && result == &attributes);
  printf("all good\n");
}
