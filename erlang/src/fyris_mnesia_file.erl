%% @doc Files of a Mnesia table that is kept by Fyris.
%%
%% A table `Tab' has up to three files in Mnesia's directory:
%%
%% ```
%% Tab.FYD   dump: all objects, and the number of the first log to apply to them
%% Tab.FYL   log: what was done since, in order
%% Tab.FYO   the log before, while a dump that makes it superfluous is written
%% Tab.FYT   a dump that is being written; renamed to Tab.FYD when it is whole and on disc
%% '''
%%
%% All have the same format: a header of 16 bytes, a mark and a number, then records. A record is the length of its
%% body, a checksum of it, and the body, a list of operations in the external term format. The number of a log is
%% one more than that of the log before it; the number of a dump is that of the first log that it does not contain.
%%
%% Invariant: at any moment the dump with the logs not older than its number, applied in order, gives the table with
%% all operations that were acknowledged. So a process may be killed between any two steps:
%% a dump takes its place by a rename, and a log is deleted only when its number is less than that of the dump.
%% @hidden
-module(fyris_mnesia_file).

-export([suffixes/0, delete/1, exists/1, read/3, number/1]).
-export([create_log/2, open_log/2, append/2, rotate/2, write_dump/5]).

-define(MARK, "fyrismn1").
-define(HEADER, 16).
%% Before each body: its length and its checksum.
-define(FRAME, 12).

-type name() :: atom().
-type part() :: dump | log | old_log | new_dump.
-type operation() :: {insert, tuple() | [tuple()]} | {delete, term()} | {match_delete, term()}.
%% The end of a file: after a whole record, or in the midst of one.
-type ending() :: whole | torn.

-export_type([operation/0]).

%% @doc Returns the suffixes of the files, for Mnesia, which deletes such files with its directory.
-spec suffixes() -> [string()].
suffixes() -> [suffix(Part) || Part <- [dump, log, old_log, new_dump]].

suffix(dump) -> ".FYD";
suffix(log) -> ".FYL";
suffix(old_log) -> ".FYO";
suffix(new_dump) -> ".FYT".

-spec path(name(), part()) -> file:filename().
path(Tab, Part) ->
    mnesia_lib:dir(lists:concat([Tab, suffix(Part)])).

%% @doc Deletes all files of a table.
-spec delete(name()) -> ok.
delete(Tab) ->
    [remove(path(Tab, Part)) || Part <- [old_log, log, new_dump, dump]],
    ok.

remove(Path) ->
    case file:delete(Path) of
        ok -> ok;
        {error, enoent} -> ok;
        {error, Reason} -> error({cannot_delete, Path, Reason})
    end.

%% @doc Returns whether there is a dump or a log of the table.
-spec exists(name()) -> boolean().
exists(Tab) ->
    lists:any(fun(Part) -> filelib:is_regular(path(Tab, Part)) end, [dump, log, old_log]).

%% ---------------------------------------------------------------------------
%% Reading

%% @doc Folds over the lists of operations that make up the table, in order, and returns what is needed to go on:
%% the number of the log to append to, the bytes of the dump, and the bytes of the log that are good. A log that
%% does not end with a whole record was being written when the node died: what is after the last whole record was
%% never acknowledged. It is an error if a dump is not whole, since a dump gets its name only then.
-spec read(name(), fun(([operation()], State) -> State), State) ->
          {State, #{number := non_neg_integer(), dump := non_neg_integer(), log := non_neg_integer(),
                    old_log := boolean()}}.
read(Tab, Fun, State) ->
    {State1, First, DumpBytes} = read_dump(Tab, Fun, State),
    {State2, Old} = read_old_log(Tab, First, Fun, State1),
    case header(path(Tab, log)) of
        Number when is_integer(Number), Number >= First ->
            {State3, Good, _} = fold(path(Tab, log), Fun, State2),
            {State3, #{number => Number, dump => DumpBytes, log => Good, old_log => Old}};
        _ ->
            {State2, #{number => First, dump => DumpBytes, log => 0, old_log => Old}}
    end.

read_dump(Tab, Fun, State) ->
    Path = path(Tab, dump),
    case header(Path) of
        none ->
            {State, 0, 0};
        Number when is_integer(Number) ->
            case fold(Path, Fun, State) of
                {State1, Bytes, whole} -> {State1, Number, Bytes};
                {_, Bytes, torn} -> error({bad_dump, Path, Bytes})
            end;
        torn ->
            error({bad_dump, Path, 0})
    end.

read_old_log(Tab, First, Fun, State) ->
    case header(path(Tab, old_log)) of
        Number when is_integer(Number), Number >= First ->
            {State1, _, _} = fold(path(Tab, old_log), Fun, State),
            {State1, true};
        none ->
            {State, false};
        _ ->
            {State, true}
    end.

%% @doc Returns the greatest number in the files of a table, or 0.
-spec number(name()) -> non_neg_integer().
number(Tab) ->
    lists:max([0 | [N || Part <- [dump, log, old_log], N <- [header(path(Tab, Part))], is_integer(N)]]).

-spec header(file:filename()) -> non_neg_integer() | none | torn.
header(Path) ->
    case file:open(Path, [read, raw, binary]) of
        {ok, File} ->
            Header = file:read(File, ?HEADER),
            ok = file:close(File),
            case Header of
                {ok, <<?MARK, Number:64>>} -> Number;
                _ -> torn
            end;
        {error, enoent} ->
            none;
        {error, Reason} ->
            error({cannot_open, Path, Reason})
    end.

-spec fold(file:filename(), fun(([operation()], State) -> State), State) -> {State, non_neg_integer(), ending()}.
fold(Path, Fun, State) ->
    {ok, File} = file:open(Path, [read, raw, binary, {read_ahead, 1 bsl 18}]),
    try
        {ok, <<?MARK, _:64>>} = file:read(File, ?HEADER),
        records(File, filelib:file_size(Path), Fun, State, ?HEADER)
    after
        ok = file:close(File)
    end.

records(File, Size, Fun, State, Good) ->
    case record(File, Size - Good) of
        {ok, Body} ->
            Operations = binary_to_term(Body),
            records(File, Size, Fun, Fun(Operations, State), Good + ?FRAME + byte_size(Body));
        Ending ->
            {State, Good, Ending}
    end.

record(_, 0) ->
    whole;
record(File, Left) ->
    case file:read(File, ?FRAME) of
        {ok, <<Length:64, Sum:32>>} when Length =< Left - ?FRAME ->
            case file:read(File, Length) of
                {ok, Body} when byte_size(Body) =:= Length ->
                    case erlang:crc32(Body) of
                        Sum -> {ok, Body};
                        _ -> torn
                    end;
                _ -> torn
            end;
        _ ->
            torn
    end.

%% ---------------------------------------------------------------------------
%% Writing

%% @doc Makes an empty log with a number, in place of the one that is there.
-spec create_log(name(), non_neg_integer()) -> file:fd().
create_log(Tab, Number) ->
    {ok, File} = file:open(path(Tab, log), [write, raw, binary]),
    ok = file:write(File, header_of(Number)),
    File.

%% @doc Opens a log to append to its first `Good' bytes.
-spec open_log(name(), non_neg_integer()) -> file:fd().
open_log(Tab, Good) ->
    {ok, File} = file:open(path(Tab, log), [read, write, raw, binary]),
    {ok, Good} = file:position(File, Good),
    ok = file:truncate(File),
    File.

%% @doc Appends a list of operations as one record; returns its bytes.
-spec append(file:fd(), [operation()]) -> pos_integer().
append(File, Operations) ->
    Body = term_to_binary(Operations),
    ok = file:write(File, [<<(byte_size(Body)):64, (erlang:crc32(Body)):32>>, Body]),
    ?FRAME + byte_size(Body).

%% @doc Puts the log of a table aside and makes the next one, with the number given.
-spec rotate(name(), non_neg_integer()) -> file:fd().
rotate(Tab, Number) ->
    ok = file:rename(path(Tab, log), path(Tab, old_log)),
    create_log(Tab, Number).

%% @doc Writes a dump of the objects that a generator gives, for the logs from `Number' on, and deletes the logs
%% before. `Written' is called when all objects are read and the dump is not in its place yet; it returns when the logs
%% have every change that the generator may have seen. Returns the bytes of the dump.
-spec write_dump(name(), non_neg_integer(), fun(() -> Chunk), fun((term()) -> Chunk), fun(() -> ok)) -> pos_integer()
              when Chunk :: {[tuple()], term()} | '$end_of_table'.
write_dump(Tab, Number, First, Next, Written) ->
    Path = path(Tab, new_dump),
    {ok, File} = file:open(Path, [write, raw, binary]),
    ok = file:write(File, header_of(Number)),
    Bytes = write_chunks(File, First(), Next, ?HEADER),
    ok = file:sync(File),
    ok = file:close(File),
    ok = Written(),
    ok = file:rename(Path, path(Tab, dump)),
    [remove(path(Tab, Part)) || Part <- [old_log, log], older(header(path(Tab, Part)), Number)],
    Bytes.

older(none, _) -> false;
older(torn, _) -> true;
older(Number, First) -> Number < First.

write_chunks(_, '$end_of_table', _, Bytes) ->
    Bytes;
write_chunks(File, {Objects, More}, Next, Bytes) ->
    Written = append(File, [{insert, Objects}]),
    write_chunks(File, Next(More), Next, Bytes + Written).

header_of(Number) -> <<?MARK, Number:64>>.
