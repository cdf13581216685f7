//! Name of the hypervisor or emulator, by CPUID: "Hypervisor Top-Level Functional Specification" (Microsoft), leaf 0x4000_0000.

const QEMU_TCG: &[u8; 12] = b"TCGTCGTCGTCG";

/// Emulator of the processor; `None` also if it does not reveal itself.
pub fn emulator() -> Option<&'static str> {
    let [_, name @ ..] = leaf(0x4000_0000);
    (is_guest() && signature(name) == QEMU_TCG).then_some("QEMU without KVM")
}

/// EAX, EBX, ECX, EDX; 0 on other processors than x86-64.
fn leaf(number: u32) -> [u32; 4] {
    #[cfg(target_arch = "x86_64")]
    {
        let registers = core::arch::x86_64::__cpuid(number);
        [registers.eax, registers.ebx, registers.ecx, registers.edx]
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = number;
        [0; 4]
    }
}

/// Leaf 1, ECX bit 31: a hypervisor is present.
fn is_guest() -> bool {
    leaf(1)[2] >> 31 == 1
}

fn signature(words: [u32; 3]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// `None` without a hypervisor, and for a Windows host with Hyper-V, which is the root partition above its own.
pub fn hypervisor() -> Option<String> {
    is_guest().then(|| guest_of(leaf(0x4000_0000), leaf(0x4000_0003))).flatten()
}

fn guest_of(name: [u32; 4], features: [u32; 4]) -> Option<String> {
    let bytes = signature([name[1], name[2], name[3]]);
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_matches(|of: char| of == '\0' || of.is_whitespace());
    // EBX bit 0 is the right to create partitions, which only the root partition has.
    let commands = text == "Microsoft Hv" && name[0] >= 0x4000_0003 && features[1] & 1 != 0;
    let known = match text {
        "" => "a hypervisor without a name",
        "Microsoft Hv" => "Hyper-V",
        "KVMKVMKVM" => "KVM",
        "VMwareVMware" => "VMware",
        "VBoxVBoxVBox" => "VirtualBox",
        "XenVMMXenVMM" => "Xen",
        "TCGTCGTCGTCG" => "QEMU",
        other => other,
    };
    (!commands).then(|| known.to_owned())
}

#[cfg(test)]
mod tests {
    use super::guest_of;

    fn words(name: &[u8; 12]) -> [u32; 4] {
        let word = |at: usize| u32::from_le_bytes([name[at], name[at + 1], name[at + 2], name[at + 3]]);
        [0x4000_000b, word(0), word(4), word(8)]
    }

    #[test]
    fn guest_reports_its_hypervisor_and_host_has_none() {
        let guest = |name, features| guest_of(words(name), [0, features, 0, 0]);
        assert_eq!(guest(b"KVMKVMKVM\0\0\0", 0).as_deref(), Some("KVM"));
        assert_eq!(guest(b"Microsoft Hv", 0x20).as_deref(), Some("Hyper-V"));
        assert_eq!(guest(b"Microsoft Hv", 0x1), None);
        assert_eq!(guest(b"bhyve bhyve ", 0x1).as_deref(), Some("bhyve bhyve"));
        assert_eq!(guest(&[0; 12], 0).as_deref(), Some("a hypervisor without a name"));
    }
}
