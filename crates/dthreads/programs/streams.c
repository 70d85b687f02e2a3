/* Streams of stdio lock themselves: what threads write to one arrives once and whole, and each line is read once. */
#define _GNU_SOURCE
#include "common.h"
#include <assert.h>
#include <errno.h>
#include <setjmp.h>
#include <unistd.h>
#include <wchar.h>
static FILE *shared, *opened, *memory, *pipes[2], *writes_only;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long lines, sum, letters[MOST];
static char *text;
static size_t size;
static void *writes(void *id) {
  for (int i = 0; i < rounds; i++) fprintf(shared, "%d of %d\n", i, (int)(intptr_t)id);
  return NULL;
}
/* The stream is locked for the whole line. */
static void *spells(void *id) {
  for (int i = 0; i < rounds; i++) {
    flockfile(memory);
    for (int n = 0; n < 10; n++) putc_unlocked('a' + (int)(intptr_t)id, memory);
    putc('\n', memory);
    funlockfile(memory);
  }
  return NULL;
}
/* Standard input: libc's own variable. */
static void *reads(void *id) {
  char line[100];
  long own = 0, of = 0;
  while (fgets(line, sizeof line, stdin)) of += strtol(line, NULL, 10), own++;
  pthread_mutex_lock(&lock);
  lines += own, sum += of;
  pthread_mutex_unlock(&lock);
  return id;
}
static void *opens(void *name) {
  opened = fopen(name, "w");
  fputs("by a thread", opened);
  printf("a thread prints\n");
  return NULL;
}
/* Holds up no other. */
static void *waits(void *id) {
  char line[100];
  assert(fgets(line, sizeof line, pipes[0]) && !strcmp(line, "at last\n"));
  return id;
}
/* A jump out of a call of stdio, more often than there can be calls within each other. */
static jmp_buf out;
static ssize_t jumps(void *id, const char *from, size_t len) { longjmp(out, (intptr_t)id + from[0] + (int)len); }
static void leaves_by_jumps(void) {
  cookie_io_functions_t functions = {.write = jumps};
  for (volatile int i = 0; i < 200; i++) {
    FILE *cookie = fopencookie(NULL, "w", functions);
    setvbuf(cookie, NULL, _IONBF, 0);
    if (!setjmp(out)) fputs("out", cookie);
  }
  fputs("", stdout);
}
/* None of these needs more than is there; a call that succeeds leaves errno alone. */
static void *has_enough(void *id) {
  FILE *reads = pipes[0], *text_of = fmemopen("a\nb\n", 4, "r"), *bytes = pipes[1];
  char few[8], *line = NULL;
  size_t room = 0;
  errno = 0;
  assert(fread(few, 1, 0, reads) == 0 && fgets(few, 1, reads) == few && !*few);
  assert(fgetwc(reads) == L'a' && fgetwc(reads) == L'b' && ungetwc(L'x', reads) == L'x');
  assert(fgetwc(reads) == L'x' && fgetwc(reads) == L'c');
  assert(fgetc(bytes) == '1' && ungetc('2', bytes) == '2' && fgetc(bytes) == '2' && fgetc(bytes) == '3');
  while (getline(&line, &room, text_of) > 0) assert(errno == 0);
  assert(errno == 0 && fclose(text_of) == 0);
  free(line);
  assert(fgetc(writes_only) == EOF && errno == EBADF);
  leaves_by_jumps();
  return id;
}
static void *locks(void *id) {
  flockfile(shared);
  int second = ftrylockfile(shared);
  if (!second) funlockfile(shared);
  letters[(intptr_t)id] = second;
  funlockfile(shared);
  return NULL;
}
static void *writes_wide(void *id) {
  for (int i = 0; i < rounds; i++) fwprintf(stderr, L"%d more\n", i);
  return id;
}
int main(int count, char **arguments) {
  start(count, arguments);
  char name[] = "/tmp/fyris-streams-XXXXXX";
  pthread_t all[MOST];
  int file = mkstemp(name), ends[2];
  assert(file >= 0 && (shared = fdopen(file, "w")));
  for (intptr_t i = 0; i < threads; i++) {
    printf("creates thread %d\n", (int)i);
    pthread_create(&all[i], NULL, writes, (void *)i);
  }
  for (int i = 0; i < threads; i++) pthread_join(all[i], NULL);
  run(locks);
  for (int i = 0; i < threads; i++) assert(letters[i] == 0);
  fclose(shared);
  assert(freopen(name, "r", stdin));
  run(reads);
  printf("%ld lines, %ld\n", lines, sum);
  memory = open_memstream(&text, &size);
  run(spells);
  fclose(memory);
  for (char *at = text; at < text + size; at += 11) {
    for (int n = 0; n < 10; n++) assert(at[n] == *at);
    letters[*at - 'a']++;
  }
  for (int i = 0; i < threads; i++) printf("%c %ld\n", 'a' + i, letters[i]);
  pthread_create(&all[0], NULL, opens, name);
  pthread_join(all[0], NULL);
  fflush(NULL);
  assert((shared = fopen(name, "r")) && fread(text, 1, size, shared) == 11 && !memcmp(text, "by a thread", 11));
  fclose(shared), fclose(opened);
  assert(freopen(name, "w", stderr));
  run(writes_wide);
  fclose(stderr);
  assert(freopen(name, "r", stdin)), remove(name);
  lines = sum = 0, run(reads);
  printf("%ld wide lines, %ld\n", lines, sum);
  /* When data of a pipe come is input, by which the schedule may differ. */
  if (count == 3) return printf("all good\n") < 0;
  assert(!pipe(ends) && (pipes[0] = fdopen(ends[0], "r")) && (pipes[1] = fdopen(ends[1], "w")));
  pthread_create(&all[0], NULL, waits, NULL);
  pthread_create(&all[1], NULL, spells, (memory = fopen("/dev/null", "w"), NULL));
  pthread_join(all[1], NULL);
  fputs("at last\n", pipes[1]), fflush(pipes[1]);
  pthread_join(all[0], NULL);
  fclose(pipes[0]), writes_only = pipes[1];
  int more[2];
  assert(!pipe(ends) && write(ends[1], "abc", 3) == 3 && (pipes[0] = fdopen(ends[0], "r")));
  assert(!pipe(more) && write(more[1], "13", 2) == 2 && (pipes[1] = fdopen(more[0], "r")));
  pthread_create(&all[0], NULL, has_enough, NULL), pthread_join(all[0], NULL);
  printf("all good\n");
}
