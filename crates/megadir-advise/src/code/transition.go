// openFile opens a file for reading that may be moved from OLD to NEW meanwhile.
// A file is moved once, so if it is not at its new path and then not at its old one, it has been moved in between.
// A directory counts as a miss: the file has left its path, or is not there yet.
func openFile(top, name string) (*os.File, error) {
	for _, place := range []func(string) (string, error){pathFor, oldPathFor, pathFor} {
		path, err := place(name)
		if err != nil {
			continue
		}
		file, err := os.Open(filepath.Join(top, path))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if info, err := file.Stat(); err != nil || !info.IsDir() {
			return file, nil
		}
		file.Close()
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// createFile opens a file for writing at its new path; its directory is made if it is missing.
func createFile(top, name string) (*os.File, error) {
	path, err := pathFor(name)
	if err != nil {
		return nil, err
	}
	path = filepath.Join(top, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, err
	}
	return os.Create(path)
}
