def open_file(top: AnyStr, name: AnyStr, mode: str = "rb"):
    """Open a file that may be moved from OLD to NEW meanwhile.

    A file is moved once, so if it is not at its new path and then not at its old one, it has been moved in between.
    A directory counts as a miss: the file has left its path, or is not there yet.
    """
    for place in (path_for, old_path_for, path_for):
        try:
            return open(os.path.join(top, place(name)), mode)
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError, ValueError):
            pass
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)


def create_file(top: AnyStr, name: AnyStr, mode: str = "wb"):
    """Open a file for writing at its new path; its directory is made if it is missing.

    ValueError: the layout does not accept the name.
    """
    path = os.path.join(top, path_for(name))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    return open(path, mode)
