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
%% All have the same format: a header, which is a mark, a number and a checksum of both, then records. A record is the
%% length of its body, a checksum of its position and its body, and the body, a list of operations in the external term
%% format. The list at the end of a dump is empty. The number of a log is one more than that of the log before it; the
%% number of a dump is that of the first log that it does not contain. In files of the format before, the header has no
%% checksum, and that of a record is of its body alone; they are read, and then replaced.
%%
%% Invariant: at any moment the dump with the logs not older than its number, applied in order, gives the table with
%% all operations that were acknowledged. So a process may be killed between any two steps:
%% a dump takes its place by a rename, and a log is deleted only when its number is less than that of the dump.
%%
%% == Torn or damaged ==
%%
%% A log that does not end with a whole record was being written when the node died: what is after the last whole record
%% was never acknowledged. But when a whole record follows what is none, or a file that was finished does not end with
%% one, it is damaged, and acknowledged operations are missing. The position in its checksum tells a record from a copy
%% of one that is part of an object.
%%
%% What is cut from a torn log, and a damaged file that is replaced, goes to a file with `-TIME.FYX' behind its name.
%% Only Mnesia deletes those, with its directory.
%% @hidden
-module(fyris_mnesia_file).

-export([suffixes/0, delete/1, exists/1, read/3, number/1, set_aside/2, cut/2]).
-export([create_log/2, open_log/3, append/2, sync/1, close/1, bytes/1, rotate/2, write_dump/5]).

-define(MARK, "fyrismn2").
-define(HEADER, 20).
-define(OLD_MARK, "fyrismn1").
-define(OLD_HEADER, 16).
%% Before each body: its length and its checksum.
-define(FRAME, 12).
%% The first byte of a body.
-define(TERM, 131).

-type name() :: atom().
-type part() :: dump | log | old_log | new_dump.
-type operation() :: {insert, tuple() | [tuple()]} | {delete, term()} | {match_delete, term()}.
-type format() :: new | old.
%% A file to append to: its format, and where the next record begins.
-type log() :: {file:fd(), format(), non_neg_integer()}.
%% The position of what is no whole record, though one should be there.
-type damage() :: {part(), file:filename(), non_neg_integer()}.
%% The number of the log to append to, and what is needed to open it; the bytes of the dump; whether there are files that
%% a new dump should replace.
-type found() :: #{number := non_neg_integer(), dump := non_neg_integer(), anew := boolean(), damaged := [damage()],
                   log := none | {format(), Good :: non_neg_integer(), Size :: non_neg_integer()}}.

-record(file, {part :: part(), path :: file:filename(), size :: non_neg_integer(), number :: non_neg_integer(),
               format :: format(), good = 0 :: non_neg_integer(), damaged = [] :: [non_neg_integer()],
               %% Whether its last record says so.
               ends = false :: boolean()}).

-export_type([operation/0, log/0, damage/0, found/0]).

%% @doc Returns the suffixes of the files, for Mnesia, which deletes such files with its directory.
-spec suffixes() -> [string()].
suffixes() -> [suffix(Part) || Part <- [dump, log, old_log, new_dump, aside]].

suffix(dump) -> ".FYD";
suffix(log) -> ".FYL";
suffix(old_log) -> ".FYO";
suffix(new_dump) -> ".FYT";
suffix(aside) -> ".FYX".

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

%% @doc Folds over the lists of operations that make up the table, in order, without what is torn or damaged, and returns
%% what is needed to go on.
-spec read(name(), fun(([operation()], State) -> State), State) -> {State, found()}.
read(Tab, Fun, State) ->
    {Dump, State1} = fold(Tab, dump, 0, Fun, State),
    First = number_of(Dump, 0),
    {Old, State2} = fold(Tab, old_log, First, Fun, State1),
    {Log, State3} = fold(Tab, log, First, Fun, State2),
    Files = [File || #file{} = File <- [Dump, Old, Log]],
    {State3, #{number => number_of(Log, First),
               dump => case Dump of none -> 0; _ -> Dump#file.size end,
               anew => Old =/= none orelse [] =/= [old || #file{format = old} <- Files],
               damaged => lists:append([damaged(File) || File <- Files]),
               log => to_append(Log)}}.

number_of(#file{number = Number}, _) -> Number;
number_of(_, Else) -> Else.

to_append(#file{format = Format, good = Good, size = Size}) -> {Format, Good, Size};
to_append(_) -> none.

damaged(#file{part = Part, path = Path, damaged = Damaged, good = Good} = File) ->
    [{Part, Path, At} || At <- lists:reverse(Damaged) ++ [Good || not may_end(File)]].

%% Only a log may be torn: the others were finished before they got their names.
may_end(#file{part = log}) -> true;
may_end(#file{part = dump, format = new, ends = false}) -> false;
may_end(#file{good = Good, size = Size}) -> Good =:= Size.

%% A log that is older than the dump has nothing to say.
fold(Tab, Part, First, Fun, State) ->
    Path = path(Tab, Part),
    case header(Path) of
        none ->
            {none, State};
        {_, Number} when Number < First ->
            {older, State};
        Header ->
            {ok, Fd} = file:open(Path, [read, raw, binary, {read_ahead, 1 bsl 18}]),
            File = #file{part = Part, path = Path, size = filelib:file_size(Path), number = First, format = new},
            try records_from(begun(Header, Fd, File), Fd, Fun, State)
            after
                ok = file:close(Fd)
            end
    end.

begun({Format, Number}, _, File) ->
    File#file{format = Format, number = Number, good = header_bytes(Format)};
begun(unreadable, Fd, #file{size = Size} = File) ->
    Found = [File#file{format = Format, good = At, damaged = [0]}
             || Format <- [new, old], At <- [next_record(Fd, Format, 0, Size)], At =/= none],
    hd(Found ++ [File]).

records_from(#file{good = At} = File, Fd, Fun, State) ->
    {ok, At} = file:position(Fd, At),
    records(File, Fd, Fun, State).

records(#file{good = Good, size = Good} = File, _, _, State) ->
    {File, State};
records(#file{good = Good, size = Size, format = Format, damaged = Damaged} = File, Fd, Fun, State) ->
    case record(Fd, Format, Good, Size) of
        {ok, Body} ->
            Operations = binary_to_term(Body),
            records(File#file{good = Good + ?FRAME + byte_size(Body), ends = Operations =:= []}, Fd, Fun,
                    Fun(Operations, State));
        bad ->
            case next_record(Fd, Format, Good + 1, Size) of
                none -> {File, State};
                Next -> records_from(File#file{good = Next, damaged = [Good | Damaged]}, Fd, Fun, State)
            end
    end.

record(Fd, Format, At, Size) ->
    case file:read(Fd, ?FRAME) of
        {ok, <<Length:64, Sum:32>>} when Length > 0, Length =< Size - At - ?FRAME ->
            {ok, Body} = file:read(Fd, Length),
            checked(sum(Format, At, Body), Sum, Body);
        _ ->
            bad
    end.

checked(Sum, Sum, Body) -> {ok, Body};
checked(_, _, _) -> bad.

%% Returns the position of the first whole record from a position on, or `none'.
next_record(Fd, Format, From, Size) ->
    case file:pread(Fd, From, Size - From) of
        {ok, Bytes} -> next_record(Bytes, Format, From, ?FRAME, byte_size(Bytes));
        eof -> none
    end.

next_record(Bytes, Format, From, At, Size) ->
    case binary:match(Bytes, <<?TERM>>, [{scope, {min(At, Size), max(0, Size - At)}}]) of
        nomatch -> none;
        {Found, 1} ->
            case is_record(Bytes, Format, From, Found - ?FRAME) of
                true -> From + Found - ?FRAME;
                false -> next_record(Bytes, Format, From, Found + 1, Size)
            end
    end.

is_record(Bytes, Format, From, At) ->
    case Bytes of
        <<_:At/binary, Length:64, Sum:32, Body:Length/binary, _/binary>> when Length > 0 ->
            sum(Format, From + At, Body) =:= Sum;
        _ ->
            false
    end.

sum(new, At, Body) -> erlang:crc32(erlang:crc32(<<At:64>>), Body);
sum(old, _, Body) -> erlang:crc32(Body).

%% @doc Returns the greatest number in the files of a table, or 0.
-spec number(name()) -> non_neg_integer().
number(Tab) ->
    lists:max([0 | [N || Part <- [dump, log, old_log], {_, N} <- [header(path(Tab, Part))]]]).

-spec header(file:filename()) -> {format(), non_neg_integer()} | none | unreadable.
header(Path) ->
    case file:open(Path, [read, raw, binary]) of
        {ok, Fd} ->
            Header = file:read(Fd, ?HEADER),
            ok = file:close(Fd),
            header_in(Header);
        {error, enoent} ->
            none;
        {error, Reason} ->
            error({cannot_open, Path, Reason})
    end.

header_in({ok, <<?OLD_MARK, Number:64, _/binary>>}) ->
    {old, Number};
header_in({ok, <<?MARK, Number:64, Sum:32>>}) ->
    case erlang:crc32(<<?MARK, Number:64>>) of
        Sum -> {new, Number};
        _ -> unreadable
    end;
header_in(_) ->
    unreadable.

header_bytes(new) -> ?HEADER;
header_bytes(old) -> ?OLD_HEADER.

%% ---------------------------------------------------------------------------
%% Setting aside

%% @doc Keeps a file that is about to be replaced; returns its other name.
-spec set_aside(name(), part()) -> file:filename().
set_aside(Tab, Part) ->
    {Path, Aside} = {path(Tab, Part), aside(Tab, Part)},
    case file:make_link(Path, Aside) of
        ok -> ok;
        {error, _} -> {ok, _} = file:copy(Path, Aside)
    end,
    Aside.

%% @doc Keeps what a log has after its good bytes, which is about to be cut; returns where, and how many bytes.
-spec cut(name(), non_neg_integer()) -> {file:filename(), non_neg_integer()}.
cut(Tab, Good) ->
    Aside = aside(Tab, log),
    {ok, Fd} = file:open(path(Tab, log), [read, raw, binary]),
    {ok, Good} = file:position(Fd, Good),
    {ok, Bytes} = file:copy(Fd, Aside),
    ok = file:close(Fd),
    {Aside, Bytes}.

aside(Tab, Part) ->
    lists:concat([path(Tab, Part), "-", erlang:system_time(microsecond), suffix(aside)]).

%% ---------------------------------------------------------------------------
%% Writing

%% @doc Makes an empty log with a number, in place of the one that is there.
-spec create_log(name(), non_neg_integer()) -> log().
create_log(Tab, Number) -> create(path(Tab, log), Number).

create(Path, Number) ->
    {ok, Fd} = file:open(Path, [write, raw, binary]),
    Header = <<?MARK, Number:64>>,
    ok = file:write(Fd, [Header, <<(erlang:crc32(Header)):32>>]),
    {Fd, new, ?HEADER}.

%% @doc Opens a log of a format to append to its first `Good' bytes.
-spec open_log(name(), format(), non_neg_integer()) -> log().
open_log(Tab, Format, Good) ->
    {ok, Fd} = file:open(path(Tab, log), [read, write, raw, binary]),
    {ok, Good} = file:position(Fd, Good),
    ok = file:truncate(Fd),
    {Fd, Format, Good}.

%% @doc Appends a list of operations as one record.
-spec append(log(), [operation()]) -> log().
append({Fd, Format, At}, Operations) ->
    Body = term_to_binary(Operations),
    ok = file:write(Fd, [<<(byte_size(Body)):64, (sum(Format, At, Body)):32>>, Body]),
    {Fd, Format, At + ?FRAME + byte_size(Body)}.

%% @doc Returns when all that was appended is on disc.
-spec sync(log()) -> ok.
sync({Fd, _, _}) -> ok = file:datasync(Fd).

%% @doc Closes a log.
-spec close(log()) -> ok.
close({Fd, _, _}) -> ok = file:close(Fd).

%% @doc Returns the bytes of a log.
-spec bytes(log()) -> non_neg_integer().
bytes({_, _, At}) -> At.

%% @doc Puts the log of a table aside and makes the next one, with the number given.
-spec rotate(name(), non_neg_integer()) -> log().
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
    {Fd, _, Bytes} = append(write_chunks(create(Path, Number), First(), Next), []),
    ok = file:sync(Fd),
    ok = file:close(Fd),
    ok = Written(),
    ok = file:rename(Path, path(Tab, dump)),
    [remove(path(Tab, Part)) || Part <- [old_log, log], older(header(path(Tab, Part)), Number)],
    Bytes.

older(none, _) -> false;
older(unreadable, _) -> true;
older({_, Number}, First) -> Number < First.

write_chunks(Dump, '$end_of_table', _) ->
    Dump;
write_chunks(Dump, {Objects, More}, Next) ->
    write_chunks(append(Dump, [{insert, Objects}]), Next(More), Next).
