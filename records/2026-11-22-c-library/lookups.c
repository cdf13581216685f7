/* Time of looking up names: system call in the loop, in a function, and through the C library.
 *
 *     cc -O2 -o lookups lookups.c && ./lookups DIRECTORY
 *
 * Creates 1000 files in DIRECTORY (empty and new), looks up 2000 random names per block, all four ways in random order in each of
 * 401 rounds, and prints for each way the median of its time divided by the direct call's in the same round, with the interval of 95 %
 * for a median from order statistics. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { FILES = 1000, LOOKUPS = 2000, ROUNDS = 401, WAYS = 4 };

static char names[FILES][16];
static struct stat status;

static inline __attribute__((always_inline)) long raw(int directory, const char *name) {
    long result;
    register long flags __asm__("r10") = 0;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(SYS_newfstatat), "D"(directory), "S"(name), "d"(&status), "r"(flags)
                     : "rcx", "r11", "memory");
    return result;
}

static __attribute__((noinline)) long called(int directory, const char *name) { return raw(directory, name); }

#define BLOCK(CALL)                                                                                                     \
    for (int i = 0; i < LOOKUPS; i++)                                                                                   \
        failed |= (CALL) != 0

static double block(int way, int directory, const int *picks) {
    struct timespec from, to;
    int failed = 0;
    clock_gettime(CLOCK_MONOTONIC, &from);
    switch (way) {
    case 2: BLOCK(called(directory, names[picks[i]])); break;
    case 3: BLOCK(fstatat(directory, names[picks[i]], &status, 0)); break;
    default: BLOCK(raw(directory, names[picks[i]]));
    }
    clock_gettime(CLOCK_MONOTONIC, &to);
    if (failed) abort();
    return (to.tv_sec - from.tv_sec) * 1e9 + (to.tv_nsec - from.tv_nsec);
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int count, char **arguments) {
    static const char *ways[WAYS] = {"direct", "direct, again", "in a function", "fstatat of the C library"};
    static double ratios[WAYS][ROUNDS], times[WAYS][ROUNDS];
    if (count != 2) return 2;
    int directory = open(arguments[1], O_DIRECTORY);
    for (int i = 0; i < FILES; i++) {
        snprintf(names[i], sizeof names[i], "f%06d", i);
        int file = openat(directory, names[i], O_CREAT | O_WRONLY, 0600);
        if (file < 0) return 3;
        close(file);
    }
    srand(1);
    for (int round = -20; round < ROUNDS; round++) {
        int order[WAYS] = {0, 1, 2, 3}, picks[LOOKUPS];
        double elapsed[WAYS];
        for (int i = 0; i < LOOKUPS; i++) picks[i] = rand() % FILES;
        for (int i = WAYS - 1; i > 0; i--) {
            int j = rand() % (i + 1), other = order[i];
            order[i] = order[j];
            order[j] = other;
        }
        for (int i = 0; i < WAYS; i++) elapsed[order[i]] = block(order[i], directory, picks);
        if (round < 0) continue;
        for (int way = 0; way < WAYS; way++) {
            times[way][round] = elapsed[way] / LOOKUPS;
            ratios[way][round] = elapsed[way] / elapsed[0];
        }
    }
    /* Ranks of the interval: the median plus and minus 1.96 sqrt(n) / 2. */
    int low = (ROUNDS - 1) / 2 - 20, high = (ROUNDS - 1) / 2 + 20;
    for (int way = 0; way < WAYS; way++) {
        qsort(ratios[way], ROUNDS, sizeof(double), ascending);
        qsort(times[way], ROUNDS, sizeof(double), ascending);
        printf("| %s | %.0f | %.2f [%.2f, %.2f] |\n", ways[way], times[way][ROUNDS / 2], ratios[way][ROUNDS / 2],
               ratios[way][low], ratios[way][high]);
    }
    for (int i = 0; i < FILES; i++) unlinkat(directory, names[i], 0);
}
