use super::*;
use bytes::Bytes;
use std::collections::BTreeMap;
use thalweg_core::case::CaseGen;
use thalweg_core::error::Code;

fn random_map(r: &mut CaseGen, count: usize) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let letters = |r: &mut CaseGen, most: usize| {
        (0..r.below(most)).map(|_| b"ab\0\xff"[r.below(4)]).collect::<Vec<u8>>()
    };
    (0..count).map(|_| (letters(r, 12), letters(r, 30))).collect()
}

fn file(map: &BTreeMap<Vec<u8>, Vec<u8>>, block_size: usize) -> Bytes {
    let mut builder = TableBuilder::with_block_size(block_size);
    map.iter().for_each(|(k, v)| builder.add(k, v).unwrap());
    builder.finish().into()
}

#[test]
fn any_map_comes_back_for_any_block_size() {
    let mut r = CaseGen::new(1);
    for round in 0..60 {
        let map = random_map(&mut r, round * 3);
        for block_size in [1, 50, 300, 1 << 20] {
            let table = Table::read(&file(&map, block_size)).unwrap();
            assert!(table.iter().map(|(k, v)| (k, &v[..])).eq(map.iter().map(|(k, v)| (&k[..], &v[..]))));
            for (k, v) in &map {
                assert_eq!(table.get(k), Some(&Bytes::from(v.clone())));
            }
            assert_eq!(table.get(b"not there"), None);
        }
    }
}

#[test]
fn keys_must_increase() {
    let mut builder = TableBuilder::with_block_size(1);
    builder.add(b"b", b"").unwrap();
    assert_eq!(builder.add(b"b", b"").unwrap_err().code(), Code::InvalidArgument);
    assert_eq!(builder.add(b"a", b"").unwrap_err().code(), Code::InvalidArgument);
}

#[test]
fn damaged_tables_are_data_loss() {
    let map = random_map(&mut CaseGen::new(2), 20);
    let whole = file(&map, 100);
    for len in 0..whole.len() {
        assert_eq!(Table::read(&whole.slice(..len)).unwrap_err().code(), Code::DataLoss, "{len} bytes");
    }
    let unused = (whole.len() - FOOTER..whole.len() - MAGIC.len()).collect::<Vec<_>>();
    for bit in 0..whole.len() * 8 {
        let mut bad = whole.to_vec();
        bad[bit / 8] ^= 1 << (bit % 8);
        match Table::read(&bad.into()) {
            Err(e) => assert_eq!(e.code(), Code::DataLoss, "bit {bit}: {e}"),
            // The handle of the metaindex block, and the padding, are not used; that block has no entries.
            Ok(t) => {
                assert!(unused.contains(&(bit / 8)) || bit / 8 >= data_end(&whole), "{bit}: {}", t.len())
            }
        }
    }
}

/// The end of the data blocks, where the metaindex block begins.
fn data_end(file: &[u8]) -> usize {
    BlockHandle::take(&mut &file[file.len() - FOOTER..]).unwrap().offset
}

/// A table of one block with these contents, and valid CRCs.
fn table_of(contents: &[u8]) -> Bytes {
    let mut file = Vec::new();
    let mut append = |block: &[u8]| {
        let handle = BlockHandle { offset: file.len(), size: block.len() };
        let mut crc = crate::crc::Crc::default();
        crc.add(block);
        crc.add(&[0]);
        file.extend_from_slice(block);
        file.push(0);
        file.extend(crc.masked().to_le_bytes());
        handle
    };
    let (mut value, mut index) = (Vec::new(), block::BlockBuilder::new(1));
    append(contents).put(&mut value);
    index.add(&[0xff; 8], &value);
    let index = append(&index.finish());
    let mut footer = Vec::new();
    index.put(&mut footer);
    index.put(&mut footer);
    footer.resize(FOOTER - MAGIC.len(), 0);
    file.extend(footer);
    file.extend(MAGIC);
    file.into()
}

#[test]
fn blocks_that_lie_about_their_entries_are_data_loss() {
    assert_eq!(Table::read(&table_of(&[0, 1, 0, b'x', 0, 0, 0, 0, 1, 0, 0, 0])).unwrap().len(), 1);
    // Lengths past the end, more restart points than bytes, a shared prefix of a missing key.
    for contents in [
        &[][..],
        &[0xff; 4],
        &[0, 0xff, 0xff, 0xff, 0xff, 0x0f, 0, 1, 0, 0, 0],
        &[9, 1, 0, b'x', 0, 0, 0, 0, 1, 0, 0, 0],
        &[0, 1, 100, b'x', 0, 0, 0, 0, 1, 0, 0, 0],
    ] {
        assert_eq!(Table::read(&table_of(contents)).unwrap_err().code(), Code::DataLoss, "{contents:?}");
    }
}

#[test]
fn keys_that_share_too_much_are_refused_before_they_fill_the_memory() {
    // One long key, then many that add a byte to it: quadratic if all were kept.
    let mut block = Vec::new();
    let mut entry = |shared: usize, rest: &[u8]| {
        [shared, rest.len(), 0].iter().for_each(|n| crate::varint::put(&mut block, *n as u64));
        block.extend_from_slice(rest);
    };
    entry(0, &[b'x'; 100_000]);
    (0..100_000).for_each(|i| entry(100_000 + i, b"x"));
    block.extend([0, 0, 0, 0, 1, 0, 0, 0]);
    let e = Table::read(&table_of(&block)).unwrap_err();
    assert!(e.code() == Code::DataLoss && e.message().contains("absurdly"), "{e}");
}

#[test]
fn the_size_of_a_block_is_what_it_has_when_it_ends() {
    let mut builder = block::BlockBuilder::new(3);
    for i in 0..10u8 {
        assert_eq!(builder.size(), builder_of(i).finish().len());
        builder.add(&[b'k', i], &[i; 5]);
    }
    fn builder_of(count: u8) -> block::BlockBuilder {
        let mut builder = block::BlockBuilder::new(3);
        (0..count).for_each(|i| builder.add(&[b'k', i], &[i; 5]));
        builder
    }
}

#[test]
fn keys_out_of_order_or_past_their_block_are_data_loss() {
    let of = |keys: &[&[u8]]| {
        let mut builder = block::BlockBuilder::new(1);
        keys.iter().for_each(|k| builder.add(k, b""));
        Table::read(&table_of(&builder.finish()))
    };
    assert_eq!(of(&[b"a", b"b", &[0xff; 8]]).unwrap().len(), 3);
    assert!(of(&[]).unwrap().is_empty() && !of(&[b"a"]).unwrap().is_empty());
    for keys in [&[&b"b"[..], b"a"][..], &[b"a", b"a"], &[&[0xff; 9]]] {
        let e = of(keys).unwrap_err();
        assert!(e.code() == Code::DataLoss && e.message().contains("not in order"), "{e}");
    }
}

#[test]
fn a_table_is_known_by_its_magic_number() {
    let whole = file(&random_map(&mut CaseGen::new(3), 4), 50);
    assert!(is_table(&whole) && is_table(&whole[whole.len() - 8..]));
    assert!(!is_table(&whole[..whole.len() - 1]) && !is_table(b""));
}
