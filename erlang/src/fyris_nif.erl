%% @doc The native functions. Use {@module} through `fyris', which turns what
%% goes wrong here into the errors that `ets' raises.
%%
%% Every function raises `error({'$fyris_error', Class, Cause, Text})'.
%% @hidden
-module(fyris_nif).

-export([all/0, new/2, delete/1, rename/2, whereis/1, info/1, info/2,
         give_away/3, setopts/2, safe_fixtable/2]).
-export([insert/2, insert_new/2, put/3, put_new/3, delete/2, delete_object/2,
         delete_all_objects/1, take/2, update_counter/3, update_counter/4,
         update_element/3, update_element/4]).
-export([lookup/2, lookup_element/3, lookup_element/4, member/2]).
-export([first/1, last/1, next/2, prev/2, first_lookup/1, last_lookup/1,
         next_lookup/2, prev_lookup/2, slot/2]).
-export([cursor/2, slice/3]).
-export([query/3, query_by/3, step/2, chunk/4, chunk_next/1, chunk_step/1, is_place/1, repair/3]).
-export([match_spec_compile/1, is_compiled_ms/1, run_spec/3, test_ms/2]).
-export([open/2, range/5, prefix/4, range_slice/4, seek/3, nth/2, rank/2, count_between/3, lookup_some/2,
         take_slice/3, drain/1, add_secondary/3, remove_secondary/2, compare_and_swap/3, get_in/3, put_in/4,
         delete_in/3, swap_in/5, explain/2]).
-export([snapshot/1, release/1, snapshots/0, collect/0]).
-export([transaction/1, transaction_again/1, transaction_table/2, transaction_begin_nested/1, transaction_end_nested/2,
         transaction_has_conflict/1, transaction_commit/1, transaction_abort/1, write_batch/2]).
-export([subscribe/7, unsubscribe/1, set_active/2]).
-export([inflated/2, has_native_record/1, memory/0]).
%% {Tables, Monitored processes, Resources}: for tests that look for leaks.
-export([counts/0]).
%% {Terms, Maps, References, Funs, Binaries, Floats, Large integers, Numbers of references, Blocks of resources, Aliases,
%% Ports}, each whether it looks as the library knows: for the test that nothing is slow in silence.
-export([layout/0]).

-on_load(init/0).

-define(STUB, erlang:nif_error(not_loaded)).

%% The library learns from some aliases, ports and pids what such look like: it cannot make any by itself.
init() ->
    {Library, Atomics} = {library(), atomics()},
    Aliases = [erlang:alias(), erlang:alias()],
    Loaded = erlang:load_nif(Library, {Atomics, self(), Aliases, lists:sublist(erlang:ports(), 1), pids()}),
    [erlang:unalias(Alias) || Alias <- Aliases],
    case Loaded of
        {error, {Failure, Text}} -> {error, {Failure, reason(Text)}};
        ok -> ok
    end.

%% The pid with number 0 and serial number 1, and those whose numbers are powers of two.
pids() ->
    [list_to_pid("<0.0.1>") | powers(1)].

powers(Number) when Number < 1 bsl 28 ->
    try list_to_pid(lists:concat(["<0.", Number, ".0>"])) of
        Pid -> [Pid | powers(2 * Number)]
    catch
        error:badarg -> []
    end;
powers(_) ->
    [].

%% How the emulator counts who holds a binary: unless by atomic instructions, the library cannot, and copies.
atomics() ->
    try lists:keyfind("64-bit native atomics", 1, erlang:system_info(ethread_info)) of
        {_, Implementation, _} when Implementation =/= "no" -> native_atomics;
        _ -> none
    catch
        error:badarg -> none
    end.

%% Errors that the library gives as numbers (native/fyris_nif/src/load.rs).
reason("Library load-call unsuccessful (4)." = Text) -> {another_build_has_tables, Text};
reason("Library upgrade-call unsuccessful (4)." = Text) -> {another_build_is_running, Text};
reason("Library load-call unsuccessful (6)." = Text) -> {module_of_another_build, Text};
reason("Library upgrade-call unsuccessful (6)." = Text) -> {module_of_another_build, Text};
reason(Text) -> Text.

%% The file of the library, without its ending: what `FYRIS_NIF' in the environment names, or the one in `priv'. In an
%% escript that is a part of the archive, which the system cannot load from.
library() ->
    case os:getenv("FYRIS_NIF") of
        false -> on_disk(filename:join(priv_dir(), "fyris_nif.so"));
        File -> filename:rootname(File, ".so")
    end.

on_disk(File) ->
    case file:read_file_info(File, [raw]) of
        {ok, _} -> filename:rootname(File);
        {error, _} -> unpacked(File, archived(File))
    end.

%% Returns what an archive has under this name.
archived(File) ->
    {module, Loader} = code:ensure_loaded(erl_prim_loader),
    case erlang:function_exported(Loader, read_file, 1) of
        true -> Loader:read_file(File);
        false -> Loader:get_file(File)
    end.

%% Puts the library into the user's cache, under a name for its content, whole or not at all.
unpacked(File, error) -> filename:rootname(File);
unpacked(File, {ok, Library, _}) -> unpacked(File, {ok, Library});
unpacked(_, {ok, Library}) ->
    Base = filename:join(filename:basedir(user_cache, "fyris"),
                         "fyris_nif-" ++ integer_to_list(binary:decode_unsigned(erlang:md5(Library)), 36)),
    File = Base ++ ".so",
    case file:read_file_info(File, [raw]) of
        {ok, _} -> ok;
        {error, _} ->
            New = lists:concat([Base, ".", os:getpid()]),
            _ = filelib:ensure_dir(New),
            _ = file:write_file(New, Library, [raw]),
            _ = file:rename(New, File)
    end,
    Base.

%% Beside the code, also when the application is not installed as one.
priv_dir() ->
    case code:priv_dir(fyris) of
        {error, bad_name} ->
            Ebin = filename:dirname(code:which(?MODULE)),
            filename:join(filename:dirname(Ebin), "priv");
        Dir ->
            Dir
    end.

all() -> ?STUB.
memory() -> ?STUB.
counts() -> ?STUB.
layout() -> ?STUB.
new(_, _) -> ?STUB.
delete(_) -> ?STUB.
rename(_, _) -> ?STUB.
whereis(_) -> ?STUB.
info(_) -> ?STUB.
info(_, _) -> ?STUB.
give_away(_, _, _) -> ?STUB.
setopts(_, _) -> ?STUB.
safe_fixtable(_, _) -> ?STUB.
insert(_, _) -> ?STUB.
insert_new(_, _) -> ?STUB.
put(_, _, _) -> ?STUB.
put_new(_, _, _) -> ?STUB.
delete(_, _) -> ?STUB.
delete_object(_, _) -> ?STUB.
delete_all_objects(_) -> ?STUB.
take(_, _) -> ?STUB.
update_counter(_, _, _) -> ?STUB.
update_counter(_, _, _, _) -> ?STUB.
update_element(_, _, _) -> ?STUB.
update_element(_, _, _, _) -> ?STUB.
lookup(_, _) -> ?STUB.
lookup_element(_, _, _) -> ?STUB.
lookup_element(_, _, _, _) -> ?STUB.
member(_, _) -> ?STUB.
first(_) -> ?STUB.
last(_) -> ?STUB.
next(_, _) -> ?STUB.
prev(_, _) -> ?STUB.
first_lookup(_) -> ?STUB.
last_lookup(_) -> ?STUB.
next_lookup(_, _) -> ?STUB.
prev_lookup(_, _) -> ?STUB.
slot(_, _) -> ?STUB.
cursor(_, _) -> ?STUB.
slice(_, _, _) -> ?STUB.
query(_, _, _) -> ?STUB.
query_by(_, _, _) -> ?STUB.
step(_, _) -> ?STUB.
chunk(_, _, _, _) -> ?STUB.
chunk_next(_) -> ?STUB.
chunk_step(_) -> ?STUB.
is_place(_) -> ?STUB.
repair(_, _, _) -> ?STUB.
match_spec_compile(_) -> ?STUB.
is_compiled_ms(_) -> ?STUB.
run_spec(_, _, _) -> ?STUB.
test_ms(_, _) -> ?STUB.
inflated(_, _) -> ?STUB.

%% Returns whether bytes that this machine does not read as a term are one with a native record in it.
-spec has_native_record(binary()) -> boolean().
has_native_record(_) -> ?STUB.
open(_, _) -> ?STUB.
range(_, _, _, _, _) -> ?STUB.
prefix(_, _, _, _) -> ?STUB.
range_slice(_, _, _, _) -> ?STUB.
seek(_, _, _) -> ?STUB.
nth(_, _) -> ?STUB.
rank(_, _) -> ?STUB.
count_between(_, _, _) -> ?STUB.
lookup_some(_, _) -> ?STUB.
take_slice(_, _, _) -> ?STUB.
drain(_) -> ?STUB.
add_secondary(_, _, _) -> ?STUB.
remove_secondary(_, _) -> ?STUB.
compare_and_swap(_, _, _) -> ?STUB.
get_in(_, _, _) -> ?STUB.
put_in(_, _, _, _) -> ?STUB.
delete_in(_, _, _) -> ?STUB.
swap_in(_, _, _, _, _) -> ?STUB.
explain(_, _) -> ?STUB.
snapshot(_) -> ?STUB.
release(_) -> ?STUB.
snapshots() -> ?STUB.
collect() -> ?STUB.
transaction(_) -> ?STUB.
transaction_again(_) -> ?STUB.
transaction_table(_, _) -> ?STUB.
transaction_begin_nested(_) -> ?STUB.
transaction_end_nested(_, _) -> ?STUB.
transaction_has_conflict(_) -> ?STUB.
transaction_commit(_) -> ?STUB.
transaction_abort(_) -> ?STUB.
write_batch(_, _) -> ?STUB.
subscribe(_, _, _, _, _, _, _) -> ?STUB.
unsubscribe(_) -> ?STUB.
set_active(_, _) -> ?STUB.
