%% Which tests stand for which sentences about ets. Each row of the description of the interface has its tests here, by
%% name; the tests below see to it that those exist, and that no function is without. Beside them, every call of every
%% function is compared with ets by `fyris_oracle_test'.
-module(fyris_sentences_test).

-compile(export_all).
-include("fyris_same.hrl").

every_named_test_exists_test() ->
    ?assertEqual([], [{Sentence, M, F} || {Sentence, Tests} <- functions() ++ sentences(), {M, F} <- Tests,
                                          not is_test(module(M), F)]).

is_test(Module, F) ->
    {module, Module} = code:ensure_loaded(Module),
    lists:any(fun(Suffix) -> erlang:function_exported(Module, list_to_atom(atom_to_list(F) ++ Suffix), 0) end,
              ["_test", "_test_"]).

module(Short) -> list_to_atom("fyris_" ++ atom_to_list(Short) ++ "_test").

every_function_has_a_test_test() ->
    Exported = lists:usort([F || {F, _} <- ets:module_info(exports)]) -- [module_info, internal_request_all,
                                                                          internal_delete_all, internal_select_delete],
    Named = lists:append([Functions || {Functions, _} <- functions()]),
    ?assertEqual([], Exported -- Named),
    ?assertEqual([], [F || F <- Named, not lists:keymember(F, 1, fyris:module_info(exports))]).

%% ---------------------------------------------------------------------------
%% Section 1: functions

functions() ->
    tables() ++ writing() ++ reading() ++ others().

tables() ->
    [{[new], [{tables, new_returns_a_tid_or_the_name}, {tables, new_refuses_what_is_no_name_or_no_option},
              {tables, new_refuses_a_name_in_use}]},
     {[delete], [{tables, delete_removes_name_and_tid_at_once}, {tables, any_process_may_delete_a_public_table},
                 {tables, a_name_is_free_while_a_large_table_is_being_freed}, {tables, delete_of_nothing_is_an_error},
                 {objects, delete_by_key_and_by_object}]},
     {[rename], [{tables, rename}]},
     {[whereis], [{tables, whereis}]},
     {[all], [{tables, all_has_names_and_tids}]},
     {[info], [{tables, info_items_are_those_of_ets_in_its_order}, {tables, info_works_on_private_tables_of_others},
               {tables, info_of_what_is_no_table}]},
     {[i], [{people, tables_are_listed}, {people, tables_are_browsed_page_by_page}]},
     {[give_away], [{tables, give_away}]},
     {[setopts], [{tables, setopts}]},
     {[safe_fixtable], [{tables, fixed_items}, {tables, fixes_end_with_their_process}]}].

writing() ->
    [{[insert], [{objects, insert_one_or_a_list}, {objects, insert_refuses_bad_objects_and_changes_nothing},
                 {objects, an_ordered_set_replaces_the_key_too}, {objects, a_bag_ignores_what_it_has},
                 {objects, a_list_keeps_the_order_of_one_key}, {histories, lists_come_whole}]},
     {[insert_new], [{objects, insert_new_is_all_or_nothing}, {histories, one_inserts_all_that_is_new}]},
     {[update_element], [{objects, update_element}, {objects, update_element_with_default},
                         {objects, a_bad_default_is_an_error}]},
     {[update_counter], [{objects, update_counter}, {objects, keypos}, {objects, a_bad_default_is_an_error},
                         {histories, no_count_is_lost}]},
     {[delete_object], [{objects, delete_object_compares_exactly}]},
     {[delete_all_objects], [{objects, delete_all_objects}]},
     {[match_delete], [{query, patterns}]},
     {[select_delete], [{query, select_delete}]},
     {[select_replace], [{query, select_replace}, {query, bad_specs}]},
     {[take], [{objects, take}]},
     {[init_table], [{objects, init_table}, {objects, init_table_closes_its_generator_when_it_fails}]}].

reading() ->
    [{[lookup], [{objects, an_ordered_set_replaces_the_key_too}, {terms, keys_come_back_as_they_were}]},
     {[lookup_element], [{objects, lookup_element}, {objects, lookup_element_with_default}]},
     {[member], [{objects, an_ordered_set_replaces_the_key_too}]},
     {[tab2list], [{objects, ordered_traversal}]},
     {[first, last], [{objects, ordered_traversal}, {objects, hash_traversal}]},
     {[next, prev], [{objects, ordered_traversal}, {objects, next_from_a_key_that_is_gone}, {objects, the_end_is_no_key}]},
     {[first_lookup, last_lookup, next_lookup, prev_lookup], [{objects, key_and_objects_in_one_call}]},
     {[slot], [{objects, ordered_traversal}, {objects, the_end_is_no_key}]},
     {[foldl, foldr], [{objects, folds}]},
     {[match, match_object], [{query, patterns}, {query, limits}, {query, bad_specs}]},
     {[select, select_reverse], [{query, select}, {query, order_of_an_ordered_set}, {query, limits}, {query, bad_specs}]},
     {[select_count], [{query, select}]}].

others() ->
    [{[match_spec_compile], [{query, compiled_specs}, {query, bad_specs}, {query, specifications_nest_as_those_of_ets}]},
     {[match_spec_run, match_spec_run_r, is_compiled_ms], [{query, compiled_specs}]},
     {[test_ms], [{query, test_ms}]},
     {[repair_continuation], [{query, continuations_pass_through_the_external_format}]},
     {[fun2ms], [{query, fun2ms}]},
     {[table], [{files, qlc}, {files, qlc_handles}]},
     {[tab2file, file2tab], [{files, files_go_both_ways}, {files, errors}, {files, kept_dumps},
                             {files, compressed_terms_are_bounded}]},
     {[tabfile_info], [{files, tabfile_info}]},
     {[from_dets, to_dets], [{files, dets}]},
     {[format_error], [{people, the_shell_explains_a_badarg_as_for_ets}]}].

%% ---------------------------------------------------------------------------
%% Sections 2 to 7

sentences() ->
    [{"2. later options win; set and protected undo nothing",
      [{tables, later_options_win_but_set_and_protected_undo_nothing}]},
     {"2. access rights", [{tables, access_rights}]},
     {"2. keypos; shorter tuples are refused", [{objects, keypos}, {objects, insert_refuses_bad_objects_and_changes_nothing}]},
     {"2. an heir gets the table and a message", [{tables, the_heir_gets_the_table_and_a_message}]},
     {"2. {heir, Pid} gives no message", [{tables, an_heir_without_data_gets_the_table_and_no_message}]},
     {"2. a dead heir counts as none", [{tables, a_dead_heir_counts_as_none}]},
     {"2. concurrency and counters, as info reports them",
      [{tables, later_options_win_but_set_and_protected_undo_nothing}]},
     {"3. undefined for what is dead, badarg for what never was a table", [{tables, info_of_what_is_no_table}]},
     {"3. items of info/1 in their order", [{tables, info_items_are_those_of_ets_in_its_order}]},
     {"3. items of info/2 only", [{tables, fixed_items}, {tables, info_items_of_no_list}]},
     {"4. changes of one object are atomic", [{histories, no_count_is_lost}, {linear, histories_are_linearizable}]},
     {"4. lists are atomic and isolated", [{histories, lists_come_whole}, {histories, one_inserts_all_that_is_new}]},
     {"4. size is exact", [{histories, size_is_exact_after_any_race}]},
     {"4. concurrent changes may or may not be seen by what is not atomic", [{query, a_table_changes_between_slices}]},
     {"5. a safe traversal returns what stays once", [{objects, a_fixed_traversal_sees_every_object_once},
                                                      {slices, objects_that_stay_are_seen_once_whatever_else_changes}]},
     {"5. next from a key that was deleted while the table was fixed", [{objects, next_from_a_key_that_is_gone}]},
     {"5. fixes nest and end with the process", [{tables, fixed_items}, {tables, fixes_end_with_their_process}]},
     {"5. continuations belong to the table", [{query, continuations_belong_to_the_table}]},
     {"5. continuations survive deletions and end", [{query, continuations_survive_deletions_and_end}]},
     {"5. continuations are tuples of the table first", [{query, continuations_have_the_form_of_those_of_ets}]},
     {"5. chunks of an ordered_set have as many results as asked for", [{query, limits}]},
     {"6. whoever is told of the death finds the table gone or with the heir",
      [{tables, whoever_learns_of_the_end_finds_the_table_gone},
       {tables, a_link_tells_of_the_end_before_the_library_hears_of_it}, {tables, tables_end_with_their_owner},
       {tables, nothing_is_left_of_killed_owners}, {kills, nothing_is_left_of_the_killed}]},
     {"7. heads, guards and bodies", [{query, select}, {query, bad_specs}, {query, functions_newer_than_otp_25},
                                      {query, node_is_the_name_of_the_node}]}].
