//! Keys of a fixed number of bytes, more than fit into a key prefix: wide integers, addresses, times.
//!
//! Each is written as bytes in the order of the keys, so that key prefixes can be taken behind what the keys of a leaf
//! share.

use std::cmp::Ordering;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime};

use super::{Separator, TreeKey, byte_key_prefix, cmp_prefix, common};

/// The separator of such keys: the bytes of the higher one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FixedSep<const N: usize>([u8; N]);

impl<const N: usize> Separator for FixedSep<N> {
    #[inline]
    fn key_prefix(&self, skip: usize) -> u64 {
        byte_key_prefix(&self.0, skip)
    }
    fn common(&self, other: &Self) -> usize {
        common(&self.0, &other.0)
    }
    fn cmp_prefix(&self, other: &Self, len: usize) -> Ordering {
        cmp_prefix(&self.0, &other.0, len)
    }
}

macro_rules! fixed {
    ($($t:ty: $n:literal, $bytes:expr;)*) => {$(
        impl TreeKey for $t {
            type Sep = FixedSep<$n>;
            #[inline]
            fn key_prefix(&self, skip: usize) -> u64 {
                byte_key_prefix(&$bytes(self), skip)
            }
            #[inline]
            fn is_exact(&self, skip: usize) -> bool {
                skip + size_of::<u64>() >= $n
            }
            fn separate(_: &Self, high: &Self) -> FixedSep<$n> {
                FixedSep($bytes(high))
            }
            #[inline]
            fn cmp_sep(&self, sep: &FixedSep<$n>) -> Ordering {
                $bytes(self).cmp(&sep.0)
            }
            #[inline]
            fn cmp_prefix(&self, sep: &FixedSep<$n>, len: usize) -> Ordering {
                cmp_prefix(&$bytes(self), &sep.0, len)
            }
        }
    )*};
}

fixed! {
    u128: 16, |k: &u128| k.to_be_bytes();
    i128: 16, |k: &i128| signed(*k);
    Ipv6Addr: 16, |k: &Ipv6Addr| k.octets();
    IpAddr: 17, address;
    SocketAddrV6: 26, |k: &SocketAddrV6| socket(k);
    SocketAddr: 27, any_socket;
    Duration: 16, |k: &Duration| k.as_nanos().to_be_bytes();
    SystemTime: 16, |k: &SystemTime| signed(since_epoch(*k));
    Instant: 16, |k: &Instant| signed(since_first(*k));
}

/// Returns a signed number as bytes in its order.
#[inline]
fn signed(number: i128) -> [u8; 16] {
    (number ^ i128::MIN).to_be_bytes()
}

/// Returns an address as bytes in the order of addresses: all of version 4 come before all of version 6.
#[inline]
fn address(address: &IpAddr) -> [u8; 17] {
    let mut bytes = [0; 17];
    match address {
        IpAddr::V4(v4) => bytes[1..5].copy_from_slice(&v4.octets()),
        IpAddr::V6(v6) => {
            bytes[0] = 1;
            bytes[1..].copy_from_slice(&v6.octets());
        }
    }
    bytes
}

/// Returns a socket address of version 6 as bytes in the order of these: by address, port, flow and scope.
#[inline]
fn socket(socket: &SocketAddrV6) -> [u8; 26] {
    let mut bytes = [0; 26];
    bytes[..16].copy_from_slice(&socket.ip().octets());
    bytes[16..18].copy_from_slice(&socket.port().to_be_bytes());
    bytes[18..22].copy_from_slice(&socket.flowinfo().to_be_bytes());
    bytes[22..].copy_from_slice(&socket.scope_id().to_be_bytes());
    bytes
}

/// Returns a socket address as bytes in the order of these: all of version 4 come before all of version 6.
#[inline]
fn any_socket(any: &SocketAddr) -> [u8; 27] {
    let mut bytes = [0; 27];
    match any {
        SocketAddr::V4(v4) => {
            bytes[1..5].copy_from_slice(&v4.ip().octets());
            bytes[5..7].copy_from_slice(&v4.port().to_be_bytes());
        }
        SocketAddr::V6(v6) => {
            bytes[0] = 1;
            bytes[1..].copy_from_slice(&socket(v6));
        }
    }
    bytes
}

/// Returns the nanoseconds of a span as a signed number: a span of time is below 2^94 of them.
fn nanoseconds(span: Duration) -> i128 {
    span.as_nanos() as i128
}

fn since_epoch(time: SystemTime) -> i128 {
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => nanoseconds(after),
        Err(before) => -nanoseconds(before.duration()),
    }
}

/// Returns the time since the first moment that this process has asked for. An `Instant` shows nothing but differences.
fn since_first(time: Instant) -> i128 {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    let first = *FIRST.get_or_init(Instant::now);
    match time.checked_duration_since(first) {
        Some(after) => nanoseconds(after),
        None => -nanoseconds(first.duration_since(time)),
    }
}
