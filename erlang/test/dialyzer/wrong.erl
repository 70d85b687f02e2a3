%% Calls that dialyzer has to find wrong: one in each function (../dialyzer.sh). Those of the functions `beyond_...' it
%% cannot find: it keeps 13 atoms of a type and 5 kinds of tagged pairs apart, and takes more for any.
-module(wrong).
-compile([export_all, nowarn_export_all]).

unknown_option() -> fyris:new(t, [ordered]).

options_without_a_list() -> fyris:new(t, ordered_set).

name_that_is_no_atom() -> fyris:new("t", [ordered_set]).

keypos_of_zero() -> fyris:new(t, [{keypos, 0}]).

beyond_bucket_locks_in_words() -> fyris:new(t, [{bucket_locks, many}]).

beyond_reader_groups() -> fyris:new(t, [{reader_groups, 65}]).

beyond_write_concurrency_in_words() -> fyris:new(t, [{write_concurrency, yes}]).

heir_that_is_no_process() -> fyris:new(t, [{heir, me, data}]).

object_that_is_no_tuple() -> fyris:insert(t, [a, b]).

beyond_item_that_is_none() -> fyris:info(t, locks).

kind_of_memory_that_is_none() -> fyris:memory(everything).

counter_by_a_float() -> fyris:update_counter(t, key, 1.5).

position_of_zero() -> fyris:lookup_element(t, key, 0).

limit_of_zero() -> fyris:range(t, 1, 2, [{limit, 0}]).

direction_of_a_range() -> fyris:range(t, 1, 2, [backwards]).

direction_of_a_seek() -> fyris:seek(t, 1, next).

limit_of_a_select() -> fyris:select(t, [{'_', [], ['$_']}], 0).

specification_without_clauses() -> fyris:select(t, {'_', [], ['$_']}).

pattern_that_is_text() -> fyris:match(t, "pattern").

continuation_made_up() -> fyris:select([1]).

extended_info_of_a_dump() -> fyris:tab2file(t, "t.ets", [{extended_info, [crc]}]).

verify_in_words() -> fyris:file2tab("t.ets", [{verify, yes}]).

old_object_that_is_none() -> fyris:compare_and_swap(t, key, {key, 1}).

answer_that_never_comes() ->
    case fyris:insert(t, {a, 1}) of
        false -> retry
    end.

answer_of_another_shape() ->
    {ok, Objects} = fyris:lookup(t, key),
    Objects.

filter_of_no_kind() -> fyris:subscribe(t, everything).

demand_of_nothing() -> fyris:subscribe(t, all, [{active, 0}]).

table_that_is_text() -> fyris:lookup(<<"t">>, key).
