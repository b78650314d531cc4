//! Nobody but its own crate knows a level type: the workspace builds without each of them.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::run::{self, Package};

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
    let links = |package: &Package| package.uses.iter().any(|used| Package::is_level(used));
    let packages = run::packages()?;
    let linking: Vec<PathBuf> =
        packages.into_iter().filter(links).map(|package| package.folder).collect();
    // The crates of others are those that are built already.
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or("target".into(), PathBuf::from);
    let target = root.join(target);
    // Always at the same place: what is built replaces what was built there before.
    let workspace = Copy::new(&root, &linking, &target.join("without"))
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
    /// What names level crates: the workspace's manifest, and what crates consist of that link
    /// level types.
    naming: Vec<(PathBuf, String)>,
}

impl Copy {
    /// A copy of the workspace, in which the crates in the folders `linking` link level types.
    fn new(original: &Path, linking: &[PathBuf], into: &Path) -> io::Result<Self> {
        let (root, aside) = (into.join("workspace"), into.join("aside"));
        if into.exists() {
            fs::remove_dir_all(into)?;
        }
        copy_sources(original, &root)?;
        let own = |folder: &PathBuf| folder.strip_prefix(original).map(|path| root.join(path));
        let linking: Vec<PathBuf> = linking.iter().filter_map(|folder| own(folder).ok()).collect();
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
