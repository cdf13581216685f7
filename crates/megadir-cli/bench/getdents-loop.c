/* Prints the names of a directory with nothing but getdents64(2) and write(2): what one thread takes at least.
 *
 *     cc -O2 -o target/getdents-loop crates/megadir-cli/bench/getdents-loop.c
 *     target/getdents-loop DIR
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { READ_BYTES = 128 << 10, WRITE_BYTES = 64 << 10 };

static char records[READ_BYTES] __attribute__((aligned(8)));
static char text[WRITE_BYTES + 256];
static size_t used;

static int flush(void) {
    for (size_t at = 0; at < used;) {
        ssize_t written = write(STDOUT_FILENO, text + at, used - at);
        if (written < 0) {
            perror("write");
            return 1;
        }
        at += written;
    }
    used = 0;
    return 0;
}

int main(int count, char **words) {
    int directory = count == 2 ? open(words[1], O_RDONLY | O_DIRECTORY) : -1;
    if (directory < 0) {
        fprintf(stderr, "usage: getdents-loop DIR\n");
        return 2;
    }
    ssize_t bytes;
    while ((bytes = getdents64(directory, records, READ_BYTES)) > 0) {
        for (char *at = records; at < records + bytes; at += ((struct dirent64 *)at)->d_reclen) {
            const char *name = ((struct dirent64 *)at)->d_name;
            if (!strcmp(name, ".") || !strcmp(name, "..")) {
                continue;
            }
            size_t length = strlen(name);
            memcpy(text + used, name, length);
            text[used + length] = '\n';
            used += length + 1;
            if (used >= WRITE_BYTES && flush()) {
                return 1;
            }
        }
    }
    if (bytes < 0) {
        perror("getdents64");
        return 1;
    }
    return flush();
}
