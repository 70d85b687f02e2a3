//! The reader reads the writer's output, and names every kind of damage with its offset.

use std::io::Cursor;

use proptest::prelude::*;

use super::*;
use crate::disk_log::LogWriter;

const MAX: u32 = 1 << 24;

fn log(items: &[Vec<u8>]) -> Vec<u8> {
    let mut writer = LogWriter::new(Cursor::new(Vec::new()));
    for item in items {
        writer
            .item(
                |buf| buf.extend_from_slice(item),
                |seen| assert_eq!(seen, item),
            )
            .unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn read_all(file: &[u8]) -> Result<Vec<Vec<u8>>, LogError> {
    let mut reader = LogReader::new(file, Some(file.len() as u64), MAX)?;
    let mut items = Vec::new();
    while reader.advance()? {
        let item = reader.item();
        assert_eq!(
            &file[item.offset as usize..][..item.bytes.len()],
            item.bytes
        );
        items.push(item.bytes.to_vec());
    }
    assert_eq!(reader.offset(), file.len() as u64);
    Ok(items)
}

/// Reads a whole file, and passes over damage: returns the items, and the number of bytes passed over.
fn salvage(file: &[u8], length: Option<u64>) -> (Vec<Vec<u8>>, u64) {
    let mut reader = LogReader::new(file, length, MAX).unwrap();
    let (mut items, mut skipped) = (Vec::new(), 0);
    loop {
        match reader.advance() {
            Ok(true) => items.push(reader.item().bytes.to_vec()),
            Ok(false) => return (items, skipped),
            Err(e) => {
                assert!(e.is_damage() && e.offset() <= file.len() as u64, "{e}");
                skipped += reader.resync().unwrap();
            }
        }
    }
}

#[test]
fn items_around_the_size_that_gets_a_checksum() {
    let sizes = [
        0,
        1,
        BIG_ITEM - 1,
        BIG_ITEM,
        BIG_ITEM + 1,
        3 * BUFFER,
        1,
        5 * BUFFER,
        7,
    ];
    let items: Vec<Vec<u8>> = sizes.iter().map(|&n| vec![n as u8; n]).collect();
    let file = log(&items);
    let sums = sizes.iter().filter(|&&n| n >= BIG_ITEM).count();
    let payload: usize = sizes.iter().sum();
    assert_eq!(
        file.len(),
        FILE_HEAD + ITEM_HEAD * sizes.len() + SIZE_SUM * sums + payload
    );
    assert_eq!(read_all(&file).unwrap(), items);
}

#[test]
fn an_open_file_is_read_and_says_so() {
    let mut file = log(&[b"one".to_vec()]);
    assert_eq!(
        LogReader::new(&file[..], None, MAX).unwrap().status(),
        Status::Closed
    );
    file[4..8].copy_from_slice(&OPENED);
    assert_eq!(
        LogReader::new(&file[..], None, MAX).unwrap().status(),
        Status::Opened
    );
    assert_eq!(read_all(&file).unwrap().len(), 1);
}

#[test]
fn old_marks_are_read_without_a_checksum() {
    let mut file = log(&[]);
    let data = vec![7; BIG_ITEM + 5];
    file.extend_from_slice(&(data.len() as u32).to_be_bytes());
    file.extend_from_slice(&OLD_ITEM_MAGIC);
    file.extend_from_slice(&data);
    assert_eq!(read_all(&file).unwrap(), [data]);
}

#[test]
fn a_file_that_is_no_log() {
    for bytes in [
        &b""[..],
        &[1, 2, 3],
        &[1, 2, 3, 4, 5, 6, 7, 8],
        b"{a,b}. and more",
    ] {
        assert!(matches!(read_all(bytes), Err(LogError::NotALog { .. })));
    }
}

#[test]
fn every_truncation_is_seen_and_located() {
    let items = [b"first".to_vec(), vec![3; BIG_ITEM], b"last".to_vec()];
    let file = log(&items);
    let ends = [8, 8 + 13, 8 + 13 + 24 + BIG_ITEM];
    for cut in FILE_HEAD..file.len() {
        if ends.contains(&cut) {
            assert_eq!(
                read_all(&file[..cut]).unwrap(),
                items[..ends.iter().position(|&e| e == cut).unwrap()]
            );
            continue;
        }
        let start = *ends.iter().rfind(|&&e| e < cut).unwrap();
        match read_all(&file[..cut]) {
            Err(LogError::Truncated { offset, have, .. }) => {
                assert_eq!((offset, have), (start as u64, (cut - start) as u64));
            }
            other => panic!("cut at {cut}: {other:?}"),
        }
    }
}

#[test]
fn a_size_is_not_believed() {
    let mut file = log(&[]);
    file.extend_from_slice(&[0x7f, 0xff, 0xff, 0xff]);
    file.extend_from_slice(&OLD_ITEM_MAGIC);
    file.extend_from_slice(b"short");
    for length in [None, Some(file.len() as u64)] {
        let mut reader = LogReader::new(&file[..], length, u32::MAX).unwrap();
        assert!(matches!(
            reader.advance(),
            Err(LogError::Truncated {
                offset: 8,
                have: 13,
                ..
            })
        ));
        assert!(reader.buf.capacity() <= 2 * BUFFER);
    }
    assert!(matches!(
        read_all(&file),
        Err(LogError::TooLarge { offset: 8, .. })
    ));
    file[12..16].copy_from_slice(&ITEM_MAGIC);
    file.extend_from_slice(&[0; SIZE_SUM]);
    let mut reader = LogReader::new(&file[..], None, u32::MAX).unwrap();
    assert!(matches!(
        reader.advance(),
        Err(LogError::BadSizeSum { offset: 8, .. })
    ));
}

#[test]
fn the_buffer_shrinks_after_a_big_item() {
    let mut items = vec![vec![1; 4 * BUFFER]];
    items.extend((0..3 * BUFFER / 1000).map(|_| vec![2; 1000]));
    let file = log(&items);
    let mut reader = LogReader::new(&file[..], None, MAX).unwrap();
    while reader.advance().unwrap() {}
    assert_eq!(reader.buf.len(), BUFFER);
}

#[test]
fn damage_costs_only_the_items_it_hits() {
    let items: Vec<Vec<u8>> = (0..100u8).map(|n| vec![n; 40]).collect();
    let mut file = log(&items);
    let at = FILE_HEAD + 50 * 48;
    file[at + 5] ^= 1;
    assert!(
        matches!(read_all(&file), Err(LogError::BadMagic { offset, .. }) if offset == at as u64)
    );
    let (found, skipped) = salvage(&file, None);
    assert_eq!((found.len(), skipped), (99, 48));
    let mut huge = file.clone();
    huge[at + 5] ^= 1;
    huge[at] = 0x10;
    assert_eq!(salvage(&huge, None), (found.clone(), 48));
    assert_eq!(salvage(&huge, Some(huge.len() as u64)), (found, 48));
}

proptest! {
    #[test]
    fn what_is_written_is_read(items in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..50)) {
        prop_assert_eq!(read_all(&log(&items)).unwrap(), items);
    }

    #[test]
    fn no_damage_panics(
        items in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 0..20),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in any::<prop::sample::Index>(),
        known in any::<bool>(),
    ) {
        let mut file = log(&items);
        for (at, with) in flips {
            let at = at.index(file.len());
            if at >= FILE_HEAD { file[at] = with; }
        }
        file.truncate(FILE_HEAD.max(cut.index(file.len() + 1)));
        let _ = read_all(&file);
        let (found, skipped) = salvage(&file, known.then_some(file.len() as u64));
        let seen: usize = found.iter().map(|i| i.len() + ITEM_HEAD).sum();
        prop_assert_eq!(seen as u64 + skipped + FILE_HEAD as u64, file.len() as u64);
    }
}
