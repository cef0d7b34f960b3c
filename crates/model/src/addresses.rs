//! Which addresses are the public internet. What is not known to be is refused: networks of a house, of a cloud's inside, of
//! this machine itself.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// First address, length of the prefix, what it is. From IANA's registry of special-purpose addresses.
const NOT_PUBLIC_V4: [(Ipv4Addr, u32, &str); 19] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8, "this network"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "a private network"),
    (Ipv4Addr::new(100, 64, 0, 0), 10, "a network behind a carrier's translation"),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "this machine"),
    // The first of all for attackers: 169.254.169.254 gives out the keys of cloud machines.
    (Ipv4Addr::new(169, 254, 0, 0), 16, "link-local, where clouds keep their metadata"),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "a private network"),
    (Ipv4Addr::new(192, 0, 0, 0), 24, "for protocols"),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "for documentation"),
    (Ipv4Addr::new(192, 31, 196, 0), 24, "for protocols"),
    (Ipv4Addr::new(192, 52, 193, 0), 24, "for protocols"),
    (Ipv4Addr::new(192, 88, 99, 0), 24, "a relay to IPv6"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "a private network"),
    (Ipv4Addr::new(192, 175, 48, 0), 24, "for protocols"),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "for measurements"),
    (Ipv4Addr::new(198, 51, 100, 0), 24, "for documentation"),
    (Ipv4Addr::new(203, 0, 113, 0), 24, "for documentation"),
    (Ipv4Addr::new(168, 63, 129, 16), 32, "the inside of a cloud"),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "multicast"),
    (Ipv4Addr::new(240, 0, 0, 0), 4, "reserved"),
];

/// Inside of `2000::/3`, which alone is given out for the public internet.
const NOT_PUBLIC_V6: [(Ipv6Addr, u32, &str); 4] = [
    // Also Teredo, which carries an IPv4 address inside.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23, "for protocols"),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32, "for documentation"),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16, "6to4, which carries another address inside"),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20, "for documentation"),
];

const PUBLIC_V6: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// Of networks that have only IPv6: the last 32 bits are the address that is meant.
const NAT64: (Ipv6Addr, u32) = (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96);

/// What the address is, if it is not the public internet.
pub fn not_public(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => not_public_v4(address),
        IpAddr::V6(address) => not_public_v6(address),
    }
}

fn not_public_v4(address: Ipv4Addr) -> Option<&'static str> {
    let within = |first: Ipv4Addr, bits: u32| {
        let shift = 32 - bits;
        address.to_bits() >> shift == first.to_bits() >> shift
    };
    NOT_PUBLIC_V4.iter().find(|(first, bits, _)| within(*first, *bits)).map(|(_, _, what)| *what)
}

fn not_public_v6(address: Ipv6Addr) -> Option<&'static str> {
    if let Some(inside) = address.to_ipv4_mapped() {
        return not_public_v4(inside);
    }
    let within = |first: Ipv6Addr, bits: u32| {
        let shift = 128 - bits;
        address.to_bits() >> shift == first.to_bits() >> shift
    };
    if within(NAT64.0, NAT64.1) {
        let [.., a, b, c, d] = address.octets();
        return not_public_v4(Ipv4Addr::new(a, b, c, d));
    }
    if !within(PUBLIC_V6.0, PUBLIC_V6.1) {
        return Some(kind_v6(address));
    }
    NOT_PUBLIC_V6.iter().find(|(first, bits, _)| within(*first, *bits)).map(|(_, _, what)| *what)
}

fn kind_v6(address: Ipv6Addr) -> &'static str {
    if address.is_loopback() {
        "this machine"
    } else if address.is_unique_local() {
        "a private network"
    } else if address.is_unicast_link_local() {
        "link-local"
    } else if address.is_multicast() {
        "multicast"
    } else {
        "reserved"
    }
}

#[cfg(test)]
mod tests {
    use super::not_public;

    #[test]
    fn special_addresses_are_not_public() {
        let special = [
            "0.0.0.0",
            "0.255.255.255",
            "10.0.0.0",
            "10.255.255.255",
            "100.64.0.0",
            "100.127.255.255",
            "100.100.100.200",
            "127.0.0.1",
            "127.255.255.254",
            "169.254.0.1",
            "169.254.169.254",
            "169.254.170.2",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.0.192",
            "192.31.196.1",
            "192.52.193.1",
            "192.175.48.1",
            "192.0.2.1",
            "198.51.100.1",
            "203.0.113.255",
            "192.88.99.1",
            "192.168.0.1",
            "192.168.255.255",
            "198.18.0.1",
            "198.19.255.255",
            "168.63.129.16",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::8.8.8.8",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "::ffff:0:127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b::10.0.0.1",
            "64:ff9b:1::1",
            "64:ff9b:1::808:808",
            "100::1",
            "2001:0:4136:e378:8000:63bf:3fff:fdd2",
            "2001:1::1",
            "2001:20::1",
            "2001:db8::1",
            "3fff::1",
            "2002:7f00:1::",
            "2002:808:808::1",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ];
        for address in special {
            assert!(not_public(address.parse().unwrap()).is_some(), "{address}");
        }
    }

    #[test]
    fn the_rest_is_public() {
        let public = [
            "1.1.1.1",
            "8.8.8.8",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.1",
            "169.253.255.255",
            "172.15.255.255",
            "172.32.0.0",
            "192.167.255.255",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2606:4700::1111",
            "2a00:1450::1",
            "::ffff:8.8.8.8",
            "64:ff9b::8.8.8.8",
        ];
        for address in public {
            assert_eq!(not_public(address.parse().unwrap()), None, "{address}");
        }
    }
}
