//! Nobody but its own crate knows a level type: the workspace builds without each of them.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::run;

/// The crates that link the standard level types.
const LINKING: [&str; 2] = ["ust", "ust-macros"];

/// Copies the workspace, and for one level crate or for each, takes it out of the copy and checks that
/// the rest builds.
pub(crate) fn check(only: Option<&str>) -> Result<(), String> {
    let root = run::root();
    let mut levels = Vec::new();
    for entry in fs::read_dir(root.join("levels")).map_err(|e| e.to_string())? {
        let entry = entry.map_err(|e| e.to_string())?;
        levels.push(entry.file_name().to_string_lossy().into_owned());
    }
    levels.sort();
    if let Some(only) = only {
        if !levels.iter().any(|level| level == only) {
            return Err(format!("no level crate `{only}`; there are {}", levels.join(", ")));
        }
        levels.retain(|level| level == only);
    }
    // The crates of others are those that are built already.
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or("target".into(), PathBuf::from);
    let target = root.join(target);
    // Always at the same place: what is built replaces what was built there before.
    let workspace = Copy::new(&root, &target.join("without"))
        .map_err(|e| format!("copying the workspace: {e}"))?;
    let target = target.to_string_lossy();
    for level in levels {
        println!("== without levels/{level}");
        workspace.take_out(&level).map_err(|e| format!("taking out levels/{level}: {e}"))?;
        run::cargo_in(
            &workspace.root,
            &["check", "--workspace", "--quiet", "--offline"],
            &[("CARGO_TARGET_DIR", &target)],
        )?;
        workspace.put_back(&level).map_err(|e| format!("putting back levels/{level}: {e}"))?;
    }
    Ok(())
}

/// A copy of the workspace, the same for all levels: only what depends on them is built again.
struct Copy {
    root: PathBuf,
    /// Where a level crate's folder lies while it is taken out.
    aside: PathBuf,
    /// What names level crates: the workspace's manifest, and what [`LINKING`] crates consist of.
    naming: Vec<(PathBuf, String)>,
}

impl Copy {
    fn new(original: &Path, into: &Path) -> io::Result<Self> {
        let (root, aside) = (into.join("workspace"), into.join("aside"));
        if into.exists() {
            fs::remove_dir_all(into)?;
        }
        copy_sources(original, &root)?;
        let linking = LINKING.map(|name| root.join(name));
        let files = linking.iter().flat_map(|at| [at.join("Cargo.toml"), at.join("src/lib.rs")]);
        let naming = std::iter::once(root.join("Cargo.toml"))
            .chain(files)
            .map(|file| fs::read_to_string(&file).map(|text| (file, text)))
            .collect::<io::Result<_>>()?;
        Ok(Self { root, aside, naming })
    }

    fn folder(&self, level: &str) -> PathBuf {
        self.root.join("levels").join(level)
    }

    /// Removes a level crate: its folder, and the lines that name it.
    fn take_out(&self, level: &str) -> io::Result<()> {
        let package = format!("ust-level-{}", level.replace('_', "-"));
        let names = [
            format!("\"levels/{level}\""),
            format!("{package} = "),
            format!("{package}.workspace"),
            format!("use {} ", package.replace('-', "_")),
        ];
        fs::rename(self.folder(level), &self.aside)?;
        for (file, text) in &self.naming {
            let named = |line: &&str| names.iter().any(|name| line.contains(name));
            let kept: Vec<&str> = text.lines().filter(|line| !named(line)).collect();
            fs::write(file, kept.join("\n") + "\n")?;
        }
        Ok(())
    }

    fn put_back(&self, level: &str) -> io::Result<()> {
        fs::rename(&self.aside, self.folder(level))?;
        self.naming.iter().try_for_each(|(file, text)| fs::write(file, text))
    }
}

fn copy_sources(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == "target" || name.to_string_lossy().starts_with(".git") {
            continue;
        }
        let target = to.join(&name);
        match entry.file_type()?.is_dir() {
            true => copy_sources(&entry.path(), &target)?,
            false => drop(fs::copy(entry.path(), target)?),
        }
    }
    Ok(())
}
