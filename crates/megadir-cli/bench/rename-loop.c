/* Moves the files of a directory into directories named after the first two, or two and two, characters: a loop of
   rename(2) by path in the order of the directory. Usage: rename-loop make|move 1|2 DIR; `make` creates the directories
   and writes the file system to its device, so that the moves do not wait for what was created before them. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int make_one(const char *path) { return mkdir(path, 0777) != 0 && errno != EEXIST; }

static int make(int levels) {
    char path[8];
    for (int first = 0; first < 256; first++) {
        snprintf(path, sizeof path, "%02x", first & 255);
        if (make_one(path))
            return 1;
        for (int second = 0; levels == 2 && second < 256; second++) {
            snprintf(path, sizeof path, "%02x/%02x", first & 255, second & 255);
            if (make_one(path))
                return 1;
        }
    }
    int directory = open(".", O_RDONLY | O_DIRECTORY);
    return directory < 0 || syncfs(directory) != 0;
}

static int move(int levels) {
    char path[600];
    DIR *directory = opendir(".");
    struct dirent *entry;
    while (directory && (entry = readdir(directory)) != NULL) {
        const char *name = entry->d_name;
        if (entry->d_type != DT_REG || strlen(name) < 4)
            continue;
        if (levels == 1)
            snprintf(path, sizeof path, "%.2s/%s", name, name);
        else
            snprintf(path, sizeof path, "%.2s/%.2s/%s", name, name + 2, name);
        if (rename(name, path) != 0)
            return 1;
    }
    return directory == NULL;
}

int main(int count, char **words) {
    if (count != 4 || chdir(words[3]) != 0)
        return 2;
    int levels = atoi(words[2]);
    return strcmp(words[1], "make") == 0 ? make(levels) : move(levels);
}
