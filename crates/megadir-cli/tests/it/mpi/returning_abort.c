/* An MPI library whose MPI_Abort returns, as that of MPICH 5.0.2 does; every other call is that of the library it is linked with.
   A line of $ABORTS for each call has its code, and another one follows if the process ran on until its exit handlers. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_aborted;

static void note(const char *line) {
    int file = open(getenv("ABORTS"), O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (write(file, line, strlen(line)) < 0) {
        _exit(99);
    }
    close(file);
}

int MPI_Abort(int communicator, int code) {
    char line[64];
    snprintf(line, sizeof line, "%d\n", code);
    (void)communicator;
    note(line);
    is_aborted = 1;
    return 0;
}

__attribute__((destructor)) static void at_exit(void) {
    if (is_aborted) {
        note("ran on\n");
    }
}
