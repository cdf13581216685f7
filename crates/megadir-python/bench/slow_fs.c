/* A FUSE file system whose directories take a while to open: DIRECTORIES directories, in groups of 64, with FILES empty
   files each. Only for workers.py.

   cc slow_fs.c -o slow_fs $(pkg-config --cflags --libs fuse3)
   DIRECTORIES=4000 FILES=50 DELAY_US=5000 ./slow_fs -f MOUNTPOINT */

#define FUSE_USE_VERSION 31
#include <errno.h>
#include <fuse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GROUP = 64 };

static long directories, files, delay_us;

static long setting(const char *name)
{
    const char *text = getenv(name);
    return text ? strtol(text, NULL, 10) : 0;
}

static void fill_in(struct stat *status, int is_directory, long inode)
{
    memset(status, 0, sizeof *status);
    status->st_mode = is_directory ? S_IFDIR | 0755 : S_IFREG | 0644;
    status->st_nlink = is_directory ? 2 : 1;
    status->st_ino = (ino_t)inode;
}

/* Level of a path: 0 for the root, 1 for a group, 2 for a directory, 3 for a file; -1 if there is none. */
static int level_of(const char *path, long *group, long *directory, long *file)
{
    int read = 0;
    if (strcmp(path, "/") == 0)
        return 0;
    if (sscanf(path, "/g%ld%n", group, &read) != 1 || *group < 0 || *group * GROUP >= directories)
        return -1;
    path += read;
    if (*path == '\0')
        return 1;
    if (sscanf(path, "/d%ld%n", directory, &read) != 1 || *directory / GROUP != *group || *directory >= directories)
        return -1;
    path += read;
    if (*path == '\0')
        return 2;
    if (sscanf(path, "/f%ld%n", file, &read) != 1 || *file < 0 || *file >= files || path[read] != '\0')
        return -1;
    return 3;
}

static long inode_of(int level, long group, long directory, long file)
{
    switch (level) {
    case 0: return 1;
    case 1: return 2 + group;
    case 2: return 1000000 + directory;
    default: return 2000000 + directory * files + file;
    }
}

static int slow_getattr(const char *path, struct stat *status, struct fuse_file_info *info)
{
    long group = 0, directory = 0, file = 0;
    int level = level_of(path, &group, &directory, &file);
    (void)info;
    if (level < 0)
        return -ENOENT;
    fill_in(status, level < 3, inode_of(level, group, directory, file));
    return 0;
}

static int slow_opendir(const char *path, struct fuse_file_info *info)
{
    (void)path;
    (void)info;
    usleep((useconds_t)delay_us);
    return 0;
}

static int slow_readdir(const char *path, void *buffer, fuse_fill_dir_t fill, off_t offset, struct fuse_file_info *info,
                        enum fuse_readdir_flags flags)
{
    long group = 0, directory = 0, file = 0;
    int level = level_of(path, &group, &directory, &file);
    long from = level == 1 ? group * GROUP : 0;
    long to = level == 0 ? (directories + GROUP - 1) / GROUP : level == 1 ? from + GROUP : files;
    (void)offset;
    (void)info;
    (void)flags;
    if (level == 1 && to > directories)
        to = directories;
    for (long index = from; index < to; index++) {
        char name[32];
        struct stat status;
        snprintf(name, sizeof name, "%c%ld", "gdf"[level], index);
        long inode = level == 0   ? inode_of(1, index, 0, 0)
                     : level == 1 ? inode_of(2, group, index, 0)
                                  : inode_of(3, group, directory, index);
        fill_in(&status, level < 2, inode);
        fill(buffer, name, &status, 0, FUSE_FILL_DIR_PLUS);
    }
    return 0;
}

static void *slow_init(struct fuse_conn_info *connection, struct fuse_config *config)
{
    (void)connection;
    config->use_ino = 1;
    config->entry_timeout = config->attr_timeout = 3600;
    return NULL;
}

static const struct fuse_operations operations = {
    .init = slow_init,
    .getattr = slow_getattr,
    .opendir = slow_opendir,
    .readdir = slow_readdir,
};

int main(int count, char **words)
{
    directories = setting("DIRECTORIES");
    files = setting("FILES");
    delay_us = setting("DELAY_US");
    return fuse_main(count, words, &operations, NULL);
}
