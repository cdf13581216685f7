/* Moves the files of a directory into directories named after the first two, or two and two, characters: a loop of
   rename(2) by path in the order of the directory, after all directories were made. Usage: rename DIR 1|2 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int make(const char *path) { return mkdir(path, 0777) != 0 && errno != EEXIST; }

int main(int count, char **words) {
    if (count != 3 || chdir(words[1]) != 0)
        return 2;
    int levels = atoi(words[2]);
    char path[600];
    for (int first = 0; first < 256; first++) {
        snprintf(path, sizeof path, "%02x", first);
        if (make(path))
            return 1;
        for (int second = 0; levels == 2 && second < 256; second++) {
            snprintf(path, sizeof path, "%02x/%02x", first, second);
            if (make(path))
                return 1;
        }
    }
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
