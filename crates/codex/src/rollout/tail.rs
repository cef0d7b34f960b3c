//! The end of a file, line by line. A file is as long as its conversation, and what a crash cut off stands at its end.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

/// Where what was read begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    Beginning,
    Middle,
}

/// Reads whole lines, and the last one even if it is torn. Blocks; holds one line at a time.
pub(super) fn read_tail(path: &Path, bytes: u64, mut take: impl FnMut(&str)) -> io::Result<Reach> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let begin = length.saturating_sub(bytes);
    // The byte before tells whether a line begins here.
    file.seek(SeekFrom::Start(begin.saturating_sub(1)))?;
    // Codex may be writing on.
    let mut lines = BufReader::new(file.take(bytes.saturating_add(1))).split(b'\n');
    if begin > 0 {
        lines.next().transpose()?;
    }
    for line in lines {
        take(&String::from_utf8_lossy(&line?));
    }
    Ok(if begin == 0 { Reach::Beginning } else { Reach::Middle })
}

#[cfg(test)]
mod tests {
    use super::{Reach, read_tail};

    #[test]
    fn a_line_that_began_before_is_left_out_and_a_torn_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rollout.jsonl");
        std::fs::write(&path, "one\ntwo\nthr").unwrap();
        let read = |bytes| {
            let mut lines = Vec::new();
            let reach = read_tail(&path, bytes, |line| lines.push(line.to_owned())).unwrap();
            (reach, lines.join(" "))
        };
        assert_eq!(read(100), (Reach::Beginning, "one two thr".to_owned()));
        assert_eq!(read(11), (Reach::Beginning, "one two thr".to_owned()));
        assert_eq!(read(10), (Reach::Middle, "two thr".to_owned()));
        assert_eq!(read(7), (Reach::Middle, "two thr".to_owned()));
        assert_eq!(read(6), (Reach::Middle, "thr".to_owned()));
        assert_eq!(read(2), (Reach::Middle, String::new()));
    }
}
