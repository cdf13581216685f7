/* Creates, examines and removes N empty files per rank, each rank in its own directory, with a barrier before each phase: the
   work of `megadir bench run mdtest-easy --engine mpi` in plain C. Names are made, directories created and earlier phases
   written to disk (syncfs) outside the time, as there.

   Build: mpicc -O2 -Wall -o create-stat-unlink create-stat-unlink.c
   Usage: mpirun -np 2 create-stat-unlink DIR N ROUNDS; prints the phase and its time, of the last rank, in nanoseconds. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

typedef char Name[17];

static const char *const PHASES[] = {"create", "stat", "unlink"};

static void check(int failed, const char *what) {
    if (failed) {
        perror(what);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
}

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void one(int phase, int directory, const char *name) {
    struct stat status;
    switch (phase) {
    case 0: {
        int file = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
        check(file < 0 || close(file) != 0, name);
        return;
    }
    case 1:
        check(fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0 || status.st_size != 0, name);
        return;
    default:
        check(unlinkat(directory, name, 0) != 0, name);
    }
}

int main(int count, char **words) {
    int rank;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (count != 4) {
        MPI_Finalize();
        return 2;
    }
    long files = atol(words[2]), rounds = atol(words[3]);
    int top = open(words[1], O_RDONLY | O_DIRECTORY);
    Name *names = malloc(files * sizeof(Name)), own;
    check(top < 0 || names == NULL, words[1]);
    for (long file = 0; file < files; file++)
        snprintf(names[file], sizeof(Name), "file%012ld", file % 1000000000000L);
    snprintf(own, sizeof own, "w%d", rank);
    for (long round = 0; round < rounds; round++) {
        check(mkdirat(top, own, 0755) != 0, own);
        int directory = openat(top, own, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
        check(directory < 0, own);
        for (int phase = 0; phase < 3; phase++) {
            MPI_Barrier(MPI_COMM_WORLD);
            if (rank == 0)
                check(syncfs(top) != 0, "syncfs");
            MPI_Barrier(MPI_COMM_WORLD);
            long long begun = now();
            for (long file = 0; file < files; file++)
                one(phase, directory, names[file]);
            long long took = now() - begun, last;
            MPI_Reduce(&took, &last, 1, MPI_LONG_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
            if (rank == 0)
                printf("%s %lld\n", PHASES[phase], last);
        }
        close(directory);
        check(unlinkat(top, own, AT_REMOVEDIR) != 0, own);
    }
    return MPI_Finalize();
}
