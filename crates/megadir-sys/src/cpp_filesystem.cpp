// The regular files of a directory with their times, by C++17's std::filesystem, as the program under study does it: an iterator, the
// type from the entry, last_write_time for each, and a vector of names and times. See cpp_filesystem.rs.
//
// On Windows (libstdc++ of mingw) names are UTF-16, each question to an entry opens the file, and times are whole seconds: libstdc++ takes
// them from the C library's stat, which has no others.

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

using Char = std::filesystem::path::value_type;

struct File {
    std::filesystem::path::string_type name;
    std::filesystem::file_time_type modified;
};

using Row = void (*)(void *context, const Char *name, std::size_t name_units, std::int64_t seconds, std::uint32_t nanoseconds);

// An entry that vanishes has no type, and no time.
bool is_file(const std::filesystem::directory_entry &entry) {
    std::error_code error;
#ifndef _WIN32  // There the stat below follows links, so that this would be one question more with always the same answer.
    if (entry.is_symlink(error)) {
        return false;
    }
#endif
    return entry.is_regular_file(error);
}

std::vector<File> regular_files(const Char *directory) {
    std::vector<File> files;
    for (const auto &entry : std::filesystem::directory_iterator(directory)) {
        if (!is_file(entry)) {
            continue;
        }
        std::error_code error;
        const auto modified = entry.last_write_time(error);
        if (!error) {
            files.push_back({entry.path().filename().native(), modified});
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

// Returns 0, or an error number as errno has it. No exception leaves it.
extern "C" int megadir_cpp_regular_files(const Char *directory, void *context, Row row) noexcept {
    try {
        for (const File &file : regular_files(directory)) {
            give(file, context, row);
        }
        return 0;
    } catch (const std::bad_alloc &) {
        return ENOMEM;
    } catch (const std::system_error &error) {
        const auto condition = error.code().default_error_condition();
        return condition.category() == std::generic_category() && condition.value() > 0 ? condition.value() : EIO;
    } catch (...) {
        return EIO;
    }
}
