#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);
__declspec(dllexport) int ProcessPrng(unsigned char *to, size_t bytes) {
    while (bytes) {
        ULONG some = bytes > 65536 ? 65536 : (ULONG)bytes;
        if (!SystemFunction036(to, some)) return 0;
        to += some;
        bytes -= some;
    }
    return 1;
}
