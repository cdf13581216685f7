// The regular files of a directory with their times, by C++17's std::filesystem, as the program under study does it: an iterator, the
// type from the entry, last_write_time for each, and a vector of names and times. See cpp_filesystem.rs.

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <new>
#include <string>
#include <system_error>
#include <vector>

namespace {

struct File {
    std::string name;
    std::filesystem::file_time_type modified;
};

using Row = void (*)(void *context, const char *name, std::size_t name_bytes, std::int64_t seconds, std::uint32_t nanoseconds);

std::vector<File> regular_files(const char *directory) {
    std::vector<File> files;
    for (const auto &entry : std::filesystem::directory_iterator(directory)) {
        // An entry that vanishes has no type, and no time.
        std::error_code error;
        if (entry.is_symlink(error) || !entry.is_regular_file(error)) {
            continue;
        }
        const auto modified = entry.last_write_time(error);
        if (!error) {
            files.push_back({entry.path().filename().string(), modified});
        } else if (error != std::errc::no_such_file_or_directory) {
            throw std::system_error(error);
        }
    }
    return files;
}

void give(const File &file, void *context, Row row) {
    using namespace std::chrono;
    const auto since = file_clock::to_sys(file.modified).time_since_epoch();
    const auto whole = floor<seconds>(since);
    const auto rest = duration_cast<nanoseconds>(since - whole);
    row(context, file.name.data(), file.name.size(), whole.count(), static_cast<std::uint32_t>(rest.count()));
}

}  // namespace

// Returns 0, or an error number of the system. No exception leaves it.
extern "C" int megadir_cpp_regular_files(const char *directory, void *context, Row row) noexcept {
    try {
        for (const File &file : regular_files(directory)) {
            give(file, context, row);
        }
        return 0;
    } catch (const std::bad_alloc &) {
        return ENOMEM;
    } catch (const std::system_error &error) {
        return error.code().value() > 0 ? error.code().value() : EIO;
    } catch (...) {
        return EIO;
    }
}
