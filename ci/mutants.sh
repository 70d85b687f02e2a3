#!/usr/bin/env bash
# Tests of the tests: seeds one bug at a time (`cfg(fyris_mutant = "...")` in the source) and runs the test that must
# catch it. Fails if a mutant survives. Usage: ci/mutants.sh [NAME...]
set -uo pipefail
cd "$(dirname "$0")/.."
# An input that kills a mutant is no seed to keep.
export PROPTEST_DISABLE_FAILURE_PERSISTENCE=1
# As in ci/loom.sh: without a bound a model can take longer than a mutant has.
export LOOM_MAX_PREEMPTIONS=${LOOM_MAX_PREEMPTIONS:-2}
target=${CARGO_TARGET_DIR:-target}/mutants

# name | flags beside the mutant's own | test command
mutants=$(cat <<'LIST'
order_one_zero          |                    | -p fyris-term --lib order::
term_recursion          |                    | -p fyris-term --test deep
order_rounds_integers   |                    | -p fyris-term --lib order::
key_wrong_trailer       |                    | -p fyris-term --test key_order
key_negative_floor      |                    | -p fyris-term --test key_order
record_names_each       |                    | -p fyris-term --test native_records
key_record_hidden_alike |                    | -p fyris-term --test native_records
term_keys_unread        |                    | -p fyris-term --lib value::build
key_part_goes_on        |                    | -p fyris-term --lib key::parts
term_fork_unheld        |                    | -p fyris-term --test fork
etf_owed_forgotten      |                    | -p fyris-term --test etf_properties
etf_string_limit        |                    | -p fyris-term --test golden_etf
hash_unpublished        | --cfg loom --cfg fyris_small    | -p fyris-index --test loom
hash_skip_moved_check   | --cfg fyris_small  | -p fyris-index --test hash_conformance
hash_lost_split         | --cfg fyris_small  | -p fyris-index --test hash_conformance
hash_early_free         |                    | -p fyris-index --test map boxed
hash_counts_late        |                    | -p fyris-index --test counts
map_leaves_garbage      |                    | -p fyris-index --test garbage a_map_takes
bytes_early_free        |                    | -p fyris-index --test map packed
inline_unvalidated      |                    | -p fyris-index --test inline
ordered_publish_early   |                    | -p fyris-index --test ordered_tree
ordered_skip_dead_check |                    | -p fyris-index --test ordered_tree
ordered_lost_split      |                    | -p fyris-index --test ordered_model
ordered_stale_heads     | --cfg fyris_small  | -p fyris-index --test bytes_tree
ordered_unpublished     | --cfg loom --cfg fyris_small    | -p fyris-index --test loom a_leaf
ordered_child_unpublished | --cfg loom --cfg fyris_small  | -p fyris-index --test loom a_leaf
ordered_skip_dead_check | --cfg shuttle --cfg fyris_small | -p fyris-index --test shuttle a_leaf_that
ordered_lost_split      | --cfg shuttle --cfg fyris_small | -p fyris-index --test shuttle nodes_split
ordered_joins_dead      | --cfg shuttle --cfg fyris_small | -p fyris-index --test shuttle a_join
inline_unvalidated      | --cfg loom --cfg fyris_small    | -p fyris-index --test loom a_slot_of
inline_unfenced         | --cfg loom --cfg fyris_small    | -p fyris-index --test loom a_slot_of
inline_writes_unhinted  | --cfg loom --cfg fyris_small    | -p fyris-index --test loom two_threads_make
ordered_planted_unpublished | --cfg loom --cfg fyris_small | -p fyris-index --test loom two_threads_make
inline_old_lives        | --cfg shuttle --cfg fyris_small | -p fyris-index --test shuttle pairs
inline_zero_is_fresh    | --cfg shuttle --cfg fyris_small | -p fyris-index --test shuttle room_that
inline_moves_unfreshened | --cfg shuttle --cfg fyris_small | -p fyris-index --test shuttle room_that
move_forgets_units      |                    | -p fyris-index --test user_code a_map_grows
tree_pair_is_slot       |                    | -p fyris-index --test inline_tree
ordered_run_too_far     |                    | -p fyris-index --test ordered_conformance runs
unlock_is_release       |                    | -p fyris-index --test ordered_conformance crossing --profile quick
list_mark_ignored       |                    | -p fyris-classic --lib list::
list_run_unsorted       |                    | -p fyris-classic --test list_conformance runs_in
list_mark_overwrites    | --cfg loom --cfg fyris_small    | -p fyris-classic --test loom_lists a_node
list_freed_in_list      | --cfg loom --cfg fyris_small    | -p fyris-classic --test loom_lists
list_placeholder_overlooked | --cfg loom --cfg fyris_small | -p fyris-classic --test loom_lists two_writers
split_claimed_twice     | --cfg loom --cfg fyris_small    | -p fyris-classic --test loom_lists a_head
split_begins_unlinked   | --cfg loom --cfg fyris_small    | -p fyris-classic --test loom_lists a_head
linear_split_stays      |                    | -p fyris-classic --test linear_conformance adapting
linear_scan_unsorted    |                    | -p fyris-classic --test linear_conformance adapting
linear_scan_repeats     | --cfg fyris_small  | -p fyris-classic --test linear_conformance scans_under
linear_one_lock_shared  | --cfg loom --cfg fyris_small    | -p fyris-classic --test loom_linear under_the_lock_of --profile quick
skip_unpublished        | --cfg loom --cfg fyris_small    | -p fyris-classic --test loom_skip an_entry
skip_dead_is_locked     | --cfg loom --cfg fyris_small    | -p fyris-classic --test loom_skip taken_out
skip_unvalidated        | --cfg loom --cfg fyris_small    | -p fyris-classic --test loom_skip put_in
skip_unlinks_bottom_up  | --cfg loom --cfg fyris_small    | -p fyris-classic --test loom_skip a_node_is_found
skip_linked_unlocked    | --cfg loom --cfg fyris_small    | -p fyris-classic --test loom_skip put_in
skip_newcomers_pass     | --cfg loom --cfg fyris_small    | -p fyris-classic --test loom_skip what_is_found
skip_run_begins_late    |                    | -p fyris-classic --test skip_conformance scans
ravl_unpublished        | --cfg loom --cfg fyris_small    | -p fyris-classic --test loom_ravl an_entry
ravl_unvalidated        | --cfg loom --cfg fyris_small    | -p fyris-classic --test loom_ravl a_reader
ravl_shrinks_unmarked   | --cfg loom --cfg fyris_small    | -p fyris-classic --test loom_ravl a_reader
ravl_locks_any_version  | --cfg shuttle --cfg fyris_small | -p fyris-classic --test shuttle_ravl a_writer
ravl_gap_unchecked      | --cfg loom --cfg fyris_small    | -p fyris-classic --test loom_ravl two_writers
ravl_walk_unchecked     | --cfg shuttle --cfg fyris_small | -p fyris-classic --test shuttle_ravl keeps
ravl_snapshot_undrained | --cfg loom --cfg fyris_small    | -p fyris-classic --test loom_ravl a_snapshot
ravl_copy_unshared      |                    | -p fyris-classic --lib a_snapshot_stays
ravl_unrepaired         |                    | -p fyris-classic --lib relaxed_avl
judy_bit_counts_itself  |                    | -p fyris-judy --lib
judy_count_stays_below  |                    | -p fyris-judy --lib
judy_leaf_too_narrow    |                    | -p fyris-judy --lib
judy_prefix_outlives    |                    | -p fyris-judy --test judy emptied
judy_shared_unpublished | --cfg loom --cfg fyris_small    | -p fyris-judy --test loom_judy a_reader_is_in_a_leaf
judy_shared_freed_early | --cfg loom --cfg fyris_small    | -p fyris-judy --test loom_judy a_reader_is_in_a_leaf
judy_shared_bit_seen_once | --cfg loom --cfg fyris_small  | -p fyris-judy --test loom_judy a_value_is_seen
judy_shared_gone_unchecked | --cfg loom --cfg fyris_small | -p fyris-judy --test loom_judy a_key_is_put
judy_shared_parts_unlocked | --cfg loom --cfg fyris_small | -p fyris-judy --test loom_judy a_branch_is_put
judy_shared_only_child_takes_note | --cfg loom --cfg fyris_small | -p fyris-judy --test loom_judy what_a_branch
judy_shared_count_stays_below |           | -p fyris-judy --lib concurrent
judy_shared_bit_counts_itself |           | -p fyris-judy --lib concurrent
judy_shared_narrow_unchecked |            | -p fyris-judy --lib concurrent
judy_words_uncounted    |                    | -p fyris-judy --test judy_bytes sorted_map
judy_root_in_pointer    |                    | -p fyris-judy --test judy_bytes the_last_word
judy_array_outlives     |                    | -p fyris-judy --test judy_bytes sorted_map
judy_length_forgotten   |                    | -p fyris-judy --lib strings
judy_one_is_no_pair     |                    | -p fyris-judy --lib zeroless
judy_hash_is_key        | --cfg fyris_small  | -p fyris-judy --test judy_conformance judyeh::model
levels_share_buckets    |                    | -p fyris-classic --lib levels::
sequential_rotation_loses |                  | -p fyris-classic --lib sequential
btree_prefix_is_key     |                    | -p fyris-classic --lib sequential
ca_join_forgets         |                    | -p fyris-classic --lib ca::tests
ca_scan_skips_base      |                    | -p fyris-classic --lib ca::tests
ca_scan_meets_twice     |                    | -p fyris-classic --lib ca::tests
ca_scan_skips_base      | --cfg shuttle --cfg fyris_small | -p fyris-classic --test ca_shuttle
ordered_skip_dead_check | --cfg shuttle --cfg fyris_small | -p fyris-classic --test ca_shuttle
stat_reads_dead         |                    | -p fyris-classic --lib ca::tests
stat_reads_dead         | --cfg loom         | -p fyris-sync --profile quick --lib lock::stat
stat_readers_store      | --cfg loom         | -p fyris-sync --profile quick --lib lock::stat
range_keeps_run         |                    | -p fyris-index --test tree_range
library_loss_unseen     |                    | -p fyris-index --test library faults
library_key_unchecked   |                    | -p fyris-index --test library faults
library_word_reused     |                    | -p fyris-index --test library faults
library_order_unchecked |                    | -p fyris-index --test library faults
library_length_unchecked |                   | -p fyris-index --test library faults
library_doubts_nothing  |                    | -p fyris-index --test library concurrent_writers::reclamation
store_fault_untold      |                    | -p fyris --test library by_name
store_commit_early      |                    | -p fyris --test concurrent a_list_is_inserted
store_retire_early      | --cfg loom         | -p fyris --lib ops::model::what_is --profile quick
store_loser_kept        |                    | -p fyris --lib ops::commit
store_unplaced_kept     |                    | -p fyris --lib ops::write
store_ignore_pending    |                    | -p fyris --lib ops::commit
store_commit_unhelped   | --cfg loom         | -p fyris --lib ops::model --profile quick
store_through_unheld    | --cfg loom         | -p fyris --lib ops::model --profile quick
store_commit_not_undone |                    | -p fyris --test lists
store_commit_untold     | --cfg loom         | -p fyris --lib ops::model --profile quick
store_list_waits_inside |                    | -p fyris --test concurrent lists_end
store_list_unmoved      |                    | -p fyris --test concurrent what_is_deleted
store_watch_unwaited    |                    | -p fyris --test transactions watched
store_clearing_unwaited |                    | -p fyris --test transactions watched
store_swap_unturned     |                    | -p fyris --test transactions watched
store_cleared_beside    |                    | -p fyris --test transactions watched
store_announced_unsealed |                   | -p fyris --test transactions watched
store_commit_announced_late |                | -p fyris --test transactions watched
store_hold_passed       |                    | -p fyris --test transactions hold::
store_hold_unsettled    |                    | -p fyris --test transactions hold::
store_values_unguarded  |                    | -p fyris --test transactions races::a_value
store_values_unvalidated |                   | -p fyris --test transactions anomalies::
store_own_values_missed |                    | -p fyris --lib secondary::
store_candidates_torn   |                    | -p fyris --lib secondary::
store_dead_counts       |                    | -p fyris --lib secondary::
store_handed_over_versioned |                | -p fyris --lib secondary::
store_values_unclaimed  |                    | -p fyris --lib secondary::
store_refused_claims_kept |                  | -p fyris --lib what_is_taken
store_claims_go_early   |                    | -p fyris --lib secondary::
store_claim_stolen      |                    | -p fyris --lib secondary::
store_commit_repeats    |                    | -p fyris --lib secondary::
store_repeats_added     |                    | -p fyris --lib secondary::
store_blobs_alike       |                    | -p fyris --lib secondary::
store_entries_left_early |                   | -p fyris --lib secondary::
store_watch_from_all    |                    | -p fyris --test transactions watched
store_announced_unsealed | --cfg loom --cfg fyris_small | -p fyris --lib watch::model --profile quick
store_overflow_untold   |                    | -p fyris --test watch an_overflow
store_through_unheld    |                    | -p fyris --test transactions watched
store_told_unheld       |                    | -p fyris --test told_keepers
store_read_passed       |                    | -p fyris --lib ops::commit
store_waits_for_ever    |                    | -p fyris --test held_snapshots
store_left_behind_lost  |                    | -p fyris --lib version::tests
store_guards_passed     |                    | -p fyris --test histories
store_commit_passes_guards |                 | -p fyris --test histories
store_unguarded         |                    | -p fyris --test transactions
store_moved_on_unasked  |                    | -p fyris --test transactions
store_swapped_beneath   |                    | -p fyris --test transactions races::a_commit
store_guards_passed     | --cfg loom --cfg fyris_small | -p fyris --lib transaction::model::a_key --profile quick
store_saved_retired     |                    | -p fyris --test transactions basics::nested
store_batch_checks_late |                    | -p fyris --test transactions batch::checks_see
store_guard_unfenced    | --cfg loom --cfg fyris_small | -p fyris --lib transaction::model::a_key --profile quick
store_commit_unfenced   | --cfg loom --cfg fyris_small | -p fyris --lib transaction::model::each --profile quick
store_guard_after_look  | --cfg loom --cfg fyris_small | -p fyris --lib transaction::model::a_key --profile quick
store_guard_goes_unordered | --cfg loom --cfg fyris_small | -p fyris --lib transaction::model::a_snapshot_comes --profile quick
store_clock_before_guards | --cfg loom --cfg fyris_small | -p fyris --lib transaction::model::a_snapshot_comes --profile quick
store_foreign_cell_ignored | --cfg loom --cfg fyris_small | -p fyris --lib transaction::model::each --profile quick
store_read_passed       | --cfg loom --cfg fyris_small | -p fyris --lib transaction::model::no_write --profile quick
store_stamp_first       | --cfg loom --cfg fyris_small | -p fyris --lib version::model::writes_and --profile quick
store_reader_stamps_not | --cfg loom --cfg fyris_small | -p fyris --lib version::model::a_snapshot_sees_what --profile quick
store_snapshot_stamps_not | --cfg loom --cfg fyris_small | -p fyris --lib version::model::a_key_goes --profile quick
store_equal_is_before   | --cfg loom --cfg fyris_small | -p fyris --lib version::model::a_key_goes --profile quick
store_seen_retired      | --cfg loom --cfg fyris_small | -p fyris --lib version::model::a_key_goes --profile quick
store_unwraps_unasked   | --cfg loom --cfg fyris_small | -p fyris --lib version::model::a_key_that_comes --profile quick
store_pruned_below      | --cfg loom --cfg fyris_small | -p fyris --lib version::model::a_key_goes --profile quick
store_listed_late       | --cfg loom --cfg fyris_small | -p fyris --lib version::model::what_a_snapshot --profile quick
store_begins_at_once    | --cfg loom --cfg fyris_small | -p fyris --lib version::model::two_snapshots_are --profile quick
store_clock_unhelped    | --cfg loom --cfg fyris_small | -p fyris --lib version::model::what_a_snapshot --profile quick
store_left_unasked      | --cfg loom --cfg fyris_small | -p fyris --lib version::model::the_newer_of --profile quick
store_kept_for_none     | --cfg loom --cfg fyris_small | -p fyris --lib version::model::a_key_that_goes --profile quick
store_nothing_pruned    | --cfg loom --cfg fyris_small | -p fyris --lib version::model::a_key_goes --profile quick
store_begin_unfenced    | --cfg loom --cfg fyris_small | -p fyris --lib version::model::who_begins --profile quick
store_stamp_unfenced    | --cfg loom --cfg fyris_small | -p fyris --lib version::model::a_snapshot_sees --profile quick
store_stamp_unsaid      | --cfg loom --cfg fyris_small | -p fyris --lib version::model::a_snapshot_that_serves --profile quick
store_graves_first      | --cfg loom --cfg fyris_small | -p fyris --lib version::model::a_buried --profile quick
store_grave_robbed      | --cfg loom --cfg fyris_small | -p fyris --lib version::model::the_newer_history --profile quick
store_stamp_first       |                    | -p fyris --test histories every_history
store_aborted_unstamped | --cfg loom --cfg fyris_small | -p fyris --lib version::model::what_aborts --profile quick
store_turn_unwaited     |                    | -p fyris --test snapshots the_first
store_moments_mixed     |                    | -p fyris --test snapshots calls_of
store_page_reused      |                    | -p fyris --test words what_is_seen
ordered_bound_as_key    |                    | -p fyris-index --test ordered_keys bounds
ordered_head_decides    |                    | -p fyris --test words keys_that_share
store_name_unchecked    |                    | -p fyris --test owners
store_dead_is_found     |                    | -p fyris --lib registry
store_hint_believed     |                    | -p fyris --lib registry
store_no_second_look    |                    | -p fyris --test life looks_twice
sync_keeps_memory       |                    | -p fyris --test given_back
store_counts_at_once    |                    | -p fyris --test concurrent what_is_deleted
store_scan_has_no_horizon |                  | -p fyris --test ranges writers_do_not
store_writes_unwaited   |                    | -p fyris --test life a_change_waits
store_fix_unwaited      |                    | -p fyris --test life fixing_waits
store_foreign_unweighed |                    | -p fyris --test foreign few_wait
store_write_unwaited    |                    | -p fyris --test life a_change_waits
dump_sum_skips_objects  |                    | -p fyris --test dump -- round_trip
dump_inflates_anew      |                    | -p fyris --test dump -- compressed_objects_share
dump_forgets_permissions |                   | -p fyris --lib dump::file
hash_scan_unsorted      |                    | -p fyris-index --test hash_conformance
store_bag_back_forwards |                    | -p fyris --test select one_order
query_key_by_order      |                    | -p fyris-query --test properties bytes_and_terms
query_prefilter_is_all  |                    | -p fyris-query --test properties the_prefilter
query_plan_open_end     |                    | -p fyris-query --test plans
query_exit_spreads      |                    | -p fyris-query --test documented
query_no_second_look    |                    | -p fyris --lib ops::edit
chain_tombstone_unseen  |                    | -p fyris --lib chain::
chain_run_reversed      |                    | -p fyris --lib chain::
query_skips_rest        |                    | -p fyris --test select
query_forgets_waiting   |                    | -p fyris --test large_keys
store_take_forgets      |                    | -p fyris --lib table::remove
query_forgets_pieces    |                    | -p fyris --test select_threads a_stopped_query
shell_chain_unbounded   |                    | -p fyris-cli --lib shell::query
export_changes_values   |                    | -p fyris-cli --lib shell::commands::export_tests
sync_no_haste           |                    | -p fyris-sync --lib reclaim
sync_weighs_nothing     |                    | -p fyris --test release
sync_reclaims_deep      |                    | -p fyris-sync --test under_locks
sync_due_forgotten      |                    | -p fyris-sync --test guards
sync_guards_uncounted   |                    | -p fyris-sync --test late
sync_sum_unfenced       |                    | -p fyris-sync --lib counter
sync_sum_looks_once     |                    | -p fyris-index --test counts
sync_bags_stay          |                    | -p fyris-index --test garbage
sync_never_due          |                    | -p fyris-index --test garbage few_large
sync_takes_bag_of_pinned | --cfg loom        | -p fyris-sync --lib guard_cache --profile quick
sync_list_leaks         |                    | -p fyris-sync --test memory
sync_child_waits        |                    | -p fyris-sync --test fork
sync_child_counts       |                    | -p fyris-sync --test fork
sync_no_sweep           |                    | -p fyris-sync --lib reclaim
sync_light_unfenced     | --cfg loom         | -p fyris-sync --lib guard_cache --profile quick
sync_leave_unfenced     | --cfg loom         | -p fyris-sync --lib guard_cache --profile quick
sync_takes_any_guard    | --cfg loom         | -p fyris-sync --lib guard_cache --profile quick
sync_stays_unseen       | --cfg loom         | -p fyris-sync --lib guard_cache --profile quick
sync_section_unfenced   | --cfg loom         | -p fyris-sync --lib section --profile quick
sync_section_uncounted  |                    | -p fyris-sync --lib the_next_section
rw_lost_wake_up         | --cfg loom --cfg fyris_small    | -p fyris-sync --lib lock::rw --profile quick
rw_forgets_a_reader     | --cfg loom --cfg fyris_small    | -p fyris-sync --lib lock::rw --profile quick
rw_reader_barges        |                    | -p fyris-sync --lib lock::rw
rw_try_arrives_blindly  |                    | -p fyris-sync --test rw_starvation who_only_tries_does
rw_writer_barges        |                    | -p fyris-sync --lib lock::rw
rw_readers_apart        |                    | -p fyris-sync --test rw_locks gather
rw_readers_unchecked    | --cfg loom --cfg fyris_small    | -p fyris-sync --lib lock::rw --profile quick
rw_group_unchecked      | --cfg loom --cfg fyris_small    | -p fyris-sync --lib lock::rw --profile quick
rw_counter_first        | --cfg loom --cfg fyris_small    | -p fyris-sync --lib lock::rw --profile quick
rw_withdraws_silently   |                    | -p fyris-sync --test rw_locks gives_up
rw_latch_given_away     |                    | -p fyris-sync --lib lock::rw
rw_child_inherits       |                    | -p fyris-sync --test fork
sync_loader_is_first    |                    | -p fyris-sync --test loaded
sync_fork_meets_lazy    |                    | -p fyris-sync --test fork_early
store_fork_unnoticed    |                    | -p fyris --test fork
segment_publish_partly  |                    | -p fyris-segment --test processes kill::
segment_gate_unordered  | --cfg loom         | -p fyris-segment --test loom --profile quick
segment_keep_nothing    |                    | -p fyris-segment --test basic a_laggard_is
segment_base_not_kept   |                    | -p fyris-segment --test basic disjoint
segment_base_moves_first |                   | -p fyris-segment --test processes stop::
segment_hole_is_free    |                    | -p fyris-segment --test hostile a_full
segment_fork_unnoticed  |                    | -p fyris-segment --test processes fork::
segment_one_patience    |                    | -p fyris-segment --test processes goes_round
segment_change_ends_early |                  | -p fyris-capi --test c segments_answer
segment_parents_row     |                    | -p fyris-segment --test processes fork::
segment_ranges_unseen   |                    | -p fyris-segment --test writes skipped
segment_faults_untold   |                    | -p fyris-segment --test writes told
segment_foreign_unheard |                    | -p fyris-segment --test writes other_processes
segment_word_marked_first | --cfg loom       | -p fyris-segment --test loom --profile quick
segment_failed_scan_counts |                 | -p fyris-segment --lib userfault::
segment_failed_scan_forgets |                | -p fyris-segment --lib userfault::
segment_looks_once      |                    | -p fyris-segment --test processes reader::
segment_version_early   |                    | -p fyris-segment --test processes reader::
segment_trunk_wins      |                    | -p fyris-segment --test processes model::
segment_base_unchecked  |                    | -p fyris-segment --lib commit::
segment_few_forgets     |                    | -p fyris-segment --test processes model::
segment_torn_read       |                    | -p fyris-segment --test processes stop::
segment_transaction_merges |                 | -p fyris-segment --test transactions no_transaction
segment_pin_ignored     |                    | -p fyris-segment --test in_place keeps
segment_ring_turns_early |                   | -p fyris-segment --lib ring::
segment_space_unpromised |                   | -p fyris-segment --test sizes small_file_system
segment_frames_descend  |                    | -p fyris-segment --test in_place whole_arrays
segment_runs_unmended   |                    | -p fyris-segment --test in_place scattered
segment_moves_count     |                    | -p fyris-segment --test in_place moved
segment_moves_changed   |                    | -p fyris-segment --test in_place
segment_stale_move      |                    | -p fyris-segment --test in_place moved_pages_keep
segment_changes_unowned |                    | -p fyris-segment --test in_place whole
segment_unlinked_unheard |                   | -p fyris-segment --test list tell
segment_wakes_nobody    |                    | -p fyris-segment --test transactions sleepers
map_private             |                    | -p fyris-segment --test map_options private
map_walks_unchecked     |                    | -p fyris-segment --test map_hostile out_of_order
map_walks_unchecked     |                    | -p fyris-segment --test map_shared out_of_order
map_seal_unchecked      |                    | -p fyris-segment --test map_shared
map_full_in_the_middle  |                    | -p fyris-segment --test map_model a_full_map
map_join_loses_child    | --cfg fyris_small  | -p fyris-segment --test map_model many_entries
capi_give_up_unheard    |                    | -p fyris-capi --test c segments_answer
dthreads_parks_blindly  |                    | -p fyris-dthreads-preload --test programs a_parked_token
dthreads_skips_none     |                    | -p fyris-dthreads-preload --test programs skipped
LIST
)

# A bug may run wild: bounded in time and memory, and running out of either counts as caught. Deterministic threads
# reserve more addresses than that, and are bounded in time alone.
limited() {
  (
    [[ "$*" == *fyris-dthreads* ]] || ulimit -v 16000000
    timeout 200 "$@"
  )
}

# The seed goes to the crates of the workspace only, through a wrapper of its own: cargo builds what they stand on once.
wrapper_of() {
  printf '#!/bin/sh\nexec "$@" --cfg %s\n' "'fyris_mutant=\"$1\"'" >"$target/$1.rustc"
  chmod +x "$target/$1.rustc"
  realpath "$target/$1.rustc"
}

mkdir -p "$target"
survivors=()
while IFS='|' read -r name flags command; do
  name=$(echo $name)
  if [ $# -gt 0 ] && [[ " $* " != *" $name "* ]]; then
    continue
  fi
  log=$target/$name.log
  export RUSTC_WORKSPACE_WRAPPER=$(wrapper_of "$name") RUSTFLAGS=$(echo $flags)
  # A mutant that does not compile proves nothing: build first, then run.
  if ! cargo test --locked --target-dir "$target" --no-run ${command%%-- *} >"$log" 2>&1; then
    echo "BROKEN    $name does not build: $log"
    survivors+=("$name")
    continue
  fi
  limited cargo test --locked --target-dir "$target" $command >>"$log" 2>&1
  case $? in
    0)
      echo "SURVIVED  $name: cargo test $command"
      survivors+=("$name")
      ;;
    124) echo "killed    $name, which never ended, by: cargo test $command" ;;
    *) echo "killed    $name by: cargo test $command" ;;
  esac
done <<<"$mutants"

if [ ${#survivors[@]} -gt 0 ]; then
  echo "mutants: ${#survivors[@]} not killed: ${survivors[*]}" >&2
  exit 1
fi
echo "mutants: all killed"
