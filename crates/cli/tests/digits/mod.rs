//! A directory with MNIST's four files, of synthetic digits: a bright bar at a different position for each, with noise.

use std::path::{Path, PathBuf};

/// Removed on drop.
pub struct Folder(PathBuf);

impl Folder {
    pub fn text(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn folder(name: &str) -> Folder {
    let path = std::env::temp_dir().join(format!("thalweg-digits-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&path).unwrap();
    write(&path, "train", 400);
    write(&path, "t10k", 100);
    Folder(path)
}

fn write(folder: &Path, part: &str, count: u32) {
    let labels: Vec<u8> = (0..count).map(|i| (i % 10) as u8).collect();
    let mut noise = count;
    let mut pixels = Vec::new();
    for label in &labels {
        for row in 0..28u8 {
            for _ in 0..28 {
                noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let ink = if (4 + 2 * label..6 + 2 * label).contains(&row) { 150 } else { 0 };
                pixels.push(ink + (noise >> 24) as u8 % 100);
            }
        }
    }
    idx(&folder.join(format!("{part}-images-idx3-ubyte")), &[count, 28, 28], &pixels);
    idx(&folder.join(format!("{part}-labels-idx1-ubyte")), &[count], &labels);
}

/// Writes the idx format: a magic number that ends with the number of dimensions, the sizes, the bytes.
fn idx(path: &Path, sizes: &[u32], bytes: &[u8]) {
    let mut file = vec![0, 0, 8, sizes.len() as u8];
    file.extend(sizes.iter().flat_map(|n| n.to_be_bytes()));
    file.extend(bytes);
    std::fs::write(path, file).unwrap();
}
