//! Compiles the C++ part where it is asked for (feature `cpp`) and a compiler is found; the crate works without it.

fn main() {
    println!("cargo::rustc-check-cfg=cfg(megadir_cpp)");
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "cpp")]
    cpp();
}

#[cfg(feature = "cpp")]
fn cpp() {
    const FILE: &str = "src/cpp_filesystem.cpp";
    println!("cargo::rerun-if-changed={FILE}");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system != "linux") {
        return;
    }
    let mut build = cc::Build::new();
    build.cpp(true).std("c++20").file(FILE).warnings(true).extra_warnings(true).opt_level(2);
    match build.try_compile("megadir_cpp") {
        Ok(()) => println!("cargo::rustc-cfg=megadir_cpp"),
        Err(error) => println!("cargo::warning=built without std::filesystem of C++: {error}"),
    }
}
