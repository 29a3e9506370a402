//! Hashes of strings, whose values models depend on: FarmHash's 64-bit fingerprint and SipHash-2-4. (The
//! MurmurHash64A of TensorFlow's first hash op is in `math`.)

const K0: u64 = 0xc3a5_c85c_97cb_3127;
const K1: u64 = 0xb492_b66f_be98_f273;
const K2: u64 = 0x9ae1_6a3b_2f90_404f;

/// Eight bytes at `at`, in range.
fn word(s: &[u8], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&s[at..at + 8]);
    u64::from_le_bytes(bytes)
}

fn half_word(s: &[u8], at: usize) -> u64 {
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&s[at..at + 4]);
    u32::from_le_bytes(bytes).into()
}

fn shift_mix(v: u64) -> u64 {
    v ^ (v >> 47)
}

fn mix(u: u64, v: u64, by: u64) -> u64 {
    let a = shift_mix((u ^ v).wrapping_mul(by));
    shift_mix((v ^ a).wrapping_mul(by)).wrapping_mul(by)
}

/// FarmHash's `Fingerprint64`.
pub fn fingerprint(s: &[u8]) -> u64 {
    match s.len() {
        0..=16 => up_to_16(s),
        17..=32 => up_to_32(s),
        33..=64 => up_to_64(s),
        _ => long(s),
    }
}

fn up_to_16(s: &[u8]) -> u64 {
    let n = s.len();
    let by = K2.wrapping_add(n as u64 * 2);
    match n {
        8.. => {
            let (a, b) = (word(s, 0).wrapping_add(K2), word(s, n - 8));
            let c = b.rotate_right(37).wrapping_mul(by).wrapping_add(a);
            let d = a.rotate_right(25).wrapping_add(b).wrapping_mul(by);
            mix(c, d, by)
        }
        4.. => mix((n as u64).wrapping_add(half_word(s, 0) << 3), half_word(s, n - 4), by),
        1.. => {
            let (a, b, c) = (u64::from(s[0]), u64::from(s[n >> 1]), u64::from(s[n - 1]));
            let (y, z) = (a + (b << 8), n as u64 + (c << 2));
            shift_mix(y.wrapping_mul(K2) ^ z.wrapping_mul(K0)).wrapping_mul(K2)
        }
        0 => K2,
    }
}

/// Shared by the middle lengths: mixes the first and last 16 bytes.
fn middle(s: &[u8], by: u64) -> (u64, u64, u64) {
    let n = s.len();
    let (a, b) = (word(s, 0), word(s, 8));
    let (c, d) = (word(s, n - 8).wrapping_mul(by), word(s, n - 16).wrapping_mul(K2));
    let a = a.wrapping_mul(if n <= 32 { K1 } else { K2 });
    let y = a.wrapping_add(b).rotate_right(43).wrapping_add(c.rotate_right(30)).wrapping_add(d);
    let z = a.wrapping_add(b.wrapping_add(K2).rotate_right(18)).wrapping_add(c);
    (y, z, a)
}

fn up_to_32(s: &[u8]) -> u64 {
    let by = K2.wrapping_add(s.len() as u64 * 2);
    let (y, z, _) = middle(s, by);
    mix(y, z, by)
}

fn up_to_64(s: &[u8]) -> u64 {
    let n = s.len();
    let by = K2.wrapping_add(n as u64 * 2);
    let (y, z, a) = middle(s, by);
    let z = mix(y, z, by);
    let (e, f) = (word(s, 16).wrapping_mul(by), word(s, 24));
    let g = y.wrapping_add(word(s, n - 32)).wrapping_mul(by);
    let h = z.wrapping_add(word(s, n - 24)).wrapping_mul(by);
    let u = e.wrapping_add(f).rotate_right(43).wrapping_add(g.rotate_right(30)).wrapping_add(h);
    let v = e.wrapping_add(f.wrapping_add(a).rotate_right(18)).wrapping_add(g);
    mix(u, v, by)
}

/// TensorFlow's combination of two fingerprints, ordered.
pub fn fingerprint_cat(a: u64, b: u64) -> u64 {
    const M: u64 = 0xc6a4_a793_5bd1_e995;
    let b = shift_mix(b.wrapping_mul(M)).wrapping_mul(M);
    let mixed = (a ^ M ^ b).wrapping_mul(M);
    shift_mix(shift_mix(mixed).wrapping_mul(M))
}

/// The running state over blocks of 64 bytes.
struct Blocks {
    x: u64,
    y: u64,
    z: u64,
    v: (u64, u64),
    w: (u64, u64),
}

impl Blocks {
    /// Mixes in the block at the start of `s`; the last block uses another multiplier and weight.
    fn take(&mut self, s: &[u8], by: u64, weight: u64) {
        let Blocks { x, y, z, v, w } = *self;
        let x =
            x.wrapping_add(y).wrapping_add(v.0).wrapping_add(word(s, 8)).rotate_right(37).wrapping_mul(by);
        let y = y.wrapping_add(v.1).wrapping_add(word(s, 48)).rotate_right(42).wrapping_mul(by);
        let x = x ^ w.1.wrapping_mul(weight);
        let y = y.wrapping_add(v.0.wrapping_mul(weight)).wrapping_add(word(s, 40));
        let z = z.wrapping_add(w.0).rotate_right(33).wrapping_mul(by);
        let v = weak(s, 0, v.1.wrapping_mul(by), x.wrapping_add(w.0));
        let w = weak(s, 32, z.wrapping_add(w.1), y.wrapping_add(word(s, 16)));
        *self = Blocks { x: z, y, z: x, v, w };
    }
}

fn weak(s: &[u8], at: usize, a: u64, b: u64) -> (u64, u64) {
    let last = word(s, at + 24);
    let a = a.wrapping_add(word(s, at));
    let b = b.wrapping_add(a).wrapping_add(last).rotate_right(21);
    let c = a;
    let a = a.wrapping_add(word(s, at + 8)).wrapping_add(word(s, at + 16));
    let b = b.wrapping_add(a.rotate_right(44));
    (a.wrapping_add(last), b.wrapping_add(c))
}

fn long(s: &[u8]) -> u64 {
    let seed: u64 = 81;
    let y = seed.wrapping_mul(K1).wrapping_add(113);
    let z = shift_mix(y.wrapping_mul(K2).wrapping_add(113)).wrapping_mul(K2);
    let x = seed.wrapping_mul(K2).wrapping_add(word(s, 0));
    let mut b = Blocks { x, y, z, v: (0, 0), w: (0, 0) };
    let end = (s.len() - 1) / 64 * 64;
    for block in s[..end].chunks_exact(64) {
        b.take(block, K1, 1);
    }
    let by = K1.wrapping_add((b.z & 0xff) << 1);
    b.w.0 = b.w.0.wrapping_add((s.len() as u64 - 1) & 63);
    b.v.0 = b.v.0.wrapping_add(b.w.0);
    b.w.0 = b.w.0.wrapping_add(b.v.0);
    b.take(&s[s.len() - 64..], by, 9);
    // The block above leaves x and z swapped, as the finalisation needs them.
    let Blocks { x, y, z, v, w } = b;
    let u = mix(v.0, w.0, by).wrapping_add(shift_mix(y).wrapping_mul(K0)).wrapping_add(z);
    mix(u, mix(v.1, w.1, by).wrapping_add(x), by)
}

/// SipHash-2-4.
pub fn sip(key: [u64; 2], s: &[u8]) -> u64 {
    let [k0, k1] = key;
    let mut v = [
        k0 ^ 0x736f_6d65_7073_6575,
        k1 ^ 0x646f_7261_6e64_6f6d,
        k0 ^ 0x6c79_6765_6e65_7261,
        k1 ^ 0x7465_6462_7974_6573,
    ];
    let take = |m: u64, v: &mut [u64; 4]| {
        v[3] ^= m;
        sip_round(v);
        sip_round(v);
        v[0] ^= m;
    };
    let blocks = s.chunks_exact(8);
    let rest = blocks.remainder();
    for block in blocks {
        take(word(block, 0), &mut v);
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    last[7] = s.len() as u8;
    take(u64::from_le_bytes(last), &mut v);
    v[2] ^= 0xff;
    (0..4).for_each(|_| sip_round(&mut v));
    v[0] ^ v[1] ^ v[2] ^ v[3]
}

fn sip_round(v: &mut [u64; 4]) {
    let [mut a, mut b, mut c, mut d] = *v;
    a = a.wrapping_add(b);
    b = b.rotate_left(13) ^ a;
    a = a.rotate_left(32);
    c = c.wrapping_add(d);
    d = d.rotate_left(16) ^ c;
    a = a.wrapping_add(d);
    d = d.rotate_left(21) ^ a;
    c = c.wrapping_add(b);
    b = b.rotate_left(17) ^ c;
    c = c.rotate_left(32);
    *v = [a, b, c, d];
}
