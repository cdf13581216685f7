//! Compiles the C++ part if the feature `cpp` is on and a compiler is found; the crate works without it.

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
    let is = |variable: &str, value: &str| std::env::var(variable).is_ok_and(|of| of == value);
    let mingw = is("CARGO_CFG_TARGET_OS", "windows") && is("CARGO_CFG_TARGET_ENV", "gnu");
    if !mingw && !is("CARGO_CFG_TARGET_OS", "linux") {
        return;
    }
    let mut build = cc::Build::new();
    build.cpp(true).std("c++20").file(FILE).warnings(true).extra_warnings(true).opt_level(2);
    if mingw {
        // The program must run on machines without mingw's DLLs.
        build.cpp_link_stdlib_static(true);
        link_search(&build);
    }
    match build.try_compile("megadir_cpp") {
        Ok(()) => println!("cargo::rustc-cfg=megadir_cpp"),
        Err(error) => println!("cargo::warning=built without std::filesystem of C++: {error}"),
    }
}

#[cfg(feature = "cpp")]
fn link_search(build: &cc::Build) {
    let Ok(compiler) = build.try_get_compiler() else { return };
    let output = compiler.to_command().arg("-print-file-name=libstdc++.a").output();
    let path = output.ok().and_then(|output| String::from_utf8(output.stdout).ok());
    if let Some(folder) = path.as_deref().and_then(|path| std::path::Path::new(path.trim()).parent()) {
        println!("cargo::rustc-link-search=native={}", folder.display());
    }
}
