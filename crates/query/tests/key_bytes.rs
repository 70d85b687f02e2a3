//! Heads with patterns for parts of the key are matched on its bytes: a key is decoded only if these cannot decide.

use fyris_query::{Machine, MatchSpec, ObjectView, Wanted};
use fyris_term::Term;
use fyris_term::key::KeyBuf;

/// Returns whether an object of the key alone matches a pattern; `change` may spoil the key's bytes.
fn matches(pattern: &str, key: &str, change: impl FnOnce(&mut Vec<u8>)) -> bool {
    let term = |text: &str| Term::parse(text).expect(text);
    let spec =
        MatchSpec::pattern(&Term::tuple(vec![term(pattern)]), Wanted::Objects).expect(pattern);
    let key = KeyBuf::encode(&term(key));
    let mut order = key.order().to_vec();
    change(&mut order);
    let object = ObjectView {
        arity: 1,
        keypos: 1,
        key_order: &order,
        key_tail: &key.stored()[key.order_len()..],
        values: &[],
        blobs: &[],
    };
    spec.matches(&object, &Machine::default())
}

#[test]
fn a_part_that_is_not_asked_for_is_not_decoded() {
    // A name that is no UTF-8 cannot be decoded.
    let spoil = |order: &mut Vec<u8>| {
        let at = order.iter().position(|&byte| byte == b'z').expect("z");
        order[at] = 0xC3;
    };
    for (pattern, key) in [
        ("{a,'_',1500}", "{a,z,1500}"),
        ("{a,{'_','_'},1500}", "{a,{z,2.5},1500}"),
        ("[a,'_'|'_']", "[a,b,z]"),
        ("[a|'_']", "[a|z]"),
        ("{'_',<<\"b\">>}", "{z,<<\"b\">>}"),
        ("{a,#{x => 1}}", "{a,#{w => z,x => 1,y => {z}}}"),
        (
            "{#{b => '_',d => #{}},2}",
            "{#{a => 1,b => z,d => #{1 => 2}},2}",
        ),
        ("#{}", "#{z => 1}"),
    ] {
        assert!(matches(pattern, key, spoil), "{pattern} {key}");
    }
}

#[test]
fn parts_of_keys_match_exactly() {
    let keep = |_: &mut Vec<u8>| {};
    for (pattern, key, wanted) in [
        ("{1,'_'}", "{1,a}", true),
        ("{1,'_'}", "{1.0,a}", false),
        ("{1.0,'_'}", "{1.0,a}", true),
        ("{1.0,'_'}", "{1,a}", false),
        ("{1,'_'}", "{1.5,a}", false),
        ("{1,'_',1.0}", "{1,a,1.0}", true),
        ("{1,'_',1.0}", "{1,a,1}", false),
        ("{a,'_'}", "{'a\\0b',a}", false),
        ("{a,'_'}", "{ab,a}", false),
        ("{a,'$1','$1'}", "{a,b,b}", true),
        ("{a,'$1','$1'}", "{a,b,c}", false),
        ("{a,'$1',c}", "{a,b,c}", true),
        ("{a,'$1',c}", "{a,b,d}", false),
        ("{a,'_'}", "{a,b,c}", false),
        ("[a|'_']", "[a]", true),
        ("[a,b|'_']", "[a]", false),
        ("[a|b]", "[a|b]", true),
        ("['_',b]", "[a,b]", true),
        ("['_',b]", "[a,b,c]", false),
        ("{'_',#{a => '_'}}", "{1,#{a => 2}}", true),
        ("{'_',#{a => 1}}", "{1,#{a => 2}}", false),
        ("{'_',#{a => 1}}", "{1,#{a => 1.0}}", false),
        ("{'_',#{a => '_'},3}", "{1,#{a => 2,2.5 => x},3}", true),
        ("{'_',#{a => '_'},3}", "{1,#{a => 2,2.5 => x},4}", false),
        ("{'_',#{1 => '_'}}", "{1,#{1.0 => 2}}", false),
        ("{'_',#{1.0 => '_'}}", "{1,#{1.0 => 2}}", true),
        ("{'_',#{1.0 => '_'}}", "{1,#{1 => 2}}", false),
        ("{'_',#{2.5 => 2}}", "{1,#{2.5 => 2}}", true),
        ("{'_',#{{2.5} => 2}}", "{1,#{{2.5} => 2}}", true),
        (
            "{'_',#{1 => a,b => c}}",
            "{1,#{0 => x,1 => a,2 => y,b => c,d => e}}",
            true,
        ),
        (
            "{'_',#{1 => a,b => d}}",
            "{1,#{0 => x,1 => a,2 => y,b => c,d => e}}",
            false,
        ),
        ("{'_',#{a => 1,c => 1}}", "{1,#{a => 1,b => 1}}", false),
        ("{'_',#{a => b}}", "{1,#{'a\\0b' => b}}", false),
        (
            "{'_',#{a => '$1'},'$1'}",
            "{1,#{a => #{b => c},z => 1},#{b => c}}",
            true,
        ),
        (
            "{'_',#{a => '$1'},'$1'}",
            "{1,#{a => #{b => c},z => 1},#{b => d}}",
            false,
        ),
        ("{'_',#{}}", "{1,{}}", false),
        ("{'_',b}", "{123456789012345678901234567890,b}", true),
        ("{'_',c}", "{123456789012345678901234567890,b}", false),
        (
            "{'_',2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31}",
            "{1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31}",
            true,
        ),
    ] {
        assert_eq!(matches(pattern, key, keep), wanted, "{pattern} {key}");
    }
}

/// Up to 64 pairs are followed on the bytes of the key, more are decoded.
#[test]
fn large_maps_in_keys_match() {
    for size in [63, 64, 65, 300] {
        let pairs: Vec<String> = (0..size).map(|i| format!("{i} => v{i}")).collect();
        let key = format!("{{#{{{}}},b}}", pairs.join(","));
        let last = size - 1;
        for (pattern, wanted) in [
            (format!("{{#{{0 => v0,{last} => v{last}}},b}}"), true),
            (format!("{{#{{{last} => '_'}},c}}"), false),
            (format!("{{#{{{last} => v0}},b}}"), false),
            (format!("{{#{{{size} => '_'}},b}}"), false),
        ] {
            assert_eq!(matches(&pattern, &key, |_| {}), wanted, "{pattern} {size}");
        }
    }
}
